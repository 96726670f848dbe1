"""Can a search find a better victim policy, and does it hold elsewhere?"""

# %% [markdown]
# # Can a search find a better victim policy, and does it hold elsewhere?
#
# A victim policy may be a line: `score` cleans the block with the highest value of an expression over its features. So
# a search can write policies. Here a small evolution looks for the exponents of one formula: every child is evaluated
# over a fixed suite of workloads, and the best ones have children. What it finds is then judged under workloads that it
# has not seen, which is the only judgement that counts.
#
# Jupyter and VS Code open this file as a notebook; `python examples/search_a_score.py` runs it.

# %%
import random
from functools import cache
from pathlib import Path

import numpy as np

from coflash import Scenario, Table, evaluate, sweep
from coflash.evaluation import Evaluation, SuiteName
from coflash.report import Subject, write_report

# %% [markdown]
# ## The formula
#
# Cost-benefit is about `(1 - u) / u * age`: a point of a space with an exponent for each feature. `u` is the share of
# pages to be copied, `age` counts programs since the block became full, `quiet` the blocks whose pages changed since
# its own did.

# %%
FEATURES = ("(1 - u)", "(u + 0.01)", "(age + 1)", "(quiet + 1)")
COST_BENEFIT = (1.0, -1.0, 1.0, 0.0)


def policy(exponents: tuple[float, ...]) -> dict[str, str]:
    """Return the policy with these exponents, as the value of `gc.victim`."""
    factors = (f"{name}^{exponent:g}" for name, exponent in zip(FEATURES, exponents, strict=True) if exponent)
    return {"name": "score", "score": " * ".join(factors) or "1"}


@cache
def graded(one: str | tuple[float, ...], suite: SuiteName = "gc") -> Evaluation:
    """Evaluate a built-in policy, or that with these exponents."""
    return evaluate(one if isinstance(one, str) else policy(one), suite)


def fitness(exponents: tuple[float, ...]) -> float:
    """Return the score over the suite of the search."""
    return graded(exponents)["combined_score"]


# %% [markdown]
# ## The evolution
#
# Of each generation the best two stay, and have two children each. A combined score above 1 is better than the best
# built-in policy of each workload, in the geometric mean.

# %%
draws = random.Random(7)  # noqa: S311 - no secret depends on it


def child(parent: tuple[float, ...]) -> tuple[float, ...]:
    """Return a parent with every exponent moved a little."""
    return tuple(round(exponent + draws.gauss(0, 0.4), 2) for exponent in parent)


population = [COST_BENEFIT, *(child(COST_BENEFIT) for _ in range(4))]
for generation in range(2):
    best = sorted(population, key=fitness, reverse=True)[:2]
    print(f"generation {generation}: {fitness(best[0]):.4f} {policy(best[0])['score']}")
    population = [*best, *(child(parent) for parent in best for _ in range(2))]
found = best[0]

# %% [markdown]
# ## Under the workloads of the search, and under others
#
# `waf` is write amplification; the score of a workload is that of its best built-in policy, divided by it.


# %%
def judged(suite: SuiteName) -> Table:
    """Return the found policy and cost-benefit under each workload of a suite."""
    ours, theirs = (graded(one, suite) for one in (found, "cost-benefit"))
    rows = list(zip(ours.rows, theirs.rows, strict=True))
    return Table(
        {
            "workload": np.array([one.workload for one, _ in rows]),
            "waf, found": np.array([round(one.value, 3) for one, _ in rows]),
            "waf, cost-benefit": np.array([round(other.value, 3) for _, other in rows]),
            "best built-in": np.array([one.best for one, _ in rows]),
            "score": np.array([round(one.score, 3) for one, _ in rows]),
        }
    )


judged("gc")

# %%
judged("gc-unseen")

# %%
for suite in ("gc", "gc-unseen"):
    scores = [graded(one, suite)["combined_score"] for one in (found, "cost-benefit", "greedy")]
    print(f"{suite:10} found {scores[0]:.3f}, cost-benefit {scores[1]:.3f}, greedy {scores[2]:.3f}")

# %% [markdown]
# ## To keep
#
# The found policy is a value of a scenario like any other, in sweeps and reports.

# %%
OUT = Path("results/search-a-score")
DEVICE = Scenario.load("demo").with_(
    {
        "flash.blocks_per_plane": 64,
        "precondition.random_passes": 1,
        "workload.synthetic.generator": "hot-cold",
        "workload.synthetic.requests": 50_000,
    }
)
swept = sweep(DEVICE, {"gc.victim": ["greedy", "cost-benefit", policy(found)]}, out=OUT)
write_report(Subject.read([OUT]), OUT / "report.html")
