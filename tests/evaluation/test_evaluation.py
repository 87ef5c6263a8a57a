"""The paper's experiments at tiny sizes: what the tables say, and no timing."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import slidewise as sw
from slidewise.cli import main
from slidewise.errors import SlidewiseError
from slidewise.evaluation.commands import evaluate
from slidewise.evaluation.events import Events, make_events, read_events
from slidewise.evaluation.measure import timed_runs
from slidewise.evaluation.measure.bits import folded
from slidewise.evaluation.measure.compiling import compile_all
from slidewise.evaluation.measure.counts import count
from slidewise.evaluation.measure.loops import body_of
from slidewise.evaluation.report.claims import claims_of
from slidewise.evaluation.report.summary import Latency, Results, Speed
from slidewise.evaluation.result_store import ResultStore, settings_in
from slidewise.evaluation.run import run
from slidewise.evaluation.settings import ALGORITHMS, ExperimentSettings
from slidewise.kernels.codegen import forms as algebra
from slidewise.kernels.compiler.cache import cache_folder

TINY = ExperimentSettings(
    "tiny",
    repetitions=2,
    algorithms=("TwoStacks", "DabaLite"),
    others=("Recalc", "SlickDeque"),
    operators=("sum", "max"),
    latency_n=16,
    latency_rounds=200,
    growth=(32, 128),
    growth_rounds=256,
    rounds={"sum": 64, "max": 64},
    sizes=(1, 4, 32),
    events=3_000,
    widths=(10_000, 1_000_000, 3_600_000_000),
    events_latency=1_000_000,
    count_n=32,
    count_rounds=500,
    noise_rounds=1_000,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    folder = tmp_path_factory.mktemp("evaluation")
    evaluate(folder, TINY, False, Console(file=io.StringIO()), processes=1)
    return ResultStore(folder, TINY, True)


def test_every_experiment_has_every_algorithm_and_repetition(store: ResultStore) -> None:
    paper = [(name, repetition) for name in TINY.algorithms for repetition in range(2)]
    recalc, slick = ([(name, repetition) for repetition in range(2)] for name in TINY.others)
    rows = store.rows("timings")
    kinds = {(row["workload"], row["n"]) for row in rows if row["operator"] != "max"}
    assert kinds == {
        *(("throughput", n) for n in TINY.sizes),
        *(("fill and drain", n) for n in TINY.sizes),
        *(("growth", n) for n in TINY.growth),
        ("latency", 16),
        ("events", 10_000),
        ("events", 1_000_000),
        ("events latency", 1_000_000),
    }
    for kind in kinds:
        of_kind = [row for row in rows if (row["workload"], row["n"]) == kind]
        turns = [(row["algorithm"], row["repetition"]) for row in of_kind if row["operator"] != "max"]
        assert sorted(turns) == sorted(paper + recalc), kind
        turns = [(row["algorithm"], row["repetition"]) for row in of_kind if row["operator"] == "max"]
        assert sorted(turns) == ([] if "events" in kind[0] else sorted(paper[2:] + recalc + slick)), kind
    assert all(row["ticks"] > 0 for row in rows)


def test_totals_of_the_answers_are_equal_across_algorithms(store: ResultStore) -> None:
    totals: dict[Any, set[str]] = {}
    for row in store.rows("timings"):
        kind = "events" if row["workload"].startswith("events") else row["workload"]
        totals.setdefault((kind, row["n"], row["operator"]), set()).add(row["total"])
    assert all(len(found) == 1 for found in totals.values()), totals
    values = timed_runs.values_of("sum", TINY.seed)
    windowed = np.lib.stride_tricks.sliding_window_view(values[1:96], 32)
    assert totals["throughput", 32, "sum"] == {str(windowed.sum())}
    assert totals["throughput", 32, "max"] == {str(windowed.max(axis=1).sum())}


def test_every_round_is_in_the_histograms(store: ResultStore) -> None:
    seen: dict[Any, int] = {}
    for row in store.rows("ticks"):
        key = row["workload"], row["n"], row["algorithm"], row["operator"], row["repetition"]
        seen[key] = seen.get(key, 0) + row["rounds"]
    assert seen["latency", 16, "DabaLite", "sum", 1] == TINY.latency_rounds
    assert {count for key, count in seen.items() if key[0] == "growth"} == {TINY.growth_rounds}


def test_counts_are_those_of_the_paper(store: ResultStore) -> None:
    found = {(row["algorithm"], row["workload"], row["n"]): row for row in store.rows("counts")}
    two, lite = found["TwoStacks", "static", 32], found["DabaLite", "static", 32]
    assert (two["worst"], two["stored"]) == (32, 64)  # a flip combines 31 times, and the insert behind it is alone
    assert (lite["worst"], lite["stored"]) == (6, 34)
    assert lite["average"] == pytest.approx(4, abs=0.2)
    assert found["Recalc", "static", 32]["average"] == 31
    assert found["SlickDeque", "static", 32]["operator"] == "max"
    assert found["TwoStacks", "static", 128]["worst"] == 128
    assert found["DabaLite", "static", 128]["worst"] == 6
    assert found["DabaLite", "events", 1_000_000]["rounds"] == found["TwoStacks", "events", 1_000_000]["rounds"] > 2_000
    assert found["DabaLite", "events", 1_000_000]["total"] == found["TwoStacks", "events", 1_000_000]["total"]
    kind = "throughput", "sum", 32
    timed = {row["total"] for row in store.rows("timings") if (row["workload"], row["operator"], row["n"]) == kind}
    again = count("DabaLite", "static", timed_runs.values_of("sum", TINY.seed), 32, TINY.rounds_at("sum", 32))
    assert again is not None
    assert timed == {str(again.total)}


@pytest.mark.parametrize("algorithm", TINY.algorithms)
def test_windows_of_time_are_those_of_timed(algorithm: str) -> None:
    choose = np.random.default_rng(9)
    times = np.cumsum(choose.choice([0, 1, 5, 60], 400, p=[0.2, 0.5, 0.29, 0.01]))  # ties, ends that are met, and gaps
    stream = Events(times, choose.integers(1, 1_000, 400), 0, "")
    window, expected, most = sw.Timed(getattr(sw, algorithm)(sw.relative_variation), last=40), 0.0, 0
    for at, (time, value) in enumerate(zip(times.tolist(), stream.values.tolist(), strict=True)):
        window.insert(time, value)
        most = max(most, len(window))
        expected += window.query() if at >= stream.start(40) else 0
    gaps, gone = np.ones((2, 400 - stream.start(40)), np.int64)
    found = timed_runs.events(algorithm, stream, 40, 400, gaps, gone)
    assert found.total == pytest.approx(expected, rel=1e-12)
    assert stream.most(40) == most
    assert gone.sum() == 400 - len(window)
    assert gone[0] > 0


def test_rounds_ask_for_no_memory(store: ResultStore) -> None:
    rows = store.rows("allocations")
    assert sorted((row["algorithm"], row["operator"]) for row in rows) == [
        *(("DabaLite", "max"), ("DabaLite", "sum"), ("Recalc", "max"), ("Recalc", "sum")),
        *(("SlickDeque", "max"), ("TwoStacks", "sum")),
    ]
    assert all(row["few"] == row["many"] for row in rows), rows


def test_a_window_longer_than_the_data_is_left_out_and_said(store: ResultStore) -> None:
    assert [(row["n"], row["why"]) for row in store.rows("skipped")] == [
        (3_600_000_000, "no event is older than the window is long")
    ]


def test_a_stopped_run_goes_on_where_it_was(store: ResultStore) -> None:
    said = Console(file=io.StringIO(), width=200)
    before = {path: path.stat().st_mtime_ns for path in store.raw.glob("*/*.parquet")}
    stopped = store.raw / "latency_sum_n16"
    other = store.raw / f".{stopped.name}"
    stopped.rename(other)  # a folder that this run did not write stays
    run(store.folder, TINY, True, said)
    after = {path: path.stat().st_mtime_ns for path in store.raw.glob("[!.]*/*.parquet")}
    again = {path for path in before if after[path] != before[path]}
    assert after.keys() == before.keys()
    assert again == set(stopped.glob("*.parquet"))
    assert "1 to do, about" in said.file.getvalue()
    assert list(store.raw.glob(".*")) == [other]


def test_a_run_does_not_begin_where_others_have_written(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(SlidewiseError, match=r"report.html is there, and no run wrote it; give another --out"):
        ResultStore(tmp_path, TINY, resume=False)
    (tmp_path / "report.html").unlink()
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "settings.json").write_text("{}")
    with pytest.raises(SlidewiseError, match="has no results of `slidewise bench paper`"):
        ResultStore(tmp_path, TINY, resume=True)


@pytest.mark.usefixtures("store")
def test_other_processes_find_what_was_compiled() -> None:
    if cache_folder() is None:
        pytest.skip("nothing can be kept on disk here")
    said: list[str] = []
    found = compile_all([("DabaLite", "sum"), ("TwoStacks", "sum")], 2, said.append)
    assert {(row["algorithm"], row["operator"], row["compiled"]) for row in found["compiled"]} == {
        ("DabaLite", "sum", False),
        ("TwoStacks", "sum", False),
    }
    assert found["compiling"][0]["processes"] == 2
    assert sorted(said) == ["compile DabaLite, sum", "compile TwoStacks, sum"]


def test_results_are_not_mixed(store: ResultStore) -> None:
    said = Console(file=io.StringIO())
    with pytest.raises(SlidewiseError, match="give --resume"):
        run(store.folder, TINY, False, said)
    with pytest.raises(SlidewiseError, match="other settings"):
        run(store.folder, replace(TINY, seed=1), True, said)


def test_settings_are_kept_with_the_results(store: ResultStore, tmp_path: Path) -> None:
    assert settings_in(store.folder) == TINY
    with pytest.raises(SlidewiseError, match="no results of"):
        settings_in(tmp_path)


def test_raw_tables_say_where_they_are_from(store: ResultStore) -> None:
    said = store.machine()
    assert said["seed"] == "2021"
    assert said["slidewise"] == sw.__version__
    assert said["settings"] == TINY.digest()
    assert said["processor"]


def test_filters_of_compiled_code_are_those_of_bloom() -> None:
    values = timed_runs.values_of("bloom", 5, 64)
    window, total = sw.TwoStacksLite(sw.bloom), 0
    for at in range(60):
        if at >= 20:
            window.evict()
        window.insert(int(values[at]))
        if at >= 20:
            total += folded(window.partial())
    wrapped = (total + 2**63) % 2**64 - 2**63
    assert timed_runs.rounds("TwoStacksLite", "bloom", values, 20, 40).total == wrapped


def plain_loop(algorithm: str, operator: str, loop: str, room: int, *arguments: Any) -> Any:
    """What a loop gives when Python runs its text, which takes no time to compile."""
    layout = timed_runs.layout_of(operator)
    text = body_of(algorithm, operator, layout).replace("from slidewise.kernels.compiler.jit import borrowed", "")
    forms: Any = algebra.forms(operator, ("i",))
    names: dict[str, Any] = {"jit": lambda f: f, "inlined": lambda f: f, "uint64": np.uint64, "now": lambda: 0}
    scope = names | forms._asdict() | {"borrowed": lambda array: array}
    exec(text, scope)
    return scope[loop](*timed_runs._arrays(algorithm, operator, room), *arguments)[1]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_loops_of_every_algorithm_give_the_same_answers(algorithm: str) -> None:
    values = timed_runs.values_of("sum", 3)
    none, kept = np.empty(0, np.int64), np.zeros(1, np.int64)
    for n in (1, 40):
        static, drained = (count("Recalc", kind, values, n, 120) for kind in ("static", "fill and drain"))
        assert static is not None
        assert drained is not None
        assert plain_loop(algorithm, "sum", "run_rounds", n, values, 0, n, 120, none, kept) == static.total
        assert plain_loop(algorithm, "sum", "run_fill_and_drain", n, values, 0, n, 120) == drained.total


def test_events_are_in_order_and_what_is_dropped_is_counted(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    made = make_events(5_000, 7)
    assert (np.diff(made.times) >= 0).all()
    assert len(made.times) + made.dropped == 5_000
    assert 0.005 < made.dropped / 5_000 < 0.03
    path = tmp_path / "events.parquet"
    times = pa.array([5, 7, 6, 9], pa.timestamp("us"))
    parquet.write_table(pa.table({"ts": times, "mf01": [1, 2, 3, 4]}), path)
    found = read_events(path)
    assert (found.times.tolist(), found.values.tolist(), found.dropped) == ([5, 7, 9], [1, 2, 4], 1)
    assert (found.start(2), found.most(2), found.most(3)) == (1, 1, 2)
    with pytest.raises(SlidewiseError, match="there is no"):
        read_events(tmp_path / "nowhere.tsv")


REAL = Path(__file__).parents[3] / "shared" / "data" / "debs2012_small.tsv"


@pytest.mark.skipif(not REAL.exists(), reason="the real data is not beside this checkout")
def test_real_events_and_sums_of_floats_from_end_to_end(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = [line.split("\t", 3) for line in REAL.read_text().splitlines()]
    times = [datetime.fromisoformat(row[0][:26] + row[0][27:]) for row in rows]  # microseconds, as Spark cuts them
    values = [int(row[2]) for row in rows]
    path = tmp_path / "events.parquet"
    parquet.write_table(pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "mf01": values}), path)
    wanted = replace(
        TINY,
        algorithms=("DabaLite",),
        others=(),
        operators=("sum of floats",),
        rounds={"sum of floats": 64},
        events=20_000,
        data=str(path),
        widths=(1_000_000, 10_000_000, 600_000_000),
        events_latency=600_000_000,
    )
    evaluate(tmp_path / "run", wanted, False, Console(file=io.StringIO()), processes=1)
    results = Results(ResultStore(tmp_path / "run", wanted, True))
    assert results.source == {"source": "events.parquet, 17,000 events", "events": 17_000, "dropped": 0}
    # The known sum over all rows, less that of those before the first one leaves: they are not timed.
    first = next(at for at, time in enumerate(times) if time - times[0] >= timedelta(seconds=1))
    before = sum((max(values[: at + 1]) - min(values[: at + 1])) / max(values[: at + 1]) for at in range(first))
    timed = [row for row in results.timings if (row["workload"], row["n"]) == ("events", 1_000_000)]
    assert [float(row["total"]) + before for row in timed] == pytest.approx([280.38537371832905] * 2, abs=1e-9)
    assert {n for _, _, n in results.latencies("events latency")} == {10_000_000}
    assert {(row["workload"], row["why"]) for row in results.skipped} == {
        ("events", "no event is older than the window is long"),
        ("events latency", "the events do not last longer; 10 s instead"),
    }
    floats = timed_runs.values_of("sum of floats", TINY.seed)
    rolled = np.lib.stride_tricks.sliding_window_view(floats[1:96], 32).sum()
    static = [row for row in results.timings if (row["workload"], row["n"]) == ("throughput", 32)]
    assert [float(row["total"]) for row in static] == pytest.approx([rolled] * 2, rel=1e-12)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "slidewise bench paper --floats --data events.parquet" in page


def test_the_report_stands_alone_and_the_figures_are_there(store: ResultStore) -> None:
    page = (store.folder / "report.html").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page
    assert "http" not in page.replace("http-equiv", "")
    names = {path.stem for path in (store.folder / "figures").iterdir()}
    assert names == {
        *("latency_sum", "throughput_sum", "fill_and_drain_sum", "events_throughput", "events_latency"),
        *(f"others_{kind}_{of}" for kind in ("latency", "throughput", "fill_and_drain") for of in ("sum", "max")),
        *("others_events_throughput", "others_events_latency"),
    }
    for name in names:
        assert (store.folder / "figures" / f"{name}.svg").stat().st_size > 1_000
        assert (store.folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert page.count("data:image/svg+xml") == len(names)
    assert "the count did not differ, for 6 pairs" in page
    assert "totals of all answers are the same" in page
    assert "Compiled: of 9 pairs of algorithm and operator" in page
    assert "SubtractOnEvict" in page  # why SlickDeque is not run for sums


def test_the_page_of_the_docs_is_written_from_a_run(
    store: ResultStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script: Any = run_path(str(Path(__file__).parents[2] / "docs" / "write_evaluation.py"))["write"]
    names = sorted(path.stem for path in (store.folder / "figures").glob("*.svg"))
    for name, value in {"DOCS": tmp_path, "FIGURES": tmp_path / "evaluation", "draw_all": lambda *_: names}.items():
        monkeypatch.setitem(script.__globals__, name, value)
    script(store.folder, "The machine was quiet.")
    page = (tmp_path / "evaluation.md").read_text(encoding="utf-8")
    assert sorted(path.stem for path in (tmp_path / "evaluation").iterdir()) == names
    assert {name for name in names if f"(evaluation/{name}.svg)" in page} == set(names)
    assert "This page is one run of `slidewise bench paper --others`." in page
    assert "\nThe machine was quiet.\n" in page
    assert "| SlickDeque | not selective: a sum" in page
    assert "| sum | Recalc |" in page
    assert "{" not in page


def test_counts_decide_what_grows(store: ResultStore) -> None:
    claims = {claim.statement: claim for claim in claims_of(Results(store))}
    grows = claims["TwoStacks: the worst round's number of calls grows with n."]
    assert grows.verdict == "confirmed"
    assert grows.figures.endswith("n = 32 to 128: TwoStacks 32 to 128")
    steady = claims["DabaLite: the worst round's number of calls does not grow with n."]
    assert (steady.verdict, steady.figures.endswith("DabaLite 6 to 6")) == ("confirmed", True)
    assert claims["FlatFit has the best throughput for bloom on fill and drain, consistently."].verdict == "not clear"


class Given:
    """Results with times that a test chooses."""

    settings = replace(TINY, algorithms=("TwoStacks", "TwoStacksLite", "Daba", "DabaLite", "FlatFit", "Fiba"))
    worst: tuple[dict[str, Any], ...] = ()

    def __init__(self, speeds: dict[str, tuple[float, float, float]], again: dict[tuple[str, int], float]) -> None:
        self._speeds, self._again = speeds, again

    def speeds(self, workload: str) -> dict[tuple[str, str, int], Speed]:
        return {("sum", name, 16): Speed(*ns) for name, ns in self._speeds.items() if workload == "throughput"}

    def latencies(self, workload: str) -> dict[tuple[str, str, int], Latency]:
        found = self._again if workload == "growth" else {}
        return {("sum", name, n): Latency(9, 1, (1, 1, 1, 1), ns, ns, 0) for (name, n), ns in found.items()}

    def worst_calls(self, _algorithm: str, _n: int) -> int | None:
        return None


@pytest.mark.parametrize(
    ("original", "verdict"),
    [((9.0, 8.0, 10.0), "confirmed"), ((4.0, 3.0, 6.0), "not clear"), ((4.0, 3.0, 4.5), "refuted")],
)
def test_faster_counts_only_where_repetitions_lie_apart(original: Any, verdict: str) -> None:
    given: Any = Given({"DabaLite": (5.5, 5.0, 6.0), "Daba": original}, {})
    assert claims_of(given)[0].verdict == verdict


@pytest.mark.parametrize(("large", "verdict"), [(130.0, "confirmed"), (180.0, "not clear"), (900.0, "refuted")])
def test_the_longest_latency_is_constant_or_grows(large: float, verdict: str) -> None:
    both = {(name, n): 100.0 if n == 32 else large for name in ("Daba", "DabaLite") for n in (32, 128)}
    given: Any = Given({}, both)
    assert claims_of(given)[5].verdict == verdict


def test_the_command_refuses_a_folder_with_other_results(
    store: ResultStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "paper", "--quick", "--out", str(store.folder)]) == 1
    assert "give --resume" in capsys.readouterr().err
