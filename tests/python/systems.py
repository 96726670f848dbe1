"""Small systems: a flash cache before disks, and ShadowGC with a buffer in the host and one in the device."""

from __future__ import annotations

import coflash

_FLASH = {"channels": 1, "blocks_per_plane": 128, "pages_per_block": 32}
HYBRID = coflash.Scenario.from_dict({
    "name": "hybrid",
    "flash": _FLASH,
    "timing": {"channel": "private"},
    "ftl": {"spare": {"share": "6%", "definition": "spare_of_physical"}, "pools": "die", "summary": "on"},
    "gc": {"low_mark": 2},
    "precondition": {"fill": "none"},
    "hybrid": {
        "segment": "1MiB",
        "period_requests": 1000,
        "disks": {"count": 2, "model": {"name": "constant", "capacity": "64MiB"}},
    },
    "workload": {
        "synthetic": {
            "requests": 20_000,
            "generator": "zipf",
            "read_share": "40%",
            "arrival": {"name": "poisson", "mean": "4ms"},
        }
    },
})  # fmt: skip
SHADOW = coflash.Scenario.load("shadowgc-64g").with_(
    {
        "flash": {**_FLASH, "planes_per_die": 1, "chips_per_channel": 1, "page_size": "16KiB"},
        "cache.size": "1MiB",
        "host_buffer.size": "2MiB",
        "workload.synthetic": {
            "requests": 20_000,
            "generator": "zipf",
            "size": {"name": "fixed", "size": "16KiB"},
            "align": "16KiB",
            "flush_share": "0.1%",
            "arrival": {"name": "poisson", "mean": "8ms"},
        },
    }
)
