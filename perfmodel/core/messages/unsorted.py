"""Sentences that were not sorted yet."""

MESSAGES = {
    "unsorted": "{words}",
}
