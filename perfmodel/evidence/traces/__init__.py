"""Bring your own measurement: profiler files in, the step they show out."""
