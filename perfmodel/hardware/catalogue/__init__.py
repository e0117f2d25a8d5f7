"""Finds a spec by its name, reads its file and checks it."""
