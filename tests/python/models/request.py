"""Requests of the host."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    arrival_ns: int
    operation: str
    offset: int
    size: int

    def pages(self, page_bytes: int) -> range:
        """Every page that it touches."""
        return range(self.offset // page_bytes, -(-(self.offset + self.size) // page_bytes))

    def covers(self, page: int, page_bytes: int) -> bool:
        """Whether it covers the whole page."""
        return self.offset <= page * page_bytes and (page + 1) * page_bytes <= self.offset + self.size
