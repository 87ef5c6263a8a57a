"""The report of a job: points, panels, picture and page."""
