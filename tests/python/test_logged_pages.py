"""What PostgreSQL's deallocations become on a served device: holes, or trims below a file that keeps its blocks."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coflash import Scenario, device
from postgresql_trims import table
from postgresql_trims.stand import Stand, command, stand
from test_file_systems import needs_mounts

EXAMPLE = Path(__file__).parents[2] / "examples" / "postgresql_trims"
PAGE = 8192


@contextmanager
def mounted() -> Iterator[tuple[device.Served, Stand]]:
    """Yields a served device with an ext4 on it."""
    needs_mounts()
    plain = Scenario.load("ssd").with_({"cooperation": {"name": "none"}, "cache.size": "0B"})
    with (
        tempfile.TemporaryDirectory() as place,
        device.serve(plain, Path(place) / "ssd", size="64MiB") as served,
        stand(served.address, Path(place)) as at,
    ):
        at.make()
        at.mounted()
        yield served, at


def trimmed_pages(served: device.Served) -> int:
    """Returns how many pages were trimmed."""
    assert served.metrics is not None
    return int(served.metrics["host_trims_pages"])


def made(at: Stand, pages: int = 64) -> tuple[Path, bytes]:
    """Makes a file of random pages."""
    file, data = at.mount / "table", os.urandom(pages * PAGE)
    file.write_bytes(data)
    os.sync()
    return file, data


def test_a_hole_of_a_page_is_a_trim_and_gives_its_blocks_away() -> None:
    with mounted() as (served, at):
        file, data = made(at)
        blocks, trims = file.stat().st_blocks, trimmed_pages(served)
        at.deallocate(file, 3 * PAGE, PAGE)
        os.sync()
        assert trimmed_pages(served) - trims == PAGE // 4096
        assert blocks - file.stat().st_blocks == PAGE // 512
        assert file.read_bytes() == data[: 3 * PAGE] + bytes(PAGE) + data[4 * PAGE :]


def test_a_page_is_trimmed_below_its_file_which_keeps_its_blocks(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("NOT TESTED: cc is missing: apt install gcc")
    library = tmp_path / "in_place.so"
    command("cc", "-shared", "-fPIC", "-O2", "-o", library, EXAMPLE / "in_place.c")
    with mounted() as (served, at):
        file, data = made(at)
        blocks, trims = file.stat().st_blocks, trimmed_pages(served)
        at.deallocate(file, 3 * PAGE, PAGE, library)
        assert trimmed_pages(served) - trims == PAGE // 4096
        assert file.stat().st_blocks == blocks
        # The kernel has the page yet; the device forgot it, and nothing beside it.
        command("umount", at.mount)
        at.mounted()
        assert file.read_bytes() == data[: 3 * PAGE] + bytes(PAGE) + data[4 * PAGE :]
        with file.open("r+b") as opened:
            opened.seek(3 * PAGE)
            opened.write(data[3 * PAGE : 4 * PAGE])
        command("umount", at.mount)
        at.mounted()
        assert file.read_bytes() == data
        assert file.stat().st_blocks == blocks


ROOT = EXAMPLE.parents[1]
KEPT = [ROOT / "examples" / "trimmed_page" / "map.md"]
"""What the study's scripts printed."""


def rows(text: str) -> set[str]:
    """Returns the rows of tables."""
    return {line for line in text.splitlines() if line.startswith("|")}


def test_every_row_of_the_study_was_printed() -> None:
    page = (ROOT / "docs" / "studies" / "the_log_holds_the_page.md").read_text("utf-8")
    printed = [*table.measured(), *table.cuts()]
    from_map = set[str]().union(*(rows(file.read_text("utf-8")) for file in KEPT))
    assert rows("\n".join(printed)) <= rows(page)
    assert rows(page) <= rows("\n".join(printed)) | from_map


def test_the_table_counts_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"form": "holes", "kind": "slow", "acknowledged": 3, "trimmed_pages": 5}
    lines = [{**row, "lost": "no answered write is lost", "wrong": []}, {**row, "lost": "12 pages", "wrong": ["a row"]}]
    monkeypatch.setattr(table, "lines", lambda _: lines)
    assert list(table.cuts())[-1] == "| holes | slow | 2 | 1 | 6 | 10 | 1 |"
