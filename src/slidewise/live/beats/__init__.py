"""Live definitions that are answered on a beat."""
