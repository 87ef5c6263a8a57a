"""The report on the measurements: summary, claims, figures and the page."""
