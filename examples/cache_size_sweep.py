"""How large a cache pays, and how sure is that?"""

# %% [markdown]
# # How large a cache pays, and how sure is that?
#
# A write-back cache absorbs rewrites, and a cooperative one also spares garbage collection copies. Both should pay more
# the larger they are, but one run for each size does not tell a difference from chance. So every point of this sweep is
# run with several seeds: each gives the workload other random draws, and the spread of the results an interval.
#
# Jupyter and VS Code open this file as a notebook; `python examples/cache_size_sweep.py` runs it. What is in
# `results/cache-size` already is not run again, so more seeds or sizes cost only what is new.

# %%
from pathlib import Path

import matplotlib.pyplot as plt

from coflash import Scenario, sweep
from coflash.report import Subject, write_report

# %% [markdown]
# ## The sweep
#
# A small device, rewritten once at random before it is measured, under skewed writes: two schemes, four cache sizes,
# four seeds. The runs of one seed are measured on the same device, which is warmed up once for all of them.

# %%
DEVICE = Scenario.load("demo").with_(
    {
        "precondition.random_passes": 1,
        "workload.synthetic.generator": "zipf",
        "workload.synthetic.requests": 60_000,
        "cooperation.name": "none",
    }
)
OUT = Path("results/cache-size")

swept = sweep(
    DEVICE,
    {"cooperation.name": ["none", "cdm"], "cache.size": "8MiB..64MiB*2"},
    out=OUT,
    seeds=4,
)
print(f"{swept.warming.devices} devices warmed up; {swept.warming.runs} more runs started from them")

# %% [markdown]
# Means over the seeds, with the half-widths of their 95 % confidence intervals (Student's t):

# %%
points = swept.table("waf_host", "response.mean")
points

# %% [markdown]
# ## The plot
#
# Where intervals do not overlap, chance is no explanation.

# %%
figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
for scheme in ("none", "cdm"):
    rows = points["cooperation.name"] == scheme
    sizes_mib = points["cache.size_bytes"][rows] / 2**20
    axes.errorbar(sizes_mib, points["waf_host"][rows], points["waf_host.ci95"][rows], capsize=3, label=scheme)
axes.set_xscale("log", base=2)
axes.set_xticks([8, 16, 32, 64], labels=["8", "16", "32", "64"])
axes.set_xlabel("cache size (MiB)")
axes.set_ylabel("write amplification")
axes.legend(title="scheme")
figure.savefig(OUT / "waf.png", dpi=150)

# %% [markdown]
# ## Any other question
#
# All runs are a table, with SQL over it.

# %%
swept.results.sql(
    """
    select "cache.size", "cooperation.name", avg(gc_copies_pages)::int as copies, avg("cache.hit_ratio") as hit_ratio
    from runs group by 1, 2 order by any_value(number("cache.size")), 2
    """
)

# %% [markdown]
# ## To keep
#
# A page to explore, which shows the same intervals.

# %%
subject = Subject.read([OUT])
write_report(subject, OUT / "report.html")
