"""Does it pay that cache and garbage collection know of each other?"""

# %% [markdown]
# # Does it pay that cache and garbage collection know of each other?
#
# An SSD has a non-volatile cache. Some of the flash pages that garbage collection copies from block to block are in
# the cache as well: copying them is in vain. Cooperative data management (*CDM*; Lee, Kim, Bahn and Noh, MSST 2016)
# tells garbage collection of them. How much write amplification and response time does that save, and from which cache
# size on?
#
# Jupyter and VS Code open this file as a notebook; `python examples/cdm_write_amplification.py` runs it.

# %%
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coflash import Result, Scenario, Table, run
from coflash.demo import find_trace
from coflash.figures.publication import write_figures
from coflash.report import Subject, write_report

# %% [markdown]
# ## The runs
#
# One device, one workload (PostgreSQL under pgbench, recorded at the block layer), three cache sizes. `none` is a
# write-back cache that flash knows nothing of.

# %%
DEVICE = Scenario.load("demo").with_(workload__requests_max=200_000)
TRACE = find_trace()
SIZES_MIB = (16, 64, 128)


def simulate(scheme: str, cache_mib: int) -> Result:
    """One run."""
    return run(DEVICE.with_({"cooperation": {"name": scheme}, "cache.size": f"{cache_mib}MiB"}), TRACE)


baseline = [simulate("none", size) for size in SIZES_MIB]
cdm = [simulate("cdm", size) for size in SIZES_MIB]

# %% [markdown]
# The largest cache with CDM, as a result shows itself:

# %%
cdm[-1]

# %% [markdown]
# ## Write amplification
#
# All flash programs for each page that the host wrote, and what CDM changes about it and about the mean response.


# %%
def saved(metric: str) -> NDArray[np.float64]:
    """By how many percent CDM lowers a metric, for each cache size."""
    ours, theirs = (np.array([one.metrics.flat()[metric] for one in runs], np.float64) for runs in (cdm, baseline))
    return np.round(100 * (1 - ours / theirs), 1)


Table(
    {
        "cache_MiB": np.array(SIZES_MIB),
        "waf_none": np.array([round(result.metrics.waf_host or 0.0, 3) for result in baseline]),
        "waf_cdm": np.array([round(result.metrics.waf_host or 0.0, 3) for result in cdm]),
        "saved_waf_percent": saved("waf_host"),
        "saved_copies_percent": saved("gc_copies_pages"),
        "saved_response_percent": saved("response_ns.all.mean"),
    }
)

# %% [markdown]
# ## Where the saving comes from
#
# A page that is dirty in the cache is invalid in flash at once, and never copied. One that is clean there may be
# dropped, but not for nothing: the cache must write it when it leaves. With a small cache that can cost more than it
# saves.

# %%
for size, without, with_ in zip(SIZES_MIB, baseline, cdm, strict=True):
    print(
        f"{size:4} MiB: {without.metrics.gc_copies_pages:9,} pages copied without CDM, "
        f"{with_.metrics.gc_copies_pages:9,} with it; {with_.metrics.gc_drops_pages:6,} dropped, "
        f"{with_.metrics.drop_rewrites_pages:6,} of them written later"
    )

# %% [markdown]
# ## To keep
#
# A page to explore, and figures for a paper.

# %%
subject = Subject(
    [*baseline, *cdm],
    title="Cooperative data management on an OLTP trace",
    question="How much write amplification and response time does it save, and from which cache size on?",
    baseline="none",
)
place = Path("results/cdm")
place.mkdir(parents=True, exist_ok=True)
write_report(subject, place / "report.html")
write_figures(subject, place / "figures", "pdf")
