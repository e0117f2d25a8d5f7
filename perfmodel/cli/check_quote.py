"""``perfmodel check-quote``: a proposal's claims against physics, the model and measured runs."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import csv_text, export_options, markdown_table, take_form
from perfmodel.cli.options import catalogue_from, scenario_option, specs_option
from perfmodel.units import plural

if TYPE_CHECKING:
    from perfmodel.quote import Checked, Quote
    from perfmodel.specs.provenance import Source

WIDTH, INDENT = 80, 11
_LEFT_OUT = {"arithmetic", "measured", "defaults", "reading", "sample", "higher_is_better"} | {
    "similar_run",
    "other_reading",
}
"""Of tables: lists, tables, and what the other columns say."""


@click.command("check-quote")
@click.argument("file", required=False, metavar="QUOTE")
@click.option("--examples", is_flag=True, help="List the quotes that come with the package.")
@scenario_option("calibration")
@specs_option
@export_options
def command(
    file: str | None, examples: bool, calibration: str | None, specs: tuple[str, ...], **options: Any
) -> None:
    """Can a quote's claims be true?  QUOTE is a TOML file, or an example's name.

    Each claim is held against what physics allows (impossible), against the model's interval (optimistic,
    plausible, pessimistic; possible where it has none, oversized where the job does not fit its memory) and
    against the measured runs most like it.  Tricks of data sheets are named, and a sentence says it all for a
    mail.  The exit code is 1 where one is impossible.

    \b
    Examples:
      perfmodel check-quote --examples
      perfmodel check-quote dgx-a100-petaflops
      perfmodel check-quote horovod-512-gpus
    """
    from perfmodel.quote import check_quote, example_names, read_quote

    form = take_form(options)
    if examples or file is None:
        if not examples:
            raise click.UsageError(
                "give a quote's file, or one of the examples: " + ", ".join(example_names())
            )
        _print_examples(form)
        return
    quote, name = read_quote(file)
    checked = check_quote(quote, catalogue_from(specs), name, calibration)
    impossible = sum(claim.verdict == "impossible" for claim in checked)
    if form == "json":
        report = {
            "title": quote.title,
            "note": quote.note,
            "claims": [claim.model_dump() for claim in checked],
            "impossible": impossible,
            "sources": {key: source.model_dump(mode="json") for key, source in quote.sources.items()},
        }
        click.echo(json.dumps(report))
    elif form == "csv":
        click.echo(csv_text(_row(claim) for claim in checked), nl=False)
    elif form == "markdown":
        click.echo(_markdown(quote, checked))
    else:
        _print(quote, checked)
    if impossible:
        raise SystemExit(1)


def _row(claim: Checked) -> dict[str, Any]:
    names = ", ".join(trick.name for trick in claim.tricks)
    return claim.model_dump(exclude=_LEFT_OUT) | {"tricks": names}


def _print_examples(form: str | None) -> None:
    from perfmodel.quote import example_names, read_quote

    rows = []
    for name in example_names():
        quote, _ = read_quote(name)
        rows.append({"name": name, "title": quote.title, "claims": len(quote.claims)})
    if form == "json":
        click.echo(json.dumps(rows))
    elif form is not None:
        click.echo(csv_text(rows) if form == "csv" else markdown_table(rows), nl=False)
    else:
        for row in rows:
            click.echo(f"{row['name']:<22} {row['title']}")


def _value(claim: Checked, value: float) -> str:
    from perfmodel.quote.words import shown

    return shown(value, claim.quantity, claim.sample, claim.per)


def _claimed(claim: Checked) -> str:
    from perfmodel.quote.file import KINDS

    value = _value(claim, claim.value)
    return value if claim.quantity.endswith("per_second") else f"{KINDS[claim.quantity].words} of {value}"


def _interval(claim: Checked, level: int) -> str | None:
    low, high = getattr(claim, f"low_{level}"), getattr(claim, f"high_{level}")
    return None if low is None else f"{_value(claim, low)} to {_value(claim, high)}"


def _print(quote: Quote, checked: list[Checked]) -> None:
    for line in textwrap.wrap(quote.title, WIDTH) + textwrap.wrap(quote.note, WIDTH):
        click.echo(line)
    for index, claim in enumerate(checked, 1):
        head = f"{index}. {claim.verdict.upper()}: {_claimed(claim)}"
        if claim.memory:
            head += f"; the job does not fit, it {claim.memory}"
        click.echo()
        click.echo(click.style("\n".join(textwrap.wrap(head, WIDTH)), bold=True))
        for label, text in _lines(claim, quote.sources):
            start = f"   {label}".ljust(INDENT + 3)
            click.echo(_filled(text, start))
    click.echo()
    click.echo(_counts(checked))
    click.echo(_filled(_defaults(checked), ""))


def _filled(text: str, start: str) -> str:
    """Text wrapped behind its label; a web address is never broken, and a long one starts further left."""
    from perfmodel.cli.render import filled

    if len(start) + len(text) > WIDTH and text.startswith("https://"):
        return f"   {text}"
    return filled(text, WIDTH, start)


def _defaults(checked: list[Checked]) -> str:
    taken = dict.fromkeys(option for claim in checked for option in claim.defaults)
    return "defaults taken: " + (", ".join(taken) or "none")


def _counts(checked: list[Checked]) -> str:
    words = ("impossible", "oversized", "optimistic", "plausible", "possible", "pessimistic")
    counts = {word: sum(claim.verdict == word for claim in checked) for word in words}
    whole = f"{len(checked)} {plural('claim', len(checked))}"
    return f"{whole}: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def _lines(claim: Checked, sources: dict[str, Source]) -> list[tuple[str, str]]:
    """Label and text of everything there is to say on one claim."""
    from perfmodel.quote.words import shown_range

    said = [("claim", claim.text)] if claim.text else []
    said += [("read as", claim.reading)] if claim.reading else []
    said.append(("the job", claim.scenario))
    said += [("" if i else "limit", line) for i, line in enumerate(claim.arithmetic)]
    if claim.expected is not None:
        near, far = _interval(claim, 80), _interval(claim, 95)
        said += [("model", _value(claim, claim.expected)), ("", f"80 %: {near}"), ("", f"95 %: {far}")]
    said += [
        ("" if i else "measured", f"{near.words} ({near.source})") for i, near in enumerate(claim.measured)
    ]
    if claim.similar_run is not None:
        run = claim.similar_run
        near = shown_range(run.low_80, run.high_80, claim.quantity, claim.sample, claim.per)
        said.append(
            ("from runs", f"{_value(claim, run.value)} (80 %: {near}), by the ratio to a run of {run.source}")
        )
    said.append(("in a mail", claim.sentence))
    if claim.source is not None:
        source = sources[claim.source]
        said.append(("source", f"{source.title}, read {source.read_on}"))
        said += [("", source.url)] if source.url else []
    return said


def _verdict(claim: Checked) -> str:
    return f"{claim.verdict}: {claim.memory}" if claim.memory else claim.verdict


def _markdown(quote: Quote, checked: list[Checked]) -> str:
    from perfmodel.quote.verdict import percent

    rows = [
        {
            "claim": _claimed(claim),
            "verdict": f"**{claim.verdict}**" if claim.verdict == "impossible" else _verdict(claim),
            "likely": "" if claim.probability is None else percent(claim.probability),
            "limit": _value(claim, claim.limit),
            "model": "" if claim.expected is None else _value(claim, claim.expected),
            "80 % interval": _interval(claim, 80) or "",
        }
        for claim in checked
    ]
    parts = [f"## {quote.title}", *([quote.note] if quote.note else []), markdown_table(rows).rstrip()]
    for index, claim in enumerate(checked, 1):
        report = [f"- {label + ': ' if label else ''}{text}" for label, text in _lines(claim, quote.sources)]
        parts.append("\n".join([f"{index}. {_claimed(claim)}: {claim.verdict}", "", *report]))
    return "\n\n".join([*parts, _defaults(checked)])
