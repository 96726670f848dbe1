"""What the number of a goal may be off by, beside its seeds: more rounds, a drive that was scaled, and its model."""

from __future__ import annotations

import re
from typing import NamedTuple

from coflash.quantity import show_change
from coflash.results.estimate import Estimate
from coflash.scenario import Scenario
from coflash.sweep.finding import say
from coflash.sweep.goal import Condition

_SCALED = 0.1
"""The most that write amplification is off on a part of a drive, as its notes say."""
_OF_WAF = ("waf_", "endurance.")
"""How the measures begin that are off as much as write amplification is."""
_WAF_MISSED = {"7450 MAX": 0.060, "P5520": 0.147, "PM9D3a (drive A)": 0.030}
"""The greatest errors of held-out write amplification (docs/drives.md); of other drives it was not measured."""
_RANKS = (("p50", "median {} latency"), ("p99", "{} latency p99"), ("p99_9", "{} latency p99.9"))
_LATENCIES = {f"response_ns.{of}.{rank}": name.format(of) for of in ("read", "write") for rank, name in _RANKS}
"""The measures of a calibration, as its limits name them."""
_MISSED = r"{} by ([+−][\d.]+)%(?: to ([+−][\d.]+)%)?"


class Doubt(NamedTuple):
    """What a number may be off by, as shares of it."""

    rounds: float = 0.0
    """Its change over more rounds of the trace, and with another draw of a workload."""
    scaled: float = 0.0
    """The error of a part of a drive."""
    drive: tuple[float, float] = (0.0, 0.0)
    """The errors of the drive's model where measurements were held out, the least and the greatest."""
    is_unmeasured: bool = False
    """Whether the drive was calibrated, and this measure was none of its measurements."""

    @classmethod
    def of(cls, drive: Scenario, goal: Condition, first: float, *others: float, is_part: bool) -> Doubt:
        """Return what a goal's number on a drive may be off by, given it over one round, over several, and of draws."""
        rounds = max(abs(other / first - 1) for other in others) if first else 0.0
        path, limits = goal.measure.path, " ".join(drive.to_dict()["limits"])
        is_waf, waf = path.startswith(_OF_WAF), _WAF_MISSED.get(drive.name, 0.0)
        found = re.search(_MISSED.format(re.escape(_LATENCIES.get(path, path))), limits)
        errors = [float(one.replace("−", "-")) / 100 for one in found.groups() if one] if found else []
        errors += [-waf, waf] if is_waf and waf else []
        missed = (min([0.0, *errors]), max([0.0, *errors]))
        is_unmeasured = bool(limits) and not errors and not goal.is_known_before
        return cls(rounds, _SCALED * (is_part and is_waf), missed, is_unmeasured)

    def ends(self, number: Estimate) -> tuple[float, float]:
        """Return the ends of the whole interval of a number."""
        mean, (least, greatest) = number.mean or 0.0, self.drive
        half = max(number.half_width or 0.0, self.rounds * mean)
        # A measurement is at most a thousand times what the model says.
        low, high = max(0.0, mean - half) / (1 + greatest), (mean + half) / (1 + max(least, -0.999))
        return low / (1 + self.scaled), high * (1 + self.scaled)

    def is_inside(self, goal: Condition, number: Estimate, excess: float) -> bool:
        """Whether the whole interval of a number is within its bound; excess is that of its mean."""
        return excess <= 0 and (number.mean is None or max(map(goal.excess, self.ends(number))) <= 0)

    @property
    def errors(self) -> str:
        """What else than seeds and rounds makes the interval wider; empty if nothing does."""
        scaled = [say("scaled by", share=self.scaled)] if self.scaled else []
        missed = [say("missed by", errors=" to ".join(map(show_change, self.drive)))] if any(self.drive) else []
        return " and ".join([*scaled, *missed])
