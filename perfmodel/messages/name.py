"""Names that nobody knows."""

MESSAGES = {"name.unknown": "unknown {called} {name!r}; {right}"}
