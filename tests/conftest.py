"""How all tests run."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)  # machines are busy at times
settings.load_profile("patient")
