"""What a page opens with: its answer in one sentence, its picture, and what limits the answer.

All of it comes from the cells of the judged statements, as the page shows them: a page whose verdicts change opens with
another sentence. The text names the statement that answers its question: a study as the title of its section "answer",
by the name of the hypothesis; a paper as that of its section "idea", by what the statement is about. It may name the
picture, too, as the title of a section "picture".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from coflash.quantity import agreed, counted
from coflash_reproduce.claim import COUNTED, DIRECTION, FAILS, HOLDS, INPUT, PREDICTION, REFUTED, STEP, TARGET, Paper
from coflash_reproduce.output import SHOWN
from coflash_reproduce.paper import Exhibit
from coflash_reproduce.study import Study

Rows = Sequence[Sequence[str]]
"""The cells of findings, or of a paper's statements without other readings."""
LEFT_OPEN = {Study: "What this does not show", Paper: "What the paper leaves open"}
"""The heading of the limits at the end of a page."""
MOST = 3
"""The exhibits that are named with what does not hold."""


def opening(of: Paper | Study, rows: Rows, unsteady: str, images: str) -> Iterator[str]:
    """Yield the paragraphs, given what is said of runs that were not steady, and the folder of images."""
    yield from answer(of, rows).split("\n\n")
    yield from _picture(of, rows, images)
    after = LEFT_OPEN[type(of)]
    link = f"[{after}](#{after.lower().replace(' ', '-')})"
    yield f"**What limits it:** {'. '.join([*_limits(of, rows), *([unsteady] if unsteady else []), link])}."


def answer(of: Paper | Study, rows: Rows) -> str:
    """Return the answer in one sentence; of a paper its inputs, which are not counted, follow as a paragraph."""
    verdicts = [row[-1] for row in rows]
    held = verdicts.count(HOLDS) + verdicts.count(DIRECTION)
    if isinstance(of, Study):
        what, _, numbers, verdict = chief(of, rows)[0]
        return f"**{what}: {verdict}** ({numbers}); of {len(rows)} hypotheses {held} {agreed(held, 'holds')}."
    tried = [row for row in rows if row[-1] in COUNTED]
    without = "" if any(re.search(r"\d", row[2]) for row in tried) else ", and none of them has a number of the paper"
    beside = _beside(of, [row for row in chief(of, rows) if not row[-1].startswith(INPUT)])
    if predicted := [verdict for verdict in verdicts if verdict.startswith(PREDICTION)]:
        right = predicted.count(f"{PREDICTION}, {HOLDS}")
        beside += f"; of {len(predicted)} predictions {right} {agreed(right, 'holds')}"
    statements = f"{counted(len(tried), 'statement')}. {held} of them {agreed(held, 'holds')}"
    first = f"**The runs could have refuted {statements}**{without}{beside}."
    chosen = [row for row in rows if row[-1].startswith(INPUT)]
    fulfilled = verdicts.count(INPUT)
    are_met = f"{fulfilled} {agreed(fulfilled, 'is')} met"
    met = f"Of {len(chosen)} inputs (something unknown was chosen), not counted, {are_met}"
    return f"{first}\n\n{met}{_beside(of, [row for row in chief(of, rows) if row in chosen])}." if chosen else first


def _beside(of: Paper | Study, rows: Rows) -> str:
    """Put the numbers of a paper's chief statements beside ours; empty if there are none."""
    about = of.text.titles["idea"]
    told: dict[str, list[str]] = {}
    for _, what, paper, here, _, verdict in rows:
        stated = f"{'asked' if verdict.startswith(TARGET) else 'in the paper'} {paper}"
        told.setdefault(stated, []).append(f"{what.removeprefix(about).lstrip(', ')} {here} ({verdict})".lstrip())
    numbers = "; ".join(f"{stated}, here {', '.join(each)}" for stated, each in told.items())
    return f"; {about}: {numbers}" if told else ""


def chief(of: Paper | Study, rows: Rows) -> Rows:
    """Return the statements that answer the question; of a study that names none, the first one."""
    titles = of.text.titles
    if isinstance(of, Study):
        return [row for row in rows if row[0] == titles.get(titles["answer"])] or rows[:1]
    return [row for row in rows if f"{row[1]}, ".startswith(f"{titles['idea']}, ")]


def _picture(of: Paper | Study, rows: Rows, images: str) -> Iterator[str]:
    """Yield the image of what answers, or the first one that is drawn."""
    about = {row[0] for row in chief(of, rows)}
    drawn = [exhibit.name for exhibit in of.exhibits if not isinstance(exhibit, Exhibit)]
    named = of.text.titles.get("picture")
    for name in sorted(drawn, key=lambda name: (name != named, name.replace("-", " ") not in about))[:1]:
        yield f"![{of.text.titles[name]}]({images}/{of.name}-{name}.{SHOWN})"


def _limits(of: Paper | Study, rows: Rows) -> Iterator[str]:
    """Yield what did not hold, and the first limit of a study."""
    if isinstance(of, Study):
        if refuted := sum(row[-1] == REFUTED for row in rows):
            yield f"Hypotheses refuted: {refuted}"
        first = of.text.bodies["limits"].split("\n")[0].removeprefix("- ")
        yield re.sub(r"\.(?: .*)?$", "", first)
        return
    if steps := sum(row[-1] == STEP for row in rows):
        yield f"Statements that are a step off: {steps}"
    if missed := Counter(row[0] for row in rows if row[-1] == FAILS):
        most = [f"{count} on {exhibit}" for exhibit, count in missed.most_common(MOST)]
        rest = missed.total() - sum(count for _, count in missed.most_common(MOST))
        yield f"Statements that do not hold: {', '.join([*most, *([f'{rest} elsewhere'] if rest else [])])}"
