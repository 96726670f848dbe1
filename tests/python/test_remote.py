"""Results by URL, in fsspec's file system in memory and in one that renames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

import coflash
from coflash import CoflashError
from coflash.results.store import store_at
from processes import coflash as command_line
from sweeps import SMALL

VARY = {"cache.size": "1MiB,2MiB", "ftl.spare.share": "1%,20%"}  # two succeed, two are too small


class Moving(LocalFileSystem):  # type: ignore[misc]
    """Files of this machine under another protocol; they are moved into their places."""

    protocol = "moving"


@pytest.fixture(params=["memory", "moving"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a folder that does not exist yet."""
    fsspec.register_implementation("moving", Moving, clobber=True)
    yield f"{request.param}://{tmp_path}/out"
    fsspec.filesystem("memory").store.clear()


def files(url: str) -> set[str]:
    system, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(root).lstrip("/") for path in system.find(root)}


def test_a_sweep_to_a_url_gives_what_one_to_a_folder_gives(url: str, tmp_path: Path) -> None:
    here = coflash.sweep(SMALL, VARY, out=tmp_path / "here")
    there = coflash.sweep(SMALL, VARY, out=url)
    assert files(url) == {
        str(file.relative_to(tmp_path / "here")) for file in (tmp_path / "here").rglob("*") if file.is_file()
    }
    assert set(there.failures) == set(here.failures) == set(store_at(url).failures())
    results = coflash.results(url)
    assert sorted(results) == sorted(there.results) == sorted(here.results)
    for run in results:
        assert {**results[run].document, "simulator": 0} == {**here.results[run].document, "simulator": 0}
        assert results[run].series() == here.results[run].series()
        assert results.where(run) == f"{url}/runs/{run}"
    assert results.sql("select run from erase_counts group by 1").to_polars().height == 2
    # Existing runs are not repeated, failed ones are.
    again = coflash.sweep(SMALL, {**VARY, "cache.size": "1MiB,2MiB,4MiB"}, out=url)
    assert again.from_before == 2
    assert len(coflash.results(url)) == 3
    # Nearer the root, and as one run alone.
    above = coflash.results(url.rsplit("/", 1)[0])
    assert {name.rsplit("/", 1)[-1] for name in above} >= set(results)
    (run,) = coflash.results(f"{url}/runs/{results.runs[0]}")
    assert run == results.runs[0]


def test_a_run_is_there_when_its_document_is(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system, _ = fsspec.core.url_to_fs(url)
    put = type(system).put_file

    def full(self: Any, here: str, path: str, **rest: Any) -> None:
        if "result.json" in path:
            raise OSError(28, "No space left on device")
        put(self, here, path, **rest)

    with monkeypatch.context() as patch:
        patch.setattr(type(system), "put_file", full)
        with pytest.raises(CoflashError, match=r"runs/[0-9a-f]{16}/result\.json: cannot be written: No space left"):
            coflash.sweep(SMALL, {}, out=url)
    assert any("series.parquet" in name for name in files(url))
    assert not any("result.json" in name for name in files(url))
    with pytest.raises(CoflashError, match="holds no result"):
        coflash.results(url)
    assert coflash.sweep(SMALL, {}, out=url).from_before == 0
    assert len(coflash.results(url)) == 1


def test_where_files_can_be_renamed_they_appear_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec.register_implementation("moving", Moving, clobber=True)
    moved: list[tuple[str, str]] = []

    def cut_off(_: Any, new: str, place: str, **__: Any) -> None:
        moved.append((Path(new).name, Path(place).name))
        assert Path(new).stat().st_size > 0
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Moving, "mv", cut_off)
    with pytest.raises(CoflashError, match=r"erase_counts\.parquet: cannot be written: Input/output error"):
        coflash.run(SMALL).save(f"moving://{tmp_path}/out")
    ((new, place),) = moved
    assert place == "erase_counts.parquet"
    assert new.startswith(f".{place}.")
    assert not list((tmp_path / "out").iterdir())


def test_what_is_there_and_no_result_is_said(url: str) -> None:
    system, root = fsspec.core.url_to_fs(url)
    system.makedirs(f"{root}/runs/x")
    system.pipe_file(f"{root}/runs/x/result.json", b"{")
    with pytest.raises(CoflashError, match=r"runs/x/result\.json: is no result of coflash"):
        coflash.results(url)


def test_one_result_is_saved_to_a_url(url: str) -> None:
    result = coflash.run(SMALL)
    result.save(url)
    results = coflash.results(url)
    assert results["out"].document == result.document
    with (copied := results.folder("out")).joinpath("series.parquet").open("rb") as file:
        assert file.read(4) == b"PAR1"
    del results
    assert not copied.exists()


def test_a_url_of_this_machine_is_a_folder(tmp_path: Path) -> None:
    swept = coflash.sweep(SMALL, {}, out=(tmp_path / "out").as_uri())
    assert swept.place == (tmp_path / "out").as_uri()
    assert len(coflash.results(tmp_path / "out")) == len(coflash.results((tmp_path / "out").as_uri())) == 1


def test_a_driver_that_is_missing_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(CoflashError, match=r"s3:// is not installed: pip install 'fsspec\[s3\]'"):
        coflash.sweep(SMALL, {}, out="s3://bucket/oltp")
    with pytest.raises(CoflashError, match=r"s3:// is not installed: pip install 'fsspec\[s3\]'"):
        coflash.sweep(SMALL, {}, "s3://bucket/oltp.zst", out="nowhere")
    with pytest.raises(CoflashError, match="Protocol not known: nosuch"):
        coflash.results("nosuch://x")
    for module in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(CoflashError, match="pip install fsspec"):
        coflash.results("s3://bucket/oltp")


def test_the_command_line_takes_urls(tmp_path: Path) -> None:
    coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB"}, out=tmp_path)
    listed = command_line("results", "list", "--in", tmp_path.as_uri())
    assert listed.returncode == 0, listed.stderr
    assert "2MiB" in listed.stdout
    for arguments, message in [
        (("results", "list", "--in", "memory://nowhere"), "memory ends with this command"),
        (("tune", "demo", "--over", "seed=1..2", "--minimise", "waf_host", "--out", "local://x"), "only a folder"),
        (("sweep", "demo", "--vary", "seed=1..2", "--out", "nosuch://x"), "Protocol not known: nosuch"),
        (("run", "demo", "--out", "nosuch://x"), "Protocol not known: nosuch"),
    ]:
        refused = command_line(*arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        (line,) = refused.stderr.splitlines()
        assert message in line
