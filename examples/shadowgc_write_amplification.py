"""Does it pay that garbage collection knows of the write buffers above it?"""

# %% [markdown]
# # Does it pay that garbage collection knows of the write buffers above it?
#
# The host has a write buffer, and the SSD has one. A flash page whose logical page is dirty in either is a *shadow*:
# it will soon be replaced, and copying it is all but in vain. ShadowGC (DATE 2018) tells garbage collection of shadows:
# those of the host go to blocks of their own, by fast programs; those of the device are taken from its buffer, which
# then need not write them. How much write amplification does each half save, and how large must the buffers be?
#
# Jupyter and VS Code open this file as a notebook; `python examples/shadowgc_write_amplification.py` runs it.

# %%
from pathlib import Path

import numpy as np

from coflash import Result, Scenario, Table, run
from coflash.report import Subject, write_report

# %% [markdown]
# ## The runs
#
# Two planes of 512 blocks, of the device `shadowgc-64g`: 8 GiB; writes of 16 KiB, the popular places by Zipf's law.
# `ggc` knows of no buffer, `hgc` of the host's, `dgc` of the device's, `sgc` of both.

# %%
DEVICE = Scenario.load("shadowgc-64g").with_(
    {
        "flash.channels": 2,
        "flash.chips_per_channel": 1,
        "flash.planes_per_die": 1,
        "flash.blocks_per_plane": 512,
        "workload.synthetic.requests": 100_000,
        "workload.synthetic.arrival": {"name": "poisson", "mean": "8ms"},
    }
)
SCHEMES = ("ggc", "hgc", "dgc", "sgc")
BUFFERS = {"small": ("2MiB", "1MiB"), "host large": ("64MiB", "1MiB"), "device large": ("2MiB", "64MiB")}


def simulate(scheme: str, host: str, device: str) -> Result:
    """One run."""
    return run(DEVICE.with_({"cooperation": scheme, "host_buffer.size": host, "cache.size": device}))


results = {name: {scheme: simulate(scheme, *sizes) for scheme in SCHEMES} for name, sizes in BUFFERS.items()}

# %% [markdown]
# ShadowGC with a large buffer in the host, as a result shows itself:

# %%
results["host large"]["sgc"]

# %% [markdown]
# ## Write amplification
#
# All flash programs for each page that the host wrote to the device, as the paper counts it: what its buffer absorbs is
# no write. And how much of it each scheme saves.


# %%
def waf(result: Result) -> float:
    """Return the write amplification as the paper defines it."""
    return float(result.metrics["host_buffer"]["waf_device"])


def saved_percent(scheme: str) -> list[float]:
    """Against `ggc`, for each pair of buffers."""
    return [round(100 * (1 - waf(of[scheme]) / waf(of["ggc"])), 1) for of in results.values()]


Table(
    {
        "host_MiB": np.array([int(host.removesuffix("MiB")) for host, _ in BUFFERS.values()]),
        "device_MiB": np.array([int(device.removesuffix("MiB")) for _, device in BUFFERS.values()]),
        "waf_ggc": np.array([round(waf(of["ggc"]), 3) for of in results.values()]),
        **{f"saved_{scheme}_percent": np.array(saved_percent(scheme)) for scheme in SCHEMES[1:]},
    }
)

# %% [markdown]
# ## Where the saving comes from
#
# Blocks of their own for shadows are taken from the spare space: with few shadows that costs more than it saves. A page
# that is taken from the device's buffer, or that the device lets go because the host has a newer one, is a page less
# to write, and the copies that it would have caused are saved with it.

# %%
for name, of in results.items():
    shadows = of["sgc"].metrics["shadows"]
    moved = sum(shadows[f"moved_{kind}_pages"] for kind in ("valid", "host", "device", "twin"))
    print(
        f"{name:12}: {moved:9,} pages moved, {shadows['fast_pages']:6,} of them fast to blocks of their own, "
        f"{shadows['from_buffer_pages']:6,} from the buffer; {shadows['discarded_twins_pages']:6,} twins not written"
    )

# %% [markdown]
# ## To keep
#
# A page to explore. `coflash reproduce shadowgc` does what the paper did, on more workloads.

# %%
subject = Subject(
    [result for of in results.values() for result in of.values()],
    title="ShadowGC on skewed writes",
    question="How much write amplification does each half of it save, and how large must the buffers be?",
    baseline="ggc",
)
place = Path("results/shadowgc")
place.mkdir(parents=True, exist_ok=True)
write_report(subject, place / "report.html")
