"""Submissions to MLPerf: read by rules in tables, and predicted."""
