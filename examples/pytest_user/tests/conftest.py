"""The Hypothesis profile of all tests here: pairproof's state machines use the same profile and database."""

from hypothesis import settings

settings.register_profile("build", max_examples=20, derandomize=True, deadline=None)
settings.load_profile("build")
