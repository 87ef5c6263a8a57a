"""Settings for all tests: no deadlines, since machines differ, and failures that can be replayed."""

from hypothesis import settings

settings.register_profile("slidewise", deadline=None, print_blob=True)
settings.load_profile("slidewise")
