"""A click option with the fields that pages need, and with older spellings that its help does not show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from perfmodel.core.records.options import Offers


class Option(click.Option):
    """An option that also takes ``old`` spellings, which its help does not show."""

    def __init__(
        self,
        names: Sequence[str],
        *,
        old: Sequence[str] = (),
        label: str = "",
        offers: Offers | None = None,
        usual: str = "",
        heading: str = "",
        **settings: Any,
    ) -> None:
        """Take the shown names of the option, and the old ones; other fields are as in ``OptionInfo``."""
        super().__init__([*names, *old], **settings)
        self.old, self.label, self.offers, self.usual = tuple(old), label, offers, usual
        self.heading = heading

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return name and text of the option in the help."""
        with self._without_old():
            return super().get_help_record(ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option's name for an error message."""
        with self._without_old():
            return super().get_error_hint(ctx)  # type: ignore[arg-type,unused-ignore]

    @contextmanager
    def _without_old(self) -> Iterator[None]:
        """Hide the old spellings in the context."""
        every = self.opts
        self.opts = [name for name in every if name not in self.old]
        try:
            yield
        finally:
            self.opts = every


class Argument(click.Argument):
    """An argument with its words for the help, which older versions of click do not take."""

    def __init__(self, names: Sequence[str], *, words: str = "", **settings: Any) -> None:
        """Take the name, and the words of the help."""
        super().__init__(names, **settings)
        self.words = words

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return name and text of the argument in the help."""
        return self.make_metavar(ctx), self.words


ARGUMENTS, FILES_AND_FORMS = "Arguments", "Files and forms of the answer"


class Shell(click.Command):
    """A command whose help lists options under the headings of their classes."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; a word without its option is said to be of the one that is missing."""
        typed = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter as error:
            words = self.make_parser(ctx).parse_args(typed)[1]
            if not words or error.param is None:
                raise
            option = error.param.get_error_hint(ctx).strip("'")
            raise click.UsageError(f"{words[0]}: write {option} {words[0]}", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, then options by heading in the order of their first; files and forms come last."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None:
                heading = getattr(each, "heading", "") or "Options"
                if isinstance(each, click.Argument):
                    heading = ARGUMENTS
                elif not isinstance(each, Option):
                    heading = FILES_AND_FORMS
                sections.setdefault(heading, []).append(record)
        sections[FILES_AND_FORMS] = sections.pop(FILES_AND_FORMS)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
