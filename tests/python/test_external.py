"""Policies from outside: the same results as the built-in ones, and one clear error for each fault."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import pytest

import coflash
from coflash import CoflashError, external
from coflash.sweep.plan import Point
from policies_of_ones_own import CostBenefit, Dac, Fifo, FifoOfPages, Greedy, Lru, SepGc
from processes import await_line, begin, interrupt
from processes import coflash as command
from sweeps import BUSY, SPACIOUS


def metrics(scenario: coflash.Scenario, **options: Any) -> Any:
    return coflash.run(scenario, **options).document["metrics"]


@pytest.mark.parametrize(
    ("key", "own", "built_in"),
    [
        ("gc.victim", Greedy, "greedy"),
        ("gc.victim", Fifo, "fifo"),
        ("gc.victim", CostBenefit, "cost-benefit"),
        ("gc.victim", {"name": "score", "score": "-u"}, "greedy"),
        (
            "gc.victim",
            {"name": "score", "score": "(age + 1) * freed / cost", "tie": "first-sealed"},
            "cost-benefit",
        ),
        ("cache.policy", Lru, "lru"),
        ("cache.policy", FifoOfPages, "fifo"),
    ],
)
@pytest.mark.parametrize("cooperation", ["none", "cdm", "cdm-hgc"])
def test_the_same_policy_gives_the_same_result(key: str, own: Any, built_in: str, cooperation: str) -> None:
    scenario = BUSY.with_(cooperation=cooperation)
    expected = metrics(scenario.with_({key: built_in}))
    assert expected["gc_copies_pages"] > 0
    assert metrics(scenario.with_({key: own})) == expected
    other = {"greedy": "fifo", "fifo": "clock" if key == "cache.policy" else "greedy"}.get(built_in, "fifo")
    assert metrics(scenario.with_({key: other})) != expected, "the scenario tells policies apart"


def test_the_arrays_of_a_pick_have_a_sign() -> None:
    least: list[Any] = []

    @coflash.policy("gc.victim")
    class Differences:
        def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
            arrays = (candidates.blocks, candidates.valid, candidates.age, candidates.erases)
            least.extend((array - 1_000_000).min() for array in arrays)
            oldest = np.where(candidates.cost <= candidates.cost.min(), candidates.age, -1)
            least.append(oldest.min())
            return oldest.argmax()

    coflash.run(BUSY.with_({"gc.victim": Differences}))
    assert least and max(least) < 1_000_000, "nothing wraps around"


@coflash.policy("cache.policy")
class Told(Lru):
    """Is told for which page another leaves, and whenever a page becomes dirty or clean."""

    def __init__(self, pages: int) -> None:
        super().__init__(pages)
        self.arriving: int | None = None
        self.dirty: dict[int, bool] = {}

    def arrive(self, page: int) -> None:
        assert page not in self.recent
        self.arriving = page

    def evict(self) -> int:
        assert self.arriving is not None
        return super().evict()

    def insert(self, page: int, dirty: bool) -> None:
        assert self.arriving in (page, None)
        self.arriving = None
        self.dirty[page] = dirty
        super().insert(page, dirty)

    def flag(self, page: int, dirty: bool) -> None:
        assert self.dirty[page] != dirty
        self.dirty[page] = dirty
        flagged.append(dirty)


flagged: list[bool] = []


def test_a_cache_policy_is_told_what_arrives_and_what_becomes_dirty() -> None:
    flagged.clear()
    scenario = BUSY.with_(cooperation="cdm")
    assert metrics(scenario.with_(cache__policy=Told)) == metrics(scenario.with_(cache__policy="lru"))
    assert flagged


SEPARATED = {"name": "score", "score": "gc", "classes": 2, "gc_classes": 1}
BY_LIFE = {
    "name": "score",
    "score": "if(gc, if(class < 1, 2, 3 + (age >= 4 * life) + (age >= 16 * life)), age >= life)",
    "classes": 6,
    "gc_classes": 4,
}


@pytest.mark.parametrize(
    ("own", "built_in", "is_reversed"),
    [(SepGc, "sepgc", False), (SEPARATED, "sepgc", False), (Dac, "dac", True), (BY_LIFE, "sepbit", False)],
)
@pytest.mark.parametrize("cooperation", ["none", "cdm", "hgc"])
def test_the_same_placement_gives_the_same_result(own: Any, built_in: str, is_reversed: bool, cooperation: str) -> None:
    scenario = SPACIOUS.with_(cooperation=cooperation)
    expected, found = metrics(scenario.with_(ftl__placement=built_in)), metrics(scenario.with_(ftl__placement=own))
    classes = expected.pop("placement")
    assert found.pop("placement") == (classes[::-1] if is_reversed else classes)
    assert found == expected
    assert expected["gc_copies_pages"] > 0
    if built_in == "sepgc":  # which write streams do, too
        assert metrics(scenario) == expected
    else:
        assert metrics(scenario) != expected, "the scenario tells policies apart"


@coflash.policy("ftl.placement")
class Placing:
    """Misbehaves in one hook, as told: raises, or returns a given value."""

    classes = 3
    gc_classes = 1

    def __init__(self, _pages: int, where: str, what: Any) -> None:
        self.where, self.what = where, what

    def answer(self, hook: str, rest: int) -> Any:
        if hook != self.where:
            return rest
        if self.what == "raise":
            raise ValueError("no idea")
        return self.what

    def user_write(self, _page: int, _replaces: int | None, _is_evicted: bool, _now: int) -> Any:
        return self.answer("user_write", 0)

    def gc_write(self, _page: int, source: int, _now: int) -> Any:
        assert 0 <= source < self.classes
        return self.answer("gc_write", 2)

    def cleaned(self, source: int, opened_at: int, valid: int, now: int) -> None:
        assert 0 <= source < self.classes
        assert opened_at <= now
        assert 0 <= valid <= 1 << 16
        self.answer("cleaned", 0)


@pytest.mark.parametrize(
    ("where", "what", "problem"),
    [
        ("user_write", 3, r"user_write: 3 was returned; a class from 0 to 2 is allowed"),
        ("gc_write", 1, r"gc_write: 1 was returned; a class from 2 to 2 is allowed"),
        (
            "gc_write",
            -1,
            rf"gc_write: -1 was returned; the number of a class is allowed, a whole number \({__name__}.py:\d+\)$",
        ),
        ("user_write", True, r"user_write: True was returned; the number of a class is allowed, a whole number \("),
        ("user_write", "x", r"user_write: 'x' was returned; the number of a class is allowed"),
        ("user_write", "raise", r"user_write raised ValueError: no idea \(test_external.py:\d+\)$"),
        ("gc_write", "raise", r"gc_write raised ValueError: no idea"),
        ("cleaned", "raise", r"cleaned raised ValueError: no idea"),
    ],
)
def test_a_class_that_cannot_be_used_ends_the_run(where: str, what: Any, problem: str) -> None:
    placement = external.described(Placing) | {"parameters": {"where": where, "what": what}}
    scenario = SPACIOUS.with_({"ftl.placement": placement})
    with pytest.raises(CoflashError, match=f"^ftl.placement: test_external:Placing.{problem}"):
        coflash.run(scenario)
    assert metrics(BUSY), "the next run on this thread is not concerned"


def test_a_warm_device_has_the_state_of_its_placement(tmp_path: Path) -> None:
    scenario = SPACIOUS.with_(ftl__placement=Dac)
    device = coflash.warm(scenario)
    assert metrics(scenario, warm=device) == metrics(scenario, warm=device) == metrics(scenario)
    with pytest.raises(CoflashError, match="cannot be kept in a file"):
        device.save(tmp_path / "device")
    by_score = SPACIOUS.with_({"ftl.placement": BY_LIFE})
    coflash.warm(by_score, tmp_path / "device")
    assert metrics(by_score, warm=tmp_path / "device") == metrics(by_score)


def test_a_result_says_which_code_ran() -> None:
    scenario = BUSY.with_(gc__victim=Greedy)
    victim = coflash.run(scenario).document["scenario"]["gc"]["victim"]
    assert victim == {"name": "external", "code": "policies_of_ones_own:Greedy", "digest": victim["digest"]}
    by_name = BUSY.with_({"gc.victim.name": "external", "gc.victim.code": "policies_of_ones_own:Greedy"})
    assert Point.of(by_name, (), (("cooperation", '{name="none"}'),), 1).values == {"cooperation": "none"}
    assert by_name.hash != scenario.hash
    assert by_name.with_digests() == scenario == coflash.Scenario.from_toml(scenario.to_toml())
    assert coflash.run(by_name).document["scenario_hash"] == scenario.hash
    assert len({BUSY.with_(gc__victim=policy).hash for policy in (Greedy, Fifo, CostBenefit)}) == 3


def test_parameters_are_keyword_arguments() -> None:
    scenario = BUSY.with_(gc__victim=CostBenefit).with_({"gc.victim.parameters.offset": 1})
    assert metrics(scenario) == metrics(BUSY.with_(gc__victim="cost-benefit"))
    with pytest.raises(CoflashError, match=r'"of" was given \(allowed: offset\) \(policies_of_ones_own.py:\d+\)$'):
        coflash.run(BUSY.with_(gc__victim=CostBenefit).with_({"gc.victim.parameters.of": 1}))


def test_a_digest_is_of_all_that_the_class_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
import coflash

WEIGHT = 1
def helper(candidates):
    return (candidates.cost * WEIGHT).argmin()

@coflash.policy("gc.victim")
class Mine:
    def pick(self, candidates):
        return helper(candidates)
"""
    monkeypatch.chdir(tmp_path)

    def digest(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        return external.find("gc.victim", f"{name}:Mine", "")[1]

    changes = [text, text.replace("WEIGHT = 1", "WEIGHT = 2"), text.replace("argmin", "argmax"), text + "\nother = 3\n"]
    digests = [digest(f"mine{number}", text) for number, text in enumerate(changes)]
    assert len(set(digests)) == 3
    assert digests[0] == digests[3]
    scenario = BUSY.with_({"gc.victim.name": "external", "gc.victim.code": "mine0:Mine", "gc.victim.digest": "0" * 16})
    with pytest.raises(CoflashError, match=rf"{'0' * 16} was given; the source of mine0:Mine has {digests[0]}"):
        coflash.run(scenario)


def test_a_sweep_takes_classes_and_goes_on_after_a_failure(tmp_path: Path) -> None:
    choices = [Greedy, Raising, "greedy", {"name": "score", "score": "-u"}]
    swept = coflash.sweep(BUSY, {"gc.victim": choices}, out=tmp_path, seeds=2, on=2)
    assert len(swept.results) == 6
    assert {failure.error for failure in swept.failures} == {RAISED}
    waf = [estimate.mean for estimate in swept.estimates("waf_host")]
    assert waf[0] == waf[2] == waf[3]
    assert coflash.sweep(BUSY, {"gc.victim": choices}, out=tmp_path, seeds=2, on=2).from_before == 6


def test_tune_takes_parameters_of_a_class(tmp_path: Path) -> None:
    scenario = BUSY.with_(gc__victim=CostBenefit)
    over = {"gc.victim.parameters.offset": "0..3"}
    tuned = coflash.tune(scenario, over, minimise="waf_host", trials=4, out=tmp_path, on=1)
    assert len(tuned.trials) == 4


def test_a_warm_device_is_shared_with_the_state_of_its_policies(tmp_path: Path) -> None:
    scenario = BUSY.with_(gc__victim=Counting)
    device = coflash.warm(scenario)
    runs = [metrics(scenario, warm=device) for _ in range(2)]
    assert runs[0] == runs[1] == metrics(scenario)
    assert runs[0] != metrics(BUSY.with_(gc__victim="greedy"))
    with pytest.raises(CoflashError, match="cannot be kept in a file"):
        device.save(tmp_path / "device")
    assert not (tmp_path / "device").exists()


@coflash.policy("gc.victim")
class Counting:
    """Every third pick is another."""

    def __init__(self) -> None:
        self.picks = 0

    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        self.picks += 1
        return int(np.argpartition(candidates.cost, 1)[1]) if self.picks % 3 == 0 else candidates.cost.argmin()


@coflash.policy("gc.victim")
class Raising:
    def pick(self, _candidates: coflash.Candidates) -> SupportsIndex:
        raise ValueError("no idea")


LINE = Raising.pick.__code__.co_firstlineno + 1
RAISED = f"gc.victim: test_external:Raising.pick raised ValueError: no idea (test_external.py:{LINE})"


@coflash.policy("gc.victim")
class Picking:
    """Returns a given pick."""

    def __init__(self, what: Any) -> None:
        self.what = what

    def pick(self, candidates: coflash.Candidates) -> Any:
        match self.what:
            case "write":
                candidates.cost[0] = 0.0
            case "unlock":
                candidates.cost.flags.writeable = True
            case "nothing":
                return None
            case "cost":
                return candidates.cost
            case "fullest":
                return candidates.cost.argmax()
            case "interrupt":
                raise KeyboardInterrupt
        return self.what


PICKING = Picking.pick.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (-1, r"pick: -1 was returned; a place from 0 to \d+ is allowed"),
        (10**6, r"pick: 1000000 was returned; a place from 0 to \d+ is allowed"),
        (
            "nothing",
            rf"pick: None was returned; a place from 0 to \d+ is allowed, a whole number \({__name__}.py:{PICKING}\)$",
        ),
        (False, r"pick: False was returned; a place from 0 to \d+ is allowed, a whole number \("),
        (0.5, r"pick: 0.5 was returned; a place from 0 to \d+ is allowed, a whole number \("),
        ("cost", r"pick: array\(.{,40} was returned; a place from 0 to \d+ is allowed"),
        ("write", r"pick raised ValueError: assignment destination is read-only"),
        ("unlock", r"pick raised ValueError: cannot set WRITEABLE flag"),
        ("fullest", r"pick: \d+ picks in a row were blocks without an invalid page"),
    ],
)
def test_a_pick_that_cannot_be_used_ends_the_run(what: Any, problem: str) -> None:
    scenario = BUSY.with_(gc__victim=Picking).with_({"gc.victim.parameters.what": what})
    with pytest.raises(CoflashError, match=f"^gc.victim: test_external:Picking.{problem}"):
        coflash.run(scenario)
    assert metrics(BUSY), "the next run on this thread is not concerned"


def test_an_exception_is_the_cause_of_the_error() -> None:
    with pytest.raises(CoflashError) as raised:
        coflash.run(BUSY.with_(gc__victim=Raising))
    assert str(raised.value) == RAISED
    assert isinstance(raised.value.__cause__, ValueError)
    scenario = BUSY.with_(gc__victim=Picking).with_({"gc.victim.parameters.what": "interrupt"})
    with pytest.raises(KeyboardInterrupt):
        coflash.run(scenario)


@coflash.policy("cache.policy")
class Evicting(Lru):
    """Does something wrong after a while."""

    def __init__(self, pages: int, what: str) -> None:
        super().__init__(pages)
        self.what, self.left = what, 100

    def evict(self) -> Any:
        self.left -= 1
        if self.left > 0:
            return super().evict()
        wrong = {"none": None, "absent": 2**31, "float": np.float32(2)}
        return wrong[self.what] if self.what != "raise" else self.nothing  # type: ignore[attr-defined]


EVICTING = Evicting.evict.__code__.co_firstlineno


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        (
            "none",
            rf"evict: None was returned; a page in the cache is allowed, a whole number \({__name__}.py:{EVICTING}\)$",
        ),
        ("absent", rf"evict: 2147483648 was returned; a page in the cache is allowed \(test_external.py:{EVICTING}\)$"),
        ("float", r"evict: np.float32\(2.0\) was returned; a page in the cache is allowed, a whole number \("),
        ("raise", "evict raised AttributeError"),
    ],
)
def test_an_eviction_that_cannot_be_used_ends_the_run(what: str, problem: str) -> None:
    scenario = BUSY.with_(cache__policy=Evicting).with_({"cache.policy.parameters.what": what})
    with pytest.raises(CoflashError, match=f"^cache.policy: test_external:Evicting.{problem}"):
        coflash.run(scenario)


def test_what_is_kept_of_a_pick_stays_as_it_was() -> None:
    Keeping.kept.clear()
    coflash.run(BUSY.with_(gc__victim=Keeping))
    assert len(Keeping.kept) > 10
    for array, copy in Keeping.kept:
        assert np.array_equal(array, copy)


@coflash.policy("gc.victim")
class Keeping:
    kept: list[tuple[Any, Any]] = []  # noqa: RUF012 - of all instances

    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        for array in (candidates.blocks, candidates.valid, candidates.cost, candidates.age, candidates.erases):
            assert len(array) == len(candidates)
            self.kept.append((array, array.copy()))
        assert candidates.valid.max() <= candidates.pages_per_block
        assert candidates.age.max() <= candidates.now
        return candidates.cost.argmin()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"gc.victim": {"name": "score", "score": "1 - ag"}},
            r'gc.victim.*score.*"ag" is no feature; did you mean "age"',
        ),
        ({"gc.victim": "external"}, "gc.victim.code: it must be given"),
        ({"gc.victim": {"name": "external", "code": "x"}}, "gc.victim.code: .*module:Class is allowed"),
        (
            {"gc.victim": {"name": "external", "code": "nowhere:X"}},
            r"nowhere:X: no file nowhere.py in \S+, nor .*; run in",
        ),
        (
            {"gc.victim": {"name": "external", "code": "policies_of_ones_own:Gredy"}},
            'has no class "Gredy"; did you mean "Greedy"',
        ),
        (
            {"gc.victim": {"name": "external", "code": "policies_of_ones_own:Lru"}},
            "gc.victim: policies_of_ones_own:Lru is no policy for it",
        ),
        (
            {"ftl.placement": {"name": "score", "score": "ag"}},
            r'ftl.placement.*score.*"ag" is no feature; did you mean "age"',
        ),
        ({"ftl.placement": "external"}, "ftl.placement.code: it must be given"),
        ({"cache.policy": Lru, "cooperation": "cdm-consistent"}, "cache.policy: .*cdm-consistent may hold two"),
    ],
)
def test_a_policy_that_is_not_there_is_named(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(CoflashError, match=problem):
        coflash.run(BUSY.with_(changes))


def test_a_class_without_a_hook_is_refused() -> None:
    with pytest.raises(
        CoflashError, match=r"cache.policy: .*Half has no method remove; it needs insert, remove, evict"
    ):

        @coflash.policy("cache.policy")
        class Half:
            def insert(self, page: int, dirty: bool) -> None: ...

    with pytest.raises(CoflashError, match=r"Unsure.classes: a whole number from 1 is allowed, such as classes = 2"):

        @coflash.policy("ftl.placement")
        class Unsure:
            def user_write(self, page: int, replaces: int | None, is_evicted: bool, now: int) -> int: ...  # type: ignore[empty-body]
            def gc_write(self, page: int, source: int, now: int) -> int: ...  # type: ignore[empty-body]

    with pytest.raises(CoflashError, match=r'"gc\.victm" was given; did you mean "gc.victim"'):
        coflash.policy("gc.victm")


def test_a_module_that_cannot_be_loaded_is_told_with_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for name in ("own_victim.py", "a/own_victim.py"):
        Path(name).write_text("import nothing_of_this_name\n", encoding="utf-8")
    Path("wrong_hook.py").write_text(
        "import coflash\n\n@coflash.policy('gc.victim')\nclass X:\n    def pik(self, c): ...\n", encoding="utf-8"
    )
    asked = "gc.victim.code: "
    for code, told in {
        "own_victin:X": f"{asked}own_victin:X: no file own_victin.py in {tmp_path}, .*; did you mean own_victim.py",
        "own_victim.py:X": f'{asked}"own_victim.py:X" was given; did you mean "own_victim:X"',
        "./own_victim.py:X": f'{asked}"./own_victim.py:X" was given; did you mean "own_victim:X"',
        "a/own_victim:X": f'{asked}"a/own_victim:X" was given; did you mean "a.own_victim:X"',
        "./absent:X": f"{asked}./absent:X: no file ./absent.py in {tmp_path}",
        "own_victim:X": r"own_victim:X: ModuleNotFoundError: No module .*'nothing_of_this_name' \(own_victim.py:1\)$",
        "wrong_hook:X": r'^gc.victim: wrong_hook:X.pik: nothing uses it; did you mean "pick".*\(wrong_hook.py:5\)$',
    }.items():
        with pytest.raises(CoflashError, match=told):
            external.find("gc.victim", code, "")


# It sleeps: in a loop that never lets go of the interpreter, Python 3.11 may keep a signal for later.
ENDLESS = """
import sys
import time

import coflash
from sweeps import SPACIOUS

class Endless:
    def hook(self, *_):
        print("called", flush=True)
        while True:
            time.sleep(0.01)

@coflash.policy("gc.victim")
class Picking(Endless):
    pick = Endless.hook

@coflash.policy("cache.policy")
class Evicting(Endless):
    def __init__(self, pages): pass
    def insert(self, page, dirty): pass
    def remove(self, page): pass
    evict = Endless.hook

@coflash.policy("ftl.placement")
class Placing(Endless):
    classes = 2
    def __init__(self, pages): pass
    user_write = Endless.hook
    gc_write = Endless.hook

key, does, out = sys.argv[1:]
of = {"gc.victim": Picking, "cache.policy": Evicting, "ftl.placement": Placing}
scenario = SPACIOUS.with_({key: of[key]})
if does == "run":
    coflash.run(scenario)
else:
    coflash.sweep(scenario, {"seed": [1, 2]}, out=out, on=2)
"""


@pytest.mark.parametrize(
    ("key", "what"),
    [("gc.victim", "run"), ("gc.victim", "sweep"), ("cache.policy", "run"), ("ftl.placement", "run")],
)
def test_control_c_ends_a_hook_that_does_not_return(key: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = (sys.executable, str(tmp_path / "endless.py"), key, what, str(tmp_path / "results"))
    with begin(*command, env=environment) as child:
        await_line(child.stdout, "called")  # in one line with that of the other run, it may be
        _, errors, _ = interrupt(child)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_a_scenario_with_a_policy_is_described() -> None:
    assert json.dumps(BUSY.with_(gc__victim=Greedy).check())


def test_a_check_runs_no_code_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs_at_once.py").write_text("from pathlib import Path\nPath('ran').touch()\n", encoding="utf-8")
    Path("s.toml").write_text('gc.victim = { name = "external", code = "runs_at_once:Mine" }\n', encoding="utf-8")
    checked = command("scenario", "check", "s.toml")
    assert (checked.returncode, Path("ran").exists()) == (0, False)
    assert "note: gc.victim.code is not loaded, since a check runs no code" in checked.stdout
    assert "no class" in command("run", "s.toml").stderr and Path("ran").exists(), "a run loads it"
