"""Quantiles in definitions: written and read again, shared between columns, and explained."""

from __future__ import annotations

import pickle
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.kernels.passes import window_passes

HEALTH = sw.Sliding(
    by="k",
    on="t",
    p50=sw.median("x").over(20),
    p99=sw.quantile(0.99)("x").over(20),
    low=sw.quantile(0.1, interpolation="lower")("x").over(20),
    most=sw.max("x").over(20),
    about=sw.quantile(0.99, approximate=0.01)("x").over(20),
    all=sw.median("x").over("all"),
)


def test_a_definition_with_quantiles_is_plain_data() -> None:
    for copy in (sw.Sliding.from_toml(HEALTH.to_toml()), pickle.loads(pickle.dumps(HEALTH)), eval(repr(HEALTH))):
        assert copy == HEALTH
        assert copy.fingerprint() == HEALTH.fingerprint()
    other = sw.Sliding(by="k", on="t", p50=sw.quantile(0.51)("x").over(20))
    assert other.fingerprint() != sw.Sliding(by="k", on="t", p50=sw.quantile(0.5)("x").over(20)).fingerprint()


def test_a_table_is_sorted_once_for_all_quantiles_of_a_window() -> None:
    choose = np.random.default_rng(1)
    table = pa.table({"k": choose.integers(0, 3, 500), "t": np.arange(500), "x": choose.random(500)})
    with patch.object(window_passes, "quantiles", wraps=window_passes.quantiles) as sorting:
        HEALTH(table)
    assert sorted(len(call.args[3]) for call in sorting.call_args_list) == [1, 1, 3]  # approximate, all, and the rest


def test_a_live_window_keeps_one_tree_for_all_its_quantiles() -> None:
    live = HEALTH.live()
    for t in range(100):
        live.push({"k": 1, "t": t, "x": float(t * 7 % 13)})
    swags = [swag for pane in live.key_states[1].panes if hasattr(pane, "swags") for swag in pane.swags]
    ordered = [swag for swag in swags if isinstance(swag, sw.OrderStatistics)]
    assert [swag.stored() for swag in ordered] == [20, 0, 0]
    for swag in ordered:
        swag._check()
    again = HEALTH.restore(live.snapshot())
    row = {"k": 1, "t": 100, "x": 3.5}
    assert again.push(row) == live.push(row)


def test_an_event_that_fails_leaves_the_shared_tree_as_it_was() -> None:
    live = HEALTH.live()
    for t in range(30):
        live.push({"k": 1, "t": t, "x": t})
    with pytest.raises(sw.SlidewiseError):
        live.push({"k": 1, "t": 30, "x": "thirty"})
    answer = live.push({"k": 1, "t": 30, "x": 30})
    assert (answer["p50"], answer["low"], answer["all"]) == (20.5, 12, 15.0)


def test_explain_says_what_runs_and_what_a_stream_reads() -> None:
    told = {one.name: one for one in HEALTH.explain()}
    assert told["p99"].choice.name == "OrderStatistics"
    assert told["about"].choice.name == "SubtractOnEvict"
    assert told["all"].choice.name == "running state"
    assert "rows sorted in segments" in told["p50"].kernel
    assert [name for name, one in told.items() if "over text" in one.kernel] == ["low", "most"]
    assert "a batch reads its keys' whole windows" in str(HEALTH.explain())
