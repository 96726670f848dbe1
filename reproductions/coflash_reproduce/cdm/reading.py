"""What queries cannot compute: closed forms, write amplification in the long run, and the table of devices."""

from __future__ import annotations

import math
from typing import Any

from coflash import analytic
from coflash._core import quantity
from coflash.quantity import PPB, show
from coflash_reproduce.cdm import workloads as of
from coflash_reproduce.paper import Experiment, Grid, Run, Runs, flash_pages


def closed_form(run: Run) -> float:
    """Return the write amplification of independent uniform writes to a part of the device in the long run.

    Pages that are never written stay in blocks of their own, and leave the rest of the flash to the footprint. Source:
    `analytic.greedy`. The last page of each block holds its summary: a block has one page less, and each of its pages
    costs accordingly more.
    """
    values = run.scenario.to_dict()
    flash, made_up = values["flash"], values["workload"]["synthetic"]
    data_pages = flash["pages_per_block"] - 1
    blocks = flash_pages(run.scenario) // flash["pages_per_block"]
    pools = blocks // flash["blocks_per_plane"]
    low_mark = math.floor(quantity(values["gc"]["low_mark"])[0] / PPB * flash["blocks_per_plane"])
    physical = analytic.usable(blocks * data_pages, data_pages, pools, 1, low_mark + 1)
    logical = run.document["workload"]["logical_bytes"] // 4096
    footprint = quantity(made_up["space"])[0] // 4096
    alpha = (physical - (logical - footprint)) / footprint
    waf: float = analytic.greedy(alpha, data_pages) * flash["pages_per_block"] / data_pages
    return waf


def in_the_long_run(run: Run) -> float:
    """Return the write amplification over the second half of the simulated time."""
    series = run.result().series()
    late = slice(len(series) // 2, None)
    programs = sum(int(series[column][late].sum()) for column in series.columns if column.startswith("programs_"))
    return programs / int(series["host_writes_pages"][late].sum())


def is_open(run: Run) -> bool:
    """Whether requests of a run come at their times."""
    return run.scenario.replay_mode != "closed"


def characteristics(runs: Runs) -> Grid:
    """Return the paper's table of devices and workloads."""
    shown = runs.experiments(of.CACHED)
    columns = [_characteristics(one, runs) for one in shown]
    paper = {
        "flash": ("64 GB", "64 GB"),
        "spare, of physical": ("15%", "15%"),
        "GC at free blocks": ("5%", "5%"),
        "requests of a round": (f"{of.JEDEC_REQUESTS:,}", f"{of.OLTP_REQUESTS:,}"),
        "operations": ("89% write, 6% trim, 5% flush", f"{of.OLTP_READS} read, 48% write"),
        "size": ("31.2 GB", "30.7 GB"),
        "rounds": (str(of.ROUNDS), str(of.ROUNDS)),
    }
    rows = [(name, *paper.get(name, ("", "")), *(column[name] for column in columns)) for name in columns[0]]
    return Grid(("", "paper, JEDEC", "paper, OLTP", *(experiment.title for experiment in shown)), tuple(rows))


def _characteristics(experiment: Experiment, runs: Runs) -> dict[str, str]:
    run = runs.of(experiment.name)[0]
    values: dict[str, Any] = run.scenario.to_dict()
    m, rounds, timing = run.metrics, values["workload"].get("repeat", 1), values["timing"]
    caches = [one.metrics.cache.capacity_pages * 4096 for one in runs.of(experiment.name, of.BASELINE)]
    counts = {"write": m.response_ns.write.count, "read": m.response_ns.read.count}
    counts |= {"trim": m.requests - m.flushes - sum(counts.values()), "flush": m.flushes}
    return {
        "flash": show(flash_pages(run.scenario) * 4096, "bytes"),
        "exported": show(run.document["workload"]["logical_bytes"], "bytes"),
        "spare, of physical": values["ftl"]["spare"]["share"],
        "GC at free blocks": values["gc"]["low_mark"],
        "read, program, erase": ", ".join(timing[name] for name in ("page_read", "page_program", "block_erase")),
        "cache": f"{show(min(caches), 'bytes')} to {show(max(caches), 'bytes')}",
        "requests of a round": f"{m.requests // rounds:,}",
        "operations": ", ".join(f"{count / m.requests:.0%} {name}" for name, count in counts.items() if count),
        "size": "",
        "address space or footprint": show(experiment.footprint_bytes, "bytes"),
        "written in a round": show(m.host_writes_pages * 4096 / rounds, "bytes"),
        "rounds": str(rounds),
        "issued": experiment.issued,
    }
