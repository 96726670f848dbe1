from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest

from coflash import CoflashError
from coflash.files import atomic_write
from coflash.files.kept import fetched, kept_folder
from coflash.files.kinds import JSON
from pages import until
from processes import COFLASH, COFLASH_TELLING, PATIENCE_S, await_line, begin, interrupt


def names(place: Path) -> list[str]:
    return sorted(entry.name for entry in place.iterdir())


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    atomic_write.write_file(file, "old")
    atomic_write.write_file(file, "new µ")
    assert file.read_text(encoding="utf-8") == "new µ"
    assert names(tmp_path) == ["result.json"]


def test_a_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    atomic_write.write_file(tmp_path / "ours", "")
    assert stat.S_IMODE((tmp_path / "ours").stat().st_mode) == stat.S_IMODE((tmp_path / "ordinary").stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    atomic_write.write_file(tmp_path / "link", "text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        atomic_write.check_file(pipe, JSON)
        atomic_write.write_file(pipe, "text")
        assert os.read(reader, 100) == b"text"
        assert stat.S_ISFIFO(pipe.stat().st_mode)
    finally:
        os.close(reader)


def test_a_folder_appears_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    place, files = tmp_path / "deep" / "results", {"a.json", "b"}
    with atomic_write.folder(place, files) as new:
        (new / "a.json").write_text('{"coflash": 1}')
        assert not place.exists()
    assert names(place) == ["a.json"]
    with pytest.raises(KeyboardInterrupt), atomic_write.folder(place, files) as new:
        (new / "a.json").write_text("2")
        raise KeyboardInterrupt
    with pytest.raises(CoflashError, match="No space left"), atomic_write.folder(place, files) as new:
        (new / "a.json").write_text("2")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert (place / "a.json").read_text() == '{"coflash": 1}'
    with atomic_write.folder(place, files) as new:
        (new / "b").write_text("3")
    assert names(place) == ["b"]
    assert names(place.parent) == ["results"]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be locked")
@pytest.mark.parametrize("opened", ["folder(pathlib.Path(sys.argv[1]), {'b'})", "new_file(pathlib.Path(sys.argv[1]))"])
def test_what_a_killed_process_left_goes_and_what_another_one_fills_stays(tmp_path: Path, opened: str) -> None:
    script = "import sys, pathlib, time\nfrom coflash.files import atomic_write\n"
    script += f"with atomic_write.{opened}:\n    print(flush=True)\n    time.sleep(600)"
    place = tmp_path / "parts"
    (tmp_path / ".parts.thesis").mkdir()
    killed, busy = (subprocess.Popen([sys.executable, "-c", script, place], stdout=subprocess.PIPE) for _ in range(2))
    try:
        for one in (killed, busy):
            assert one.stdout is not None
            assert one.stdout.readline()
        killed.kill()
        killed.communicate()
        assert len(names(tmp_path)) == 3
        if opened.startswith("folder"):
            with atomic_write.folder(place, {"b"}) as new:
                assert len(names(tmp_path)) == 3
                (new / "b").touch()
        else:
            with atomic_write.new_file(place):
                assert len(names(tmp_path)) == 3
        assert len(names(tmp_path)) == 3
        assert {".parts.thesis", "parts"} < set(names(tmp_path))
    finally:
        busy.kill()
        busy.communicate()


def test_writers_of_one_place_do_not_take_each_others_files_for_left_ones(tmp_path: Path) -> None:
    def write(_: int) -> None:
        for _ in range(100):
            with atomic_write.folder(tmp_path / "folder", None) as new:
                (new / "b").touch()
            atomic_write.write_file(tmp_path / "file", b"whole")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    assert names(tmp_path) == ["file", "folder"]


def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CoflashError, match=r"thesis\.tex"):
        atomic_write.check_folder(tmp_path, {"a"})
    with pytest.raises(CoflashError, match=r"thesis\.tex"), atomic_write.folder(tmp_path, {"a"}):
        pytest.fail("nothing may be made first")


def test_only_a_folder_that_coflash_wrote_is_replaced(tmp_path: Path) -> None:
    atomic_write.check_folder(tmp_path, {"result.json", "scenario.toml"})
    (tmp_path / "scenario.toml").touch()
    for document in (None, "", "[]", "{}", '{"flash": 1}', "\xff"):
        if document is not None:
            (tmp_path / "result.json").write_text(document, encoding="latin-1")
        with pytest.raises(CoflashError, match="holds other files"):
            atomic_write.check_folder(tmp_path, {"result.json", "scenario.toml"})
    (tmp_path / "result.json").write_text('{"coflash": "0.1.0"}')
    atomic_write.check_folder(tmp_path, {"result.json", "scenario.toml"})


def test_a_place_that_cannot_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CoflashError, match="is a file; give a folder"):
        atomic_write.check_file(tmp_path / "file" / "below", JSON)
    with pytest.raises(CoflashError, match="is a file; give a folder"):
        atomic_write.check_folder(tmp_path / "file" / "below", set())
    with pytest.raises(CoflashError, match="there is no folder"):
        atomic_write.check_file(tmp_path / "absent" / "file", JSON)
    with pytest.raises(CoflashError, match="is a folder"):
        atomic_write.check_file(tmp_path, JSON)
    with pytest.raises(CoflashError, match="is a file; give a folder"):
        atomic_write.check_folder(tmp_path / "file", set())
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not wait")
def test_a_folder_of_many_files_is_made_durable_at_once_before_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, seen = tmp_path / "many", list[bool]()
    monkeypatch.setattr(os, "sync", lambda: seen.append(place.exists()))
    with atomic_write.folder(place, set()) as new:
        for number in range(100):
            (new / f"{number}.parquet").write_bytes(b"x")
    assert seen == [False] and len(list(place.iterdir())) == 100


def test_a_command_that_is_terminated_leaves_nothing_half_written(tmp_path: Path) -> None:
    command = [*COFLASH, "trace", "generate", "uniform", "--requests", "1000000000"]
    with subprocess.Popen([*command, "-o", str(tmp_path / "t.parquet")], stderr=subprocess.DEVNULL) as process:
        until(lambda: any(tmp_path.iterdir()))
        process.terminate()
        assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM
    assert [*tmp_path.iterdir()] == []


def test_a_folder_of_traces_that_others_can_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COFLASH_TRACES", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = kept_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o777)
    with pytest.raises(CoflashError, match="other users can write to it"):
        kept_folder()
    monkeypatch.setenv("COFLASH_TRACES", str(folder))
    assert kept_folder() == folder


def test_a_trace_by_url_takes_no_more_than_the_disk_has_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    memory = fsspec.filesystem("memory")
    memory.pipe("/trace.csv", b"0" * (3 << 20))
    free = shutil.disk_usage(tmp_path)._replace(free=2 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: free)
        with pytest.raises(CoflashError, match=r"takes more than 90% of what is free in .*COFLASH_TRACES"):
            fetched("memory://trace.csv")
    assert names(tmp_path) == []
    assert Path(fetched("memory://trace.csv")).stat().st_size == 3 << 20
    memory.store.clear()


def test_a_generated_trace_that_is_stopped_says_what_the_same_command_does(tmp_path: Path) -> None:
    command = (*COFLASH_TELLING, "trace", "generate", "zipf", "-n", "1000000000", "-o", str(tmp_path / "t.parquet"))
    with begin(*command) as running:
        await_line(running.stderr, "writing ")
        _, errors, _ = interrupt(running)
    assert running.returncode == 130
    assert errors.splitlines()[-1] == "stopped: nothing is written; the same command begins anew"
    assert names(tmp_path) == []
