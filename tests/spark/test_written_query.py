"""Which definition wrote a checkpoint: by its description, or as it is given; nothing is imported unasked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from shards import FINGERPRINT
from spark.test_live_from_shard import cut_at, table_of
from stored_streams import SHARD, described, fed, queries_of, store_of

import slidewise as sw
from slidewise.pipeline.state.command import key_of, read_definition
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.written_query import ShardHead, written_queries
from slidewise.spark.stream.query_description import query_fingerprint

HEALTH = sw.Sliding(by="k", on="ts", peak=sw.max("x").over("60s"))
COLUMNS = (("k", "string"), ("ts", "timestamp"), ("x", "double"))
MODULE = """
import slidewise as sw
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
top = sw.operator(name="top", identity=0.0, combine=max)
"""


def head_of(definition: sw.Sliding, written: object) -> ShardHead:
    query = {"definition": written, "columns": COLUMNS, "shards": 4, "forget_after": None}
    text = json.dumps({"shards=": "4", "query": query})
    return ShardHead(0, query_fingerprint(definition, COLUMNS, 4, None), text)


def test_the_definition_is_in_the_checkpoint() -> None:
    table = table_of(1, 50)
    stream = described(HEALTH, table.schema)
    fed(stream, table, cut_at(100), 1)
    store = store_of(stream)
    [query] = queries_of(store).values()
    assert query.definition == HEALTH
    assert OpenedShard(store, SHARD, queries_of(store)).directory.released == cut_at(100)


def test_a_definition_that_is_given_must_be_the_one_that_wrote_it() -> None:
    head = head_of(HEALTH, HEALTH.to_dict())
    assert written_queries([head], HEALTH)[head.fingerprint].definition is HEALTH
    other = sw.Sliding(by="k", on="ts", peak=sw.max("x").over("61s"))
    with pytest.raises(sw.SlidewiseError, match="written by another definition than the one that is given"):
        written_queries([head], other)
    with pytest.raises(sw.SlidewiseError, match="is not the one that wrote it; give the definition"):
        written_queries([head_of(HEALTH, other.to_dict())], None)
    with pytest.raises(sw.SlidewiseError, match=r"cannot hold the definition.*--definition"):
        written_queries([head_of(HEALTH, None)], None)
    with pytest.raises(sw.SlidewiseError, match="does not say which definition wrote it; give the definition"):
        written_queries([ShardHead(0, FINGERPRINT, "")], None)
    with pytest.raises(sw.SlidewiseError, match="cannot be read"):
        written_queries([head_of(HEALTH, {"columns": {"peak": {"operator": "maximum"}}})], None)


def test_nothing_that_a_checkpoint_names_is_imported_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "named_in_a_checkpoint.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    column = {"operator": "named_in_a_checkpoint:top", "of": ["x"], "over": "1 minute"}
    written = {"by": ["k"], "on": "ts", "columns": {"peak": column}}
    head = head_of(HEALTH, written)
    with pytest.raises(sw.SlidewiseError, match=r"named_in_a_checkpoint.*or give the definition"):
        written_queries([head], None)
    with pytest.raises(sw.SlidewiseError, match="written by another definition"):
        written_queries([head], sw.Sliding(by="k", on="ts", peak=sw.min("x").over("60s")))
    assert not (tmp_path / "named_in_a_checkpoint.ran").exists()
    definition = sw.Sliding.from_dict(written, imports=["named_in_a_checkpoint"])
    assert (tmp_path / "named_in_a_checkpoint.ran").exists()
    del sys.modules["named_in_a_checkpoint"]
    [query] = written_queries([head_of(definition, written)], None, ["named_in_a_checkpoint"]).values()
    assert query.definition.fingerprint() == definition.fingerprint()


def test_a_damaged_head_does_not_hide_the_others() -> None:
    head = head_of(HEALTH, HEALTH.to_dict())
    queries = written_queries([ShardHead(1, "00" * 16, ""), ShardHead.of(2, {0: b"x"}), head], None)
    assert list(queries) == [head.fingerprint]


def test_definitions_and_jobs_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "health.toml"
    file.write_text(HEALTH.to_toml())
    assert read_definition(str(file), False) == HEALTH
    body = HEALTH.to_toml().replace("[columns", "[definition.columns")
    job = f'[source]\npath = "x"\nformat = "parquet"\n[sink]\npath = "y"\n[definition]\n{body}'
    file.write_text(job)
    (tmp_path / "x").touch()
    assert read_definition(str(file), False) == HEALTH


@pytest.mark.parametrize(
    ("by", "given", "match"),
    [
        ([], ["7"], "has no key columns"),
        (["a", "b"], ["7"], "write --key a=... for each"),
        (["a", "b"], ["a=1", "a=2"], "gives 'a' twice"),
        (["a", "b"], ["a=1"], "gives no 'b'"),
        (["a", "b"], ["c=1"], "the key has no 'c'; it has a, b"),
    ],
)
def test_keys_that_are_given_wrongly(by: list[str], given: list[str], match: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=match):
        key_of(by, given)
    assert key_of(["a"], ["x=y"]) == {"a": "x=y"}
    assert key_of(["a"], ["a=y"]) == {"a": "y"}
    assert key_of([], [""]) == {}
