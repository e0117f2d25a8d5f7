"""Errors that have only a sentence."""

MESSAGES = {
    "unsorted": "{words}",
}
