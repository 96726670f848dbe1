"""The engines of clusters, each with a cluster of its own of two worker processes on this machine."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError
from coflash.demo import find_trace
from coflash.sweep.engine import EngineName, Place, open_engine

pytestmark = pytest.mark.filterwarnings("ignore")  # what Dask and Ray warn of is theirs

SOME = coflash.Scenario.load("demo").with_(workload__requests_max=2000)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where workers keep the trace."""
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_gives_what_this_process_gives(engine: EngineName, tmp_path: Path, kept: Path) -> None:
    pytest.importorskip({"dask": "distributed", "ray": "ray"}[engine])
    vary = {"cache.size": "16MiB,32MiB", "workload.remap": "none,dense"}
    here = coflash.sweep(SOME, vary, find_trace(), out=tmp_path / "here")
    there = coflash.sweep(SOME, vary, find_trace(), out=tmp_path / "there", engine=engine, workers=2)
    assert sorted(there.results) == sorted(here.results)
    assert len(there.results) == 2
    for run in here.results:
        ours, theirs = here.results[run], there.results[run]
        assert {**theirs.document, "simulator": None} == {**ours.document, "simulator": None}
        assert theirs.series() == ours.series()
    assert {failure.error for failure in there.failures} == {failure.error for failure in here.failures}
    assert all("the device exports" in failure.error for failure in there.failures)
    # All on one device, which each worker warms up for itself; what failed is not counted.
    for swept in (here, there):
        assert swept.warming.devices + swept.warming.runs == 2
    (shipped,) = kept.iterdir()
    assert shipped.read_bytes() == find_trace().read_bytes()


def test_dask_takes_the_address_of_a_scheduler_and_a_trace_by_url(tmp_path: Path, kept: Path) -> None:
    distributed = pytest.importorskip("distributed")
    trace = find_trace().resolve().as_uri()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        swept = coflash.sweep(
            SOME, {"seed": "1..4"}, trace, out=tmp_path, engine="dask", address=cluster.scheduler_address
        )
        assert len(swept.results) == 4
        with pytest.raises(CoflashError, match="memory"):
            coflash.sweep(
                SOME,
                {"flash.blocks_per_plane": [8_000_000]},
                trace,
                out=tmp_path,
                engine="dask",
                address=cluster.scheduler_address,
            )
    assert not kept.exists()


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_says_how_to_get_it(
    engine: EngineName, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"coflash.sweep.engine_{engine}", raising=False)
    with pytest.raises(CoflashError, match=rf"pip install 'coflash\[{engine}\]'"):
        open_engine(Place(engine, None, None, ()))


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_cluster_that_does_not_answer_is_named(
    engine: EngineName, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(module)
    monkeypatch.setattr(import_module(f"coflash.sweep.engine_{engine}"), "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(CoflashError, match=r"127\.0\.0\.1:9: "):
        coflash.sweep(SOME, {"seed": "1"}, find_trace(), out=tmp_path, engine=engine, address="127.0.0.1:9")
