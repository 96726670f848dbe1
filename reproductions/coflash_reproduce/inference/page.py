"""The page of an inference: which readings fit, which do not, how well the unknowns are known, and with what freedom.

Every number is computed from the runs when the page is written; none is typed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from coflash import palette
from coflash._core import REVISION, __version__
from coflash.charts import MARKERS, Axis, Format, Look, lines, picture
from coflash.quantity import show
from coflash_reproduce.claim import Paper
from coflash_reproduce.drawing import FORMATS
from coflash_reproduce.inference import search
from coflash_reproduce.inference.definition import Inference, Reading, Unknown
from coflash_reproduce.output import SHOWN
from coflash_reproduce.page import table
from coflash_reproduce.paper import Grid
from coflash_reproduce.text import Text

_WORST = 1.0
"""The largest residual that a figure shows."""
_INCHES, _PANELS_ABREAST = (2.6, 2.4), 3
TEXT = Text.beside(__file__, {})


def _said(section: str, **values: object) -> str:
    """Return a section of the text, with values in place of names in square brackets."""
    return re.sub(r"\[(\w+)\]", lambda name: str(values[name[1]]), TEXT.bodies[section])


def markdown(paper: Paper, command: str, done: Sequence[search.Inferred], images: str) -> str:
    """Write the page.

    Args:
        paper: The paper.
        command: The command line that makes it.
        done: The inferences of the paper with their outcomes.
        images: The folder of the images, as the page refers to it.
    """
    parts = [
        f"# {paper.text.title.removesuffix(', reproduced')}: which set-up gives the paper's numbers",
        paper.text.bodies["source"],
        f"<!-- Written by `{command}`; every number below comes from its runs, or is the paper's. -->",
        _said("head"),
        _said(
            "made",
            command=command,
            version=__version__,
            revision=REVISION,
            runs=f"{sum(one.runs for one in done):,}",
            trials=max(outcome.trials for one in done for outcome in one.outcomes),
            seed=search.SEED,
            seeds=len(search.OTHER_SEEDS),
        ),
        _said("verdicts", fits=show(search.FITS, "share"), excluded=show(search.EXCLUDED, "share")),
        *(part for one in done for part in _inference(paper, one, images)),
    ]
    if len(done) > 1 and done[0].inference.selections and len({one.inference.selections for one in done}) == 1:
        parts += _together(done)
    return "\n\n".join(parts) + "\n"


def image_name(paper: Paper, inference: Inference) -> str:
    """Return the name of the figure of an inference."""
    return f"{paper.name}-inference-{inference.name}"


def draw(done: search.Inferred) -> dict[Format, bytes]:
    """Draw the residual of each set-up over each unknown, in each format; the same runs give the same bytes."""
    shown = _nearest(done)
    styles = {
        outcome.reading.title: Look(palette.LINES[index], (), MARKERS[index], hollow=index > 0)
        for index, outcome in enumerate(shown)
    }
    charts = []
    for place, unknown in enumerate(done.inference.unknowns):
        rows = [
            {
                "x": unknown.number(one.texts[unknown.key]),
                "y": 100 * one.residual,
                "name": outcome.reading.title,
                "part": n,
            }
            for outcome in shown
            if unknown in done.inference.searched(outcome.reading)
            for n, one in enumerate(outcome.profile())
            if one.residual <= _WORST
        ]
        ticks = {at: unknown.shown(at) for at in map(unknown.number, map(unknown.axis.at, (0.0, 0.34, 0.67, 0.999)))}
        across = Axis(unknown.title, log=10 * ("*" in unknown.values), ticks=ticks)
        up = Axis("" if place % _PANELS_ABREAST else "residual (%)", low=0, high=100 * _WORST)
        charts.append(lines(rows, across, up, styles=styles, inches=_INCHES))
    return {kind: picture(charts, kind, columns=_PANELS_ABREAST) for kind in FORMATS}


def _nearest(done: search.Inferred) -> list[search.Outcome]:
    """Return the first reading, and the three others that come nearest with other seeds."""
    return [done.outcomes[0], *sorted(done.outcomes[1:], key=lambda one: one.again)[:3]]


def _inference(paper: Paper, done: search.Inferred, images: str) -> Iterator[str]:
    inference = done.inference
    yield f"## {_capital(inference.title)}"
    yield inference.scaling
    yield " ".join(freedom(done))
    yield table(_unknowns(done))
    yield f"![Residual by unknown]({images}/{image_name(paper, inference)}.{SHOWN})"
    yield _said("figure", worst=show(_WORST, "share"))
    yield table(_readings(done))
    if inference.is_average:
        yield _said("average")
    yield table(_good(done))
    yield _said("good", good=f"{100 * search.GOOD:.0f}")
    yield table(_targets(done))


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def freedom(done: search.Inferred) -> Iterator[str]:
    """Say how much freedom the search had, against how many numbers it had to meet."""
    inference, first = done.inference, done.outcomes[0]
    free, targets = inference.freedom(first.reading), len(inference.targets)
    names = [unknown.title for unknown in inference.searched(first.reading)] + list(inference.selected)
    yield f"{free} unknowns ({', '.join(names)}) against {targets} targets, and {len(done.outcomes)} readings."
    if free >= targets:
        yield _said("no evidence")
    else:
        more = "1 more target" if targets == free + 1 else f"{targets - free} more targets"
        yield f"{more} than unknowns: a fit is evidence as far as these go."
    for kind, label in ((search.FIT, "Fits"), (search.OPEN, "Undecided"), (search.OUT, "Excluded")):
        names = [f"“{one.reading.title}”" for one in done.outcomes if one.verdict == kind]
        yield f"{label}: {'; '.join(names) or 'none'}."


def _unknowns(done: search.Inferred) -> Grid:
    rows = [(unknown.title, unknown.searched, unknown.reason) for unknown in done.inference.unknowns]
    said = "Not stated. Every choice is read from the same runs."
    chosen = ((name, choice, said) for name, choice in done.inference.selected.items())
    return Grid(("unknown", "searched", "why"), (*rows, *chosen))


def _readings(done: search.Inferred) -> Grid:
    rows = []
    for one in done.outcomes:
        half = one.after(math.ceil(one.trials / 2))
        numbers = (one.best.residual, half, one.again, one.mixture)
        shown = [show(number, "share") for number in numbers if number is not None]
        free = str(done.inference.freedom(one.reading))
        rows.append((one.reading.title, one.reading.reason, free, *shown, one.verdict))
    mixed = ("best mixture",) if done.inference.is_average else ()
    heads = ("reading", "why it may be meant", "unknowns", "least residual", "after half the search")
    return Grid((*heads, "with other seeds", *mixed, ""), tuple(rows))


def _good(done: search.Inferred) -> Grid:
    inference = done.inference
    rows = []
    for one in done.outcomes:
        good, open_here = one.good(), inference.searched(one.reading)
        cells = [_span(unknown, good) if unknown in open_here else "set" for unknown in inference.unknowns]
        if inference.selections:
            cells += [_ends(inference, end, good) for end in (0, -1)] + [inference.sizes(one.best.places)]
        rows.append((one.reading.title, *cells, str(len({candidate.trial for candidate in good}))))
    chosen = ("least size", "greatest size", "sizes of the best") if inference.selections else ()
    columns = ("reading", *(unknown.title for unknown in inference.unknowns), *chosen, "set-ups")
    return Grid(columns, tuple(rows))


def _span(unknown: Unknown, good: Iterable[search.Candidate]) -> str:
    numbers = [unknown.number(one.texts[unknown.key]) for one in good]
    low, high = unknown.shown(min(numbers)), unknown.shown(max(numbers))
    return low if low == high else f"{low} to {high}"


def _ends(inference: Inference, end: int, good: Iterable[search.Candidate]) -> str:
    found = sorted({one.places[end] for one in good})
    low, high = inference.sizes(found[:1]), inference.sizes(found[-1:])
    return low if low == high else f"{low} to {high}"


def _targets(done: search.Inferred) -> Grid:
    shown = _nearest(done)
    rows = [
        (target.what, target.shown(target.paper), *(target.shown(one.best.ours[index]) for one in shown))
        for index, target in enumerate(done.inference.targets)
    ]
    best = [("residual", "", *(show(one.best.residual, "share") for one in shown))]
    columns = ("the best set-up", "paper", *(one.reading.title for one in shown))
    return Grid(columns, (*rows, *best))


def _together(done: Sequence[search.Inferred]) -> Iterator[str]:
    """Join inferences that share their selection: one choice of places for all."""
    names = " and ".join(one.inference.title for one in done)
    first = [one.outcomes[0].reading for one in done]
    shared = len(done[0].inference.selected)
    free = sum(one.inference.freedom(reading) for one, reading in zip(done, first, strict=True))
    free -= shared * (len(done) - 1)
    targets = sum(len(one.inference.targets) for one in done)
    yield f"## {_capital(names)} together"
    yield _said("together", choices=", ".join(done[0].inference.selected), free=free, targets=targets)
    rows = []
    for reading in _common(done):
        outcomes = [next(o for o in one.outcomes if o.reading.name == reading.name) for one in done]
        places, residuals = joint(done, outcomes)
        whole = _pooled(done, residuals)
        shown = [show(number, "share") for number in (*residuals, whole)]
        rows.append((reading.title, done[0].inference.sizes(places), *shown, search.verdict(whole)))
    heads = ("reading", "sizes", *(one.inference.title for one in done), "together", "")
    yield table(Grid(heads, tuple(rows)))


def _common(done: Sequence[search.Inferred]) -> list[Reading]:
    rest = [{outcome.reading.name for outcome in one.outcomes} for one in done[1:]]
    return [one.reading for one in done[0].outcomes if all(one.reading.name in names for names in rest)]


def joint(done: Sequence[search.Inferred], outcomes: Sequence[search.Outcome]) -> tuple[tuple[float, ...], list[float]]:
    """Return the selection with the least residual over all targets, and the residual of each inference with it."""
    found = {
        places: [min(c.residual for c in one.candidates if c.places == places) for one in outcomes]
        for places in done[0].inference.selections
    }
    return min(found.items(), key=lambda item: _pooled(done, item[1]))


def _pooled(done: Sequence[search.Inferred], residuals: Sequence[float]) -> float:
    counts = [len(one.inference.targets) for one in done]
    squares = sum(count * residual**2 for count, residual in zip(counts, residuals, strict=True))
    return math.sqrt(squares / sum(counts))
