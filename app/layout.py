"""What every page of a scenario has around its figure: options, downloads, links."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, groupby
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import file_marks, history, layout_options, own_profile, own_uploads, session_hardware
from app.answering import answering
from app.options import BASIC, MONEY, MORE, Option, as_command, as_python, options, scenario
from app.plain import plain
from app.state import START, chosen, close_page, open_page, show_mistake, widget
from perfmodel.core.errors import InputError
from perfmodel.interfaces.reports.page import Page
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction


class Asked(NamedTuple):
    """What a page was asked: its options, and how to answer a scenario of them."""

    picked: dict[str, Any]
    """Chosen, by the command line's names; the rest is left to the model."""
    top: DeltaGenerator
    """Where the verdict goes, above the page's own widgets."""

    def predict(self, changed: Mapping[str, Any] = {}) -> Prediction:
        """Predict ``scenario(changed)``."""
        return answering().predict(self.scenario(changed))

    def scenario(self, changed: Mapping[str, Any] = {}) -> Scenario:
        """Return the scenario, with some options changed; None leaves one to the model.

        Raises
        ------
        InputError : a value that does not fit
        """
        picked = {**self.picked, **changed}
        for given, other in (BATCHES, BATCHES[::-1]):
            if given in changed:
                picked.pop(other, None)
        kept = {name: value for name, value in picked.items() if value is not None}
        return scenario(kept, session_hardware.own_files())


BATCHES = ("local-batch-size", "global-batch-size")
"""Options that exclude each other; the one changed last counts."""


MORE_OPTIONS = "More options"
ABREAST = 3
"""Folds side by side."""
CALIBRATION = "calibration"
TAKES_SPECS = {
    *("predict", "scale", "compare", "sensitivity", "plan", "check-quote", "layouts", "explain"),
    *("collective", "specs", "trace", "compression", "downpour", "servers"),
}
"""Commands that take hardware of one's own."""
TAKES_FILES = {
    **dict.fromkeys(("predict", "scale", "compare", "sensitivity"), ("profile", CALIBRATION)),
    **dict.fromkeys(("plan", "check-quote"), (CALIBRATION,)),
}
"""Commands that take files of one's own -> their options."""


def all_count(name: str) -> bool:
    """Say that every option counts."""
    return True


def ask_scenario(
    page: str,
    body: Sequence[Option] = (),
    without: Sequence[str] = (),
    start: Mapping[str, Any] = START,
    money: bool = False,
    columns: Mapping[str, Sequence[Option]] = {},
    picture: Sequence[Option] = (),
    counts: Callable[[str], bool] = all_count,
) -> Asked:
    """Draw the options of a scenario beside the page; return what was asked.

    Parameters
    ----------
    page : its name in the URL
    body : options of the page's own, drawn over its picture
    without : options of a scenario the page has no use for, or has in ``body``
    start : what the page opens with
    money : whether prices, power and failures matter here
    columns, picture, counts : as of ``ask``
    """
    groups = {"": BASIC, MORE_OPTIONS: MORE, **({"Prices, power, failures": MONEY} if money else {})}
    known = {
        heading: [options()[name] for name in names if name not in without]
        for heading, names in groups.items()
    }
    asked = ask(page, known, body, start, columns=columns, picture=picture, shares_out=True, counts=counts)
    with st.sidebar:
        own_calibration()
    return asked


def own_calibration() -> None:
    """Take what the user's own runs taught, for every page that predicts."""
    with fold("Your own calibration") as is_open:
        if is_open:
            with mistakes_shown():
                words = "What your own runs taught: the file that “perfmodel calibrate” wrote"
                own_uploads.field("calibration", words, "calibration-file")
    own_uploads.in_use_line("calibration", "Calibrated by", "Predict without it")


def ask(
    page: str,
    groups: Mapping[str, Sequence[Option]],
    body: Sequence[Option] = (),
    start: Mapping[str, Any] = START,
    ends: Mapping[str, str] = {},
    columns: Mapping[str, Sequence[Option]] = {},
    picture: Sequence[Option] = (),
    shares_out: bool = False,
    counts: Callable[[str], bool] = all_count,
) -> Asked:
    """Draw options beside the page, those of a heading folded away; return what was asked.

    A URL with an impossible value is reported, and the page ends there.

    Parameters
    ----------
    page : its name in the URL
    groups : options beside the page, by heading; those of an empty heading are not folded away
    body : options over the page's picture, in a row
    start : what the page opens with
    ends : for a slider in the body, the option whose number it ends at
    columns : options over the page's picture, in folds side by side, by heading
    picture : options that are not drawn here: chosen in the picture, or said by an address alone
    shares_out : whether options of a layout stand under a heading of their own, with what fits
    counts : whether an option, by its name, says anything here; one that does not is not drawn, and kept
    """
    every = (*body, *picture, *chain(*columns.values()), *chain(*groups.values()))
    known = open_page(page, every, start)
    top = st.container()
    if shares_out:
        groups = layout_options.arranged(groups, chosen(known))
    for heading, known_here in groups.items():
        members: Sequence[Option] = [option for option in known_here if counts(option.name)]
        if not members:
            continue
        st.session_state.folds |= {
            option.name: f"beside the page, under “{heading}”" for option in members if heading
        }
        with st.sidebar, fold(heading) if heading else nullcontext(True) as is_open:
            if is_open and heading == layout_options.HEADING:
                layout_options.draw_options([known[option.name] for option in members], lambda: chosen(known))
                continue
            if is_open:
                _drawn([known[option.name] for option in members], titled=heading == MORE_OPTIONS)
    with st.sidebar:
        _brought(page)
    if body:
        with st.container(horizontal=True, vertical_alignment="top", key="page-body"):
            for option in body:
                if not counts(option.name):
                    continue
                end = chosen(known).get(ends.get(option.name, ""), 0)
                widget(known[option.name]._replace(largest=end))
    rows = [st.columns(min(len(columns), ABREAST)) for _ in range(0, len(columns), ABREAST)]
    for place, (heading, members) in zip(chain(*rows), columns.items(), strict=False):
        st.session_state.folds |= {option.name: f"under “{heading}”" for option in members}
        with place, fold(heading) as is_open:
            for option in members if is_open else ():
                widget(known[option.name])
    close_page(page, known, top)
    return Asked(chosen(known), top)


def _drawn(members: Sequence[Option], titled: bool) -> None:
    """Draw options one below the other; many stand under the headings of the command line's help."""
    for heading, some in groupby(members, key=lambda option: option.heading if titled else ""):
        if heading:
            st.caption(heading)
        for option in some:
            widget(option)


def _brought(page: str) -> None:
    """Say which of the user's own files the answer uses, where no field does."""
    used = file_marks.USED.get(page, ())
    if "profile" in used:
        own_profile.draw_choice()
    names = [file.name for file in session_hardware.specs()] if "specs" in used else []
    if names:
        st.caption(
            plain(
                f"With hardware of your own: {', '.join(names)}. Who opens the address needs the files too."
            )
        )


@contextmanager
def fold(title: str) -> Iterator[bool]:
    """Fold something away; what is in it need not be drawn until this yields True.

    A title that changed would close the fold, so it holds no numbers.
    """
    place = st.expander(title, key=f"fold-{title}", on_change=history.act)
    with place:
        yield bool(place.open)


@contextmanager
def mistakes_shown() -> Iterator[None]:
    """Show an input error in place of the answer, and stop."""
    try:
        yield
    except InputError as error:
        show_mistake(error)
        st.stop()


def shell_command(command: str, picked: Mapping[str, Any], more: Sequence[tuple[str, str]] = ()) -> str:
    """Return the question as a command, with options given more than once and the session's own files."""
    own, name = session_hardware.own_names(), command.partition(" ")[0]
    files = {option: own[option] for option in TAKES_FILES.get(name, ()) if option in own}
    specs = session_hardware.specs() if name in TAKES_SPECS else []
    return as_command(command, {**picked, **files}, [*more, *(("specs", file.name) for file in specs)])


def ways_out(
    command: str,
    picked: Mapping[str, Any],
    python: str | None = None,
    more: Sequence[tuple[str, str]] = (),
    others: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Offer the question as a command, with options given more than once, and as Python.

    Parameters
    ----------
    command : its name
    picked : its options
    python : the same in Python; by default a prediction
    more : options given more than once
    others : options of further commands, which answer the rest of the page
    """
    with st.container(horizontal=True, width="content"):
        with st.popover("Copy as command"):
            lines = [shell_command(command, picked, more), *(shell_command(command, each) for each in others)]
            st.code("\n".join(lines), language="shell", wrap_lines=True)
        with st.popover("Copy as Python"):
            st.code(
                python or as_python(picked, session_hardware.own_names(), session_hardware.catalogue_words()),
                language="python",
                wrap_lines=True,
            )


def downloads(
    name: str,
    rows: Sequence[Mapping[str, Any]] | Callable[[], Sequence[Mapping[str, Any]]],
    answer: Any,
    report: Callable[[], Page | str] | None = None,
) -> None:
    """Offer a table as CSV, the whole answer as JSON and a page of it, each written when it is asked for.

    Parameters
    ----------
    name : of the files
    rows : the table, or what makes it
    answer : JSON's text, or what JSON can hold, or what makes either
    report : makes the page to hand on, where there is one, or its text
    """

    without_folder = session_hardware.folder_remover()  # files are written outside the session

    def table() -> str:
        return without_folder(csv_text(rows() if callable(rows) else rows))

    def whole() -> str:
        result = answer() if callable(answer) else answer
        return without_folder(result if isinstance(result, str) else json.dumps(result, allow_nan=False))

    with st.container(horizontal=True, width="content"):
        st.download_button("Download CSV", table, f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button("Download JSON", whole, f"{name}.json", "application/json", on_click="ignore")
        if report is not None:

            def handed_on() -> str:
                page = report()
                return without_folder(page if isinstance(page, str) else page.text(".html"))

            st.download_button("Download report", handed_on, f"{name}.html", "text/html", on_click="ignore")


def sentence(text: str) -> str:
    """Return a verdict as a sentence.

    >>> sentence("compute-bound: 74% of the iteration")
    'Compute-bound: 74% of the iteration.'
    """
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with a header.

    >>> csv_text([{"a": 1, "b": None}])
    'a,b\\n1,\\n'
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["nothing"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
