"""Scenarios that are compared."""

MESSAGES = {
    "compare.names": "names: {count} of {scenarios} scenarios; give one for each",
    "compare.name": "--name: {count} of {scenarios} cases; give one for each, the first first",
    "compare.scenario_twice": "--scenario and a scenario's file: give one, they are the same",
    "compare.set_of_one": "--set varies one scenario; give one file with it",
    "compare.file_twice": "given twice",
    "compare.set_twice": "--set {text}: given twice",
    "compare.nothing": "nothing to compare with: give several values, as in perfmodel compare "
    "--node dgx-1v,dgx-a100-80gb --gpus 16, or --set KEY=VALUE, two scenarios' files, or --compare-to FILE",
    "compare.too_many": "{count:,} combinations of several values; at most {most}: perfmodel sweep "
    "takes any number",
    "compare.several_of_one": "{option}: several values vary one scenario; give one file with them",
    "compare.set_malformed": "expected KEY=VALUE, e.g. gpus=64 or gpus=64,precision=bf16",
    "compare.key_twice": "{key} is given twice: one scenario has one value, another is --set {piece}",
    "compare.too_few": "give at least two scenarios, or one and --set key=value, to compare",
    "compare.twice": "{name}: given twice; each case needs a name of its own",
    "compare.not_saved": "a list or a value; {wanted}",
    "compare.incredible": "{report}; {wanted}",
    "compare.given_twice": "a file is given twice",
}
