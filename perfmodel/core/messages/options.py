"""Options that do not go together."""

MESSAGES = {
    "options.json_check": "--json goes with --check",
    "options.one_form": "{known}: give one of them",
    "options.one_of": "{known}: give one",
    "options.pair": "{whose} {text!r}: {each!r}: expected an option=value, e.g. tensor_parallel=8",
    "options.pair_twice": "{whose} {text!r}: {name} is given twice",
    "options.no_table": "expected options by name, not {given!r:.60}",
}
