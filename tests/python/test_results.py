from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError, Result, Results
from coflash.cli import app
from coflash.measures.catalogue import metric_names
from coflash.measures.measure import BRIEF
from coflash.results.database import json_rows, results_at
from coflash.results.identity import changed_inputs
from coflash.results.selection import matching
from coflash.results.store import LocalFolder
from coflash.results.subject import Subject
from coflash.results.tables import runs_beside, runs_table
from coflash.results.varying_keys import varied_keys
from sweeps import SMALL


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB", "cooperation.name": "none,cdm"}, out=folder / "sweep")
    coflash.run(SMALL.with_(precondition__random_passes="steady")).save(folder / "alone")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "result.json").write_text("half of it", encoding="utf-8")
    return folder


@pytest.fixture
def found(place: Path) -> Results:
    return coflash.results(place)


def test_a_row_holds_the_run_its_scenario_and_all_it_counted(found: Results) -> None:
    assert len(found) == 5
    assert "alone" in found.runs
    assert found.varied() == (
        "cache.size",
        "cooperation.name",
        "cooperation.removable_weight",
        "cooperation.rewrite_stream",
        "precondition.random_passes",
    )
    for row in found.rows():
        result = found[row["run"]]
        assert row["waf_host"] == result.metrics.waf_host
        assert row["response_ns.all.p99"] == result.metrics.response_ns.all.p99
        assert row["cache.size"] == result.document["scenario"]["cache"]["size"]
        assert row["scenario_hash"] == result.scenario_hash
        scenario = found.scenario(row["run"])
        assert {key: row[key] for key in scenario} == scenario


def test_a_measure_that_no_run_has_is_a_column_of_numbers(found: Results) -> None:
    empty = [path for path in metric_names() if path in found.rows()[0] and not any(r.get(path) for r in found.rows())]
    missing = [path for path in empty if all(row.get(path) is None for row in found.rows())]
    assert missing, "the runs have all measures: this test needs one that none has"
    types = found.to_arrow().schema
    assert {str(types.field(path).type) for path in missing} == {"double"}
    kinds = found.sql("select column_name, column_type from (describe runs)")
    told = dict(zip(kinds["column_name"], kinds["column_type"], strict=True))
    assert {told[path] for path in missing} == {"DOUBLE"}


def test_what_a_pipe_gave_two_runs_is_not_read_again(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    documents = [{"workload": {"inputs": [{"file": str(pipe), "sha256": digest}]}} for digest in ("a", "b")]
    assert changed_inputs(documents) == (set(), [])


def test_a_table_library_that_is_missing_is_named_with_the_command_that_gets_it(
    found: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    for convert in (found.to_polars, found.sql("select * from runs").to_polars):
        with pytest.raises(CoflashError, match=r"^polars is not installed: pip install 'coflash\[polars\]'"):
            convert()


def test_rows_become_tables_of_any_library(found: Results) -> None:
    arrow, polars, pandas = found.to_arrow(), found.to_polars(), found.to_pandas()
    assert arrow.num_rows == len(polars) == len(pandas) == 5
    assert arrow.column_names == polars.columns == list(pandas.columns)
    assert set(arrow["precondition.random_passes"].to_pylist()) == {"1.0", "steady"}  # a number and a word
    assert "5 runs" in repr(found)
    # Sizes and times are numbers with their unit, and texts on request.
    texts = found.to_polars(text=True)
    assert texts["cache.size"].to_list() == [found.scenario(run)["cache.size"] for run in found]
    assert set(polars["timing.page_program_ns"]) == set(
        found.sql('select number("timing.page_program") n from runs')["n"]
    )
    assert "cache.size" not in polars.columns or "cache.size_bytes" not in polars.columns
    # SQL has the same columns, and the texts by their names.
    sql = found.sql("select * from runs").to_polars()
    assert sql.columns == polars.columns and sql["flash.page_size_bytes"].equals(polars["flash.page_size_bytes"])
    both = found.sql('select "flash.page_size" as text, "flash.page_size_bytes" as number from runs').to_dict()
    assert {*zip(both["text"], both["number"], strict=True)} == {("4KiB", 4096)}


def test_the_notes_of_runs_are_in_a_column_and_name_what_varies(found: Results) -> None:
    notes = dict(zip(found.to_polars()["run"], found.to_polars()["notes"], strict=True))
    assert notes == {run: " ".join(found[run].notes) or None for run in found} and any(notes.values())
    titles = list(found.titles.values())
    assert len({*titles}) == 5 and any(title.startswith("none · 1MiB") for title in titles), titles
    named = " ".join(found.remarks)
    assert not any(run.rpartition("/")[2] in named for run in found if "sweep" in run), "values instead of hashes"


def test_sql_names_a_column_of_lists(found: Results) -> None:
    for query in ("select [1, 2] as l from runs", "select array_agg(waf_host) as l from runs"):
        with pytest.raises(CoflashError, match=r'"l" has lists; take one value, as in x\[1\], or a row for each'):
            found.sql(query)


def test_sql_sees_runs_series_histograms_and_erases(found: Results) -> None:
    query = (
        'select "cooperation.name", avg(waf_host) w from runs where number("cache.size") < 2e6 group by 1 order by 1'
    )
    assert list(found.sql(query)["cooperation.name"]) == ["cdm", "none"]
    for table, column in {"series": "requests", "histograms": "requests", "erase_counts": "erases"}.items():
        query = f"select run, sum({table}.{column}) from {table} join runs using (run) group by run"  # noqa: S608
        assert len(found.sql(query)) == 5
    assert set(found.sql("select sum(requests)::int n from series group by run")["n"]) == {5000}
    short = found.sql('select "response.p99" a, "cooperation" b from runs order by run')
    assert short == found.sql('select "response_ns.all.p99" a, "cooperation.name" b from runs order by run')
    numbers = found.sql("select number('64MiB') a, number('25us') b, number('7.5%') c, count(number('none')) d")
    assert numbers.to_arrow().to_pylist() == [{"a": 64 * 2**20, "b": 25_000, "c": 7.5, "d": 0}]
    assert {*found.sql('select number("seed") n from runs')["n"]} == {*found.sql("select seed n from runs")["n"]}
    query = 'select run from runs where "cache.hit_ratio" >= 5 and "cache.hit_ratio" < 0.5 and waf_host = 90'
    assert found.percents(query) == ["cache.hit_ratio is a share from 0 to 1: 5 % is 0.05"]
    assert found.sql("select * from runs").to_polars().height == 5
    (row,) = json_rows(found.sql("select 'nan'::double a, null::int b, 1.5 c, 'x' d"))
    assert row == {"a": None, "b": None, "c": 1.5, "d": "x"}
    for wrong, meant in {
        "waf_hots": "waf_host",
        "waf": "waf_host",
        "respnse.p99": "response.p99",
        "cache.sice": "cache.size_bytes",
    }.items():
        with pytest.raises(CoflashError, match=f'^SQL: no column "{wrong}"; did you mean "{meant}"'):
            found.sql(f'select "{wrong}" from runs')  # noqa: S608
    with pytest.raises(
        CoflashError, match=r"^SQL: no column \"nope\"; the query 'describe runs' lists those of a table$"
    ):
        found.sql("select nope from runs")
    for writes in ("copy (select 1) to 'x.csv'", "explain analyze copy (select 1) to 'x.csv'", "attach 'x.db' as x"):
        with pytest.raises(CoflashError, match=r"a query is allowed, .* write_parquet, or by .*--out FILE"):
            found.sql(writes)
    assert not Path("x.csv").exists() and not Path("x.db").exists()
    with pytest.raises(CoflashError, match=r"SQL: .*Conversion"):
        found.sql("select run::int from runs")


def test_rows_are_exported_as_the_name_says(found: Results, tmp_path: Path) -> None:
    for suffix in (".parquet", ".csv", ".json"):
        found.export(tmp_path / f"all{suffix}")
    assert pq.ParquetFile(tmp_path / "all.parquet").metadata.num_rows == 5
    with (tmp_path / "all.csv").open(encoding="utf-8") as file:
        assert {row["run"] for row in csv.DictReader(file)} == set(found)
    assert len(json.loads((tmp_path / "all.json").read_text("utf-8"))) == 5
    with pytest.raises(CoflashError, match=r"\.parquet, \.csv, \.json"):
        found.export(tmp_path / "all.xlsx")
    with pytest.raises(CoflashError, match="there is no folder"):
        found.export(tmp_path / "nowhere" / "all.csv")


def test_runs_are_chosen_by_their_values(place: Path) -> None:
    assert len(coflash.results(place, where=["cache.size=1024KiB"])) == 2
    assert len(coflash.results(place, where=["cache.size=1MiB", "cooperation=cdm"])) == 1
    both = coflash.results(place, where=["cache.size=1024KiB, 2MiB", "cooperation=cdm,none"])
    assert len(both) == len(coflash.results(place, where=["cache.size=1MiB"])) * 2 == 4
    assert len(coflash.results(place, where=[f"seed={SMALL.to_dict()['seed']}"])) == 5
    for where, message in {
        "victim=greedy": r"where: victim: no run has this key; did you mean gc\.victim",
        "cache.sice=1MiB": r"where: cache\.sice: no run has this key; did you mean cache\.size\?",
        "cache.size=3MiB": r'where: cache\.size: no run has "3MiB".*allowed: .*1MiB, 2MiB',
        "cache.size=1MiB,3MiB": r'where: cache\.size: no run has "3MiB"',
        "cooperation.name=cmd": r'did you mean "cdm"\?',
        "cdm": r"'cdm' was given; KEY=VALUE is allowed",
    }.items():
        with pytest.raises(CoflashError, match=message):
            coflash.results(place, where=[where])
    runs = [("", LocalFolder(place), {"scenario": {"cache": {"size": size}}}) for size in ("20%", "1%", "5%")]
    assert [run[2] for run in matching(runs, ["cache.size=0.05"])[0]] == [runs[2][2]], "5% is 0.05"
    with pytest.raises(CoflashError, match="allowed: 1%, 5%, 20%"):
        matching(runs, ["cache.size=6%"])


VICTIM = """
import coflash

@coflash.policy("gc.victim")
class Mine:
    def pick(self, candidates):
        return candidates.{of}()
"""


@pytest.fixture
def own_victims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs of built-in policies and of one's own, and those of its next version."""
    monkeypatch.chdir(tmp_path)
    for of in ("cost.argmin", "age.argmax"):
        Path("its_victim.py").write_text(VICTIM.format(of=of), encoding="utf-8")
        monkeypatch.delitem(sys.modules, "its_victim", raising=False)
        choices = ["fifo", {"name": "external", "code": "its_victim:Mine"}, "greedy"]
        swept = coflash.sweep(SMALL, {"gc.victim": choices}, out="all", seeds=2, on=1)
        assert (swept.failures, swept.remarks) == ((), [])
        for run in Path("all").glob("runs/*/result.json"):
            os.utime(run, (run.stat().st_atime, run.stat().st_mtime - 60))
    return tmp_path / "all"


def test_a_policy_of_ones_own_is_named_by_its_class_after_the_built_in_ones(own_victims: Path) -> None:
    shown, subject = coflash.results(own_victims), Subject.read([own_victims])
    for keys in (shown.apart(), subject.varied):
        assert keys[0].texts == ("greedy", "fifo", "Mine")
    assert [label.partition(" ")[0] for label in subject.labels] == ["greedy"] * 2 + ["fifo"] * 2 + ["Mine"] * 2
    assert "<td>Mine" in runs_table(shown, BRIEF).html()
    assert len(coflash.results(own_victims, where=["gc.victim=greedy,Mine"])) == 4
    with pytest.raises(CoflashError, match=r'no run has "its_victim:Mine"; did you mean "Mine"\?'):
        coflash.results(own_victims, where=["gc.victim=its_victim:Mine"])
    another = {"name": "external", "code": "another_victim:Mine"}
    scenarios = [SMALL.with_({"gc.victim": one}).to_dict() for one in (another, {**another, "code": "its_victim:Mine"})]
    assert varied_keys(scenarios)[0].texts == ("another_victim:Mine", "its_victim:Mine")


def test_of_a_changed_policy_the_newest_version_is_shown_and_the_older_one_told(own_victims: Path) -> None:
    shown = coflash.results(own_victims)
    assert len(shown) == 6
    (older,) = [note for note in shown.remarks if "was changed: " in note]
    told = (
        r"its_victim:Mine was changed: 2 runs of another version than that asked for last left out "
        r"\(--where (gc\.victim\.digest=\w+)\)"
    )
    found = re.fullmatch(told, older)
    assert found
    assert older in Subject.read([own_victims]).remarks
    before = coflash.results(own_victims, where=[found[1]])
    assert len(before) == 6, "with the runs of other policies"
    assert len({*before} & {*shown}) == 4
    both = varied_keys(
        [
            Result.load(own_victims / "runs" / name.rpartition("/")[2]).document["scenario"]
            for name in {*shown.runs, *before.runs}
        ]
    )
    assert len({text for text in both[0].texts if re.fullmatch(r"Mine [0-9a-f]{8}", text)}) == 2


def test_of_a_change_that_is_undone_the_version_asked_for_last_is_shown(
    own_victims: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {*coflash.results(own_victims)}
    Path("its_victim.py").write_text(VICTIM.format(of="cost.argmin"), encoding="utf-8")
    monkeypatch.delitem(sys.modules, "its_victim", raising=False)
    coflash.sweep(SMALL, {"gc.victim": [{"name": "external", "code": "its_victim:Mine"}]}, out="all", seeds=2, on=1)
    undone = {*coflash.results(own_victims)}
    assert len(undone) == 6 and len(undone & changed) == 4


@pytest.fixture
def mixed(found: Results, tmp_path: Path) -> Path:
    """Runs of one scenario: one from before revisions were counted, and two of version 0.3.0 and revision 2."""
    result = found["alone"]
    before = {**result.document, "coflash": "0.1.0"}
    del before["revision"]
    result.with_document(before).save(tmp_path / "before")
    for seed in (1, 2):
        scenario = {**result.document["scenario"], "seed": seed}
        after = {**result.document, "coflash": "0.3.0", "revision": 2, "scenario": scenario}
        result.with_document(after).save(tmp_path / f"after{seed}")
    return tmp_path


def test_what_is_said_beside_runs_is_of_those_that_are_compared(found: Results, tmp_path: Path) -> None:
    result = found["alone"]
    for seed in (1, 2, 3):
        scenario = {**result.document["scenario"], "seed": seed}
        noted = {**result.document, "scenario": scenario, "notes": ["All say this.", f"Seed {seed} says this."]}
        result.with_document(noted).save(tmp_path / f"run{seed}")
    said = CliRunner().invoke(app, ["compare", "run1", "run3", "--in", str(tmp_path)]).stderr
    assert "note: All say this.\n" in said
    assert "Seed 1 says this. (In 2 of 2 runs: seed 1, seed 3; the numbers are those of seed 1.)" in said


def test_the_numbers_of_a_note_are_those_of_the_first_run_of_the_table(found: Results, tmp_path: Path) -> None:
    result = found["alone"]
    for seed in (3, 1, 2):
        scenario = {**result.document["scenario"], "seed": seed}
        noted = {**result.document, "scenario": scenario, "notes": [f"Seed {seed} says this."]}
        result.with_document(noted).save(tmp_path / f"{'cab'[seed - 1]}{seed}")
    several = coflash.results(tmp_path)
    assert several.runs[0] == "a2", "runs are read in the order of their names"
    said = "Seed 1 says this. (In 3 of 3 runs: seed 1, seed 2, seed 3; the numbers are those of seed 1.)"
    assert said in several.remarks
    assert f"note: {said}" in CliRunner().invoke(app, ["compare", str(tmp_path)]).stderr


def test_runs_of_different_revisions_are_told_and_marked(found: Results, mixed: Path) -> None:
    results = coflash.results(mixed)
    (note,) = results.cautions
    assert note.endswith("1 of revision 0 (coflash 0.1.0), 2 of revision 2 (coflash 0.3.0)")
    assert [results[run].revision for run in ("before", "after1")] == [0, 2]
    assert {row["run"]: row["revision"] for row in results.rows()} == {"before": 0, "after1": 2, "after2": 2}
    assert sorted(results.of_one_point(), key=len) == [("before",), ("after1", "after2")]
    assert Subject([results[run] for run in results]).remarks[0] == note
    beside = coflash.compare(results["before"], results["after1"])
    assert "different revisions" in beside.remarks[0]
    assert "different revisions" in beside._repr_html_()
    table = runs_table(results, BRIEF)
    assert (table.columns[1], sorted(row[1].text for row in table.rows)) == ("revision", ["0", "2", "2"])
    assert "revision" in [row[0].text for row in runs_beside(results, ["before", "after1"]).rows if row]
    assert found.cautions == ()
    assert "revision" not in runs_table(found, BRIEF).columns


def test_another_version_of_the_same_revision_is_the_same(found: Results, tmp_path: Path) -> None:
    result = found["alone"]
    for version in ("0.2.0", "0.2.1"):
        result.with_document({**result.document, "coflash": version}).save(tmp_path / version)
    results = coflash.results(tmp_path)
    assert results.cautions == ()
    assert len(results.of_one_point()) == 1


def test_a_run_is_called_by_the_beginning_of_its_name(found: Results) -> None:
    assert found["al"].document == found["alone"].document
    with pytest.raises(CoflashError, match="beginning of 4 runs"):
        found.folder("sweep/")
    with pytest.raises(CoflashError, match="did you mean 'alone'"):
        found.folder("alonee")


def test_a_folder_of_nothing_or_of_broken_results_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        CoflashError, match=f"{tmp_path}: holds no result of coflash; `coflash run demo --out {tmp_path}` makes one"
    ):
        coflash.results(tmp_path)
    # A sweep that has just begun has none, either.
    (tmp_path / "runs").mkdir()
    assert len(coflash.results(tmp_path)) == 0
    assert coflash.results(tmp_path).sql("select * from runs").columns == ("run",)
    assert coflash.results(tmp_path).varied() == ()
    with pytest.raises(CoflashError, match="no such folder"):
        coflash.results(tmp_path / "nowhere")
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(CoflashError, match=r"result\.json: is no result"):
        coflash.results(tmp_path)


def test_a_broken_result_hides_none_below_it(found: Results, tmp_path: Path) -> None:
    found["alone"].save(tmp_path / "alone")
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    assert coflash.results(tmp_path).runs == ("alone",)
    study = Subject.read([tmp_path])
    assert len(study.results) == 1
    (note,) = study.broken
    assert note.startswith(f"{tmp_path / 'result.json'}: is no result of coflash: ")


def test_runs_of_folders_are_named_by_the_last_parts_in_which_they_differ(
    found: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = (Path(found.where(run)) for run in [*found][:3])
    for place, folder in {"a/deep/one/run": first, "./b/run": second, "b/other": third}.items():
        shutil.copytree(folder, place)
    several = results_at([Path("a/deep/one/run"), Path("./b/run"), Path("b/other")])
    assert [*several.shortened().values()] == ["one/run", "b/run", "other"]
    for name, short in several.shortened().items():
        assert several.name(short) == name, "what is shown is understood"
    done = CliRunner().invoke(app, ["compare", "a/deep/one/run/", "./b/run"])
    assert done.exit_code == 0, done.output
    assert "one/run" in done.output
    assert "a/deep" not in done.output


def test_compare_begins_with_the_value_named_first_and_tells_why_by_runs_that_it_does_not_show(tmp_path: Path) -> None:
    removable = {"name": "cdm-removable", "removable_weight": "adaptive", "rewrite_stream": "gc"}
    scenario = SMALL.with_({"cache.size": "1MiB"})
    of_all: list[object] = ["none", "cdm-overwrites", removable, "cdm"]
    for name, schemes in {"both": of_all[::3], "all": of_all}.items():
        coflash.sweep(scenario, {"cooperation": schemes}, seeds=2, out=tmp_path / name)

    def compared(folder: str, *where: str) -> str:
        given = ["compare", "--in", str(tmp_path / folder), "--seeds", "--measure", "waf_host"]
        return CliRunner().invoke(app, [*given, *(word for one in where for word in ("--where", one))]).output

    for first, second in (("none", "cdm"), ("cdm", "none")):
        rows = compared("both", f"cooperation={first},{second}").splitlines()
        assert next(row.split() for row in rows if "cooperation.name" in row)[1:] == [first, second]
    told = compared("both", "cooperation=none,cdm")
    proposed = re.search(r" --vary seed=1,2 --out (\S+)\nwhy: and then: coflash compare (\S+) --seeds", told)
    assert proposed and proposed[1] == proposed[2]
    told = compared("all", "cooperation=none,cdm")
    assert "Why, in exact shares: from none" in told and "coflash sweep" not in told


def test_too_many_runs_to_stand_side_by_side_are_shown_by_their_means(tmp_path: Path, found: Results) -> None:
    run = found["alone"]
    for seed in range(1, 18):
        document = {**run.document["scenario"], "seed": seed, "cooperation": {"name": ("none", "cdm")[seed % 2]}}
        run.with_document({**run.document, "scenario": document}).save(tmp_path / "many" / str(seed))
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "many")])
    assert "17 runs were given; at most 16 stand side by side" in str(done.exception)
    command = re.search(r"results sql '(.*)' --in", str(done.exception))
    assert command and len(coflash.results(tmp_path / "many").sql(command[1])) == 2


def test_failures_are_told_once_for_each_reason(tmp_path: Path) -> None:
    swept = coflash.sweep(SMALL, {"seed": [1, 2, 3], "cache.size": ["1MiB", "900GiB"]}, out=tmp_path, on=1)
    assert len(swept.failures) == 3
    lines = CliRunner().invoke(app, ["results", "list", "--in", str(tmp_path)]).output.splitlines()
    (failed,) = [line for line in lines if line.startswith("failed:")]
    assert failed.endswith("(and 2 more for the same reason)"), failed


def test_a_run_that_is_there_twice_is_no_other_seed(tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        coflash.sweep(SMALL, {"gc.victim": ["greedy", "fifo"]}, out=tmp_path / day, seeds=2)
    once, both = coflash.results(tmp_path / "monday"), coflash.results(tmp_path)
    assert len(both) == len(once) == 4
    assert [len(group) for group in both.of_one_point()] == [2, 2]
    assert any("4 runs are there again in another folder, and counted once" in note for note in both.cautions)
    assert not any("there again" in note for note in once.cautions)
    assert len(Subject.read([tmp_path]).results) == 4
    with pytest.raises(CoflashError, match="holds the result of a single run; a folder of its own is allowed"):
        coflash.run(SMALL).save(tmp_path / "one")
        coflash.sweep(SMALL, {"seed": [1]}, out=tmp_path / "one")
