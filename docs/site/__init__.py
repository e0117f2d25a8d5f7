"""Builds the documentation: ``python -m docs.site [TARGET]`` writes it into build/docs.

Pages written by hand lie in ``docs/``; all others are made here from what they describe (docstrings, specs,
commands), into build/docs-pages, and none is committed.
"""
