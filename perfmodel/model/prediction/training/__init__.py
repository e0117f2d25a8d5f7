"""Whole training runs: to a target or loss, asynchronous, with compression."""
