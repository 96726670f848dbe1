"""How much of a flash cache should hold data?"""

# %% [markdown]
# # How much of a flash cache should hold data?
#
# Flash caches a disk. The more of the flash holds data, the more often the cache has what is asked for; but the less
# over-provisioned space is left, the more pages garbage collection copies for each page that is written. So caching
# less can be better. Where is the optimum, and does a cache find it that is not told? (*OP-FCL*; Oh, Choi, Lee and
# Noh, FAST 2012.)
#
# Jupyter and VS Code open this file as a notebook; `python examples/opfcl_partition.py` runs it.

# %%
from pathlib import Path

import numpy as np

from coflash import Result, Scenario, Table, costmodel, run
from coflash.report import Subject, write_report

# %% [markdown]
# ## What the cost model says
#
# Before anything runs: the cost of a page request for a cache with this share of the flash, when a fifth of the
# requests read and the rest write. The least is well below 100 %.

# %%
costs, demand = costmodel.Costs(), costmodel.BOTH_EXAMPLE
best = costs.best(demand, 0.01)
shares = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
print(f"least cost: {best.u:.0%} of the flash, {best.r:.0%} of that for reads: {best.cost_us:.0f} µs")
Table(
    {
        "caching_percent": np.array([100 * u for u in shares]),
        "cost_us": np.array([round(costs.hybrid_us(demand, u, best.r)) for u in shares]),
        "programming_us": np.array([round(costs.write_us(u)) for u in shares]),
    }
)

# %% [markdown]
# ## The runs
#
# The paper's configuration 1, a sixteenth of it, and transactions in the shape of a bank's: three quarters write.
# `fp-fcl` is one cache of a fixed share.

# %%
DEVICE = Scenario.load("opfcl-config1").with_(
    {
        "flash.blocks_per_plane": 1024,
        "hybrid.segment": "16MiB",
        "hybrid.period_requests": 4096,
        "workload.preset": {"name": "oltp-like", "requests": 300_000, "space": "1GiB"},
    }
)
FIXED_PERCENT = (40, 50, 60, 70, 80, 90)


def simulate(scheme: dict[str, str]) -> Result:
    """One run."""
    return run(DEVICE.with_({"hybrid.scheme": scheme}))


fixed = [simulate({"name": "fp-fcl", "caching": f"{share}%"}) for share in FIXED_PERCENT]
adaptive = simulate({"name": "op-fcl", "initial_caching": "95%"})

# %% [markdown]
# ## The optimum
#
# A larger cache is hit more often, and erases far more.

# %%
means_us = [(result.metrics.response_ns.all.mean or 0.0) / 1000 for result in fixed]
Table(
    {
        "caching_percent": np.array(FIXED_PERCENT),
        "response_us": np.round(means_us),
        "write_hits_percent": np.array([round(100 * (one.metrics.hybrid.write_hit_ratio or 0.0), 1) for one in fixed]),
        "copied_pages": np.array([one.metrics.gc_copies_pages for one in fixed]),
        "erases_blocks": np.array([one.metrics.erases_blocks for one in fixed]),
    }
)

# %% [markdown]
# ## Without being told
#
# OP-FCL begins with 95 % and measures what is asked for. How far is it from the best of the fixed shares, and what does
# it settle at?

# %%
least = int(np.argmin(means_us))
ours_us = (adaptive.metrics.response_ns.all.mean or 0.0) / 1000
tier = adaptive.metrics.hybrid
print(
    f"best fixed share: {FIXED_PERCENT[least]} %, {means_us[least]:.0f} µs; OP-FCL: {ours_us:.0f} µs, "
    f"{ours_us / means_us[least] - 1:+.1%}"
)
for sample in tier["sizes"][:: max(1, len(tier["sizes"]) // 8)]:
    read, write = (sample[f"{kind}_limit_pages"] / tier.flash_pages for kind in ("read", "write"))
    spare = 1 - read - write
    print(f"{sample['at_ns'] / 1e9:6.0f} s: {read:4.0%} read cache, {write:4.0%} write cache, {spare:4.0%} spare")

# %% [markdown]
# ## To keep
#
# A page to explore.

# %%
subject = Subject(
    [*fixed, adaptive],
    title="How much of a flash cache should hold data?",
    question="Which share of the flash answers fastest, and does OP-FCL find it?",
)
place = Path("results/opfcl")
place.mkdir(parents=True, exist_ok=True)
write_report(subject, place / "report.html")
