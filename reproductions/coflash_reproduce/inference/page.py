"""The page of an inference: which readings fit, which do not, how well the unknowns are known, and with what freedom.

Every number is computed from the runs when the page is written; none is typed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from coflash import palette
from coflash._core import REVISION, __version__
from coflash.figures.style import MARKERS, Format, picture, style
from coflash.quantity import show
from coflash_reproduce.drawing import FORMATS, legend_of
from coflash_reproduce.inference import search
from coflash_reproduce.inference.definition import Inference, Reading, Unknown
from coflash_reproduce.output import SHOWN
from coflash_reproduce.page import table
from coflash_reproduce.paper import Grid, Paper, Row, tabled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORST = 1.0
"""The largest residual that a figure shows."""
_PANEL_INCHES, _HEIGHT_INCHES, _PANELS_ABREAST = 2.6, 2.4, 3
_HOW = (
    "A *reading* is one way of understanding the paper's text; its *unknowns* are numbers that it does not state. For "
    "each reading a search tries set-ups and holds what they give against the paper's numbers, the *targets*. The "
    "*residual* of a set-up is the root of the mean square of its relative errors: 10 % means that a number is off by "
    "a tenth of itself, typically."
)


def markdown(paper: Paper, command: str, done: Sequence[search.Inferred], images: str) -> str:
    """Write the page.

    Args:
        paper: The paper.
        command: The command line that makes it.
        done: The inferences of the paper with their outcomes.
        images: The folder of the images, as the page refers to it.
    """
    trials = max(outcome.trials for one in done for outcome in one.outcomes)
    parts = [
        f"# {paper.text.title.removesuffix(', reproduced')}: which set-up gives the paper's numbers",
        paper.text.bodies["source"],
        f"<!-- Written by `{command}`; every number below comes from its runs, or is the paper's. -->",
        _HOW,
        f"`{command}` made this page (coflash {__version__}, revision {REVISION} of results): "
        f"{sum(one.runs for one in done):,} runs, up to {trials} "
        f"set-ups for each reading, chosen by {search.SAMPLER} with seed {search.SEED}, one run at a time, so that the "
        "same command tries the same set-ups. The best one of each reading was run again with "
        f"{len(search.OTHER_SEEDS)} other seeds, since with its own it was chosen for its luck, too; the mean of these "
        "residuals decides.",
        f"A reading *fits* if that mean is at most {show(search.FITS, 'share')}, the deviation up to which a statement "
        f"of a reproduction holds, and is *excluded* if it is above {show(search.EXCLUDED, 'share')}: within the "
        "ranges below, and for workloads of the kind that is searched. Between the two a longer search might find a "
        "set-up that fits.",
        *(part for one in done for part in _inference(paper, one, images)),
    ]
    if len(done) > 1 and done[0].inference.selections and len({one.inference.selections for one in done}) == 1:
        parts += _together(done)
    return "\n\n".join(parts) + "\n"


def image_name(paper: Paper, inference: Inference) -> str:
    """Return the name of the figure of an inference."""
    return f"{paper.name}-inference-{inference.name}"


def draw(done: search.Inferred) -> dict[Format, bytes]:
    """Draw the residual of each set-up over each unknown, in each format; the same runs give the same bytes.

    Raises:
        CoflashError: matplotlib is missing.
    """
    shown, unknowns = _nearest(done), done.inference.unknowns
    columns = min(len(unknowns), _PANELS_ABREAST)
    rows = math.ceil(len(unknowns) / columns)
    with style():
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=(_PANEL_INCHES * columns, _HEIGHT_INCHES * rows), layout="constrained")
        for place, unknown in enumerate(unknowns, 1):
            axes = canvas.add_subplot(rows, columns, place)
            axes.axhline(100 * search.FITS, color="#202020", linewidth=0.6, linestyle=":")
            for index, outcome in enumerate(shown):
                if unknown not in done.inference.searched(outcome.reading):
                    continue
                tried = [one for one in outcome.profile() if one.residual <= _WORST]
                axes.plot(
                    [unknown.number(one.texts[unknown.key]) for one in tried],
                    [100 * one.residual for one in tried],
                    linestyle="none",
                    marker=MARKERS[index],
                    color=palette.LINES[index],
                    fillstyle="full" if index == 0 else "none",
                    clip_on=False,
                    label=outcome.reading.title,
                )
            axes.set_ylim(0, 100 * _WORST)
            axes.set_xlabel(unknown.title)
            _ticks(axes, unknown)
            if (place - 1) % columns == 0:
                axes.set_ylabel("residual (%)")
        found = legend_of(canvas)
        canvas.legend(list(found.values()), list(found), loc="outside upper center", ncols=2)
        return {kind: picture(canvas, kind) for kind in FORMATS}


def _nearest(done: search.Inferred) -> list[search.Outcome]:
    """Return the first reading, and the three others that come nearest with other seeds."""
    return [done.outcomes[0], *sorted(done.outcomes[1:], key=lambda one: one.again)[:3]]


def _ticks(axes: Axes, unknown: Unknown) -> None:
    """Put four values with their units under an axis, which is logarithmic if the search is."""
    if "*" in unknown.values:
        axes.set_xscale("log")
    places = [unknown.number(unknown.axis.at(share)) for share in (0.0, 0.34, 0.67, 0.999)]
    axes.set_xticks(places, [unknown.shown(place) for place in places])
    axes.minorticks_off()


def _inference(paper: Paper, done: search.Inferred, images: str) -> Iterator[str]:
    inference = done.inference
    yield f"## {_capital(inference.title)}"
    yield inference.scaling
    yield " ".join(freedom(done))
    yield table(_unknowns(done))
    yield f"![Residual by unknown]({images}/{image_name(paper, inference)}.{SHOWN})"
    yield (
        f"The residual of each set-up, for the first reading and for the three others that come nearest; those above "
        f"{show(_WORST, 'share')} are left out. Below the dotted line a set-up fits."
    )
    yield table(_readings(done))
    if inference.is_average:
        yield (
            "The targets are averages over workloads, and a set-up has one. The best mixture is the weighted mean over "
            "set-ups of a reading that comes nearest. It has more freedom than the paper's average had: that one fits "
            "says nothing, but a reading is excluded only if none comes near."
        )
    yield table(_good(done))
    yield (
        f"The set-ups whose residual is within {100 * search.GOOD:.0f} points of the best of their reading: the range "
        "of each unknown among them, and how many they are. A wide range is an unknown that these numbers do not tell; "
        "a narrow one says little if they are few, since more set-ups can only widen it."
    )
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
        yield (
            "**That is as many unknowns as targets, or more: that a reading fits is no evidence for it. What such a "
            "search can show is which readings fail even so.**"
        )
    else:
        more = "1 more target" if targets == free + 1 else f"{targets - free} more targets"
        yield f"{more} than unknowns: a fit is evidence as far as these go."
    for kind, label in ((search.FIT, "Fits"), (search.OPEN, "Undecided"), (search.OUT, "Excluded")):
        names = [f"“{one.reading.title}”" for one in done.outcomes if one.verdict == kind]
        yield f"{label}: {'; '.join(names) or 'none'}."


@tabled("unknown | searched | why")
def _unknowns(done: search.Inferred) -> Iterator[Row]:
    for unknown in done.inference.unknowns:
        low, high = (unknown.shown(unknown.number(unknown.axis.at(share))) for share in (0.0, 0.999))
        yield unknown.title, f"{low} to {high}", unknown.reason
    for name, choice in done.inference.selected.items():
        yield name, choice, "Not stated. Every choice is read from the same runs."


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
    yield (
        f"If one choice of {', '.join(done[0].inference.selected)} is meant for both: {free} unknowns against "
        f"{targets} targets. The best choice for both, from the same runs, with the seed of the search:"
    )
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
