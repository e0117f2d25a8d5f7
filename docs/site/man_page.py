"""The manual page, ``man perfmodel``, which the wheel installs: commands, and the options of a prediction.

``python -m docs.site.man_page`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

from docs.site.commands import Command, commands
from docs.site.written_pages import ROOT
from perfmodel import __version__
from perfmodel.core.files.writing import write_whole

PAGE = ROOT / "docs" / "man" / "perfmodel.1"
ABOUT = "a closed-form performance model of distributed deep-learning training"
DESCRIPTION = (
    "perfmodel predicts how long a step of training takes on hardware that is described by its datasheets: "
    "iteration time with each of its terms, throughput, scaling efficiency, memory, cost and energy, with an "
    "interval as wide as measured runs have shown it to be. It needs no accelerator and no network.",
    "Every command answers with its defaults, names the defaults it took, and prints JSON with --json. "
    "perfmodel COMMAND --help has a command's options and examples.",
)
ENDINGS = (
    ("0", "An answer."),
    ("1", "A check failed: a quote is refuted, no plan meets its limits, predictions are too far off."),
    ("2", "Input that cannot be; a line on standard error says what would be right."),
    ("130", "Interrupted."),
    ("141", "The reader of the output has gone."),
)
ENVIRONMENT = (
    (
        "PERFMODEL_SERVE_SETTING",
        "A setting of perfmodel serve, by its option's name: PERFMODEL_SERVE_BODY_BYTES is --body-bytes.",
    ),
    (
        "_PERFMODEL_COMPLETE",
        "bash_source, zsh_source or fish_source: print what completes commands and options in that shell.",
    ),
)
FILES = (
    (
        "--specs DIR",
        "Your own accelerators, links and machines as TOML; perfmodel specs says what they hold.",
    ),
    ("--scenario FILE", "Options of a prediction as TOML or JSON."),
)


def page() -> str:
    """Return the page in the language of man."""
    each = commands()
    predict = next(command for command in each if command.path == ("predict",))
    parts = [
        f'.TH PERFMODEL 1 "" "perfmodel {__version__}" "User Commands"',
        _section("NAME", f"perfmodel \\- {ABOUT}"),
        _section("SYNOPSIS", ".B perfmodel\n.I COMMAND\n[OPTIONS]"),
        _section("DESCRIPTION", "\n.PP\n".join(map(_plain, DESCRIPTION))),
        _section("COMMANDS", _list((" ".join(command.path), _first_line(command)) for command in each)),
        _section("OPTIONS OF A PREDICTION", _list(_options(predict))),
        _section("EXIT STATUS", _list(ENDINGS)),
        _section("ENVIRONMENT", _list(ENVIRONMENT)),
        _section("FILES", _list(FILES)),
        _section("EXAMPLES", "\n".join([".nf", *map(_plain, predict.examples()), ".fi"])),
    ]
    return "\n".join(parts) + "\n"


def _section(name: str, text: str) -> str:
    return f".SH {name}\n{text}"


def _list(entries: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f".TP\n.B {_plain(name)}\n{_plain(words)}" for name, words in entries)


def _first_line(command: Command) -> str:
    return " ".join((command.command.help or "").partition("\n\n")[0].split())


def _options(command: Command) -> list[tuple[str, str]]:
    options = [each for each in command.command.params if isinstance(each, click.Option)]
    records = filter(None, (option.get_help_record(command.context) for option in options))
    return [_choices_last(names, words) for names, words in records]


def _choices_last(names: str, words: str) -> tuple[str, str]:
    """An option's names, and its meaning with the words that it may be: a long name cannot be broken."""
    name, _, takes = names.rpartition(" ")
    if "|" not in takes or takes.startswith("-"):
        return names, words
    return name, f"{words} One of {takes.strip('[]').replace('|', ', ')}."


def _plain(words: str) -> str:
    """Words in which no sign means something to man.

    >>> _plain(".5 of --gpus")
    '\\\\&.5 of \\\\-\\\\-gpus'
    """
    text = " ".join(words.replace("``", "").split()).replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text)


if __name__ == "__main__":
    write_whole(PAGE, page())
