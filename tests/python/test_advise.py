from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.policies import policies
from coflash.quantity import show, show_change
from coflash.results.why import whole
from coflash.sweep.advise import _cheapest, _check_room, _ends, drift, left_of
from coflash.sweep.answers import BEFORE_DISKS, DEVICE
from coflash.sweep.question import Question, folder_for
from processes import coflash as command
from sweeps import SMALL

OWN = SMALL.with_(
    {
        "cache.size": "5%",
        "cooperation.removable_weight": 1.0,
        "workload.synthetic.requests": 60_000,
        "workload.synthetic.generator": {"name": "hot-cold"},
        "workload.synthetic.read_share": "30%",
    }
)


@pytest.fixture(scope="module")
def advice(tmp_path_factory: pytest.TempPathFactory) -> coflash.Advice:
    return coflash.advise(OWN, out=tmp_path_factory.mktemp("advice"))


def test_the_advised_answer_saves_beyond_noise_and_its_shares_add_up(advice: coflash.Advice) -> None:
    base, *rest = advice.tried
    names = {one.answer.name for one in rest}
    assert base.answer.name == "none" and {"cdm", "expected-cost", "cdm with clean first"} <= names
    assert {"W-TinyLFU", "S3-FIFO", "SIEVE", "clean first", "expected-cost with SIEVE"} <= names, (
        "eviction is an answer"
    )
    assert advice.best.is_sure and advice.best.between is not None and advice.best.between[0] > 0
    assert advice.why is not None and sum(one.mean or 0.0 for one in advice.why.shares.values()) == pytest.approx(
        advice.best.value - base.value
    )
    for one in rest:
        assert one.saved == pytest.approx(1 - one.value / base.value)
        run, order = one.runs[0], dict(one.answer.settings).get("cache.policy", "lru")
        slots, pages = run.metrics.cache.capacity_pages, run.workload["logical_bytes"] // 4096
        own = {"s3-fifo": 21.7 * slots + 4 * pages, "w-tinylfu": 9 * slots + 4 * pages, "sieve": 9 * slots}
        order_bytes = own.get(order, (9 if "cflru" in order else 8) * slots)
        scheme = one.answer.settings[0][1] != "none"
        assert one.memory_bytes is not None and (one.memory_bytes > round(order_bytes)) == scheme
        assert scheme or one.memory_bytes == round(order_bytes)


def test_what_is_advised_is_checked_over_more_seeds_and_rounds(advice: coflash.Advice) -> None:
    base, best = advice.tried[0], advice.best
    assert best in advice.tried and best.between is not None
    assert best.how.endswith(", 3 seeds and 4 times as many requests, after another history too")
    longer = {"workload.repeat": 4, "workload.requests_max": 4 * base.runs[0].metrics.requests}
    for more in ({"seed": 2}, {"seed": 3}, longer):
        before, after = (coflash.run(one.runs[0].scenario.with_(more)).metrics.waf_host for one in (base, best))
        assert best.between[0] <= 1 - (after or 0.0) / (before or 1.0) <= best.between[1], more
    wavers = replace(best, saved=0.3, between=(-0.1, 0.5), answer=replace(best.answer, name="other"))
    for changed, told in (
        (replace(advice, best=wavers), "over more seeds and rounds other saves "),
        (replace(advice, tried=(base, wavers), best=base), "as far as these runs tell, other saves "),
    ):
        assert not changed.is_sure and changed.sentences[0].startswith(f"No sure advice ({told}")
    little = replace(wavers, saved=0.02)
    assert replace(advice, tried=(base, little), best=base).is_sure, "what saves next to nothing is no doubt"


def test_what_the_advised_answer_costs_readers_stands_in_the_sentence(advice: coflash.Advice) -> None:
    best, said = advice.best, advice.sentences[0]
    assert best.hits is not None and best.p99 is not None and best.p99s is not None and best.hits_ends is not None
    assert best.hits_ends[0] <= best.hits <= best.hits_ends[1]
    low, high = (f"{100 * end:+.1f}".replace("-", "−") for end in best.hits_ends)
    hits = f"{100 * best.hits:+.1f} points ({low} … {high} over the same)".replace("-", "−")
    changes = f"{show_change(best.p99)} ({show_change(best.p99s[0])} … {show_change(best.p99s[1])} over the same)"
    assert f" It changes read hits by {hits} and the p99 of responses by {changes} (closed loop)." in said


def test_a_range_has_95_percent_over_the_seeds_and_what_more_rounds_show() -> None:
    def changed(before: Sequence[Any], after: Sequence[Any]) -> float:
        return float(after[0] - before[0])

    seeds: Any = ([0, 0, 0], [1, 2, 3])
    rounds: Any = ([0], [9])
    # Student's t with two degrees of freedom is 4.303, the standard error 1 / √3.
    assert _ends([seeds], changed) == pytest.approx((2 - 2.484, 2 + 2.484), abs=1e-3)
    assert _ends([seeds, rounds], changed) == pytest.approx((2 - 2.484, 9), abs=1e-3)
    assert _ends([], changed) is None


def test_the_memory_of_an_order_is_what_the_kernel_says() -> None:
    files = Path(__file__).parents[2].glob("crates/kernel/cache/src/evict/*.rs")
    texts = {file.stem: re.sub(r"\n//!", "", file.read_text("utf-8").split("\nuse ")[0]) for file in files}
    (orders,) = (family.policies for family in policies() if family.key == "cache.policy")
    for order in orders:
        text = texts[{"2q": "two_q"}.get(order.name, order.name.replace("-", "_"))]
        (told,) = re.findall(r"(\d+) bytes per slot", text)
        ghosts = {"2q": 0.5 * 13, "s3-fifo": 0.9 * 13}.get(order.name, 0.0)
        assert (ghosts > 0) == ("13 per ghost" in text), order.name
        # A block has 64 pages by default.
        page = 4 if re.search(r"4 per +logical +page", text) else 24 / 64 if "24 per block" in text else 0
        known = [f"{int(told) + ghosts:g} B a slot"] + [f"{page:g} B a logical page"] * (page > 0)
        assert order.needs == ", ".join(known), order.name


def test_of_answers_within_each_others_intervals_the_one_that_reads_less_from_flash_is_told(
    advice: coflash.Advice,
) -> None:
    base, *rest = advice.tried
    costly = replace(rest[-1], value=rest[-1].value * 0.999, hits=0.5, memory_bytes=10**9, runs=rest[0].runs)
    cheap = replace(rest[0], hits=0.1, memory_bytes=1)
    chosen, ahead, reads = _cheapest([costly, cheap], advice.measure)
    assert (chosen, ahead, reads) == (cheap, costly.answer.name, costly)
    said = replace(advice, best=chosen, ahead=ahead, reads=reads).sentences[0]
    told = "compared with it slice by slice, saves as much within noise, and reads less from flash: "
    assert f"{costly.answer.name}, {told}" in said
    assert "read hits change by +50.0 points." in said
    assert _cheapest([cheap], advice.measure)[2] is None and not base.is_sure


def test_twice_the_cache_that_writes_more_is_told(advice: coflash.Advice) -> None:
    assert "does not always help" not in str(advice)
    assert isinstance(advice.doubled, tuple)
    worse = replace(advice, doubled=(2 * advice.tried[0].value, advice.doubled[1]))
    assert "More cache does not always help here: smaller ones are worth a try" in str(worse)


def test_an_advice_whose_runs_tell_nothing_is_not_sure(tmp_path: Path) -> None:
    held = OWN.with_({"cache.size": "99%", "workload.synthetic.requests": 3000, "precondition.until_steady": False})
    found = coflash.advise(held, out=tmp_path, steady=False)
    assert found.sentences[0].startswith("No advice: none of its 3,000 requests had flash write a page") or (
        "No sure advice (The caches took every write" in found.sentences[0]
    )


def test_a_prefix_is_called_one_and_a_device_that_cannot_run_the_whole_is_refused_first(tmp_path: Path) -> None:
    trace = tmp_path / "long.csv"
    rows = "".join(f"{at},write,{4096 * (at % 25_000)},4096\n" for at in range(30_000))
    trace.write_text("time,op,offset,size\n" + rows, encoding="utf-8")
    replayed = OWN.with_({"workload.trace_options.columns": "auto"})
    room = OWN.exported_bytes()
    assert 4096 * 3000 < room < 4096 * 25_000
    out = tmp_path / "out"
    wanted = (
        rf"touches 97.7 MiB as a whole; the device exports [^:]*: --set flash\.exported={4096 * 25_000}B makes it fit, "
        "or --requests with fewer than its 30,000 "
    )
    with pytest.raises(CoflashError, match=wanted):
        coflash.advise(replayed, str(trace), out=out)
    assert not [*out.glob("runs/*")], "before any run"
    found = coflash.advise(replayed, str(trace), out=out, requests=3000)
    assert "of a prefix" in found.asked[0] and found.has_more
    trace.write_text("".join(trace.read_text("utf-8").splitlines(keepends=True)[:3001]), encoding="utf-8")
    for rounds in (1, 2):
        all_of_it = replayed.with_({"workload.repeat": rounds})
        found = coflash.advise(all_of_it, str(trace), out=out, requests=3000 * rounds)
        assert "of a prefix" not in found.asked[0] and not found.has_more
    whole = coflash.advise(OWN.with_({"workload.synthetic.requests": 2000}), out=out, requests=2001)
    assert "prefix" not in whole.asked[0]
    whole = coflash.advise(OWN.with_({"workload.synthetic.requests": 2000}), out=out, requests=2000)
    assert "prefix" not in whole.asked[0]


@pytest.mark.parametrize("pages", [500, 25_000])
def test_a_trace_whose_addresses_reach_beyond_the_device_is_refused_first_and_the_keys_it_is_told_make_it_fit(
    pages: int, tmp_path: Path
) -> None:
    trace = tmp_path / "far.csv"
    rows = "".join(f"{at},write,{4096 * 10 * (at % pages)},4096\n" for at in range(pages))
    trace.write_text("time,op,offset,size\n" + rows, encoding="utf-8")
    replayed = OWN.with_({"workload.trace_options.columns": "auto", "workload.remap": "none"})
    replayed = replayed.with_({"flash.exported": "16MiB"})
    with pytest.raises(CoflashError, match=r"^advise: .*far\.csv has addresses up to .* and touches ") as refused:
        coflash.advise(replayed, str(trace), out=tmp_path / "out")
    assert not [*(tmp_path / "out").glob("runs/*")], "before any run"
    sets = [tuple(one.split("=", 1)) for one in re.findall(r"--set (\S+=\S+)", str(refused.value))]
    assert [key for key, _ in sets] == ["workload.remap", *["flash.exported"] * (pages > 4096)]
    _check_room(Question.of(replayed.set(sets), str(trace), folder_for(tmp_path / "out"), None, progress=False))


def test_the_order_of_the_scenario_itself_is_no_answer_and_lru_is_one_beside_another(tmp_path: Path) -> None:
    found = coflash.advise(OWN.with_({"cache.policy": "sieve"}), out=tmp_path, requests=3000)
    names = {one.answer.name for one in found.tried}
    assert {"LRU", "cdm with LRU"} <= names and "SIEVE" not in names
    own = found.refused["the scenario evicts in this order already"]
    assert own == ("SIEVE", "cdm-overwrites with SIEVE", "cdm with SIEVE", "expected-cost with SIEVE")


def test_an_advice_ends_with_what_its_numbers_do_not_tell(advice: coflash.Advice) -> None:
    *others, last = advice.sentences
    assert last.startswith("The numbers do not tell\n- ") and "\n- other workloads" in last and "\n- tails of" in last
    text = "\n".join(others)
    for begin in (
        "Advice: ",
        "Why, in exact shares: ",
        "Lower bound, the future known: with this cache no cooperation needs less than 0.",
        "Closed form",
        "With twice the cache WAF",
        "Not open: hgc, dgc: ",
        "Not open: sgc: ",
    ):
        assert f"\n{begin}" in f"\n{text}", begin
    assert "teady, from the passes of the workload" in text
    assert advice.draw("pdf").startswith(b"%PDF")


def test_no_answer_is_below_the_bound_which_is_that_of_the_runs_of_all_seeds(advice: coflash.Advice) -> None:
    bound = coflash.fewest_programs(advice.tried[0].runs[0].scenario).waf_host
    assert advice.fewest == bound == advice.document()["fewest"] and bound is not None
    assert all(bound < one.value for one in advice.tried)
    assert f"at most {show(1 - bound / advice.best.value, 'share')} are left to save" in str(advice)
    assert f"lower bound: {bound:.3f}" in advice.draw("svg").decode()


def test_an_advice_is_a_sweep_that_is_not_run_again(advice: coflash.Advice) -> None:
    runs = set(coflash.results(advice.path))
    assert len(runs) >= len(advice.tried) + 1, "with those of twice the cache"
    again = coflash.advise(OWN, out=advice.path)
    assert set(coflash.results(advice.path)) == runs and again.document() == advice.document()
    assert json.loads((advice.path / advice.DOCUMENT).read_text("utf-8"))["advice"] == advice.best.answer.name


@pytest.mark.parametrize(
    ("keys", "closed", "reason"),
    [
        ({"cache.volatile": True}, {"cdm", "cdm-overwrites", "move-in", "expected-cost"}, "must survive a restart"),
        ({"cache.placement": "host"}, {"move-in", "expected-cost"}, "each would cross the link"),
        ({}, {"hgc", "dgc"}, "(--set host_buffer.size=64MiB)"),
        ({}, {"sgc"}, "(--set host_buffer.size=64MiB --set cache.volatile=true)"),
        ({}, {one.name for one in BEFORE_DISKS if not one.is_step}, "no disks behind"),
    ],
)
def test_an_answer_that_a_scenario_cannot_have_is_listed_with_its_reason(
    keys: dict[str, object], closed: set[str], reason: str, tmp_path: Path
) -> None:
    found = coflash.advise(OWN.with_(keys), out=tmp_path, requests=3000)
    (names,) = [set(names) for why, names in found.refused.items() if reason in why]
    assert closed <= names, "those of one reason are in one line"
    assert not names & {one.answer.name for one in found.tried}
    listed = {name for names in found.refused.values() for name in names} | {one.answer.name for one in found.tried}
    assert listed >= {one.name for one in (*DEVICE, *BEFORE_DISKS) if not one.is_step}, "none is left out silently"


def test_a_device_without_a_cache_is_told_the_key_that_gives_it_one(tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=r"nothing to compare: there is no cache \(--set cache\.size=5%\)"):
        coflash.advise(OWN.with_({"cache.size": "0B"}), out=tmp_path)


def test_where_nothing_saves_the_advice_is_none(tmp_path: Path) -> None:
    reads = OWN.with_({"workload.synthetic.read_share": "100%", "workload.synthetic.requests": 3000})
    found = coflash.advise(reads, out=tmp_path)
    assert found.best is found.tried[0] and found.why is None
    assert not any("ower bound" in one for one in found.sentences)
    assert found.sentences[0].startswith("No advice: none of its 3,000 requests had flash write a page")


def test_schemes_of_a_kind_have_the_parameters_that_the_scenario_gives_to_one_of_them(tmp_path: Path) -> None:
    own = {"name": "expected-cost", "read_weight": 0.5}
    found = coflash.advise(OWN.with_({"cooperation": own}), out=tmp_path / "own", requests=3000)
    used = {one.answer.name: one.runs[0].scenario.to_dict()["cooperation"] for one in found.tried}
    assert used["expected-cost"]["read_weight"] == 0.5
    found = coflash.advise(OWN.with_({"cooperation.rewrite_stream": "gc"}), out=tmp_path / "cdm", requests=3000)
    used = {one.answer.name: one.runs[0].scenario.to_dict()["cooperation"] for one in found.tried}
    # Otherwise the share of drops would be that of another stream.
    assert {used[name]["rewrite_stream"] for name in ("cdm", "cdm-removable", "move-in")} == {"gc"}
    assert used["expected-cost"]["removable_weight"] == "adaptive"


def test_jobs_of_fio_begin_with_their_own_warm_up_since_they_do_not_repeat(tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text("[a]\nrw=randwrite\nbs=4k\nsize=4m\n", encoding="utf-8")
    jobs = {"workload.synthetic": None, "workload.fio": str(tmp_path / "jobs.fio")}
    found = coflash.advise(OWN.with_(jobs), out=tmp_path / "out")
    assert "begins with the scenario's own warm-up" in found.how
    assert any(
        one.startswith("No lower bound: workload: it must know what is written later") for one in found.sentences
    )


def test_jobs_of_fio_whose_answers_save_are_checked_over_seeds_alone(tmp_path: Path) -> None:
    jobs = "[a]\nrw=randrw\nbs=4k\nsize=8m\nloops=4\nrandom_distribution=zipf:0.9\n"
    (tmp_path / "jobs.fio").write_text(jobs, encoding="utf-8")
    found = coflash.advise(
        OWN.with_({"workload.synthetic": None, "workload.fio": str(tmp_path / "jobs.fio")}), out=tmp_path / "out"
    )
    assert found.best is not found.tried[0] and found.best.how.endswith(", 3 seeds")


def test_of_answers_that_save_alike_the_one_with_the_least_memory_is_advised(tmp_path: Path) -> None:
    uniform = OWN.with_({"workload.synthetic.generator": "uniform", "workload.synthetic.read_share": "0%"})
    found = coflash.advise(uniform, out=tmp_path, seeds=2)
    # Without reads no page is cached clean: all that know of overwrites are the same, in each order of eviction.
    assert found.best.answer.name.startswith("cdm-overwrites") and found.why
    order = found.best.answer.name.partition(" with ")[2]
    shares = {"overwritten pages known at once", *([f"eviction by {order}"] if order else [])}
    assert {*found.why.shares} == shares
    assert "over slices of the workload and over 2 seeds" in found.sentences[0]


def test_a_warm_cache_is_steady_and_too_short_a_run_is_not_known_to_be(advice: coflash.Advice) -> None:
    (run,) = advice.tried[0].runs
    waf = run.metrics.waf_host or 0.0
    assert drift([run], advice.measure) == pytest.approx(waf / run.workload["steady_waf"] - 1), (
        "from the passes before it"
    )
    short = coflash.advise(OWN, out=advice.path, requests=50)
    assert "Not known to be steady: too few requests for slices; --requests 200 would tell." in short.sentences
    assert short.sentences[0].startswith("No advice: ") and not short.document()["steady"]
    assert advice.is_steady
    few = coflash.advise(OWN.with_({"workload.synthetic.requests": 60}), out=advice.path, requests=61)
    assert any("--requests 240 --set workload.repeat=4 would tell" in one for one in few.sentences)


def test_runs_that_are_not_steady_are_made_longer_unless_their_length_was_given(
    advice: coflash.Advice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["coflash.sweep.advise"], "REQUESTS", 50)
    assert "200 requests" in coflash.advise(OWN, out=advice.path).how


def test_parts_without_all_their_combinations_have_one_share_together() -> None:
    of = {
        frozenset(): [10.0],
        frozenset("a"): [7.0],
        frozenset("b"): [9.0],
        frozenset("ab"): [4.0],
        frozenset("abc"): [1.0],
    }
    for parts, shares in ("ab", {"a": -4.0, "b": -2.0}), ("abc", {"a": -4.0, "b": -2.0, "c": -3.0}):
        found = whole("none", parts, of, frozenset(parts))
        assert {part: one.mean for part, one in found.shares.items()} == shares


def test_the_closed_form_leaves_all_without_sole_copies_and_less_with_more() -> None:
    live = 0.8 * OWN.to_dict()["flash"]["blocks_per_plane"] * 8 * 64
    found = [left_of(OWN, live, sole) for sole in (0.0, 0.02 * live, 0.05 * live)]
    assert found[0] == 1.0 and all(one is not None for one in found)
    assert 1.0 > (found[1] or 0) > (found[2] or 0) > 0
    assert left_of(OWN, 2 * live, 0.0) is None


def test_a_flash_cache_before_disks_is_judged_by_its_response_time(tmp_path: Path) -> None:
    tier = coflash.Scenario.load("opfcl-config1").with_(
        {"flash.blocks_per_plane": 256, "hybrid.segment": "1MiB", "hybrid.period_requests": 4096}
    )
    found = coflash.advise(tier, out=tmp_path, requests=20_000)
    assert found.measure.path == "response_ns.all.mean"
    assert [one.answer.name for one in found.tried] == ["fp-fcl", "op-fcl", "silent-eviction", "drop-evict"]
    assert not any("ower bound" in one for one in found.sentences), "programs are not what is to be saved there"


def test_a_run_beyond_the_measurements_of_its_drive_says_so(tmp_path: Path) -> None:
    fitted = OWN.with_({"measured.reads_per_s": 1})
    found = coflash.advise(fitted, out=tmp_path, requests=6000)
    (beyond,) = [note for note in found.notes() if "is beyond the measurements" in note]
    assert beyond.startswith("This run is beyond")


def test_the_command_prints_a_table_a_picture_and_sentences(tmp_path: Path) -> None:
    file, picture = tmp_path / "own.toml", tmp_path / "own.svg"
    file.write_text(OWN.to_toml(), encoding="utf-8")
    done = command("advise", str(file), "--requests", "6000", "-o", str(tmp_path / "out"), "--plot", str(picture))
    assert done.returncode == 3 and "No sure advice" in done.stdout, done.stderr
    said, head, columns, _, first, *_ = done.stdout.splitlines()
    assert said.startswith("No sure advice") and done.stdout.count(said) == 1
    assert "6,000 requests" in head and "steady state" in head and "saved (%)" in columns and first.startswith("none")
    assert "\nThe numbers do not tell\n- " in done.stdout
    assert "<svg" in picture.read_text("utf-8")


def test_of_answers_that_save_as_much_with_the_same_memory_the_one_with_the_fewest_parts_is_chosen(
    advice: coflash.Advice,
) -> None:
    one = advice.tried[1]
    more, less = (
        replace(one, answer=replace(one.answer, name=name, parts=frozenset(parts)), value=value, memory_bytes=1)
        for name, parts, value in (("more", ("a", "b"), 1.0), ("less", ("a",), 1.001))
    )
    chosen, ahead, _ = _cheapest([more, less], advice.measure)
    assert (chosen.answer.name, ahead) == ("less", "more")
