"""Other schemes and orders of eviction as choices of `size`."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError
from sweeps import SMALL


def test_other_schemes_are_tried_where_the_drives_own_spare_space_is_too_little_for_the_trace(tmp_path: Path) -> None:
    rng, trace = random.Random(1), tmp_path / "hot.csv"
    pages = (rng.randrange(400) if rng.random() < 0.8 else rng.randrange(4096) for _ in range(6000))
    rows = (f"{at * 1_000_000},{'write' if at % 4 else 'read'},{page * 4096},4096\n" for at, page in enumerate(pages))
    trace.write_text("ns,op,offset,size\n" + "".join(rows), encoding="utf-8")
    drive = SMALL.with_({"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16})
    little = drive.with_({"ftl.spare.share": "0.1%", "flash.exported": "17MiB", "flash.blocks_per_plane": None})
    with pytest.raises(CoflashError, match="spare"):
        little.check()
    found = coflash.size(trace, "waf_host<0.9", drive=little, out=tmp_path / "out", seeds=1)
    assert re.search(r" 21 other schemes or orders of eviction had to do on a cheaper device\.", found.how[2])
