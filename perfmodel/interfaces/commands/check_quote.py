"""``check-quote``: a vendor's claims compared with physical limits, the model and measured runs."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import JSON, Form, csv
from perfmodel.interfaces.report import report
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.quote import Checked, Quote
    from perfmodel.decide.quote.answer import ExampleQuotes, QuoteAnswer
    from perfmodel.interfaces.client.files import Files

    AnyQuote: TypeAlias = Quote | str | Path | Mapping[str, Any]
else:

    class AnyQuote:
        """A quote as ``read_quote`` returns it, its table, its file, or the name of an example."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Take a table or a text, and what means one."""
            from pydantic_core import core_schema

            table = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
            either = core_schema.union_schema([table, core_schema.str_schema(strict=True)])
            return core_schema.no_info_before_validator_function(_plain, either)


WIDTH, INDENT = 80, 11


def _plain(given: Any) -> Any:
    """Return a quote as JSON, without checking it."""
    if isinstance(given, PathLike):
        return fspath(given)
    dumped = getattr(given, "model_dump", None)
    return given if dumped is None else dumped(mode="json", exclude_unset=True)


def _sent(given: Any, files: "Files") -> Any:
    """Return a quote for a request: an example's name, or a table with the files of its scenarios."""
    from perfmodel.decide.quote import example_names, read_quote

    plain = _plain(given)
    if isinstance(plain, str) and plain not in example_names():
        plain = _plain(read_quote(plain)[0])
    return _with_files(plain, files) if isinstance(plain, Mapping) else plain


def _with_files(table: Mapping[str, Any], files: "Files") -> dict[str, Any]:
    """Return the table of a quote or claim, with its files under their names in the request."""
    result = dict(table)
    if isinstance(result.get("scenario"), Mapping):
        result["scenario"] = files.of_scenario(result["scenario"])
    if isinstance(result.get("claims"), list | tuple):
        result["claims"] = [
            _with_files(each, files) if isinstance(each, Mapping) else each for each in result["claims"]
        ]
    return result


class QuoteRequest(Described):
    """A vendor's quote whose claims are checked.

    Parameters
    ----------
    quote : Content of a quote file as a table; or the name of an example or a file.
    examples : List the quotes that come with the package instead.
    where : Name of the quote in error messages.
    calibration : Your own runs, for every claim: a CSV, or what perfmodel calibrate --data learned from one.
    """

    quote: Annotated[AnyQuote | None, OptionInfo(sent=_sent)] = None
    examples: bool = False
    where: str = "quote"
    calibration: str | None = same_as(Scenario)


class _Typed(Described):
    """A quote in the shell.

    Parameters
    ----------
    quote : A TOML file, or the name of an example.
    examples : List the quotes that come with the package.
    """

    quote: str | None = None
    examples: Annotated[bool, OptionInfo(denied=False)] = False
    calibration: str | None = same_as(Scenario)

    def request(self) -> QuoteRequest:
        """Return the request; a usage error without a quote."""
        if self.quote is not None and self.examples:
            raise refusal("quote.one_or_examples", "quote", "examples")
        if self.quote is None and not self.examples:
            from click import UsageError

            from perfmodel.decide.quote import example_names

            raise UsageError(str(refusal("quote.none", "quote", known=tuple(example_names()))))
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return QuoteRequest.model_construct(**given)


def run(request: QuoteRequest, context: Context) -> "QuoteAnswer | ExampleQuotes":
    """Check every claim of a quote against physics, the model's 80 % interval and measured runs.

    Raises
    ------
    InputError : no quote, a scenario that cannot be predicted, or a claim that its workload cannot have; the
        message names the quote and the claim

    Examples
    --------
    Eight V100 cannot train a million images per second:

    >>> from perfmodel import check_quote
    >>> claim = {"quantity": "images_per_second", "value": 1e6}
    >>> check_quote({"title": "Too good", "scenario": {"gpus": 8}, "claims": [claim]})[0].verdict
    'impossible'
    """
    from perfmodel.decide.quote import check_quote, example_names, read_quote
    from perfmodel.decide.quote.answer import QuoteAnswer, example_quotes, quote_of_json

    if request.examples:
        return example_quotes()
    given: Any = request.quote
    if given is None:
        raise refusal("quote.none", "quote", known=tuple(example_names()))
    quote, name = read_quote(given) if isinstance(given, str) else (quote_of_json(given), request.where)
    return QuoteAnswer.of(quote, check_quote(quote, context.catalogue, name, request.calibration))


def text(answer: "QuoteAnswer | ExampleQuotes", request: QuoteRequest) -> None:
    """Print the answer card and each claim with the reasons for its verdict, or the list of examples."""
    import click

    from perfmodel.core.sentences import wrapped
    from perfmodel.decide.quote.listing import counted, defaults_taken, heading, lines_of
    from perfmodel.interfaces.cli.render import console, show_card

    if isinstance(answer, list):
        for row in answer:
            click.echo(f"{row.name:<22} {row.title}")
        return
    for line in wrapped(answer.title, WIDTH) + wrapped(answer.note, WIDTH):
        click.echo(line)
    show_card(console(), answer.card)
    for index, claim in enumerate(answer, 1):
        head = wrapped(f"{index}. {heading(claim)}", WIDTH)
        click.echo()
        click.echo(click.style("\n".join(head), bold=True))
        for label, words in lines_of(claim, answer.sources):
            click.echo(_filled(words, f"   {label}".ljust(INDENT + 3)))
    click.echo()
    click.echo(counted(answer.claims))
    click.echo(_filled(defaults_taken(answer.claims), ""))


def _filled(words: str, start: str) -> str:
    """Return text wrapped behind its label; a web address is never broken."""
    from perfmodel.interfaces.cli.render import filled

    if len(start) + len(words) > WIDTH and words.startswith("https://"):
        return f"   {words}"
    return filled(words, WIDTH, start)


def _markdown(answer: "QuoteAnswer | ExampleQuotes", request: QuoteRequest) -> str:
    """Return the quote, its claims and the reasons for each verdict as Markdown."""
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.quote.listing import defaults_taken, heading, lines_of
    from perfmodel.interfaces.cli.card_markdown import card_markdown

    if isinstance(answer, list):
        return markdown_table(answer.records())
    table = markdown_table(map(_markdown_row, answer)).rstrip()
    parts = [f"## {answer.title}", *([answer.note] if answer.note else []), card_markdown(answer.card), table]
    for index, claim in enumerate(answer, 1):
        lines = [
            f"- {label + ': ' if label else ''}{words}" for label, words in lines_of(claim, answer.sources)
        ]
        parts.append("\n".join([f"{index}. {heading(claim)}", "", *lines]))
    return "\n\n".join([*parts, defaults_taken(answer.claims)])


def _markdown_row(claim: "Checked") -> dict[str, Any]:
    """Return a claim as a row of the Markdown table."""
    from perfmodel.decide.quote.listing import claimed, range_words, value_words, verdict_words

    judged_by = claim.judged_by
    return {
        "claim": claimed(claim),
        "verdict": f"**{claim.verdict}**" if claim.verdict == "impossible" else verdict_words(claim),
        "limit": value_words(claim, claim.limit),
        "expected": "" if judged_by is None else value_words(claim, judged_by.expected),
        "80 % interval": range_words(claim) or "",
    }


def _page(answer: Any, request: QuoteRequest, context: Context) -> Any:
    """Return the page of a checked quote."""
    from perfmodel.interfaces.reports.quoted import page_of_quote

    return page_of_quote(answer, answer.claims, context.typed)


_REPORT = report(_page)


def _check_report(file: Path, request: QuoteRequest) -> None:
    """Check that a report can be written; examples have none."""
    if request.examples:
        raise refusal("quote.report_of_examples")
    _REPORT.check(file, request)


_ABOUT = """QUOTE is a TOML file, or an example's name.

\b
A file; docs/quote-format.md has every key and quantity:
  title = "An offer of 512 H100"
  scenario = { workload = "llama-3-70b", node = "dgx-h100", gpus = 512 }
  [[claims]]
  quantity = "days_to_train"
  value = 35
  tokens = "1T"

Each claim is compared with physical limits (impossible; conditional where another precision or convention
that the quote does not exclude would allow it), and with one 80 % interval, by which verdict, probability
and advice are: that of a similar measured run scaled to the job, else the model's (doubtful, "optimistic"
in JSON, where less than 10 % likely; plausible, or from 40 to 60 % as likely as not: it cannot be judged;
cautious, "pessimistic" in JSON, where over 90 % likely; possible where there is none, oversized where the
job does not fit in memory; reached where a run did better than expected). Tricks of data sheets are named,
and a sentence sums up each claim for a message to the vendor.  The exit code is 1 if a claim is
impossible."""
_CLAIM: Sequence[Mapping[str, Any]] = [{"quantity": "images_per_second", "value": 20000}]

COMMAND = Command(
    name="check-quote",
    summary="Check whether a vendor's claims can be true.",
    about=_ABOUT,
    request=QuoteRequest,
    typed=_Typed,
    answers=("perfmodel.decide.quote.answer:QuoteAnswer", "perfmodel.decide.quote.answer:ExampleQuotes"),
    run=run,
    text=text,
    forms={"json": JSON, "csv": csv(), "markdown": Form("Print Markdown.", _markdown)},
    writes={"report": _REPORT._replace(check=_check_report)},
    status=lambda answer: int(not isinstance(answer, list) and answer.impossible > 0),
    arguments=("quote",),
    positional=("quote",),
    examples=(
        "perfmodel check-quote --examples",
        "perfmodel check-quote dgx-a100-petaflops",
        "perfmodel check-quote horovod-512-gpus",
        "perfmodel check-quote dgx-a100-petaflops --report verdict.html",
    ),
    bodies={
        "an example": {"quote": "dgx-a100-petaflops"},
        "a claim": {"quote": {"title": "Eight V100", "scenario": {"gpus": 8}, "claims": _CLAIM}},
    },
)
