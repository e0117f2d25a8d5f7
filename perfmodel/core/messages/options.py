"""Options that do not go together."""

MESSAGES = {
    "options.json_check": "--json goes with --check",
    "options.one_form": "{known}: give one of them",
    "options.one_of": "{known}: give one",
    "options.no_table": "expected options by name, not {given!r:.60}",
}
