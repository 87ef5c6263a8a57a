"""How each algorithm is looked at: its parts, rules and cases."""
