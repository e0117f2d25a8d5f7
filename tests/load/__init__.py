"""Load on the service: ``python -m tests.load``."""
