"""Data structures below the algorithms: chunked queues, sublists, scans and ordered trees."""
