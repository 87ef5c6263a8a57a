"""Views: what a trace reads from each algorithm, its parts, rules and cases."""
