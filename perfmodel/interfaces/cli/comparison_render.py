"""A comparison as text, and as Markdown to paste."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from perfmodel.core.files.tables import markdown_table
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.comparison.comparison_words import (
    ALIKE,
    alike_words,
    is_alike,
    label,
    shown,
    shown_difference,
    shown_input,
    shown_percent,
    title,
)
from perfmodel.decide.comparison.reasons import NETWORK
from perfmodel.interfaces.cli.render import MATTER, console, show_card, table, that_matter


def print_comparison(result: Comparison) -> None:
    """Print the card, the inputs that differ, a row for each quantity, defaults and notes."""
    out = console()
    show_card(out, result.card)
    out.print()
    letters = [chr(ord("A") + index) if index < 26 else str(index) for index in range(len(result.names))]
    for letter, name in zip(letters, result.names, strict=True):
        if called := title(letter, name):
            out.print(Text(f"{letter}  {called}"))
    for chosen in _parts(len(letters), 3):
        if result.inputs:
            inputs = table("what changed", *(letters[i] for i in chosen))
            for entry in result.inputs:
                inputs.add_row(entry.option, *(shown_input(entry.values[i]) for i in chosen))
            out.print(inputs)
    if len(letters) == 2 and not is_alike(result, 1):
        rows = table("", "A", "B", "B - A", "%")
        for row in result.rows:
            values = (shown(value, row.unit) for value in row.values)
            rows.add_row(label(row), *values, shown_difference(row, 1), shown_percent(row.relative[1]))
        out.print(rows)
    else:
        _print_several(result, letters, out)
    for line in _defaults(result, letters):
        out.print(Text(line))
    for note in result.notes:
        out.print(Text(f"note: {note}"))


def _defaults(result: Comparison, letters: list[str]) -> list[str]:
    """Return the defaults that matter: those that all cases take, then those of single ones."""

    network = {f"--{name.replace('_', '-')}" for name in NETWORK}
    compared = any(entry.option in NETWORK for entry in result.inputs)
    shared = [
        line for line in result.cases[0].defaults if all(line in each.defaults for each in result.cases)
    ]

    def shown(words: str, defaults: list[str]) -> str:
        matter = [line for line in defaults if line.split()[0] in (*MATTER, *(network if compared else ()))]
        chosen = that_matter(matter, lambda name: name in network)
        left = len(defaults) - len(chosen)
        more = [f"{left}{' more' * bool(chosen)} (--json)"] if left else []
        return f"{words}: {' and '.join([', '.join(chosen), *more] if chosen else more)}"

    lines = [shown("defaults taken by all", shared)] if shared else []
    for letter, case in zip(letters, result.cases, strict=True):
        if own := [line for line in case.defaults if line not in shared]:
            lines.append(shown(f"defaults taken by {letter}", own))
    return lines


def _parts(count: int, most: int) -> list[range]:
    """Return the columns in groups narrow enough to print."""
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def _print_several(result: Comparison, letters: list[str], out: Console) -> None:
    """Print the values of all cases, then the differences from the first."""
    for chosen in _parts(len(letters), 5):
        rows = table("", *(letters[i] for i in chosen))
        for row in result.rows:
            rows.add_row(label(row), *(shown(row.values[i], row.unit) for i in chosen))
        out.print(rows)
    differ = [index for index in range(1, len(letters)) if not is_alike(result, index)]
    for part in _parts(len(differ), 2):
        pair = differ[part.start : part.stop]
        rows = table("against A", *(head for i in pair for head in (f"{letters[i]} - A", "%")))
        for row in result.rows:
            if any(row.differences[1:]):
                cells = ((shown_difference(row, i), shown_percent(row.relative[i])) for i in pair)
                rows.add_row(label(row), *(cell for each in cells for cell in each))
        out.print(rows)
    for index in range(1, len(letters)):
        if index not in differ:
            out.print(Text(f"{letters[index]}: {alike_words(result, index)}"))


def comparison_markdown(result: Comparison) -> str:
    """Return card, changed options, quantities, defaults and notes as Markdown."""
    alike = [is_alike(result, index) for index in range(len(result.names))]
    heads = [f"{name}{ALIKE * same}" for name, same in zip(result.names, alike, strict=True)]
    rows = []
    for row in result.rows:
        cells = {"": label(row).strip()}
        cells |= {head: shown(value, row.unit) for head, value in zip(heads, row.values, strict=True)}
        cells |= {
            f"{name}, change": shown_percent(relative)
            for name, relative, same in list(zip(result.names, row.relative, alike, strict=True))[1:]
            if not same
        }
        rows.append(cells)
    short = [{"": name, "in short": value} for name, value in result.card.rows]
    parts = [f"**{result.card.advice}**", markdown_table(short).rstrip()]
    if result.inputs:
        parts.append(
            markdown_table(
                {
                    "what changed": entry.option,
                    **dict(zip(result.names, map(shown_input, entry.values), strict=True)),
                }
                for entry in result.inputs
            ).rstrip()
        )
    parts.append(markdown_table(rows).rstrip())
    parts += _defaults(result, result.names)
    return "\n\n".join([*parts, *(f"Note: {note}." for note in result.notes)])
