"""The engines of clusters, on clusters of two workers on this machine: new ones and existing ones."""

from __future__ import annotations

import secrets
import subprocess
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import clusters
import coflash
from coflash import CoflashError
from coflash.demo import find_trace
from coflash.sweep.engine import EngineName, Place, open_engine
from sweeps import SMALL, command

pytestmark = pytest.mark.filterwarnings("ignore")  # warnings of Dask and Ray are not ours

SOME = coflash.Scenario.load("demo").with_(workload__requests_max=2000)

DEVICES_KEPT = "len(__import__('coflash.sweep.engine_dask', fromlist=['_'])._DEVICES)"
"""Evaluated on a worker, which does not know the tests' functions."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where workers keep the trace."""
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
    # All on one device, which each worker warms up for itself; failed runs are not counted.
    for swept in (here, there):
        assert swept.warming.devices + swept.warming.runs == 2
    (shipped,) = kept.iterdir()
    assert shipped.read_bytes() == find_trace().read_bytes()


def test_dask_takes_the_address_of_a_scheduler_and_a_trace_by_url(tmp_path: Path, kept: Path) -> None:
    distributed = pytest.importorskip("distributed")
    trace = find_trace().resolve().as_uri()

    def swept(vary: Any) -> coflash.Sweep:
        return coflash.sweep(SOME, vary, trace, out=tmp_path, engine="dask", address=address)

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


def test_ray_takes_the_address_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in token.items():
        monkeypatch.setenv(name, value)
    with (
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as place,
        clusters.ray(Path(place), token) as address,
    ):
        # In a process of its own: Ray reads its environment only once.
        done = subprocess.run(
            command(tmp_path / "out", "--vary", "seed=1..4", "--engine", "ray", "--address", address),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    here = coflash.sweep(SMALL, {"seed": "1..4"}, out=tmp_path / "here")
    there = coflash.results(tmp_path / "out")
    assert len(there) == 4
    for run in here.results:
        ours, theirs = here.results[run], there[run]
        assert {**theirs.document, "simulator": None} == {**ours.document, "simulator": None}


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
