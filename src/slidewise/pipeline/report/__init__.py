"""A job's report: points, panels, picture and page."""
