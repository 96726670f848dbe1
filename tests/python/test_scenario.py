from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest

import coflash
from coflash import CoflashError, Scenario
from coflash.scenario import toml_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("64MiB", '"64MiB"'),
        ("3", '"3"'),
        (True, "true"),
        (3, "3"),
        (np.int64(3), "3"),
        (0.5, "0.5"),
        (np.float32(0.5), "0.5"),
        ([1, 2], "[1, 2]"),
        ({"name": "d-choices", "d": 10, "seed": None}, '{ name = "d-choices", d = 10 }'),
    ],
)
def test_a_python_value_becomes_its_toml(value: Any, text: str) -> None:
    assert toml_value(value) == text


def test_a_value_that_toml_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="NoneType"):
        toml_value(None)


def test_keys_can_be_set_either_way_and_the_scenario_itself_stays() -> None:
    demo = Scenario.load("demo")
    before = demo.to_toml()
    one, other = demo.with_({"cache.size": "32MiB"}), demo.with_(cache__size="32MiB")
    assert one == other
    assert hash(one) == hash(other)
    assert one.hash == other.hash != demo.hash
    assert one.to_dict()["cache"]["size"] == "32MiB"
    assert demo.to_toml() == before


def test_a_scenario_survives_its_text_and_a_trip_to_another_process() -> None:
    demo = Scenario.load("demo")
    assert Scenario.from_toml(demo.to_toml()) == demo
    assert Scenario.from_dict(demo.to_dict()) == demo
    assert pickle.loads(pickle.dumps(demo)) == demo  # noqa: S301


def test_what_is_wrong_is_named() -> None:
    with pytest.raises(CoflashError, match="demoo"):
        Scenario.load("demoo")
    with pytest.raises(CoflashError, match=r"cache\.siz"):
        Scenario.load("demo").with_(cache__siz="1MiB")


def test_everything_that_ships_is_listed() -> None:
    presets = coflash.built_in_scenarios()
    assert {"demo", "pm9a3", "7450-max"} <= presets.keys(), "a measured drive has a name"
    for name in presets:
        assert re.sub(r"\W+", "-", Scenario.load(name).name.lower()).strip("-") == name
    policies = coflash.policies()
    assert {"none", "cdm"} <= {policy.name for family in policies for policy in family.policies}
    for policy in (policy for family in policies for policy in family.policies):
        assert policy.summary
        assert policy.source
    assert coflash.scenario_schema()["properties"]


def test_a_policy_is_chosen_before_its_parameters_whatever_their_order() -> None:
    pairs = [("gc.victim.d", "7"), ("gc.victim", "d-choices"), ("seed", "1"), ("seed", "2")]
    chosen = Scenario.load("demo").set(pairs).to_dict()
    assert chosen["gc"]["victim"] == {"name": "d-choices", "d": 7}
    assert chosen["seed"] == 2, "of two values for one key the last holds"
