"""The scenario of a calibrated drive."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from coflash.calibrate.fit import Fit
from coflash.calibrate.latency import CELL
from coflash.calibrate.measured import MEASURES, Measured
from coflash.calibrate.model import STREAMS, VICTIMS, Device, Model, wear
from coflash.calibrate.page import latency_limit
from coflash.calibrate.pattern import PAGE_BYTES
from coflash.commented import commented
from coflash.scenario import Scenario


def drive_scenario(fit: Fit) -> Scenario:
    """Return the drive, scaled down to a smaller capacity, with uniform writes of 4 KiB.

    The ratio of spare space to flash is the drive's. If latencies were fitted, its dies are as busy as the drive's. If
    only throughput was fitted, it has a single die of that speed.
    """
    found = fit.model.parameters
    keys: dict[str, Any] = {
        "name": fit.measured.name,
        "description": "Calibrated; uniform writes of 4 KiB, as fast as it takes them",
        "limits": [text for text in (latency_limit(fit), fit.measured.sheet.unlimited()) if text],
    }
    if not math.isnan(found.program_us):
        service = fit.model.service()
        keys |= {
            **service.keys(),
            "gc.victim": VICTIMS[found.victim],
            **STREAMS[found.streams],
            **wear(found.wear_gap),
            "replay.queue_depth": 448,
        }
        keys["workload.synthetic"] = {"requests": 500_000}
        keys["description"] += f"; {service.part:.0%} of its dies, and of its rates"
        firmware_us = service.read_us - service.array_read_us, service.write_us
        return _carried(keys, fit.measured, service.part, *firmware_us)
    device = Device(fit.model.alpha(1.0), found.victim, found.streams, wear_gap=found.wear_gap)
    keys |= {**device.scenario("sequential"), "workload.synthetic": {"requests": 6 * device.pages}}
    keys["flash"]["cell"] = CELL
    if not math.isnan(found.sequential_mib_per_s):
        program_ns = PAGE_BYTES / (found.sequential_mib_per_s * 2**20) * 1e9
        keys["timing"] = _private(program_ns, program_ns * fit.model.service().copy_cost)
    return _carried(keys, fit.measured, 1.0, 0.0, 0.0)


def _carried(keys: dict[str, Any], measured: Measured, part: float, read_us: float, write_us: float) -> Scenario:
    """Return the scenario with the limits of link and reads, and the range of its measurements."""
    limited = measured.sheet.limiting(keys, part, read_us, write_us)
    return Scenario.from_dict({**limited, "measured": measured.range_keys(part)})


def _private(program_ns: float, read_ns: float) -> dict[str, Any]:
    return {
        "channel": "private",
        "page_program": f"{round(program_ns)}ns",
        "page_read": f"{round(read_ns)}ns",
        "block_erase": "0ns",
        "sector_transfer": "0ns",
    }


def _to_compare(model: Model) -> list[str]:
    """Say what a result of the scenario lacks of the drive's."""
    found, lines = model.parameters, []
    if found.floor > 1:
        lines.append(f"To compare with the drive, multiply write amplification by {found.floor:.3f}: metadata, parity.")
    if not math.isnan(found.program_us) and model.service().part < 1:
        lines.append(f"To compare with the drive, divide rates by {model.service().part:.3f}: not all dies are here.")
    return lines


def drive_toml(fit: Fit) -> str:
    """Write the scenario, below comments on its measurements and its errors."""
    lines = [f"{fit.measured.name}, calibrated."]
    if fit.measured.source:
        lines.append(f"Source of the measurements: {fit.measured.source}.")
    if stated := list(fit.measured.sheet.stated()):
        lines.append(f"Data sheet: {', '.join(stated)}.")
    for measure, quantity in MEASURES.items():
        for held, role in ((False, "fitted"), (True, "held out")):
            errors = [abs(p.error) for p in fit.predictions if p.point.measure == measure and p.point.held_out is held]
            if errors:
                mean, worst = sum(errors) / len(errors), max(errors)
                counted = f"{len(errors)} point{'s' * (len(errors) > 1)} {role}"
                lines.append(f"{quantity.label}: {counted}, error {mean:.1%} on average, {worst:.1%} at worst.")
    lines += [f"Fitted: {stage.finds}." for stage in fit.stages]
    lines += _to_compare(fit.model)
    wrapped = [part for line in lines for part in textwrap.wrap(line, 108, subsequent_indent="  ")]
    return "".join(f"# {part}\n" for part in wrapped) + f"#\n{commented(drive_scenario(fit))}"
