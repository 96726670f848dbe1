"""What the OP-FCL paper leaves open of its workloads and its flash, for Financial, Home and Exchange."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import mean

from coflash.measures.measure import MEAN
from coflash_reproduce.inference.definition import Inference, Measured, Reading, Target, Unknown, refuse_traces
from coflash_reproduce.opfcl import workloads as its
from coflash_reproduce.opfcl.claims import BEST_SHARES, ERASES_AXES, FINANCIAL_USE
from coflash_reproduce.opfcl.reading import ERASES, WITHIN, settled
from coflash_reproduce.text import Text

TEXT = Text.beside(__file__, {})
_unknown = partial(Unknown.of, TEXT)
_reading = partial(Reading.of, TEXT)

_SPACE, _SKEW = "workload.synthetic.space", "workload.synthetic.generator.exponent"
_SHARES = (40, 50, 60, 70, 80, 90, 95)
"""The fixed shares of caching space, in percent."""
_LARGEST = f"{its.FP} {_SHARES[-1]} %"
_FLOOR = 5 * WITHIN
"""With it the margin of "about the same" is an error of a fifth, up to which a reading fits."""


@dataclass(frozen=True)
class _Workload:
    """What is known of a trace."""

    name: str
    title: str
    requests: int
    read_share: str
    pause: str
    """The mean time between requests: the length of the trace by its requests."""
    space_gib: tuple[float, float]
    """The range of the space; the section of its name has the reason."""
    configuration: int = 1
    size: str = "4KiB"
    """The size of a request."""


_WORKLOADS = (
    _Workload("financial", "Financial", its.FINANCIAL_REQUESTS, "23%", "8200us", (1.5, 12)),
    _Workload("home", "Home", 20_000_000, "19%", "8160us", (2, 24)),
    _Workload("exchange", "Exchange", 30_000_000, "45%", "6ms", (20, 160), configuration=2, size="8KiB"),
)


def inferences(divisor: int, traces: tuple[str, ...]) -> tuple[Inference, ...]:
    """Return one for each workload.

    Args:
        divisor: That of flash, segment, period, space and requests, from 64 to 128.
        traces: None: the unknowns are those of a generator.

    Raises:
        CoflashError: A trace was given.
    """
    refuse_traces("opfcl", traces)
    return tuple(_inference(divisor, one) for one in _WORKLOADS)


def _inference(divisor: int, of: _Workload) -> Inference:
    low, high = (round(end * 1024 / divisor) for end in of.space_gib)
    synthetic = {
        "generator": {"name": "zipf", "exponent": 0.9, "scatter_block": "64KiB"},
        "requests": of.requests // divisor,
        "read_share": of.read_share,
        "size": {"name": "fixed", "size": of.size},
        "align": of.size,
        "space": f"{low}MiB",
        "arrival": {"name": "poisson", "mean": of.pause},
    }
    workload = {"remap": "none", "synthetic": synthetic}
    # A smaller device leaves a mechanical disk hardly anything to seek: its disks have the paper's mean times.
    scenario = its.device(of.configuration, divisor, workload).with_(its.CONSTANT_DISK)
    flash = scenario.to_dict()["flash"]
    shorter = {
        f"flash.{key}": flash[key] * times // 2 for key, times in (("blocks_per_plane", 4), ("pages_per_block", 1))
    }
    whither = ", to three disks in stripes" if of.configuration == 2 else ""
    lines = {f"{its.FP} {share} %": its.fixed_share(its.FP, "fp-fcl", share).changes for share in _SHARES}
    return Inference(
        name=of.name,
        title=of.title,
        scenario=scenario.with_(shorter),
        scaling=f"The paper's configuration {of.configuration} with flash, segment, period, space and requests "
        f"{divisor} times smaller, in blocks of half the length, so that there are enough of them; values are shown "
        f"as on the paper's device. Requests of {of.size.replace('KiB', ' KiB')}, {of.read_share} of them reads, by "
        f"Zipf's law stand for the trace; they come as often as its own{whither}.",
        lines={**lines, its.OP: its.op_fcl()},
        axis={0.0: {}},
        unknowns=(
            Unknown(
                _SPACE,
                "space that requests are for",
                f"{low}MiB..{high}MiB:{max(1, low // 8)}MiB",
                TEXT.bodies[of.name],
                divisor,
            ),
            _unknown(_SKEW, "skew (exponent of Zipf's law)", "0.5..1.4"),
        ),
        targets=tuple(_targets(of)),
        readings=_READINGS,
    )


def _targets(of: _Workload) -> list[Target]:
    found = [
        Target("best fixed share of FP-FCL", BEST_SHARES[its.FP][of.name], _best_share, unit="share"),
        Target("erases of a block, FP-FCL at its largest share", ERASES_AXES[of.name], _erases, unit=""),
        Target("mean response, OP-FCL over the best fixed share", 0.0, _excess, _FLOOR),
    ]
    if of.name == "financial":
        found.append(Target("caching space that OP-FCL uses, second half", mean(FINANCIAL_USE), _use, unit="share"))
    return found


def _response(line: str, measured: Measured) -> float:
    found = MEAN.read(measured.numbers[line, 0.0])
    assert found is not None
    return found


def _best(measured: Measured) -> int:
    return min(_SHARES, key=lambda share: _response(f"{its.FP} {share} %", measured))


def _best_share(measured: Measured) -> float:
    return _best(measured) / 100


def _erases(measured: Measured) -> float:
    found = ERASES.read(measured.numbers[_LARGEST, 0.0])
    assert found is not None
    return found


def _excess(measured: Measured) -> float:
    return _response(its.OP, measured) / _response(f"{its.FP} {_best(measured)} %", measured) - 1


def _use(measured: Measured) -> float:
    return mean(settled(measured.numbers[its.OP, 0.0]))


_READINGS = (
    _reading("one-block"),
    _reading("own-block", {"ftl.shared_streams": [["host", "evict"]]}),
    _reading("background", {"hybrid.destaging": "background"}),
    _reading("measured", lines={its.OP: its.op_fcl(its.MEASURED)}),
    _reading("steady", lines={its.OP: its.op_fcl(its.STEADY)}),
)
