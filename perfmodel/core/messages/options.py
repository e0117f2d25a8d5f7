"""Options that do not go together."""

MESSAGES = {
    "options.json_check": "--json goes with --check",
    "options.jobs": "{given!r:.60}: expected a whole number from 1 to {most}, or all (cores)",
    "options.one_form": "{known}: give one of them",
    "options.one_of": "{known}: give one",
    "options.no_table": "expected options by name, not {given!r:.60}",
}
