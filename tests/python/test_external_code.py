"""The code of policies from outside: what its digest covers, the seed that it draws by, and names that nothing uses."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest

import coflash
from coflash import CoflashError, external
from policies_of_ones_own import Greedy, Lru, SepGc
from processes import coflash as command
from sweeps import BUSY

Digest = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, whose modules are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", None) and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


HELPER = "from more import SCALE, unused\nWEIGHTS = [1, 2]\ndef weight(cost):\n    return SCALE * cost + WEIGHTS[0]\n"
MORE = "SCALE = 2\ndef unused(): ...\n"
BASE = "import helper\nclass Base:\n    def pick(self, some):\n        return helper.weight(some.cost).argmin()\n"
POLICY = "import coflash\n{}\n@coflash.policy('gc.victim')\nclass Mine{}:\n{}\n"
PICK = "    def pick(self, candidates):\n        return {}(candidates.cost).argmin()\n"


def _digest(folder: Path, policy: str, **files: str) -> str:
    """Write a policy and the files that it may use, and return its digest."""
    for name, text in {"helper": HELPER, "more": MORE, "base": BASE, "mine": policy, **files}.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        sys.modules.pop(name, None)
    return external.find("gc.victim", "mine:Mine", "")[1]


@pytest.mark.parametrize(
    "policy",
    [
        POLICY.format("from helper import weight", "", PICK.format("weight")),
        POLICY.format("import helper", "", PICK.format("helper.weight")),
        POLICY.format("import helper as other", "", PICK.format("other.weight")),
        POLICY.format("import base", "(base.Base)", "    pass"),
        POLICY.format("from base import Base", "(Base)", "    pass"),
        POLICY.format("from functools import cache\nfrom helper import *\nown = cache(weight)", "", PICK.format("own")),
        POLICY.format("import base", "", "    pick = base.Base.pick"),
        POLICY.format("import helper\ndef own(cost):\n    return helper.weight(cost)", "", PICK.format("own")),
    ],
)
def test_a_digest_covers_other_files_of_the_user(folder: Path, policy: str) -> None:
    digest = _digest(folder, policy)
    assert _digest(folder, policy) == digest
    changed = {
        "helper": HELPER.replace("WEIGHTS[0]", "WEIGHTS[1]"),
        "more": MORE.replace("2", "3"),
        "mine": policy.replace("candidates", "all_of_them").replace("pass", '"""Is another."""'),
    }
    assert len({digest, *(_digest(folder, policy, **{name: text}) for name, text in changed.items())}) >= 3 + (
        "pick = " not in policy
    )
    assert _digest(folder, policy) == digest


USED = "    def pick(self, candidates):\n        return (candidates.cost * weight({})).argmin()\n"


@pytest.mark.parametrize(
    ("before", "rest"),
    [
        ("WEIGHTS = [1, 2]\ndef weight(place): return WEIGHTS[place]", USED.format("0")),
        ("WEIGHTS = {'a': [1, {2}]}\ndef weight(name): return WEIGHTS[name][0]", USED.format("'a'")),
        (
            "import numpy as np\nWEIGHTS = np.arange(1, 2000)\ndef weight(place): return WEIGHTS[place]",
            USED.format("0"),
        ),
        ("from functools import cache\n@cache\ndef weight():\n    return 1", USED.format("")),
        ("from functools import partial\nweight = partial(max, 1, 3)", USED.format("0")),
        ("Some = type('Some', (), {'weight': 1})\nsome = Some()\ndef weight(): return some.weight", USED.format("")),
        ("def made(by):\n    return lambda: by\nweight = made(1)", USED.format("")),
        ("WEIGHTS = [\n    lambda: 1,\n]\ndef weight(place): return WEIGHTS[place]()", USED.format("0")),
        ("N = 1", "    classes = N\n" + PICK.format("abs")),
        ("N = 1", "    def pick(self, candidates, by=N):\n        return (candidates.cost * by).argmin()\n"),
        ("def twice(hook):\n    return lambda *all: 1 * hook(*all)", f"    @twice\n{PICK.format('abs')}"),
        ("class Meta(type):\n    by = 1", f"    class Inner(metaclass=Meta): pass\n{PICK.format('abs')}"),
    ],
)
def test_a_digest_covers_what_its_module_defines(folder: Path, before: str, rest: str) -> None:
    texts = [POLICY.format(one, "", rest) for one in (before, before.replace("1", "-1", 1))]
    once, other, again = (_digest(folder, text) for text in (texts[0], texts[1], texts[0]))
    assert once == again != other


def test_a_digest_covers_imports_inside_functions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    inner = "    def pick(self, candidates):\n        {}\n        return weight(candidates.cost).argmin()\n"
    (folder / "pack").mkdir()
    for line in ("from helper import weight", "from pack.inner import weight", "from pack import inner"):
        digests = []
        for text in ("SCALE = 1", "SCALE = 2"):
            (folder / "pack" / "inner.py").write_text(f"def weight(cost):\n    from more import SCALE\n    {text}\n")
            digests.append(_digest(folder, POLICY.format("", "", inner.format(line)), more=text))
        assert len({*digests}) == 2, line
        assert not {"helper", "pack", "pack.inner", "more"} & {*sys.modules}, "nothing is imported"


def test_a_digest_of_a_set_is_the_same_in_each_process(folder: Path) -> None:
    own = "NAMES = {'a', 'b', 'c', 'd', 'e'}\ndef weight(): return 'a' in NAMES"
    (folder / "mine.py").write_text(POLICY.format(own, "", USED.format("")), encoding="utf-8")
    code = "from coflash import external; print(external.find('gc.victim', 'mine:Mine', '')[1])"
    started = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True, capture_output=True
        )
        for seed in "123"
    ]
    assert len({one.stdout for one in started}) == 1, started


def test_a_list_that_runs_change_ends_no_sweep(folder: Path) -> None:
    own = "SEEN = []\ndef weight(): return SEEN.append(1) or 1"
    (folder / "mine.py").write_text(POLICY.format(own, "", USED.format("")), encoding="utf-8")
    scenario = BUSY.with_({"gc.victim": {"name": "external", "code": "mine:Mine"}})
    assert len(coflash.sweep(scenario, {}, seeds=2, on=1, out=folder / "own").results) == 2


def test_a_digest_covers_nothing_else(folder: Path) -> None:
    policy = POLICY.format("import helper, numpy as np, random", "", PICK.format("np.abs"))
    digest = _digest(folder, policy)
    assert _digest(folder, policy, helper="") == digest, "the class does not use it"
    assert _digest(folder, POLICY.format("import numpy as np", "", PICK.format("np.abs"))) == digest
    # Stored results name these digests.
    assert [external.described(one)["digest"] for one in (Greedy, SepGc)] == ["433627627f83d0e9", "d82a36512c9a0803"]


def test_a_run_after_a_change_of_another_file_is_a_new_one(folder: Path) -> None:
    _digest(folder, POLICY.format("import helper", "", PICK.format("helper.weight")))
    (folder / "s.toml").write_text(BUSY.to_toml(), encoding="utf-8")
    swept = ("sweep", "s.toml", "--vary", 'gc.victim={ name = "external", code = "mine:Mine" }', "--out", "own", "-q")
    assert command(*swept).returncode == 0
    assert len(list((folder / "own/runs").iterdir())) == 1
    (folder / "more.py").write_text("SCALE = -2\ndef unused(): ...\n", encoding="utf-8")
    assert command(*swept).returncode == 0
    assert len(list((folder / "own/runs").iterdir())) == 2


DRAWING = """
import random
from random import randrange
import coflash
import numpy as np

@coflash.policy("gc.victim")
class Drawing:
    def pick(self, candidates):
        some = [randrange(len(candidates)), random.randrange(len(candidates)), np.random.randint(len(candidates))]
        return min(some, key=lambda place: candidates.cost[place])
"""


@pytest.fixture
def drawn(folder: Path) -> coflash.Scenario:
    """A scenario whose policy draws from the generators of the process."""
    (folder / "drawing.py").write_text(DRAWING, encoding="utf-8")
    return BUSY.with_({"gc.victim.name": "external", "gc.victim.code": "drawing:Drawing"})


def test_what_a_policy_draws_follows_from_the_seed(drawn: coflash.Scenario) -> None:
    random.seed(7)
    np.random.seed(7)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    once, again, other = (coflash.run(one).document["metrics"] for one in (drawn, drawn, drawn.with_(seed=5)))
    assert once == again != other
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before, "the caller draws as if there was no run"  # type: ignore[index]
    device = coflash.warm(drawn)
    assert [coflash.run(drawn, warm=device).document["metrics"] for _ in range(2)] == [once, once]


def test_runs_at_once_draw_as_one_alone(drawn: coflash.Scenario, tmp_path: Path) -> None:
    def swept(name: str, on: int, **axes: list[Any]) -> list[float | None]:
        one = coflash.sweep(drawn, {"workload.synthetic.read_share": ["0%", "10%"], **axes}, out=tmp_path / name, on=on)
        return [estimate.mean for estimate in one.estimates("waf_host")]

    assert len(set(once := swept("once", 1, seed=[1, 2, 3]))) == 6
    assert swept("again", 2, seed=[1, 2, 3]) == once
    alone = [coflash.run(drawn.with_(workload__synthetic__read_share=share)).metrics for share in ("0%", "10%")]
    assert swept("shared", 2) == [metrics.waf_host for metrics in alone], "they share a warm device"


def test_sources_that_threads_read_at_once_have_one_digest() -> None:
    """Where a tree is built, collected garbage hands over to another thread: in CPython 3.11 both trees fail then."""

    def read(policy: type) -> str:
        external._refuse_parameters("gc.victim", Greedy, ())  # its signature is that of an object
        return external._digest(policy)

    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(30)
    gc.callbacks.append(hand_over := lambda *_: time.sleep(0))
    try:
        with ThreadPoolExecutor(4) as threads:
            digests = list(threads.map(read, [SepGc] * 30))
    finally:
        gc.callbacks.remove(hand_over)
        gc.set_threshold(*threshold)
        sys.setswitchinterval(interval)
    assert set(digests) == {external._digest(SepGc)}


@pytest.mark.parametrize("name", ["touch", "use", "on_access", "on_hit", "hti", "evict_page", "arrived"])
@pytest.mark.parametrize("kind", [lambda method: method, property, classmethod, staticmethod])
def test_a_public_method_that_nothing_uses_is_refused(name: str, kind: Any) -> None:
    def own(*_: Any) -> None: ...

    near = {"on_hit": "hit", "hti": "hit", "evict_page": "evict", "arrived": "arrive"}
    meant = f'did you mean "{near[name]}"' if name in near else r"\(allowed: insert, remove, evict, hit, flag, arrive\)"
    told = rf"{__name__}:Mine.{name}: nothing uses it.*{meant}.*; your own names begin with _ \({__name__}.py:\d+\)$"
    with pytest.raises(CoflashError, match=told):
        coflash.policy("cache.policy")(type("Mine", (Lru,), {name: kind(own), "__module__": __name__}))
    kept = type("Mine", (Lru,), {f"_{name}": kind(own), "__module__": __name__})
    assert coflash.policy("cache.policy")(kept) is kept


class _Kept:
    """A base with a method of its own."""

    def promote(self) -> int:
        return self.size

    @property
    def size(self) -> int:
        return 1


def _sized(policy: Any) -> int:
    return int(policy.weight())


def test_a_method_that_code_of_ones_own_uses_stays() -> None:
    @coflash.policy("cache.policy")
    class Mine(Lru, _Kept):
        Node = dict
        limit = 3

        def touch(self, page: int) -> None:
            super().hit(page)

        hit = touch

        def weight(self) -> int:
            return 2

        def insert(self, page: int, dirty: bool) -> None:
            super().insert(page, dirty)
            self.promote()
            _sized(self)

    assert external.is_policy(Mine)
    of_python = type("Mine", (Lru, dict), {"update": lambda _self: None, "__module__": __name__})
    assert coflash.policy("cache.policy")(of_python) is of_python, "dict has such a method"
    with pytest.raises(CoflashError, match=r'SepGc.gc_class: nothing uses it; did you mean "gc_classes"'):
        coflash.policy("ftl.placement")(type("SepGc", (SepGc,), {"gc_class": 1, "__module__": __name__}))


@coflash.policy("gc.victim")
class Powered:
    def __init__(self, power: float = 1.0, *, offset: int = 0) -> None:
        self.power, self.offset = power, offset

    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        return (candidates.cost**self.power + self.offset).argmin()


@coflash.policy("cache.policy")
class Exiting(Lru):
    """Removes a page itself, or leaves."""

    def __init__(self, pages: int, where: str = "") -> None:
        super().__init__(pages)
        self.where = where

    def hit(self, page: int) -> None:
        if self.where == "exit":
            sys.exit(3)
        super().hit(page)

    def evict(self) -> int:
        return self.recent.popitem(last=False)[0] if self.where == "pop" else self.where == "bool"


class Plain:
    """Is not decorated."""


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"gc.victim": Powered, "gc.victim.parameters.powr": 1.0},
            r'^gc.victim.parameters: "powr" was given; did you mean "power"\? \(allowed: power, offset\) '
            r"\(test_external_code.py:\d+\)$",
        ),
        ({"gc.victim": Greedy, "gc.victim.parameters.x": 1}, r'"x" was given \(none is allowed\)$'),
        ({"cache.policy": Exiting, "cache.policy.parameters.pages": 1}, r'"pages" was given \(allowed: where\)'),
        (
            {"cache.policy": Exiting, "cache.policy.parameters.where": "exit"},
            rf"^cache.policy: {__name__}:Exiting.hit raised SystemExit: 3 \({__name__}.py:\d+\)$",
        ),
        (
            {"cache.policy": Exiting, "cache.policy.parameters.where": "pop"},
            r"Exiting.remove raised KeyError: \d+; evict only names a page, remove follows \(",
        ),
        (
            {"cache.policy": Exiting, "cache.policy.parameters.where": "bool"},
            r"Exiting.evict: True was returned; a page in the cache is allowed, a whole number \(",
        ),
        (
            {"gc.victim": {"name": "external", "code": "policies_of_ones_own:Lru"}},
            r"no policy for it, but for cache.policy; @coflash.policy\('gc.victim'\) makes a class one",
        ),
        (
            {"gc.victim": {"name": "external", "code": "policies_of_ones_own:Greedy", "digest": "0" * 16}},
            "it has changed; leave digest out",
        ),
    ],
)
def test_a_policy_that_cannot_be_used_is_told_with_what_mends_it(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(CoflashError, match=problem):
        coflash.run(BUSY.with_(cooperation="none").with_(changes))


@pytest.mark.parametrize(
    ("key", "hooks", "problem"),
    [
        ("gc.victim", "def pick(self): ...", r"Mine.pick: .*; write def pick\(self, candidates\) \(mine.py:4\)$"),
        ("gc.victim", "def pick(candidates): ...", r"Mine.pick: .*; write def pick\(self, candidates\)"),
        ("gc.victim", "pick = staticmethod(lambda: 0)", r"Mine.pick: .*; write def pick\(candidates\)"),
        ("gc.victim", "def _init_(self): ...", r'Mine._init_: did you mean "__init__"\? \(mine.py:4\)$'),
        ("cache.policy", "def insert(self, page): ...", r"Mine.insert: .*; write def insert\(self, page, dirty\)"),
        (
            "cache.policy",
            "def __init__(self): ...",
            r"Mine.__init__: .*; write def __init__\(self, pages\) \(mine.py:4\)$",
        ),
        ("cache.policy", "__init__ = object.__init__", r"Mine.__init__: .*; write def __init__\(self, pages\)"),
        ("cache.policy", "def __init__(self, pages, by): ...", ""),
        ("gc.victim", "def pick(self, *all): ...", ""),
        ("gc.victim", "pick = staticmethod(lambda candidates, by=1: 0)", ""),
        ("cache.policy", "def insert(self, page, dirty, more=1): ...", ""),
    ],
)
def test_a_hook_that_cannot_be_called_is_told_with_its_signature(
    tmp_path: Path, key: str, hooks: str, problem: str
) -> None:
    needed = ("__init__(self, pages)", "insert(self, page, dirty)", "remove(self, page)", "evict(self)")
    others = [f"    def {one}: ...\n" for one in needed if one.partition("(")[0] not in hooks and key == "cache.policy"]
    text = f"import coflash\n@coflash.policy({key!r})\nclass Mine:\n    {hooks}\n{''.join(others)}"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    if problem:
        with pytest.raises(CoflashError, match=problem):
            external.loaded(tmp_path / "mine.py")
    else:
        assert external.is_policy(external.loaded(tmp_path / "mine.py"))


def test_a_missing_array_is_told_with_the_one_that_was_meant() -> None:
    @coflash.policy("gc.victim")
    class Mine:
        def pick(self, candidates: Any) -> Any:
            return candidates.costs.argmin()

    told = r"Mine.pick raised AttributeError: .*'costs'; did you mean cost\? \(test_external_code.py:\d+\)$"
    with pytest.raises(CoflashError, match=told):
        coflash.run(BUSY.with_(gc__victim=Mine))


def test_a_class_that_is_no_policy_is_told_with_what_makes_it_one() -> None:
    with pytest.raises(TypeError, match=r"Plain'> \(type\); a class needs @coflash.policy"):
        BUSY.with_(gc__victim=Plain)
    with pytest.raises(CoflashError, match=r"Half has no method remove; .*evict \(test_external_code.py:\d+\)$"):

        @coflash.policy("cache.policy")
        class Half:
            def insert(self, page: int, dirty: bool) -> None: ...


def test_a_module_that_leaves_is_told(folder: Path) -> None:
    (folder / "leaving.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    with pytest.raises(CoflashError, match=r"gc.victim.code: leaving:X: SystemExit: 3 \(leaving.py:2\)"):
        external.find("gc.victim", "leaving:X", "")
