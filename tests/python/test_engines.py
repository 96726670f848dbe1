"""The engine of clusters, on clusters of two workers on this machine: new ones and existing ones."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import clusters
import coflash
from coflash import CoflashError
from coflash.demo import find_trace
from coflash.sweep.engine import Place

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of Dask are not ours

SOME = coflash.Scenario.load("demo").with_(workload__requests_max=2000)

DEVICES_KEPT = "len(__import__('coflash.sweep.engine_dask', fromlist=['_'])._DEVICES)"
"""Evaluated on a worker, which does not know the tests' functions."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where workers keep the trace."""
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_a_cluster_gives_what_this_process_gives(tmp_path: Path, kept: Path) -> None:
    pytest.importorskip("distributed")
    vary = {"cache.size": "16MiB,32MiB", "workload.remap": "none,dense"}
    here = coflash.sweep(SOME, vary, find_trace(), out=tmp_path / "here")
    with clusters.dask() as address:
        there = coflash.sweep(SOME, vary, find_trace(), out=tmp_path / "there", on=address)
    assert sorted(there.results) == sorted(here.results)
    assert len(there.results) == 2
    for run in here.results:
        ours, theirs = here.results[run], there.results[run]
        assert {**theirs.document, "simulator": None} == {**ours.document, "simulator": None}
        assert theirs.series() == ours.series()
    assert {failure.error for failure in there.failures} == {failure.error for failure in here.failures}
    assert all("the device exports" in failure.error for failure in there.failures)
    # All on one device, which each worker warms up for itself; failed runs are not counted.
    for swept in (here, there):
        assert swept.warming.devices + swept.warming.runs == 2
    (shipped,) = kept.iterdir()
    assert shipped.read_bytes() == find_trace().read_bytes()


def test_dask_takes_the_address_of_a_scheduler_and_a_trace_by_url(tmp_path: Path, kept: Path) -> None:
    distributed = pytest.importorskip("distributed")
    trace = find_trace().resolve().as_uri()

    def swept(vary: Any) -> coflash.Sweep:
        return coflash.sweep(SOME, vary, trace, out=tmp_path, on=address)

    with clusters.dask() as address:
        found = swept({"cache.size": "8MiB..64MiB*2"})
        assert len(found.results) == 4
        assert found.warming.devices + found.warming.runs == 4
        assert found.warming.devices <= 2
        with distributed.Client(address) as client:  # the workers stay, their devices do not
            assert list(client.run(eval, DEVICES_KEPT).values()) == [0, 0]
        with pytest.raises(CoflashError, match="memory"):
            swept({"flash.blocks_per_plane": [4_000_000]})
    assert not kept.exists()


def test_dask_that_is_not_installed_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "coflash.sweep.engine_dask", raising=False)
    monkeypatch.delattr(sys.modules["coflash.sweep"], "engine_dask", raising=False)
    with pytest.raises(CoflashError, match=r"pip install 'coflash\[dask\]'"):
        Place("tcp://127.0.0.1:9").engine()


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(import_module("coflash.sweep.engine_dask"), "_SECONDS_TO_CONNECT", 1)
    with pytest.raises(CoflashError, match=r"127\.0\.0\.1:9: "):
        coflash.sweep(SOME, {"seed": "1"}, find_trace(), out=tmp_path, on="tcp://127.0.0.1:9")
