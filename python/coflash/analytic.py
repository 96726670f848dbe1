"""Write amplification in closed form.

All models assume uniform random writes of single pages to a full device. The symbols:

- ``alpha``: T / U, the physical pages per logical page (a ratio above 1). T leaves out open and reserve
  blocks, see ``usable``; U is the number of logical pages that hold data.
- ``pages_per_block``: N, the unit of erasing.
- write amplification A: pages programmed / pages written by the host (a ratio, 1 at best).

Every function raises ``ValueError`` for arguments outside its domain, with the given and the allowed values.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coflash.roots import root

_Vector = NDArray[np.float64]


class Cooperation(NamedTuple):
    """Steady state of flash under a cache that holds some pages as sole copies."""

    flash_write_rate: float
    """Pages arriving at flash / pages written by the host."""
    waf_ftl: float
    """Pages programmed / pages arriving at flash."""
    waf_host: float
    """Pages programmed / pages written by the host: the product of the other two."""


def usable(
    physical_pages: int,
    pages_per_block: int,
    pools: int = 1,
    open_blocks_per_pool: int = 1,
    reserve_blocks_per_pool: int = 1,
) -> float:
    """Return the T of ``alpha``: the physical pages that can hold data during host writes.

    A pool owns its free blocks (those of a plane, a chip or the whole device); ``reserve_blocks_per_pool`` of
    them are free between one cleaning and the next. In a simulated device that is ``gc.low_mark`` plus one,
    since GC continues until there are more free blocks than the mark.

    An open block counts half, since on average it is half full. If copies and host writes share it, it counts less,
    1/(2A) of a block: a victim's copies have filled it to 1 - 1/A before host writes do. The true T may be larger than
    the result by up to half a block per pool.
    """
    _require(pages_per_block >= 1, "pages_per_block", pages_per_block, "an integer >= 1")
    _require(pools >= 1, "pools", pools, "an integer >= 1")
    _require(open_blocks_per_pool >= 0, "open_blocks_per_pool", open_blocks_per_pool, ">= 0")
    _require(reserve_blocks_per_pool >= 0, "reserve_blocks_per_pool", reserve_blocks_per_pool, ">= 0")
    taken = pools * pages_per_block * (open_blocks_per_pool / 2 + reserve_blocks_per_pool)
    _require(physical_pages > taken, "physical_pages", physical_pages, f"more than the {taken:g} not usable")
    return physical_pages - taken


def random_choice(alpha: float) -> float:
    """Return A for victims chosen at random: they hold N / alpha valid pages on average."""
    _require_alpha(alpha)
    return alpha / (alpha - 1)


def fifo(alpha: float) -> float:
    """Return A if the oldest block is the victim, for any block size; ``greedy`` tends to it for large blocks.

    A page survives one round of the log with probability exp(-alpha / A) = 1 - 1/A, which gives
    A = alpha / (alpha + W(-alpha exp(-alpha))), W the principal branch of Lambert's function.

    Source: J. Menon, "A performance comparison of RAID-5 and log-structured arrays", HPDC 1995; with
    Lambert's function: P. Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012.
    """
    _require_alpha(alpha)
    if alpha < 1 + 1e-4:  # the sum below cancels; its series at 1 does not
        return 0.5 / (alpha - 1) + 2 / 3
    # The share of pages that survive; the other root, 1, lies beyond the bracket.
    survivors = root(lambda share: share - math.exp(-alpha * (1 - share)), 0.0, 1 - math.log(alpha) / alpha)
    return 1 / (1 - survivors)


def greedy(alpha: float, pages_per_block: int) -> float:
    """Return A if a block with the fewest valid pages is the victim.

    alpha = N (H(N) - H(v)) / (N - v), where a victim has v valid pages on average and H, the harmonic
    numbers, is linear between integers; A = N / (N - v). Between integers A is linear in alpha, so that no
    root search is needed. From alpha = H(N) on, victims are empty and A is 1. This is the limit of
    ``d_choices`` for large d.

    Source: P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014.
    """
    _require_alpha(alpha)
    return float(np.interp(alpha, *greedy_corners(pages_per_block)))


def greedy_after_fill(alpha: float, hot_share: float, passes: float, pages_per_block: int) -> float:
    """Return greedy's A for uniform writes to a part of the device, after random writes to all of it.

    ``hot_share`` h is the share of the logical pages that is written now. ``passes`` p is the number of earlier random
    writes to the whole device, per logical page. GC copies into blocks of its own. Each earlier write left an invalid
    page in some block, which leaves (alpha - 1 - p) U pages for the h U hot ones. As long as hot blocks are emptier
    than all others, GC cleans only them: A = greedy((alpha - 1 - p) / h). It cleans other blocks, and recovers their
    spare pages, only while hot victims are fuller. This keeps A near that of uniform writes to all:

        A = greedy(max((alpha - 1 - p) / h, alpha)), so that p* = alpha - 1 - h alpha is the threshold.

    Beyond p* this is the limit of many blocks and a small h. With few hot blocks the fullness of victims varies. Now
    and then a full one sends GC to a cold block, which gives up its spare space, and A ends lower.
    """
    _require_alpha(alpha)
    _require(0 < hot_share <= 1, "hot_share", hot_share, "0 < share <= 1")
    _require(passes >= 0, "passes", passes, ">= 0")
    return greedy(max((alpha - 1 - passes) / hot_share, alpha), pages_per_block)


def d_choices(alpha: float, pages_per_block: int, d: int) -> float:
    """Return A if the victim is the block with the fewest valid pages among ``d`` blocks picked at random.

    Let S_i be the share of blocks with at least i valid pages, so that a victim has at least i with
    probability S_i^d, and let w = alpha / A be the number of overwrites of a page while as many victims are cleaned as
    there are blocks. As many blocks lose their i-th valid page as are refilled from fewer: w i (S_i - S_{i+1}) = 1 -
    S_i^d for i = 1 ... N. Starting with S_{N+1} = 0 this gives each S_i for any A; the solution is the A for which they
    sum to N / alpha, the mean number of valid pages in a block.

    Source: B. Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based
    solid state drives", SIGMETRICS 2013.
    """
    _require_alpha(alpha)
    _require(d >= 1, "d", d, "an integer >= 1")

    def excess_of_valid_pages(amplification: float) -> float:
        w = alpha / amplification
        share = total = 0.0
        for i in range(pages_per_block, 0, -1):
            k = 1 / (i * w)
            target = share + k
            # Newton's method for share + k share^d = target: convex, so from above it only ever descends.
            share = min(target, 1.0)
            while True:
                power = k * share ** (d - 1)
                lower = share - (share + power * share - target) / (1 + d * power)
                if lower >= share:
                    break
                share = lower
            total += share
        return total - pages_per_block / alpha

    least, most = greedy(alpha, pages_per_block), random_choice(alpha)
    return root(excess_of_valid_pages, least * (1 - 1e-9), most * (1 + 1e-9))


def lru_hit_ratios(popularity: Sequence[float] | _Vector, cached_pages: float) -> _Vector:
    """Return the hit ratio of each page in an LRU cache, for independent requests of the given relative rates.

    A page stays for the time T after its last request: h = 1 - exp(-rate T). T is chosen so that the hit ratios sum to
    ``cached_pages``. Shape: as ``popularity``.

    Source: H. Che, Y. Tung & Z. Wang, "Hierarchical Web caching systems", IEEE JSAC 20(7), 2002.
    """
    rates = np.asarray(popularity, dtype=np.float64)
    _require(len(rates) > 0 and bool((rates > 0).all()), "popularity", popularity, "rates above 0")
    _require(0 < cached_pages < len(rates), "cached_pages", cached_pages, f"0 < pages < {len(rates)}")

    def excess(log_time: float) -> float:
        return float(-np.expm1(-rates * math.exp(log_time)).sum() - cached_pages)

    least, most = -math.log(rates.max() * 1e12), math.log(1e3 / rates.min())
    ratios: _Vector = -np.expm1(-rates * math.exp(root(excess, least, most)))
    return ratios


def leaves_unmodified(hit_ratios: Sequence[float] | _Vector, read_share: float) -> float:
    """Return the share q of removable pages that leave an LRU cache unmodified, for independent requests.

    A page is removable while its cached copy is clean. With hit ratio h and read share r:

    - A read that misses makes it removable, and each read renews its stay. Just after a read, it will leave unmodified
      with probability q0 = (1 - h) + h r q0, so q0 = (1 - h) / (1 - r h).
    - It is removable for r h (1 - h) / (1 - r h) of the time. Pages are weighted by that.
    - GC asks at some moment of its stay. From there it leaves without another request with
      p = -(1 - h) log(1 - h) / h, so q = p + (1 - p) r q0.

    If reads and writes go to different pages, requests are not independent: q is then 1 for any h.
    """
    h = np.asarray(hit_ratios, dtype=np.float64)
    _require(len(h) > 0 and bool(((h > 0) & (h < 1)).all()), "hit_ratios", hit_ratios, "0 < ratio < 1")
    _require(0 < read_share <= 1, "read_share", read_share, "0 < share <= 1")
    from_read = (1 - h) / (1 - read_share * h)
    unasked = -(1 - h) * np.log1p(-h) / h
    return float(np.average(unasked + (1 - unasked) * read_share * from_read, weights=read_share * h * from_read))


def removable_weight(unmodified_share: float, copied_again_share: float = 0.0) -> float:
    """Return w*, the best weight of a removable page in a victim's cost; a page that must be copied has weight 1.

    A drop saves a copy. With probability ``unmodified_share`` q it costs a program later, which takes a free page as
    a copy does. If hotter data surrounds that program, its block is cleaned while the page is still valid.
    ``copied_again_share`` s of these pages are therefore copied once more than if GC had copied them now. So w* = q (1
    + s), at most 1, where GC should copy.
    """
    for name, share in (("unmodified_share", unmodified_share), ("copied_again_share", copied_again_share)):
        _require(0 <= share <= 1, name, share, "0 <= share <= 1")
    return min(1.0, unmodified_share * (1 + copied_again_share))


def cdm(physical_pages: float, logical_pages: int, cached_pages: int, pages_per_block: int) -> Cooperation:
    """Solve greedy collection under a cooperative non-volatile write cache (CDM), for uniform writes.

    ``cached_pages`` of the ``logical_pages`` are dirty in the cache and have no valid page in flash: a write
    reaches flash with probability 1 - C/U, and flash behaves as if it held U - C pages. ``physical_pages`` is
    T, see ``usable``.

    Source: E. Lee et al., "Reducing write amplification of flash storage through cooperative data management
    with NVM", MSST 2016, for the idea.
    """
    _require(logical_pages >= 1, "logical_pages", logical_pages, "an integer >= 1")
    _require(0 <= cached_pages < logical_pages, "cached_pages", cached_pages, f"0 .. {logical_pages - 1}")
    _require(logical_pages < physical_pages < math.inf, "physical_pages", physical_pages, "> logical_pages")
    rate = 1 - cached_pages / logical_pages
    waf_ftl = greedy(physical_pages / (logical_pages - cached_pages), pages_per_block)
    return Cooperation(rate, waf_ftl, rate * waf_ftl)


def greedy_corners(pages_per_block: int) -> tuple[_Vector, _Vector]:
    """Return alpha and A at the corners of ``greedy``, v = N - 1, ..., 0; alpha ascends from 1 to H(N)."""
    _require(pages_per_block >= 1, "pages_per_block", pages_per_block, "an integer >= 1")
    invalid = np.arange(1, pages_per_block + 1)
    amplifications = pages_per_block / invalid
    return amplifications * np.cumsum(1 / invalid[::-1]), amplifications


def _require_alpha(alpha: float) -> None:
    _require(1 < alpha < math.inf, "alpha", alpha, "1 < alpha < inf (T / U)")


def _require(holds: bool, name: str, given: object, allowed: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {given}; allowed: {allowed}")
