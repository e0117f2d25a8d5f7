"""Answers as pages: question, answer, chart, assumptions, sources, command."""
