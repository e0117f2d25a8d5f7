"""Learned and assumed numbers, each with its source, and their changes by a user's own runs."""
