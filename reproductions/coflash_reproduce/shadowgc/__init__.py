"""The ShadowGC paper.

Source of its numbers: the publication named in `shadowgc.md`; `claims.toml` has them.
"""

from __future__ import annotations

from coflash_reproduce.declare import paper
from coflash_reproduce.shadowgc import reading, workloads

PAPER = paper(__file__, workloads, reading)
