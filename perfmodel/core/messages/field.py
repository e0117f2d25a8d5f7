"""Keys that a table does not have."""

MESSAGES = {
    "field.unknown": "unknown {called} {name!r}; {right}",
}
