"""A pipe with a name: Control-C ends the wait for its writer; what was written is read, however soon that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import coflash
from coflash import _core, trace
from sweeps import SMALL

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT TESTED: this system has no pipes with names")
ROWS = "time_us,op,offset,size\n" + "".join(f"{at * 100},write,{4096 * (at % 50)},4096\n" for at in range(300))
AUTO = {"columns": "auto"}


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(made := tmp_path / "pipe")
    return made


def write(pipe: Path) -> Thread:
    writer = Thread(target=pipe.write_text, args=(ROWS,))
    writer.start()
    return writer


@pytest.mark.parametrize(
    "read",
    [
        lambda pipe: trace.info(pipe, AUTO),
        lambda pipe: trace.head(pipe, 5, AUTO),
        lambda pipe: coflash.run(SMALL.with_({"workload.trace_options.columns": "auto"}), pipe),
    ],
    ids=["info", "head", "run"],
)
def test_control_c_ends_the_wait_for_a_writer_each_time(
    pipe: Path, read: Callable[[Path], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, ended, stuck, really = Event(), Event(), Event(), os.open

    def open_it(*given: Any, **named: Any) -> int:
        opens.set()
        return really(*given, **named)

    def interrupt() -> None:
        opens.wait(5)
        for _ in range(40):  # the first may come before the file is opened
            os.kill(os.getpid(), signal.SIGINT)
            if ended.wait(0.05):
                return
        stuck.set()
        os.close(really(pipe, os.O_RDWR))  # else nothing would end the wait

    def once(*_: object) -> None:
        if not ended.is_set():
            ended.set()
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", open_it)
    before = signal.signal(signal.SIGINT, once)
    try:
        for _ in range(20):
            opens.clear()
            ended.clear()
            other = Thread(target=interrupt)
            other.start()
            with pytest.raises(KeyboardInterrupt):
                read(pipe)
            other.join()
            assert not stuck.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_a_writer_wrote_that_has_ended_before_the_core_opens_the_pipe_is_read(
    pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described, writer = _core.trace_info, write(pipe)

    def describe(*given: Any) -> Any:
        writer.join()
        return described(*given)

    monkeypatch.setattr(_core, "trace_info", describe)
    assert trace.info(pipe, AUTO).requests == 300


def test_a_pipe_that_was_read_is_closed(pipe: Path) -> None:
    for _ in range(3):
        writer = write(pipe)
        assert trace.info(pipe, AUTO).requests == 300
        writer.join()
    with pytest.raises(OSError, match=r"No such device|Device not configured"):
        os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
