"""The query that wrote a checkpoint: its definition, by the description that its shards store, or as it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slidewise.definition import Definition
from slidewise.definition_files import arguments_of
from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.import_paths import Imports
from slidewise.spark.state.pages import DESCRIPTION, DIRECTORY, open_page, page_fingerprint
from slidewise.spark.stream.query_description import (
    QueryDescription,
    describe_query,
    differences,
    query_fingerprint,
    read_description,
)
from slidewise.windows import Duration

GIVE = "give the definition that the stream runs: definition=, or --definition on the command line"


class ShardHead(NamedTuple):
    """What says which query wrote a shard: the fingerprint in its directory's page, and its description, if any."""

    shard: int
    fingerprint: str
    description: str

    @classmethod
    def of(cls, shard: int, pages: Mapping[int, bytes]) -> ShardHead:
        """The head of a shard, of its directory and its description; both may be damaged."""
        try:
            page = pages.get(DESCRIPTION, b"")
            text = open_page(page, None, shard, DESCRIPTION).decode(errors="replace") if page else ""
        except SnapshotError:
            page = text = ""  # type: ignore[assignment]
        return cls(shard, page_fingerprint(pages.get(DIRECTORY) or page or b""), text)


class WrittenQuery(NamedTuple):
    """A query that wrote shards: its definition, its fingerprint, its description, and what that says to programs."""

    definition: Definition
    fingerprint: str
    text: str
    description: QueryDescription | None

    @property
    def forget_after(self) -> int | None:
        """After how many microseconds keys are forgotten."""
        return None if self.description is None else self.description.forget_after


def written_queries(
    heads: Iterable[ShardHead], definition: Definition | None, imports: Imports = False
) -> dict[str, WrittenQuery]:
    """The queries that wrote these shards, by fingerprint; there are two where an upgrade has not met all shards yet.

    `definition` is the one that is given. Where it is not that of a shard, the shard's own description counts; nothing
    that a description names is imported unless `imports` allows it.
    """
    texts: dict[str, str] = {}
    for head in heads:
        texts[head.fingerprint] = texts.get(head.fingerprint) or head.description
    described = {print_: text for print_, text in texts.items() if text}
    if described:  # a fingerprint without any description is that of a damaged page
        texts = described
    queries = {print_: _written_query(print_, text, definition, imports) for print_, text in texts.items()}
    if definition is not None and all(query.definition is not definition for query in queries.values()):
        raise SlidewiseError(_why_not(list(queries.values()), definition))
    return queries


def _written_query(fingerprint: str, text: str, given: Definition | None, imports: Imports) -> WrittenQuery:
    description = read_description(text) if text else None
    if description is None:
        if given is None:
            raise SlidewiseError(f"the checkpoint does not say which definition wrote it; {GIVE}")
        return WrittenQuery(given, fingerprint, text, None)
    if given is not None and _is_of(given, description, fingerprint):
        return WrittenQuery(given, fingerprint, text, description)
    if description.definition is None:
        if given is not None:
            raise SlidewiseError(_why_not([WrittenQuery(given, fingerprint, text, description)], given))
        raise SlidewiseError(
            "the checkpoint cannot hold the definition that wrote it, since an operator of it is in no module, or has "
            f"parameters that are no text; {GIVE}"
        )
    try:
        stored = Definition(**arguments_of(description.definition, imports))
    except SlidewiseError as error:
        if given is not None:
            raise SlidewiseError(_why_not([WrittenQuery(given, fingerprint, text, description)], given)) from error
        raise SlidewiseError(f"the definition in the checkpoint cannot be read: {error}; or {GIVE}") from error
    if not _is_of(stored, description, fingerprint):
        raise SlidewiseError(f"the definition in the checkpoint is not the one that wrote it; {GIVE}")
    return WrittenQuery(stored, fingerprint, text, description)


def _is_of(definition: Definition, query: QueryDescription, fingerprint: str) -> bool:
    """Whether a definition wrote pages with this fingerprint, over the columns and with the options described."""
    return query_fingerprint(definition, query.columns, query.shards, query.forget_after) == fingerprint


def _why_not(queries: Sequence[WrittenQuery], given: Definition) -> str:
    """How a definition differs from the one that wrote a checkpoint."""
    _, _, text, query = queries[0]
    assert query is not None
    lifetime = None if query.forget_after is None else Duration(query.forget_after * 1_000)
    how = differences(text, describe_query(given, query.columns, query.shards, lifetime))
    return f"the checkpoint was written by another definition than the one that is given: {how}"
