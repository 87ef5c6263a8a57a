"""Job files: parsing, validation, permissions, and output paths."""

from slidewise.pipeline.job.job import Job, read_job

__all__ = ["Job", "read_job"]
