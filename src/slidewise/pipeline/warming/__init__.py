"""`slidewise warm`: kernels compiled ahead of the first answer, on all cores, into the cache; or beside a job.

`command` shares the work out, `column_types` finds which types the columns have, `made_rows` makes rows of them, and
`lanes` runs these through whatever answers a definition. `beside` does it in a process beside a job that runs.
"""
