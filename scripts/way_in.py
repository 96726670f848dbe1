"""Walk the way in: run every command that README shows, where no more is installed than what coflash installs itself.

`scripts/try_wheel.py` walks it in an environment made by a wheel, `tests/python/test_way_in.py` in one that has what
`make demo` installs.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SHORT = ("--set", "workload.requests_max=2000")
_MORE: dict[str, Sequence[str]] = {
    "demo": ("--quick", "--out", "demo"),
    "run": (*_SHORT, "--out", "runs/NAME"),
    "size": ("--out", "sized"),
    "advise": ("--out", "advised"),
    "fleet": ("--set", "cache.size=5%", "--out", "fleet"),
    "serve": ("--device", "device", "--size", "64MiB"),
}
"""Options that make a command short, and say where it writes."""
_UNSURE = 3
"""The status of `size` and `advise` where an answer is not sure, as that of a short trace may be."""
_GO_ON = {"serve", "lab", "reproduce", "study"}
"""Commands that go on until they are ended: their first output is enough."""
_AFTER = (
    ("report", "runs", "-o", "runs.html"),
    ("report", "runs", "--format", "pdf", "-o", "figures"),
    ("trace", "info", "TRACE", "--plot", "trace.svg"),
)
"""What needs a part that commands without pictures do not need."""


def commands() -> list[list[str]]:
    """Return the words of each command in the code of README, with some that draw."""
    readme = (ROOT / "README.md").read_text("utf-8")
    spans = [block or span for block, span in re.findall(r"^```sh\n(.*?)^```|`([^`\n]+)`", readme, re.M | re.S)]
    lines = [line for span in spans for line in re.sub(r"\\\n\s*", " ", span).splitlines()]
    shown = [shlex.split(line)[1:] for line in lines if line.startswith("coflash ")]
    return [*shown, *map(list, _AFTER)]


def walk(coflash: Sequence[str], words: Sequence[str], place: Path, environment: Mapping[str, str]) -> str:
    """Run a command in a folder to its end, or to its first output if it goes on; return its error, empty without one.

    Args:
        coflash: What stands for the first word, `coflash`.
        words: The other words; TRACE and SCENARIO stand for a short trace, which must be in the folder, and `demo`.
        place: The folder.
        environment: The variables of the environment.
    """
    name = words[0]
    stands_for = {"TRACE": "short.iolog", "SCENARIO": "demo", "runs/NAME": f"runs/{words[-1]}"}
    written = words[:2] if name == "serve" else words
    command = [*coflash, *(stands_for.get(word, word) for word in (*written, *_MORE.get(name, ())))]
    if name not in _GO_ON:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        return "" if done.returncode in (0, _UNSURE) else done.stderr or f"exit status {done.returncode}"
    with subprocess.Popen(command, cwd=place, env=environment, text=True, stdout=-1, stderr=-2) as running:  # noqa: S603
        assert running.stdout is not None
        first = running.stdout.readline()
        ended = running.poll()
        running.send_signal(signal.SIGINT)
        running.communicate()
    return first or "no output" if ended or first.startswith(("error", "Traceback")) or not first else ""


def cut_trace(python: str, place: Path, environment: Mapping[str, str]) -> None:
    """Write the trace of the demo's first requests into the folder."""

    def printed(*words: str) -> str:
        command = [python, *words]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
        return done.stdout.strip()

    trace = printed("-c", "from coflash.demo import find_trace; print(find_trace())")
    printed("-m", "coflash", "trace", "slice", trace, "-n", "20000", "--out", "short.iolog")
