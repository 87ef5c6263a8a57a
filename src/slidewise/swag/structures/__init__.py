"""Data structures below the algorithms: chunked queues, pointers, scans, ordered trees, and times of rows."""
