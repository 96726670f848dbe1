"""A statement of a paper: what it says, what the runs say of it, and what would refute it.

A [`Claim`][coflash_reproduce.claim.Claim] can fail. Its kind says how our number is held against the paper's:

- a *number* holds within `NEAR` of the paper's, above or below it; a change that misses it still holds in its direction
  with the paper's sign and at least `NEAR` of its size;
- a *bound* holds if ours is not above it: for words such as "below 1 %" and "lower than all";
- a number that is one of a few places, such as a best share of a grid, holds at that place; the next one is a step off;
- *about the same* holds if the change is within the bound, up or down;
- a *direction or shape* holds if each change goes the paper's way (`FALLS`, `RISES`) by at least `least`. With all of
  them smaller it says nothing; otherwise it does not hold. `climb` and `valley` give the changes of a curve.

The computation of ours returns None where the runs have nothing that could refute the statement, such as refreshes
where none can fall due: it says nothing. `INPUT` marks a number for which something unknown was chosen: it is shown
with whether it was met, and not counted. `PREDICTION` marks a number that was predicted here before the measured one
was looked at: no statement of the paper, and counted apart. `READING` marks another reading of a number that is counted
already: it is on a page of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from coflash.quantity import show_change
from coflash_reproduce.paper import Experiment, Grid, Investigation, Runs

NEAR = 0.2
"""A number of the paper holds if ours is within this share of it."""
LEAST = 0.01
"""The least change that is an effect, not chance."""
FALLS, RISES = -1.0, 1.0
"""The directions of a change."""
HOLDS, REFUTED, UNJUDGED = "holds", "refuted", "not judged"
DIRECTION, FAILS, NOTHING = "direction holds", "does not hold", "says nothing"
STEP = "a step off"
INPUT, READING, PREDICTION = "input", "another reading", "prediction"
COUNTED = {HOLDS: "of these hold", DIRECTION: "in their direction only", STEP: "are a step off", FAILS: "do not"}
"""The verdicts on statements that the runs could refute, as a sentence counts them."""

Numbers = float | tuple[float, ...]
"""A number, or several: the two ends of a range, or the changes along a curve."""
Ours = Callable[[Runs, str], Numbers | None]
"""The computation of numbers from an experiment, whose name is empty if they are about all runs together."""


class Kind(Enum):
    """How our numbers are held against the paper's."""

    NUMBER = "number"
    BOUND = "bound"
    ALIKE = "about the same"
    EFFECT = "direction or shape"


@dataclass(frozen=True)
class Claim:
    """A statement that the paper published."""

    exhibit: str
    """The name of its figure or table."""
    what: str
    experiments: tuple[str, ...]
    """The experiments to compare with it, if they were run; empty if it is about all runs together."""
    paper: Numbers
    """Its number, or the ends of its range; of a direction or shape the directions."""
    ours: Ours
    is_change: bool = False
    """Whether the numbers are relative changes; otherwise they are ratios."""
    said: str = ""
    """The paper's statement in a few words of ours, if it gives no number."""
    kind: Kind = Kind.NUMBER
    least: float = LEAST
    """The least change that is an effect."""
    step: float = 0.0
    """The distance of the places of which the number is one; 0 if it may have any value."""
    aside: str = ""
    """Why it is not counted: `INPUT`, `PREDICTION` or `READING`."""

    def verdict(self, ours: Sequence[float]) -> str:
        """Say whether it holds."""
        if not ours:
            return NOTHING
        pairs = list(zip(ours, each(self.paper), strict=True))
        if self.step:
            steps = max(round(abs(one - paper) / self.step) for one, paper in pairs)
            return (HOLDS, STEP, FAILS)[min(steps, 2)]
        match self.kind:
            case Kind.BOUND:
                return HOLDS if all(one <= paper for one, paper in pairs) else FAILS
            case Kind.ALIKE:
                return HOLDS if all(abs(one) <= paper for one, paper in pairs) else FAILS
            case Kind.EFFECT if all(abs(one) < self.least for one in ours):
                return NOTHING
            case Kind.EFFECT:
                return HOLDS if all(one * way >= self.least for one, way in pairs) else FAILS
        if all(abs(one - paper) <= NEAR * abs(paper) for one, paper in pairs):
            return HOLDS
        same = self.is_change and all(one * paper >= NEAR * paper**2 for one, paper in pairs)
        return DIRECTION if same else FAILS

    @property
    def refuted_by(self) -> str:
        """What would refute it, in words."""
        match self.kind:
            case Kind.BOUND:
                return f"above {self.shown(each(self.paper))}"
            case Kind.ALIKE:
                return f"beyond {self.shown(each(self.paper)).replace('+', '±')}"
            case Kind.EFFECT:
                ways = ", then ".join("fall" if way < 0 else "rise" for way in each(self.paper))
                return f"no {ways} of {self.least:.0%} or more"
        if self.step:
            return f"another step of {self.step:.0%}"
        ranges = (self.shown(sorted((paper * (1 - NEAR), paper * (1 + NEAR)))) for paper in each(self.paper))
        return f"outside {', '.join(ranges)}"

    def shown(self, numbers: Sequence[float]) -> str:
        """Show numbers as its own are shown."""
        as_change = self.is_change or self.kind is Kind.EFFECT
        return " … ".join(show_change(number) if as_change else f"{number:.2f}" for number in numbers)


@dataclass(frozen=True, kw_only=True)
class Paper(Investigation):
    """A paper; its sections "source", "idea" and "open questions" say what it is and what it leaves open."""

    claims: tuple[Claim, ...]
    needs: Mapping[str, tuple[str, ...]]
    """The experiments that each exhibit and the claims on it need, by names or patterns."""


@dataclass(frozen=True)
class Judged:
    """A claim compared with an experiment."""

    claim: Claim
    experiment: Experiment | None
    """None if the claim is about all runs together."""
    ours: tuple[float, ...]
    """Empty if the runs say nothing of it."""

    @property
    def verdict(self) -> str:
        """Whether it holds, or why it is not counted; an input may miss what was chosen for it."""
        told = self.claim.verdict(self.ours)
        if self.claim.aside == INPUT and told not in (HOLDS, DIRECTION, NOTHING):
            return f"{INPUT}, missed"
        if self.claim.aside == PREDICTION:
            return f"{PREDICTION}, {told}"
        return self.claim.aside or told

    @property
    def name(self) -> str:
        """Its exhibit and what it is about, as on the page."""
        return ": ".join(self.row()[:2])

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table."""
        claim = self.claim
        return (
            claim.exhibit.replace("-", " "),
            f"{claim.what}, {self.experiment.title}" if self.experiment else claim.what,
            claim.said or claim.shown(each(claim.paper)),
            claim.shown(self.ours) or "–",
            claim.refuted_by,
            self.verdict,
        )


def judge(claims: Iterable[Claim], runs: Runs) -> list[Judged]:
    """Compare each claim with every experiment that it is about."""
    return [
        Judged(claim, experiment, () if ours is None else each(ours))
        for claim in claims
        for experiment in (runs.experiments(claim.experiments) if claim.experiments else [None])
        for ours in [claim.ours(runs, experiment.name if experiment else "")]
    ]


def lost(found: Sequence[Judged], before: Collection[str]) -> list[str]:
    """Return the statements that held before, by their names, and do not hold now, or are not judged at all."""
    return sorted(set(before) - {one.name for one in found if one.verdict in (HOLDS, DIRECTION)})


def tally(found: Sequence[Judged], before: Collection[str] | None) -> str:
    """Say how many statements hold, of those that could be refuted, and how many did before, if that is known."""
    verdicts = [one.verdict for one in found if one.verdict in COUNTED]
    was = "no record of this scale" if before is None else f"was {len(before)}"
    return f"{verdicts.count(HOLDS) + verdicts.count(DIRECTION)} of {len(verdicts)} hold ({was})"


def counts(found: Sequence[Judged]) -> Grid:
    """Count the statements of each kind by their verdicts."""
    verdicts: tuple[str, ...] = (*COUNTED, NOTHING, INPUT, PREDICTION, READING)
    counted = Counter((one.claim.kind.value, one.claim.aside or one.verdict) for one in found)
    counted.update(("all", one.claim.aside or one.verdict) for one in found)
    verdicts = tuple(verdict for verdict in verdicts if counted["all", verdict])
    kinds = [*dict.fromkeys(one.claim.kind.value for one in found), "all"]
    rows = ((kind, *(str(counted[kind, verdict]) for verdict in verdicts)) for kind in kinds)
    return Grid(("", *verdicts), tuple(rows))


def each(numbers: Numbers) -> tuple[float, ...]:
    """Return one number or several as several."""
    return numbers if isinstance(numbers, tuple) else (numbers,)


def climb(values: Sequence[float], least: float = LEAST) -> float:
    """Return the rise from the first value to the last, as a share of the greatest.

    If one is lower than an earlier one by at least `least`, it does not rise all along: return that fall, negative.
    """
    greatest = max(map(abs, values)) or 1.0
    falls = [value - max(values[: at + 1]) for at, value in enumerate(values)]
    fall = min(falls) / greatest
    return fall if fall <= -least else (values[-1] - values[0]) / greatest


def valley(values: Sequence[float], least: float = LEAST) -> tuple[float, float]:
    """Return the fall to the least value, and the rise after it, for a curve that falls and then rises."""
    lowest = values.index(min(values))
    return -climb(values[lowest::-1], least), climb(values[lowest:], least)
