"""The least write amplification of any placement where zones are written at different rates, beside simulations.

    python examples/best_separation/zones.py

No placement without a cache writes less than the best division of the spare space over zones that do not mix. Zones
that share blocks amplify as `mixed` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coflash import Scenario, analytic, run
from coflash.roots import root

_Vector = NDArray[np.float64]
PLACEMENTS = ("none", "sepgc", "dac", "sepbit", "midas")


class Separation(NamedTuple):
    """The optimal division of spare space over zones."""

    write_amplification: float
    spare_shares: tuple[float, ...]
    """The share of the spare space, T - U, that each zone gets; in the order of the zones, sum 1."""


def mixed(zones: Sequence[tuple[float, float]], alpha: float) -> float:
    """Return A of ``fifo`` where zones share blocks; ``greedy`` over large blocks of such a mix is as good.

    Zones are those of ``best_separation``. Of a zone's pages, the share exp(-r alpha / (s A)) survives one round of the
    log, so that A = 1 + the sum of r / (exp(r alpha / (s A)) - 1). With one zone this is ``fifo``.

    Source: P. Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014.
    """
    traffic, space = _zones(zones, alpha)
    overwrites = traffic / space * alpha

    def too_many(amplification: float) -> float:
        each = overwrites / amplification
        # A zone that is never written is copied whole: the limit.
        with np.errstate(over="ignore", invalid="ignore"):
            copies = space * amplification / alpha * np.where(each > 0, each / np.expm1(each), 1)
        return amplification - 1 - float(copies.sum())

    # Copies are at most A / alpha, so that the root is at most half of this.
    return root(too_many, 1.0, 2 * alpha / (alpha - 1))


def best_separation(
    zones: Sequence[tuple[float, float]], alpha: float, pages_per_block: int | None = None
) -> Separation:
    """Minimise the sum of r_i A(zone i) over all divisions of the spare space over zones that do not mix.

    Each zone is (r, s): its share of the writes, r >= 0, and of the logical space, s > 0; both sum to 1 over
    the zones, and within a zone writes are uniform. Blocks are collected greedily in each zone; without
    ``pages_per_block`` in the limit of large blocks, where A is ``fifo``. The cost is convex in every zone's
    space, so the optimum is where all zones gain equally from a further page.

    Source: R. Stoica and A. Ailamaki, "Improving flash write performance by using update frequency", VLDB
    2013; P. Desnoyers, ACM Transactions on Storage 10(2), 2014.
    """
    traffic, space = _zones(zones, alpha)
    if pages_per_block is None:
        spare, amplification = _separate_large_blocks(traffic, space, alpha)
    else:
        spare, amplification = _separate_greedy(traffic, space, alpha, pages_per_block)
    return Separation(float(traffic @ amplification), tuple((spare / spare.sum()).tolist()))


def _zones(zones: Sequence[tuple[float, float]], alpha: float) -> tuple[_Vector, _Vector]:
    _require(1 < alpha < math.inf, "alpha", alpha, "1 < alpha < inf (T / U)")
    _require(len(zones) > 0, "zones", zones, "at least one (traffic share, space share)")
    for zone in zones:
        _require(zone[0] >= 0 and zone[1] > 0, "zone", zone, "(traffic share >= 0, space share > 0)")
    traffic, space = np.array(zones, dtype=np.float64).T
    for name, shares in (("traffic shares", traffic), ("space shares", space)):
        _require(abs(shares.sum() - 1) < 1e-6, f"sum of the {name}", shares.sum(), "1")
    return traffic / traffic.sum(), space / space.sum()


def _separate_greedy(traffic: _Vector, space: _Vector, alpha: float, pages_per_block: int) -> tuple[_Vector, _Vector]:
    """Each zone's spare pages per logical page of the device, and its A.

    A falls along ever flatter line segments: take the steepest first until the spare space is used.
    """
    alphas, amplifications = analytic.greedy_corners(pages_per_block)
    width = np.outer(space, np.diff(alphas))
    gain = np.outer(traffic, -np.diff(amplifications))
    steepest = np.argsort(-(gain / width), axis=None, kind="stable")
    wanted = width.ravel()[steepest]
    taken = np.zeros(width.size)
    taken[steepest] = np.clip(alpha - 1 - (np.cumsum(wanted) - wanted), 0, wanted)
    spare = taken.reshape(width.shape).sum(axis=1)
    spare += max(0.0, alpha - 1 - spare.sum()) * space  # more than any zone can profit from
    return spare, np.interp(1 + spare / space, alphas, amplifications)


def _separate_large_blocks(traffic: _Vector, space: _Vector, alpha: float) -> tuple[_Vector, _Vector]:
    """Each zone's spare pages per logical page of the device, and its A.

    With x = alpha / A, the overwrites of a page per round of the log, alpha = x / (1 - exp(-x)),
    A = 1 / (1 - exp(-x)) and -d alpha / d A = exp(x) - 1 - x. All zones gain equally from a further page
    where this is the same multiple of r / s in each. It is handled as a logarithm, for it overflows.
    """
    written = traffic > 1e-24 * space  # a zone that is never written needs no spare space
    log_heat = np.log(traffic[written] / space[written])

    def overwrites(log_multiple: float) -> _Vector:
        return np.array([_overwrites_where(slope) for slope in log_multiple + log_heat])

    def spare_at(x: _Vector) -> _Vector:
        return space[written] * (x / -np.expm1(-x) - 1)

    mean_alpha = 1 + (alpha - 1) / space[written].sum()
    slope = _log_slope(mean_alpha / analytic.fifo(mean_alpha))
    x_of_zone = overwrites(
        root(
            lambda m: float(spare_at(overwrites(m)).sum() - (alpha - 1)),
            slope - log_heat.max() - 1e-6,
            slope - log_heat.min() + 1e-6,
        )
    )
    spare, amplification = np.zeros(len(traffic)), np.ones(len(traffic))
    spare[written], amplification[written] = spare_at(x_of_zone), 1 / -np.expm1(-x_of_zone)
    return spare, amplification


def _log_slope(x: float) -> float:
    """log(exp(x) - 1 - x) for x > 0."""
    if x < 1e-5:  # the difference below cancels
        return 2 * math.log(x) - math.log(2) + x / 3
    return x + math.log(-math.expm1(-x) - x * math.exp(-x))


def _overwrites_where(log_t: float) -> float:
    """Invert ``_log_slope``; the result lies between log(1 + t) or sqrt(t) and log(1 + t + sqrt(2 t))."""
    below = max(np.logaddexp(0, log_t), math.exp(min(log_t, 0) / 2))
    above = np.logaddexp(np.logaddexp(0, log_t), (log_t + math.log(2)) / 2)
    return root(lambda x: _log_slope(x) - log_t, below * (1 - 1e-9), above * (1 + 1e-9))


def _require(holds: bool, name: str, given: object, allowed: str) -> None:
    if not holds:
        raise ValueError(f"{name} is {given}; allowed: {allowed}")


def simulated(hot_writes: float, hot_space: float) -> tuple[float, dict[str, float]]:
    """Return the best separation's write amplification on a small device, and that of each placement in a simulation.

    Args:
        hot_writes: The share of the writes that goes to the hot zone.
        hot_space: Its share of the logical space.
    """
    shares = [(hot_writes, hot_space), (1 - hot_writes, 1 - hot_space)]
    zones = [{"traffic": f"{100 * writes:g}%", "space": f"{100 * space:g}%"} for writes, space in shares]
    device = Scenario.from_dict(
        {
            "flash": {
                "channels": 1,
                "chips_per_channel": 1,
                "dies_per_chip": 1,
                "planes_per_die": 1,
                "blocks_per_plane": 2048,
                "pages_per_block": 32,
            },
            "ftl": {"spare": {"share": "20%"}},
            "gc": {"low_mark": 8},
            "precondition": {"fill": "sequential", "until_steady": True},
            "workload": {
                "synthetic": {
                    "requests": 200_000,
                    "generator": {"name": "hot-cold", "zones": zones},
                }
            },
        }
    )
    runs = {name: run(device.with_({"ftl.placement": name})) for name in PLACEMENTS}
    flash = device.to_dict()["flash"]
    pages = flash["blocks_per_plane"] * flash["pages_per_block"]
    alpha = pages * flash["planes_per_die"] * flash["dies_per_chip"] / runs["none"].metrics.mapped_pages
    bound = best_separation(shares, alpha, flash["pages_per_block"]).write_amplification
    return bound, {name: one.metrics.waf_host or 0.0 for name, one in runs.items()}


def table() -> Iterator[str]:
    """Yield the rows of a table: writes to the hot zone, its space, the bound, and each placement."""
    yield " ".join(f"{head:>8}" for head in ("writes", "space", "bound", *PLACEMENTS))
    for hot_writes, hot_space in ((0.5, 0.5), (0.8, 0.2), (0.95, 0.05)):
        bound, wafs = simulated(hot_writes, hot_space)
        yield " ".join([f"{hot_writes:8.0%} {hot_space:8.0%}", *(f"{waf:8.3f}" for waf in (bound, *wafs.values()))])


if __name__ == "__main__":
    print(*table(), sep="\n")
