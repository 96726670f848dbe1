"""The OP-FCL paper.

Source of its numbers: the publication named in `opfcl.md`, sections 2 to 5; `claims.toml` has them.
"""

from __future__ import annotations

from functools import partial

from coflash_reproduce.data import toml_beside
from coflash_reproduce.declare import paper
from coflash_reproduce.opfcl import model, reading, workloads

_STATED = toml_beside(__file__, "claims.toml")["paper"]

PAPER = paper(
    __file__,
    workloads,
    reading,
    pictures={
        "figure-3": model.draw_reads,
        "figure-4": model.draw_both,
        "figure-9": partial(reading.draw_sizes, workloads.SIZED[0], {"financial": _STATED["FINANCIAL_USE"]}),
        "figure-13": partial(reading.draw_sizes, workloads.SIZED[1], {}),
    },
)
