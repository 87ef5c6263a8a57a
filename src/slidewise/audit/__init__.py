"""`Sliding.audit`: what was served against what the events say, answer by answer."""
