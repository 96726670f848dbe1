"""Try the files that people bring: our own small ones, and those of public repositories where the network allows.

    python scripts/inputs.py            # writes docs/inputs.md anew; what cannot be fetched keeps its lines
    python scripts/inputs.py --check    # fails if our own files have other verdicts than the page

Nothing that is fetched is kept. A verdict is "read", with the values that were read, to be compared with the file;
"another device", one of a kind that is not simulated; "refused" with the reason; or "open": no reason that is true.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coflash

sys.path.extend(str(Path(__file__).parents[1] / folder) for folder in ("examples", "examples/imports"))

from kv_traces.convert import TraceError, written
from simulators import imported

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "inputs.md"
OWN = ROOT / "tests" / "inputs"
TRACES = ROOT / "crates" / "traces" / "trace" / "tests" / "data"
NOTE = "<!-- Written by `python scripts/inputs.py`. -->\n"

OPEN = ("no such option", "no such file", "of no known system", "is not known", "internal")
"""Words of an error that is no reason."""


@dataclass(frozen=True)
class Source:
    """Files of a public repository at a commit."""

    title: str
    repository: str
    commit: str
    files: str
    """A pattern of their paths."""
    kind: str


SOURCES = (
    Source("fio's examples", "axboe/fio", "f5344384f7c7b6e9e6aa9336e476e8f6eb54dd3a", r"examples/[^/]+\.fio", "fio"),
    Source(
        "WARP's jobs",
        "MoatLab/WARP-FAST26-AE",
        "b3333c9abed81860c10136b6a1fd5231fc78ede5",
        r"FIO-scripts/(?!.*archive).*(?:/py_randwritefiles[^/]+|\.fio)",
        "fio",
    ),
    Source(
        "FEMU's scripts",
        "MoatLab/FEMU",
        "99ce4fb2b26a31f2df58182315949c552af56640",
        r"hw/femu/scripts/run-(?:blackbox|whitebox|zns|csd|nossd)[^/]*\.sh",
        "import",
    ),
    Source(
        "WARP's scripts",
        "MoatLab/WARP-earlyaccess",
        "ce587fba515963b7ed0e85de4ab5db11536cad8f",
        r"femu-scripts/run[-_](?:fdp|blackbox|whitebox|zns|nossd)[^/]*\.sh",
        "import",
    ),
    Source(
        "MQSim's configurations",
        "CMU-SAFARI/MQSim",
        "7ec40e3b198e8bd117f992f051cd610e330e079e",
        r".*\.xml",
        "import",
    ),
    Source(
        "NVMeVirt's header",
        "snu-csl/nvmevirt",
        "61c90f7758cbd9545b4a4727e89377bf88eab060",
        r"ssd_config\.h",
        "import",
    ),
)


def verdict(file: Path, kind: str, profile: str | None = None) -> tuple[str, str]:
    """Return what coflash says of a file: the verdict, and the values that it read or the reason."""
    try:
        if kind == "trace":
            return "read", _trace(file)
        if kind == "kv":
            with tempfile.TemporaryDirectory() as folder:
                written(file, converted := Path(folder, "converted.csv"))
                return "read", _trace(converted)
        if kind == "fio":
            with _chdir(file.parent):
                checked = coflash.Scenario.load("demo").with_(**_LARGE, workload={"fio": file.name}).check()
            return "read", checked[2].removeprefix("workload: fio: ").partition("; closed")[0]
        found = imported([file], profile)
        return "read", _device(found.values, found.scenario.check() if found.problem is None else [])
    except (coflash.CoflashError, TraceError) as error:
        reason = _plain(str(error), file)
        if "another device: " in reason:
            return "another device", reason.partition("another device: ")[2].partition("; a drive with")[0]
        return ("open" if any(word in reason for word in OPEN) else "refused"), reason


def _trace(file: Path) -> str:
    """Return the values of a trace."""
    info = coflash.trace.info([file])
    operations = {name: getattr(info, name) for name in ("read", "write", "trim", "flush")}
    parts = [f"{one.requests} {name} of {one.bytes} bytes" for name, one in operations.items() if one.requests]
    return f"{', '.join(info.formats)}: {', '.join(parts)} in {info.span_ns} ns"


def _device(values: Mapping[str, Any], checked: list[str]) -> str:
    """Return the values of a device and of a workload."""
    parts = ["channels", "chips_per_channel", "dies_per_chip"]
    dies = math.prod(int(values.get(f"flash.{part}", 1)) for part in parts)
    times = [f"{name.removeprefix('timing.')} {values[name]}" for name in _TIMES if name in values]
    device = [f"{dies} dies", *times, *([] if checked else ["to be edited before it runs"])]
    flows = [_flow(tenant) for tenant in values.get("workload.tenants", ())]
    traces = [f"trace {Path(name).name}" for name in values.get("workload.trace", ())]
    return ", ".join([*([*checked[:1], *device] if "flash.channels" in values else []), *flows, *traces])


_TIMES = ("timing.page_read", "timing.page_program", "timing.block_erase")


def _flow(tenant: Mapping[str, Any]) -> str:
    """Return the values of a flow: its reads, and its rate or the number of its requests."""
    given = tenant["synthetic"]
    arrival = given.get("arrival", {}).get("mean")
    pace = f"one in {arrival}" if arrival else f"{given.get('requests', 'no number of')} requests"
    return f"{tenant['name']}: {given['read_share']} reads of {given['size']['size']}, {pace}"


def drives(file: Path) -> list[str | None]:
    """Return the drives of a header of NVMeVirt, which are tried one by one; of another file its one."""
    names = (
        re.findall(r"BASE_SSD\s*==\s*(\w+)", file.read_text("utf-8", errors="replace")) if file.suffix == ".h" else []
    )
    return list(dict.fromkeys(names)) if len(names) > 1 else [None]


_LARGE = {"flash.exported": "2TiB", "flash.page_size": "16KiB", "flash.pages_per_block": 4096, "flash.channels": 16}
"""A device that is large enough for every job."""


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _plain(text: str, file: Path) -> str:
    """Leave out where a file lies, and the line."""
    text = re.sub(rf"(?:\S*/)?{re.escape(file.name)}(?::\d+)?: ", "", text)
    return re.sub(r"^\[[^\]]*\]: ", "", text)


def own() -> list[tuple[str, str, str]]:
    """Return our own files with their verdicts."""
    kinds = {".fio": "fio", ".jsonl": "kv", **dict.fromkeys((".sh", ".xml", ".h"), "import")}
    files = sorted(file for file in OWN.iterdir() if file.suffix in kinds)
    rows = [(file.name, *verdict(file, kinds[file.suffix])) for file in files]
    return rows + [(file.name, *verdict(file, "trace")) for file in sorted(TRACES.iterdir())]


def fetched(source: Source, git: str, folder: Path) -> list[tuple[str, str, str]] | None:
    """Return the files of a source with their verdicts; None if it cannot be fetched."""
    owner, name = source.repository.split("/")
    address = git.format(owner=owner, name=name)
    is_here = Path(address).is_dir()
    bare, commit = (Path(address), source.commit) if is_here else (folder / f"{owner}-{name}.git", "FETCH_HEAD")

    def run(*arguments: str) -> bytes:
        command = ["git", "--git-dir", str(bare), *arguments]
        return subprocess.run(command, check=True, capture_output=True, timeout=600).stdout  # noqa: S603 - git

    try:
        if not bare.exists():
            run("init", "--bare", "--quiet")
            run("fetch", "--quiet", "--depth=1", address, source.commit)
        names = run("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{source.repository}: {error}", file=sys.stderr)
        return None
    verdicts = []
    for path in (path for path in names if re.fullmatch(source.files, path)):
        at = folder / f"{owner}-{name}" / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(run("show", f"{commit}:{path}"))
        each = drives(at) if source.kind == "import" else [None]
        verdicts += [(f"{path}: {drive}" if drive else path, *verdict(at, source.kind, drive)) for drive in each]
    return verdicts


def table(rows: list[tuple[str, str, str]]) -> list[str]:
    """Return a table of verdicts."""
    lines = ["| file | verdict | what was read, or the reason |", "|---|---|---|"]
    return lines + [f"| `{file}` | {how} | {_cell(reason)} |" for file, how, reason in rows]


def _cell(text: str) -> str:
    short = text if len(text) <= 200 else f"{text[:200]}…"
    return short.replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")


def counted(rows: list[tuple[str, str, str]]) -> str:
    """Return how many of each verdict there are."""
    counts = Counter(how for _, how, _ in rows)
    return ", ".join(f"{counts[how]} {how}" for how in ("read", "another device", "refused", "open"))


def page(git: str) -> str:
    """Write the page."""
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    parts = [
        "# What people bring\n",
        NOTE,
        "Files of every kind, and what coflash says of each. What is *read* stands with the values that were read:",
        "the exported size, dies and times of a device, the pace of a workload, the requests of a trace. A file may",
        "describe *another device*, one without flash, with zones, or without an FTL of its own. It is *refused*",
        "for the reason given, or *open*, where the reason is not true. Jobs of fio are laid out on a device of 2",
        "TiB, and not run. Of a header with several drives each is tried. Our own small files lie in",
        "`tests/inputs`, traces among the data of the tests of `crates/traces/trace`; those of public repositories",
        "are fetched where the network allows, tried, and not kept. Configurations of other simulators are read by the",
        "example `examples/imports`, traces of language models are converted by `examples/kv_traces`.\n",
        *section("Our own", own()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            rows = fetched(source, git, Path(folder))
            where = f"{source.repository} at {source.commit[:12]}"
            if rows is not None:
                parts += section(source.title, rows, where)
            elif kept := re.search(rf"## {re.escape(source.title)}\n.*?(?=\n## |\Z)", before, re.DOTALL):
                parts.append(kept[0].rstrip("\n") + "\n")
    return "\n".join(parts).rstrip("\n") + "\n"


def section(title: str, rows: list[tuple[str, str, str]], where: str = "") -> list[str]:
    """Return a part of the page."""
    lines = [f"## {title}\n", f"{where}: {counted(rows)}.\n" if where else f"{counted(rows)}.\n"]
    return [*lines, *table(rows), ""]


def main() -> None:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="compare the verdicts of our own files with the page")
    options.add_argument(
        "--git", default="https://github.com/{owner}/{name}.git", help="where a repository is fetched from, or lies"
    )
    given = options.parse_args()
    if given.check:
        if "\n".join(section("Our own", own())) not in PAGE.read_text("utf-8"):
            sys.exit("docs/inputs.md: our own files have other verdicts now: run python scripts/inputs.py")
        return
    PAGE.write_text(page(given.git), "utf-8")


if __name__ == "__main__":
    main()
