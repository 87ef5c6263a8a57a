"""What the measurements come to: summary, claims, figures and the report's page."""
