"""May a database trim a page that its log holds?"""

# %% [markdown]
# # May a database trim a page that its log holds?
#
# The three papers ask a drive's firmware to trust a cache. A database need not wait for such firmware. After a
# checkpoint, PostgreSQL writes the whole image of a page into its log at the first change (`full_page_writes`). From
# the moment at which this image is durable, until the changed page is written back, the copy in the data file is
# worth nothing: recovery takes the image, and never reads the copy. The host may trim it, on any drive that frees
# trimmed pages, and garbage collection has less to copy. A flash page is worth copying only if no other tier holds
# its data; here the log is that tier.
#
# This notebook generates the requests of such a database, with trims and without, and asks what a drive saves.
# `python examples/the_log_holds_the_page.py` runs it.

# %%
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from coflash import Result, Table, run, trace
from coflash.report import Subject, write_report
from trimmed_page import drive
from trimmed_page.database import FLUSH, PAGE_BYTES, READ, WRITE, Database, RuleBrokenError
from trimmed_page.drive import BASE

# %% [markdown]
# ## The database
#
# A transaction changes or reads one page, drawn by Zipf's law over the pages of a table and its index. A pool holds
# the pages used last. A change goes into the log: the whole page if it is the first since the last checkpoint began,
# else a record. A commit writes the log's tail and flushes. A checkpoint begins whenever the log has grown by
# `distance`; the pages that are dirty then are written in the order of their addresses, over nine tenths of the next
# interval. A dirty page that leaves the pool is written at once, its log before it. The log is a ring.
#
# `deallocate` says which dirty pages are trimmed:
#
# - `none`: no page;
# - `first-dirty`: each page, once it is dirty and its image is durable;
# - `hot-only`: a page that is changed a second time since it came into the pool or was written;
# - `too-early`: as `first-dirty`, but before the flush: the mistake that the rule below catches.
#
# ## The rule
#
# *A page may be trimmed only while it is dirty in the pool, and its image, in the log behind the place from which
# recovery would begin, is durable.* Recovery begins where the last completed checkpoint began. So whenever a page is
# trimmed, and whenever a checkpoint is complete, an assertion holds: the image of each trimmed page is durable, and
# not older than that checkpoint. `Database`, in `examples/trimmed_page/database.py`, makes both at each step.

# %% [markdown]
# The mistake is caught where it is made:

# %%
try:
    list(Database(deallocate="too-early").requests(100))
except RuleBrokenError as error:
    print(error)

# %% [markdown]
# The same folder has a small store of this kind on a served device, with the same mistake, which `ORDER=1`
# mends. `coflash explore` cuts the power between its requests, and finds the page that is in neither place:
#
# ```sh
# coflash explore ssd --size 64MiB --device /tmp/trimmed \
#   --run examples/trimmed_page/store.sh --check examples/trimmed_page/check.sh
# ```
#
# Its shortest story: a write of 4096 bytes to the log, which no flush covers, is lost; the trim sent after it is there.

# %% [markdown]
# ## Is it like a recorded database?
#
# `pgbench-oltp-400k` is the beginning of a recorded run of PostgreSQL: pages drawn uniformly from 1.4 GiB, nearly
# each transaction a change, a pool of 128 MiB, ext4 below. The generator has the same proportions at one eleventh.
# The shares of reads, writes and flushes, and how little a cache of a tenth would hit, are near; the recorded writes
# are larger, since the file system and the checkpointer merge neighbours.

# %%
OUT = Path("results/log")
OUT.mkdir(parents=True, exist_ok=True)


def requests(database: Database, transactions: int) -> str:
    """Write the requests of a database as a trace; return its name."""
    return drive.written(database, transactions, OUT / "requests.csv")


def proportions(file: str) -> list[float]:
    """Return shares of reads, writes and flushes, pages read and written a flush, misses of a cache of a tenth."""
    about = trace.info(file)
    shares = [getattr(about, op).requests / about.requests for op in (READ, WRITE, FLUSH)]
    flushes = about.flush.requests * PAGE_BYTES
    misses = trace.miss_ratio(file, "lru", (about.footprint_pages or 0) * 4096 // 10)
    return [*shares, about.read.bytes / flushes, about.write.bytes / flushes, misses]


PGBENCH = Database(pages=16_384, pool=0.09, skew=0.0, updates=0.95, distance=0.5, commits=4)
recorded, made = proportions("examples/traces/pgbench-oltp-400k.iolog.zst"), proportions(requests(PGBENCH, 40_000))
MEASURES = ["reads", "writes", "flushes", "pages read a flush", "pages written a flush", "misses of a cache of a tenth"]
Table({"of the requests": np.array(MEASURES), "recorded": np.round(recorded, 2), "generated": np.round(made, 2)})

# %% [markdown]
# ## The drive
#
# `trimmed_page.drive` has it, for this notebook and for the map of the page below: eight dies of TLC, 12 % of spare
# space, no cache. The log and the data fill what it exports. Eight requests are always waiting. The workload's own
# writes and trims go to the drive until its write amplification is steady; only then is anything measured.

# %%
TRANSACTIONS = 50_000


def measured(name: str, database: Database, **keys: object) -> Result:
    """Return the result of a database on the drive; one that is not steady is refused."""
    return drive.measured(database, requests(database, TRANSACTIONS), {"name": name, **keys})


def programs(result: Result) -> float:
    """Return the flash pages that a transaction takes."""
    return drive.programs(result, TRANSACTIONS)


def change(without: float, with_trims: float) -> float:
    """Return the change by the trims, in percent."""
    return round(100 * (with_trims / without - 1), 1)


# %% [markdown]
# ## What the trims save, by the size of the pool
#
# The larger the pool, the longer a page stays dirty, and the more flash pages are known to be dead. Reads are not
# lost: a trimmed page is in the pool. The time is that of the same transactions, with eight requests waiting.


# %%
def trims(database: Database) -> Database:
    """Return the database with trims of each dirty page."""
    return replace(database, deallocate="first-dirty")


def compared(cases: dict[str, tuple[Database, dict[str, object]]], first: str) -> Table:
    """Run each case without trims of dirty pages and with them; return a row for each."""
    rows = []
    for name, (database, keys) in cases.items():
        without, with_trims = measured(name, database, **keys), measured(f"{name}, trims", trims(database), **keys)
        RESULTS.extend([without, with_trims])
        pair = (without, with_trims)
        wafs, pages = [round(drive.waf(of), 2) for of in pair], [programs(of) for of in pair]
        time = change(*(of.metrics.simulated_ns for of in pair))
        rows.append((name, *wafs, *(round(of, 2) for of in pages), change(*pages), time))
    names = (first, "WAF", "WAF, trims", "programs", "programs, trims", "programs %", "time %")
    return Table({name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})


RESULTS: list[Result] = []
POOLS = (0.02, 0.05, 0.1, 0.2, 0.3)
by_pool = compared({f"{pool:.0%}": (replace(BASE, pool=pool), {}) for pool in POOLS}, "pool")
by_pool

# %%
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
for column, colour in (("WAF", "#888888"), ("WAF, trims", "#1b7f79")):
    axes.plot([100 * pool for pool in POOLS], by_pool[column], "o-", color=colour)
    axes.annotate(
        {"WAF": "no trims"}.get(column, "trims"), (30, by_pool[column][-1]), (4, 4), textcoords="offset points"
    )
axes.set(xlabel="pool, % of the data", ylabel="write amplification", ylim=(1, None), xlim=(0, 38))
figure.savefig(OUT / "pool.png", dpi=200)

# %% [markdown]
# Over other seeds of the database:

# %%
compared({f"{seed}": (replace(BASE, seed=seed), {}) for seed in (2, 3)}, "seed, pool 20%")

# %% [markdown]
# ## Rivals
#
# What else could the same host do? Trim the log that recovery will not read again: one command a MiB. Keep log and
# data apart, by two handles of flexible data placement or by SepBIT inside the drive. Buy the pool's bytes as spare
# space. Each stands alone, and with the trims of dirty pages above it.

# %%
TWO_HANDLES = drive.two_handles(BASE)
compared(
    {
        "nothing": (BASE, {}),
        "the dead log is trimmed": (replace(BASE, trims_log=True), {}),
        "two handles": (BASE, TWO_HANDLES),
        "SepBIT": (BASE, {"ftl.placement": {"name": "sepbit"}}),
        "the pool's bytes as spare space": (BASE, drive.pool_as_spare(BASE)),
        "the dead log, and SepBIT": (replace(BASE, trims_log=True), {"ftl.placement": {"name": "sepbit"}}),
        "the dead log, and two handles": (replace(BASE, trims_log=True), TWO_HANDLES),
        "no images: a page is written whole": (replace(BASE, images="none"), {}),
    },
    "rival, pool 20%",
)

# %% [markdown]
# ## Where it does less
#
# Few changes; little log between checkpoints, so that pages are written back soon; a log as long as the data. With a
# doublewrite area in place of images in the log nothing may be trimmed: the page's image is there only while the page
# itself is written.

# %%
compared(
    {
        "a tenth of the transactions change": (replace(BASE, updates=0.1), {}),
        "uniform": (replace(BASE, skew=0.0), {}),
        "Zipf 1.1": (replace(BASE, skew=1.1), {}),
        "checkpoints after 5 % of the data": (replace(BASE, distance=0.05), {}),
        "checkpoints after 50 % of the data": (replace(BASE, distance=0.5), {}),
        "commands cost 20 µs": (BASE, {"controller.write_command": "20us"}),
        "doublewrite": (replace(BASE, images="doublewrite"), {}),
        "like pgbench, as above": (replace(PGBENCH, pages=BASE.pages), {}),
        "like pgbench, the dead log trimmed": (replace(PGBENCH, pages=BASE.pages, trims_log=True), {}),
    },
    "pool 20%",
)

# %% [markdown]
# ## What it comes to
#
# - Trims of dirty pages save 12 to 29 % of the programs above each rival that was tried: it is knowledge that neither
#   placement nor spare space has.
# - The simplest rivals are the strongest. Trimming the log that recovery will not read again saves a third, for a
#   command a MiB; log and data in two handles save a fifth; both 47 %, a little more than the dead log and dirty
#   pages. Who does one thing only should trim the log. Above both, trims of dirty pages save 12 % more.
# - A drive that writes a page whole or not at all needs no images: then a transaction takes as few programs as with
#   both rivals, and there is nothing to trim.
# - A pool of a fifth gains by its trims nearly what its bytes would gain as spare space (2.52 and 2.42 here). The pool
#   is paid for already; above the spare space the trims save 17 %.
# - The workload that is like pgbench gains as much as others: 22 %, and 12 % above the dead log.
# - Few changes, and pools of a few percent, leave little. A doublewrite area leaves nothing: the idea needs images in
#   the log.
# - `hot-only` in `Database` spares commands where the drive is slow at them. What a trim costs beside a write is
#   known of no drive here; with 20 µs a command the saving stands.
#
# All of this is a generator and a simulated drive of the right proportions, 48 MiB small.
# [A page](../docs/studies/the_log_holds_the_page.md) has the map of where it pays, and a real PostgreSQL with a patch,
# which `examples/postgresql_trims` measures, and cuts the power of.
#
# ## Does a drive free trimmed pages at all?
#
# Of seven calibrated drives five do, by their measurements; those of the PM9A3 say that trimmed pages are kept, those
# of the PM9D3a say nothing. Anyone with such a drive can refute it, with the commands
# [of the page](../docs/studies/the_log_holds_the_page.md#on-your-own-drive). A drive that frees the trimmed fifth has
# it as spare space:

# %%
JOB = """
[global]
bs=4k
{trim}
[before]
rw=randwrite
stonewall
size=80%
loops=6
norandommap
"""


def freed(name: str, trim: str) -> Result:
    """Return the result of random writes over four fifths of a full drive, behind a trim or not."""
    (OUT / f"{name}.fio").write_text(JOB.format(trim=trim))
    keys = {"name": name, "flash.exported": "48MiB", "workload": {"fio": str(OUT / f"{name}.fio")}}
    return run(drive.DRIVE.with_({**keys, "precondition.until_steady": False, "replay": {"mode": "closed"}}))


kept = freed("kept", "")
free = freed("freed", "[trim]\nrw=trim\nbs=1m\noffset=80%\nsize=20%")
wafs = np.array([drive.waf(of) for of in (kept, free)]).round(2)
Table({"the trimmed fifth": np.array(["is kept", "is freed"]), "write amplification of six passes": wafs})

# %%
write_report(Subject(RESULTS, question=__doc__ or ""), OUT / "report.html")
