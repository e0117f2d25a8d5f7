"""Unknown and ambiguous names."""

MESSAGES = {
    "name.unknown": "unknown {called} {name!r}; {right}",
    "name.ambiguous": "{kind} {typed!r} fits {shown}; name one of them",
}
