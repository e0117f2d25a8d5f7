"""Errors on rows that were new, and what they teach of intervals."""
