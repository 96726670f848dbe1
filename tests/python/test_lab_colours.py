"""The colours of the laboratory: words and pages can be told from what is behind them, and from each other."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]


def luminance(colour: str) -> float:
    """The relative luminance of a colour after WCAG."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours after WCAG."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_words_and_pages_differ_enough_from_what_is_behind_them() -> None:
    light: dict[str, str] = {}
    dark: dict[str, str] = {}
    for file in ("python/coflash/report/assets/colours.css", "lab/page/lab.css"):
        parts = (ROOT / file).read_text("utf-8").split("prefers-color-scheme", 1)
        for colours, part in zip((light, dark), parts, strict=True):
            colours.update(re.findall(r"--([\w-]+): (#\w{6})", part))
    for colours in (light, dark):
        for word in ("ink", "soft", "accent", "worse"):
            assert min(contrast(colours[word], colours[behind]) for behind in ("page", "paper")) >= 4.5, word
        for line in ("series-0", "series-1", "series-3"):
            assert contrast(colours[line], colours["page"]) >= 3, line
        for kind in ("same", "newer"):
            assert contrast(colours[f"page-{kind}"], colours["hatch"]) >= 3, kind
            assert contrast(colours[f"page-{kind}"], colours["page-valid"]) >= 1.5, kind
        # In a picture without colours: CIE lightness, of a hundred.
        kinds = ("free", "invalid", "same", "newer", "valid")
        greys = sorted(116 * luminance(colours[f"page-{kind}"]) ** (1 / 3) - 16 for kind in kinds)
        assert min(more - less for less, more in pairwise(greys)) >= 9, greys
