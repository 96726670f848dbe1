"""A statement of a paper: what it says, what the runs say of it, and what would refute it.

A [`Claim`][coflash_reproduce.claim.Claim] can fail. Its kind says how our number is held against the paper's:

- a *number* holds within `NEAR` of the paper's, above or below it; a change that misses it still holds in its direction
  with the paper's sign and at least `NEAR` of its size;
- a *bound* holds if ours is not above it: for words such as "below 1 %" and "lower than all";
- a number that is one of a few places, such as a best share of a grid, holds at that place; the next one is a step off;
- *about the same* holds if the change is within the bound, up or down;
- a *direction or shape* holds if each change goes the paper's way (`FALLS`, `RISES`) by at least `least`; one that is
  smaller is no effect, and where the paper has one it does not hold. `climb` and `valley` give the changes of a curve.

The computation of ours returns None where the runs have nothing that could refute the statement, such as refreshes
where none can fall due: it says nothing. `INPUT` marks a number for which something unknown was chosen: it is shown
with whether it was met, and not counted. `TARGET` marks a threshold of ours, which no paper states, and `PREDICTION` a
number that was predicted before the measured one was looked at: both are counted apart. `READING` marks another reading
of a number that is counted already: it is on a page of its own. What holds, is met or reached is recorded (`recorded`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from coflash.quantity import agreed, show_change
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
INPUT, READING, PREDICTION, TARGET = "input", "another reading", "prediction", "target"
MISSED = f"{INPUT}, missed"
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
    """Why it is not counted: `INPUT`, `TARGET`, `PREDICTION` or `READING`."""

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
        told, aside = self.claim.verdict(self.ours), self.claim.aside
        if aside == INPUT:
            return {HOLDS: INPUT, DIRECTION: f"{MISSED}, direction only", NOTHING: f"{aside}, {told}"}.get(told, MISSED)
        return f"{aside}, {told}" if aside in (TARGET, PREDICTION) else aside or told

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


def recorded(name: str, verdict: str) -> str:
    """Return what is kept of a statement that holds, an input that is met or a target that is reached; or nothing."""
    if verdict in (HOLDS, DIRECTION):
        return name
    return f"{name} ({verdict})" if verdict == INPUT or verdict.endswith(f", {HOLDS}") else ""


def lost(found: Sequence[Judged], before: Collection[str]) -> list[str]:
    """Return what was recorded before, and does not hold, is not met or reached now, or is not judged at all."""
    return sorted(set(before) - {recorded(one.name, one.verdict) for one in found})


def tally(found: Sequence[Judged], before: Collection[str] | None) -> str:
    """Say how many statements hold, of those that could be refuted, and how many did before, if that is known."""
    verdicts = [one.verdict for one in found if one.verdict in COUNTED]
    aside = (f"({INPUT})", f", {HOLDS})")
    was = "no record of this scale" if before is None else f"was {sum(not one.endswith(aside) for one in before)}"
    held = verdicts.count(HOLDS) + verdicts.count(DIRECTION)
    return f"{held} of {len(verdicts)} {agreed(held, 'holds')} ({was})"


def counts(found: Sequence[Judged]) -> Grid:
    """Count the statements of each kind by their verdicts."""
    verdicts: tuple[str, ...] = (*COUNTED, NOTHING, INPUT, MISSED, TARGET, PREDICTION, READING)
    told = [MISSED if one.verdict.startswith(MISSED) else one.claim.aside or one.verdict for one in found]
    counted = Counter((name, v) for one, v in zip(found, told, strict=True) for name in (one.claim.kind.value, "all"))
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
