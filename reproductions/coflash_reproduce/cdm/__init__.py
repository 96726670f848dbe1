"""The CDM paper.

Source of its numbers: the publication named in `cdm.md`, sections 2 and 5; `claims.toml` has them.
"""

from __future__ import annotations

from coflash_reproduce.cdm import reading, workloads
from coflash_reproduce.declare import paper

PAPER = paper(__file__, workloads, reading)
