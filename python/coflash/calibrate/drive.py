"""The scenario of a calibrated drive."""

from __future__ import annotations

import math
import textwrap

from coflash.calibrate.fit import Fit
from coflash.calibrate.measured import MEASURES
from coflash.calibrate.model import Device, slowdown
from coflash.analytic import greedy
from coflash.calibrate.model import PAGE_BYTES, PAGES_PER_BLOCK
from coflash.commented import commented
from coflash.scenario import Scenario

_NAMED = "flash and its spare space are in the drive's proportions; the capacity is smaller, which changes no ratio"


def drive_scenario(fit: Fit) -> Scenario:
    """Return the drive at a smaller capacity, with uniform writes of 4 KiB until they are steady."""
    found = fit.model.parameters
    device = Device(fit.model.alpha(1.0), found.victim)
    pages = round(device.blocks * PAGES_PER_BLOCK / device.alpha)
    keys = {
        **device.scenario(pages, "sequential"),
        "name": fit.measured.name,
        "description": f"Calibrated: {_NAMED}",
        "workload.synthetic": {"generator": "uniform", "requests": 6 * pages},
    }
    if not math.isnan(found.sequential_mib_per_s):
        program_ns = PAGE_BYTES / (found.sequential_mib_per_s * 2**20) * 1e9
        waf = greedy(device.alpha, PAGES_PER_BLOCK)
        copy_ns = program_ns * (slowdown(waf, found.read_cost, scattered=True) - waf) / (waf - 1)
        keys["timing"] = {
            "channel": "private",
            "page_program": f"{round(program_ns)}ns",
            "page_read": f"{round(copy_ns)}ns",
            "block_erase": "0ns",
            "sector_transfer": "0ns",
        }
    return Scenario.from_dict(keys)


def drive_toml(fit: Fit) -> str:
    """Write the scenario, under what it was fitted to and its errors."""
    lines = [f"{fit.measured.name}, calibrated."]
    if fit.measured.source:
        lines.append(f"Source of the measurements: {fit.measured.source}.")
    for measure, quantity in MEASURES.items():
        for held, role in ((False, "fitted"), (True, "held out")):
            errors = [abs(p.error) for p in fit.predictions if p.point.measure == measure and p.point.held_out is held]
            if errors:
                mean, worst = sum(errors) / len(errors), max(errors)
                lines.append(f"{quantity.label}: {len(errors)} points {role}, error {mean:.1%} on average, {worst:.1%} at worst.")
    lines += [f"Fitted: {stage.finds}." for stage in fit.stages]
    comment = "\n".join(part for line in lines for part in textwrap.wrap(line, 108, initial_indent="# ", subsequent_indent="#   "))
    return f"{comment}\n#\n{commented(drive_scenario(fit))}"
