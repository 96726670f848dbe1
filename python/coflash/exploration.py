"""The findings of an exploration, and the documents that continuous integration reads."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from xml.etree import ElementTree as ET

from coflash._core import __version__
from coflash.quantity import counted

_NOT_IN_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Requested:
    """A request of a failure.

    Attributes:
        number: Its number among the writes, trims and flushes of the run, from 1.
        kind: "write", "zeroes" or "trim".
        offset: The first byte, in its device.
        length: The number of bytes.
        fua: Whether it has FUA.
        arrived_ns: When it came, in nanoseconds since power on.
        answered_ns: When it was answered; None if it was not.
        mark: The last mark before it.
        torn: The ranges of bytes that are kept of it; empty if it is there, or lost, as a whole.
        why: Why it may be lost, if it is: the flush that does not cover it, and what would.
        device: The number of its device, from 1, if there are several.
    """

    number: int
    kind: str
    offset: int
    length: int
    fua: bool
    arrived_ns: int
    answered_ns: int | None
    mark: str | None
    torn: list[dict[str, int]]
    why: str | None = None
    device: int | None = None


@dataclass(frozen=True)
class Failure:
    """A state that failed the check; as a path, the folder of its device.

    Attributes:
        state: Its number.
        recovers: The state from which the run recovers, if it does: power was cut twice.
        count: How many states fail alike, it among them: the check wrote the same but for names and numbers, and the
            fewest requests that must be lost are the same but for their places.
        fault: The fault under which the workload ran.
        flushes: Flushes before the cut, the first one.
        mark: The last mark before it.
        ended: How the check ended.
        output: What the check wrote.
        lost: The fewest requests that must be lost for the failure, with all others there.
        kept: The fewest requests that must be there for it, with all others lost.
        fatal: If the failure needs nothing but what is durable: the last durable request without which nothing would be
            wrong, a trim if that may be.
        power_on_s: When power was switched on for its run, in seconds since 1970: `strace -ttt` writes the same clock.
        reordered: Whether two requests that were under way together must land in the other order.
        is_unsteady: Whether the check found nothing wrong when it looked again.
        folder: The folder of its device.
        story: All that in words.
    """

    state: int
    count: int
    fault: str | None
    recovers: int | None
    flushes: int
    mark: str | None
    ended: str
    output: str
    lost: list[Requested]
    kept: list[Requested]
    fatal: list[Requested]
    power_on_s: float
    reordered: bool
    is_unsteady: bool
    folder: str
    story: str

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Failure:
        """Read one of the core's."""
        requests = {name: [Requested(**request) for request in fields[name]] for name in ("lost", "kept", "fatal")}
        return cls(**{**fields, **requests})

    def __fspath__(self) -> str:
        """Return the folder."""
        return self.folder


@dataclass(frozen=True)
class Explored:
    """The states in which power cuts may leave a workload.

    Attributes:
        changes: Writes and trims of the workload.
        flushes: Its flushes.
        marks: Its marks.
        states: States that were checked.
        failed: How many of them the check found wrong.
        failures: The first of those that are alike, at most ten in each run.
        coverage: For each run its windows between two promises (`windows`), their shapes by kinds, sizes and numbers of
            what is open (`shapes`), those of which a state was checked (`shapes_checked`), and of a recovery the state
            in which it began (`recovers`).
        faults: The faults of the other runs, and whether each came.
        unreported: Those of them that made a request fail, after which the workload ended with exit status 0.
        repairs: Of the workload and of the recovery, if states of them are wrong without a fault, the cheapest repair:
            its `flushes` in one run, each by the number of the request before it and that of its device, empty if none
            is proved to mend it; the state from which that run `recovers`; and the `story` in words.
        planned: States that were to be checked.
        is_stopped: Whether it was stopped before.
    """

    changes: int
    flushes: int
    marks: int
    states: int
    failed: int
    failures: list[Failure]
    coverage: list[dict[str, int]]
    faults: list[tuple[str, bool]] = field(default_factory=list)
    unreported: list[str] = field(default_factory=list)
    repairs: list[dict[str, Any]] = field(default_factory=list)
    planned: int = 0
    is_stopped: bool = False

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Explored:
        """Read those of the core."""
        lists = {"failures": [*map(Failure.of, fields["failures"])], "faults": [*map(tuple, fields["faults"])]}
        return cls(**{**fields, **lists})

    def summary(self) -> str:
        """Say what was done, and how much that is of all."""
        all_runs: Counter[str] = sum(map(Counter, self.coverage), Counter())
        lines = [
            f"{self.failed:,} of {self.states:,} states that were checked are wrong; {self.changes:,} changes,"
            f" {self.flushes:,} flushes, {self.marks:,} marks",
            f"coverage: {all_runs['shapes_checked']:,} of {all_runs['shapes']:,} shapes of what is open between two"
            f" promises, in {counted(all_runs['windows'], 'window')}",
        ]
        if recoveries := sum("recovers" in run for run in self.coverage):
            lines.append(f"recovery: {recoveries:,} runs, cut again where they began in a right state")
        if self.is_stopped:
            lines.append(f"interrupted after {self.states:,} of {self.planned:,} states")
        met = ["it never came", "it came", "it came: a request failed, and the workload ended without an error"]
        faults = dict.fromkeys(self.faults)
        lines += [f"fault {name}: {met[came and 1 + (name in self.unreported)]}" for name, came in faults]
        lines += dict.fromkeys(f"repair: {repair['story']}" for repair in self.repairs)
        return "\n".join(lines)

    def to_json(self) -> str:
        """Return all findings as a document."""
        return json.dumps({"coflash": __version__, **asdict(self)}, indent=2) + "\n"

    def to_junit(self) -> str:
        """Return a test suite in JUnit's format: one case for all states, and one for the failures that are alike."""
        failures = [
            (f"state {one.state}", f"{one.ended}; states that fail alike: {one.count}", one.story + one.output)
            for one in self.failures
        ]
        wrong = f"{self.failed} of {self.states} states are wrong" if self.failed else ""
        return junit([("all states", wrong, self.summary()), *failures])


def junit(cases: list[tuple[str, str, str]], kind: str = "failure") -> str:
    """Return a test suite: of each case the name, what is wrong with it, if anything is, and more about it."""
    wrong = sum(bool(problem) for _, problem, _ in cases)
    counts = {"tests": len(cases), "failures": 0, "errors": 0, f"{kind}s": wrong}
    suite = ET.Element("testsuite", {"name": "coflash explore", **{name: str(count) for name, count in counts.items()}})
    for name, problem, about in cases:
        case = ET.SubElement(suite, "testcase", classname="coflash.explore", name=name)
        within = ET.SubElement(case, kind, message=problem) if problem else ET.SubElement(case, "system-out")
        within.text = about
    return _NOT_IN_XML.sub("\ufffd", ET.tostring(suite, encoding="unicode", xml_declaration=True)) + "\n"
