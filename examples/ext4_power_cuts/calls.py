"""The calls behind the requests of a power cut: which call sent a request, and which calls no sync follows.

`coflash explore` tells requests of a disk. A program above a file system makes calls, and `strace` writes them with
the same clock:

    CALLS=/tmp/calls coflash explore … --run 'examples/mounted.sh ./program' --json explored.json
    python examples/ext4_power_cuts/calls.py explored.json /tmp/calls

tells for each failure the call before each of its requests, and the calls before the power cut whose effect no fsync
makes durable: data that was written to a file, and names that were made, moved or removed in a directory.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

DATA = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate"}
MOVES = {"rename", "renameat", "renameat2"}
REMOVALS = {"unlink", "unlinkat", "rmdir"}
NAMES = {*MOVES, *REMOVALS, "link", "linkat", "symlink", "symlinkat", "mkdir", "mkdirat", "openat"}
_LINE = re.compile(r"(?:\[pid +)?(?:(\d+)\]? +)?(\d+\.\d+) (.*)")
_TOLD = 160
"""The longest text of a call, in characters."""
_NEAREST = 12
"""The calls that are told of a failure: the nearest before the cut."""


@dataclass
class Call:
    """A call: from when to when, in seconds since 1970; its name with its arguments; what it returned."""

    begin_s: float
    end_s: float | None
    text: str
    result: str = ""

    @property
    def name(self) -> str:
        """Its name."""
        return self.text.split("(")[0]

    def is_done(self, by_s: float) -> bool:
        """Whether it had done its work by a time."""
        return self.end_s is not None and self.end_s <= by_s and not self.result.startswith("-1")

    def file(self) -> str | None:
        """Return the file of its first descriptor, if it has a name."""
        match = re.search(r"\(\d+<(/[^>]*)>(?!\(deleted\))", self.text)
        return match[1] if match and not match[1].startswith(("/dev/", "/proc/")) else None

    def names(self) -> list[str]:
        """Return the names among its arguments, each below the directory that is told before it."""
        found = re.findall(r'(?:<([^>]*)>, )?"((?:[^"\\]|\\.)*)"', self.text)
        return [str(PurePosixPath(directory, name)) for directory, name in found]

    def told(self) -> str:
        """Return its text, which may be long."""
        return self.text if len(self.text) <= _TOLD else f"{self.text[:_TOLD]}…"


def calls_of(trace: str) -> list[Call]:
    """Read what `strace -f -ttt -T -y` has written; a call that others interrupt has two lines."""
    calls: list[Call] = []
    unfinished: dict[str, Call] = {}
    for match in map(_LINE.match, trace.splitlines()):
        if match is None:
            continue
        process, at_s, text = match[1] or "", float(match[2]), match[3]
        if text.endswith("<unfinished ...>"):
            unfinished[process] = Call(at_s, None, text.removesuffix("<unfinished ...>").rstrip())
            calls.append(unfinished[process])
            continue
        lasted = re.search(r" <(\d+\.\d+)>$", text)
        text = text[: lasted.start()] if lasted else text
        head, _, result = text.rpartition(" = ")
        resumed = re.match(r"<\.\.\. \w+ resumed>", head)
        if resumed is None and head:
            calls.append(Call(at_s, at_s + float(lasted[1] if lasted else 0), head.rstrip(), result))
        elif resumed and (call := unfinished.pop(process, None)):
            call.text, call.end_s, call.result = (call.text + head[resumed.end() :]).rstrip(), at_s, result
    return calls


def sender(calls: list[Call], arrived_s: float) -> str:
    """Tell which call sent a request: the last one under way as it arrived, else the last one before."""
    begun = [call for call in reversed(calls) if call.begin_s <= arrived_s]
    within = [call for call in begun if call.end_s is None or call.end_s >= arrived_s]
    if within:
        return f"in {within[0].told()}"
    return f"after {begun[0].told()}" if begun else "before any call"


def is_same(one: str, other: str) -> bool:
    """Tell whether two names may be those of one file: one of them may be relative."""
    short, long = sorted((one, other), key=len)
    return long == short or long.endswith(f"/{short}")


def unsynced(calls: list[Call], cut_s: float) -> list[str]:
    """List the calls before a cut whose effect no sync makes durable: the last one for each sync that is missing."""
    last: dict[str, str] = {}
    for at, call in enumerate(calls):
        is_data, names = call.name in DATA, call.names()
        changed = call.file() if is_data else names[-1] if call.name in NAMES and names else None
        is_made = call.name != "openat" or "O_EXCL" in call.text
        if changed is None or not is_made or not call.is_done(cut_s):
            continue
        place = changed if is_data else str(PurePosixPath(changed).parent)
        done = (later for later in calls[at + 1 :] if later.begin_s >= (call.end_s or 0) and later.is_done(cut_s))
        for later in done:
            name, moved = later.name, later.names()
            if name in ("sync", "syncfs"):
                break
            if name in ("fsync", "fdatasync") and is_same(later.file() or "/", place):
                break
            if name in MOVES | REMOVALS and is_same(moved[0], changed):
                if name in REMOVALS or not is_data:
                    break  # what was done to it before does not matter any more
                changed = place = moved[-1]
        else:
            what = f"{call.name} to {changed}" if is_data else call.told()
            last.pop(place, None)
            last[place] = f"{what} was followed by no fsync of {place}"
    return [*last.values()]


def explained(failure: dict[str, Any], calls: list[Call]) -> Iterator[str]:
    """Yield the lines about a failure."""
    begun_s = failure["power_on_s"]
    own = [call for call in calls if call.begin_s >= begun_s]
    yield failure["story"].splitlines()[0]
    cut_s = begun_s
    lists = {"lost": "must be lost", "kept": "must be there", "fatal": "is durable, and must not be"}
    for key, title in lists.items():
        for request in failure[key]:
            arrived_s = begun_s + request["arrived_ns"] / 1e9
            cut_s = max(cut_s, arrived_s)
            place = f"{request['kind']} of {request['length']} bytes at {request['offset']}"
            yield f"  {title}: request {request['number']}, {place}, {sender(own, arrived_s)}"
    missing = unsynced(own, cut_s)
    for line in missing[-_NEAREST:]:
        yield f"  {line} before the cut"
    if len(missing) > _NEAREST:
        yield f"  and {len(missing) - _NEAREST} earlier calls for other files and directories"


def main() -> None:
    """Explain the failures of a document."""
    document, trace = sys.argv[1:]
    calls = calls_of(Path(trace).read_text(encoding="utf-8", errors="replace"))
    for failure in json.loads(Path(document).read_text(encoding="utf-8"))["failures"]:
        print(*explained(failure, calls), sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as problem:
        sys.exit(f"usage: calls.py explored.json CALLS: {problem}")
