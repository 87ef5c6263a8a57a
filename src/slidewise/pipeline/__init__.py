"""Jobs on Spark from a file: a source, cleaning, a definition, a sink, and a report of what came out."""
