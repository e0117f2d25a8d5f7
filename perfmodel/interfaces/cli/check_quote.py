"""``perfmodel check-quote``: a proposal's claims against physics, the model and measured runs."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.files.tables import csv_text, markdown_table
from perfmodel.interfaces.cli.export import export_options, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_option, specs_option
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command

if TYPE_CHECKING:
    from perfmodel.decide.quote import Checked, Quote

WIDTH, INDENT = 80, 11
_LEFT_OUT = {"arithmetic", "measured", "defaults", "reading", "sample", "higher_is_better"} | {
    "similar_run",
    "reached_by",
    "other_reading",
}
"""Of tables: lists, tables, and what the other columns say."""


@click.command("check-quote")
@click.argument("file", required=False, metavar="QUOTE")
@click.option("--examples", is_flag=True, help="List the quotes that come with the package.")
@scenario_option("calibration")
@specs_option
@report_option
@export_options
def command(
    file: str | None,
    examples: bool,
    calibration: str | None,
    report: str | None,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """Can a quote's claims be true?  QUOTE is a TOML file, or an example's name.

    \b
    A file; docs/quote-format.md has every key and quantity:
      title = "An offer of 512 H100"
      scenario = { workload = "llama-3-70b", node = "dgx-h100", gpus = 512 }
      [[claims]]
      quantity = "days_to_train"
      value = 35
      tokens = "1T"

    Each claim is held against what physics allows (impossible), against the model's 80 % interval
    (optimistic, plausible, pessimistic; possible where it has none, oversized where the job does not fit its
    memory) and against the measured runs most like it (reached where one did what the model does not
    expect).  Tricks of data sheets are named, and a sentence says it all for a mail.  The exit code is 1
    where one is impossible.

    \b
    Examples:
      perfmodel check-quote --examples
      perfmodel check-quote dgx-a100-petaflops
      perfmodel check-quote horovod-512-gpus
      perfmodel check-quote dgx-a100-petaflops --report verdict.html
    """
    from perfmodel.decide.quote import check_quote, example_names, read_quote

    form, page = take_form(options), report_file(report)
    if examples or file is None:
        if not examples:
            raise click.UsageError(
                "give a quote's file, or one of the examples: " + ", ".join(example_names())
            )
        _print_examples(form)
        return
    quote, name = read_quote(file)
    checked = check_quote(quote, catalogue_from(specs), name, calibration)
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.quoted import page_of_quote

        write_page(page, page_of_quote(quote, checked, typed_command()))
    impossible = sum(claim.verdict == "impossible" for claim in checked)
    if form == "json":
        from perfmodel.decide.quote.answer import QuoteAnswer

        click.echo(json.dumps(QuoteAnswer.of(quote, checked)))
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
    from perfmodel.decide.quote import example_names, read_quote

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


def _print(quote: Quote, checked: list[Checked]) -> None:
    from perfmodel.decide.quote.listing import claimed, counted, defaults_taken, lines_of
    from perfmodel.decide.quote.sentence import BETTER

    for line in textwrap.wrap(quote.title, WIDTH) + textwrap.wrap(quote.note, WIDTH):
        click.echo(line)
    for index, claim in enumerate(checked, 1):
        head = f"{index}. {claim.verdict.upper()}: {claimed(claim)}"
        if claim.verdict == "reached":
            head += f"; {BETTER}"
        if claim.memory:
            head += f"; the job does not fit, it {claim.memory}"
        click.echo()
        click.echo(click.style("\n".join(textwrap.wrap(head, WIDTH)), bold=True))
        for label, text in lines_of(claim, quote.sources):
            start = f"   {label}".ljust(INDENT + 3)
            click.echo(_filled(text, start))
    click.echo()
    click.echo(counted(checked))
    click.echo(_filled(defaults_taken(checked), ""))


def _filled(text: str, start: str) -> str:
    """Text wrapped behind its label; a web address is never broken, and a long one starts further left."""
    from perfmodel.interfaces.cli.render import filled

    if len(start) + len(text) > WIDTH and text.startswith("https://"):
        return f"   {text}"
    return filled(text, WIDTH, start)


def _markdown(quote: Quote, checked: list[Checked]) -> str:
    from perfmodel.decide.quote.claim_judgement import percent
    from perfmodel.decide.quote.listing import (
        claimed,
        defaults_taken,
        interval_words,
        lines_of,
        value_words,
        verdict_words,
    )

    rows = [
        {
            "claim": claimed(claim),
            "verdict": f"**{claim.verdict}**" if claim.verdict == "impossible" else verdict_words(claim),
            "likely": "" if claim.probability is None else percent(claim.probability),
            "limit": value_words(claim, claim.limit),
            "model": "" if claim.expected is None else value_words(claim, claim.expected),
            "80 % interval": interval_words(claim) or "",
        }
        for claim in checked
    ]
    parts = [f"## {quote.title}", *([quote.note] if quote.note else []), markdown_table(rows).rstrip()]
    for index, claim in enumerate(checked, 1):
        report = [
            f"- {label + ': ' if label else ''}{text}" for label, text in lines_of(claim, quote.sources)
        ]
        parts.append("\n".join([f"{index}. {claimed(claim)}: {claim.verdict}", "", *report]))
    return "\n\n".join([*parts, defaults_taken(checked)])
