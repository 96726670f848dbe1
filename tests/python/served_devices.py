"""Small devices of every kind that can be served, and their promises."""

from __future__ import annotations

from typing import Any

from coflash import Scenario

_VOLATILE = {"cache.size": "5%", "cache.volatile": True}
_IN_HOST = {"cache.size": "5%", "cache.placement": "host"}
SCHEMES: dict[str, dict[str, Any]] = {
    "none": {},
    "volatile": _VOLATILE,
    "dgc": {**_VOLATILE, "cooperation": {"name": "dgc"}},
    "sgc": {**_VOLATILE, "cooperation": {"name": "sgc"}},
    "nvm": {"cache.size": "5%"},
    "cdm": {"cache.size": "5%", "cooperation": {"name": "cdm"}},
    "move-in": {"cache.size": "5%", "cooperation": {"name": "move-in"}},
    "expected-cost": {"cache.size": "5%", "cooperation": {"name": "expected-cost"}},
    "consistent": {"cache.size": "5%", "cooperation": {"name": "cdm-consistent"}},
    "host-nvm": _IN_HOST,
    "host-cdm": {**_IN_HOST, "cooperation": {"name": "cdm"}},
    "host-consistent": {**_IN_HOST, "cooperation": {"name": "cdm-consistent"}},
    # The answer of a request depends on later ones, and blocks hold one bit a cell or three.
    "queued": {
        "timing.channel": "shared",
        "timing.read_priority": "suspend",
        "controller.write_buffer": "256KiB",
        "flash.cell": "tlc",
        "flash.pages_per_block": 30,
        "ftl.slc_cache.blocks": 4,
    },
}
PROMISES = {
    "none": "answered",
    "volatile": "flushed",
    "dgc": "flushed",
    "sgc": "flushed",
    "nvm": "answered",
    "cdm": "answered",
    "move-in": "answered",
    "expected-cost": "answered",
    "consistent": "committed",
    "host-nvm": "answered",
    "host-cdm": "answered",
    "host-consistent": "committed",
}
"""The promise for requests after the end of the process, in the words of `kill_client.py`."""


def scenario(scheme: str) -> Scenario:
    small = {
        "name": scheme,
        "flash.channels": 2,
        "flash.pages_per_block": 32,
        "flash.exported": "8MiB",
        "ftl.spare.share": "40%",
        "timing.channel": "private",
        "gc.low_mark": 3,
    }
    return Scenario.from_dict({}).with_({**small, **SCHEMES[scheme]})
