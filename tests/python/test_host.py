"""The cache in the host, from Python and the command line."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import coflash
from coflash.measures.catalogue import named
from coflash.measures.metrics import Host
from coflash.results.tables import run_table

SMALL = coflash.Scenario.from_dict({
    "flash": {"channels": 2, "blocks_per_plane": 64},
    "cache": {"size": "5%"},
    "cooperation": {"name": "cdm"},
    "link": {"per_command": "5us"},
    "workload": {"synthetic": {"requests": 20_000, "read_share": "50%"}},
})  # fmt: skip


def shown(result: coflash.Result) -> str:
    console = Console(file=StringIO(), width=100)
    console.print(run_table(result))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_what_the_link_costs_is_counted_and_shown() -> None:
    result = coflash.run(SMALL.with_({"cache.placement": "host"}))
    link = result.metrics.host
    assert isinstance(link, Host)
    assert set(link) == set(Host.__annotations__)
    assert link.to_device.carrying_commands > 0 and link.to_device.messages == 0
    assert link.messages == link.protect.messages > 0
    assert named("host.to_device.delay_mean").shown(result.metrics).endswith("s")
    assert "messages between cache and flash" in shown(result)


def test_a_cache_in_the_device_has_no_link_to_speak_of() -> None:
    result = coflash.run(SMALL)
    assert "host" not in result.metrics
    assert named("host.messages").shown(result.metrics) == "–"
    assert "between cache and flash" not in shown(result)


def test_what_does_not_fit_is_refused_by_its_key() -> None:
    with pytest.raises(coflash.CoflashError, match=r"^cache\.placement: .*\"none\", \"cdm\" and"):
        coflash.run(SMALL.with_({"cache.placement": "host", "cooperation": {"name": "sgc"}}))
    with pytest.raises(coflash.CoflashError, match=r"host\.notices: .*piggybacked"):
        SMALL.with_({"host.notices": "pigybacked"})
