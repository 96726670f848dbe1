"""What does cooperation cost when the cache is in the host?"""

# %% [markdown]
# # What does cooperation cost when the cache is in the host?
#
# In cooperative data management (*CDM*; Lee, Kim, Bahn and Noh, MSST 2016) cache and garbage collection tell each other
# what they hold. In one controller that is free. With the cache in the host it crosses the link: notices of pages that
# were cached, overwritten or evicted, and the host's word that it keeps a page before flash may drop it. The paper
# leaves the cost open.
#
# Jupyter and VS Code open this file as a notebook; `python examples/cdm_in_the_host.py` runs it.

# %%
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coflash import Result, Scenario, Table, run
from coflash.demo import find_trace
from coflash.report import Subject, write_report

# %% [markdown]
# ## The runs
#
# One device, one workload (PostgreSQL under pgbench, recorded at the block layer), the cache in the device or in the
# host. Notices go as a message each, in batches, or with the next command; pages are protected by a question before the
# erase, or by grants ahead of time. `none` is a cache that flash knows nothing of.

# %%
DEVICE = Scenario.load("demo").with_(
    {"workload.requests_max": 100_000, "cache.size": "64MiB", "link.per_command": "5us"}
)
TRACE = find_trace()
SENDING = ("each", "batched", "piggybacked")
PROTECTING = ("request", "grants")


def in_host(notices: str, protecting: str) -> Result:
    """One run with the cache in the host."""
    placed = {"cache.placement": "host", "host.notices": notices, "host.protecting": protecting}
    return run(DEVICE.with_({**placed, "name": f"{notices}, {protecting}"}), TRACE)


none = run(DEVICE.with_({"cooperation": {"name": "none"}, "cache.placement": "host", "name": "host, none"}), TRACE)
in_storage = run(DEVICE.with_(name="in storage"), TRACE)
ways = [in_host(notices, protecting) for notices in SENDING for protecting in PROTECTING]

# %% [markdown]
# The last of them, as a result shows itself:

# %%
ways[-1]

# %% [markdown]
# ## What is saved, and what it takes
#
# Garbage collection copies about as little as with the cache in the device, however late it hears. Messages are what
# differs: those beside the commands that cross anyway, for each thousand of these, and how late notices come.


# %%
def per_thousand_commands(result: Result) -> float:
    """Messages between cache and flash."""
    return round(1000 * result.metrics.host.messages / result.metrics.host.commands, 1)


def column(values: Iterable[object]) -> NDArray[Any]:
    """Return a column of the table."""
    return np.array(list(values))


Table(
    {
        "way": column(result.scenario.name for result in ways),
        "waf": column(round(result.metrics.waf_host or 0.0, 3) for result in ways),
        "waf_in_storage": column(round(in_storage.metrics.waf_host or 0.0, 3) for _ in ways),
        "waf_none": column(round(none.metrics.waf_host or 0.0, 3) for _ in ways),
        "messages_per_1000_commands": column(per_thousand_commands(result) for result in ways),
        "bytes_per_command": column(round(r.metrics.host.bytes / r.metrics.host.commands, 1) for r in ways),
        "notice_delay_us": column(round((r.metrics.host.to_device.delay_mean_ns or 0.0) / 1000, 1) for r in ways),
        "write_mean_us": column(round((r.metrics.response_ns.write.mean or 0.0) / 1000, 1) for r in ways),
    }
)

# %% [markdown]
# ## Who asks, and how often in vain
#
# By request, garbage collection waits for the host before an erase. With grants it does not, but the host may not let
# go of a page that it has granted before it has asked the grant back.

# %%
for result in ways:
    link = result.metrics.host
    print(
        f"{result.scenario.name:20}: {link.protect.pages:7,} pages asked for, "
        f"{link.protect.refused_pages:4,} refused; "
        f"{link.grants_pages:7,} granted, {link.grants_used_pages:6,} used, {link.revoke.pages:7,} asked back"
    )

# %% [markdown]
# ## To keep
#
# A page to explore.

# %%
subject = Subject(
    [none, in_storage, *ways],
    title="Cooperative data management with the cache in the host",
    question="What do messages between cache and flash cost, and what does their delay?",
)
place = Path("results/cdm-in-the-host")
place.mkdir(parents=True, exist_ok=True)
write_report(subject, place / "report.html")
