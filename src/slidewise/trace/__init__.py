"""Traces: every algorithm seen at work, recorded from the real classes as plain data."""

from slidewise.trace.operations import TraceError
from slidewise.trace.record import from_json, record, to_json

__all__ = ["TraceError", "from_json", "record", "to_json"]
