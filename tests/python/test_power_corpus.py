"""The corpus of faults: a model of a disk tells a fault from its mended program, and an exploration finds the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import kinds
from coflash import device
from disk_model import DiskModel
from power_corpus import FAULT, MEDIA, RIGHT, Case, Outcome, busy, cases, explored, prepared, sought, verdict

RAW = {case.name: case for case in cases() if case.medium == "raw"}
EXPLORED = ("fua-of-another-write", "flush-of-another-thread", "torn-append", "flush-of-another-device")
"""A few, of which each needs another rule of the model of order."""
_SILENT = ("unchecked", "version-unchecked", "place-unchecked")
DRIVES = ("flush-retried", "trim-for-zeros", "recovery-clears-first", *_SILENT)
"""Those that need a fault of the drive, or a cut in recovery: the model of the disk knows neither."""


@pytest.mark.parametrize("name", [name for name, kind in kinds.KINDS.items() if not (kind.fault or kind.recover)])
def test_each_fault_can_be_seen_and_the_mended_program_is_right_in_every_state(name: str) -> None:
    kind = kinds.KINDS[name]
    for right in (False, True):
        disk = DiskModel()
        kind.run(disk, right)
        assert kind.check(DiskModel(disk.uncut()), right) is None, "without a power cut nothing is wrong"
        problems = {kind.check(DiskModel(state), right) for state in disk.states(seed=1)} - {None}
        assert (problems == set()) == right, problems


def test_a_flush_of_the_model_covers_what_was_answered_before_it_and_fua_its_own_write_alone() -> None:
    disk = DiskModel()
    disk.write(0, b"a" * 512)
    disk.write_and_flush_at_once(512, b"b" * 512)
    disk.write(1024, b"c" * 512, fua=True)
    assert {1024, 0} in ({*state} for state in disk.states(seed=1))
    assert all(0 in state for state in disk.states(seed=1) if 1024 in state)


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(MEDIA["raw"], tmp_path_factory.mktemp("power") / "device")


@pytest.mark.parametrize("name", EXPLORED + DRIVES)
def test_an_exploration_finds_a_fault_and_accuses_no_right_program(name: str, blank: Path) -> None:
    points = 16 if name in DRIVES else 12
    outcomes = {variant: explored(RAW[name], variant, blank, points=points) for variant in (FAULT, RIGHT)}
    assert verdict(outcomes) == "as it must be", outcomes
    assert device.check(blank) == []


MENDED = {
    "record-unflushed": [(1 + 4 * n, 1) for n in range(4)],
    "copy-unflushed": [(1 + 4 * n, 1) for n in range(4)],
    "in-place": [],
    "bitmap-after-pointer": [],
}
"""Where the mended program flushes, by the requests of the one with the fault; nowhere if a flush does not mend it."""


@pytest.mark.parametrize("name", MENDED)
def test_the_repair_is_the_flushes_of_the_mended_program_or_none(name: str, blank: Path) -> None:
    case = RAW[name]
    found = device.explore(None, blank, case.run[FAULT], case.check[FAULT], points=12, seed=1)
    (repair,) = found.repairs
    assert [*map(tuple, repair["flushes"])] == MENDED[name], repair
    assert repair["story"].startswith("a flush " if MENDED[name] else "no flush mends it")
    assert repair["story"] in found.summary()


def test_a_missed_fault_and_an_accused_program_are_told() -> None:
    clean, wrong = Outcome(9, 0, 1.0), Outcome(9, 2, 1.0)
    assert verdict({FAULT: wrong, RIGHT: clean}) == "as it must be"
    assert verdict({FAULT: clean, RIGHT: wrong}) == "MISSED, FALSE ALARM"
    assert verdict({RIGHT: clean}) == "as it must be"


def test_at_least_twenty_programs_have_a_fault_and_a_mended_counterpart_and_say_where_it_was_published() -> None:
    corpus: list[Case] = [*cases()]
    seeded = {case.name for case in corpus if case.run.keys() == {FAULT, RIGHT} and case.fault and case.published}
    assert len(seeded) >= 20


def test_a_fault_is_found_with_another_seed_beside_busy_processes(blank: Path) -> None:
    with busy(4):
        assert 0 < sought(RAW["torn-append"], blank, seed=5, points=12) <= 40
