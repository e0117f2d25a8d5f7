"""Parts that pages share: the form of options, sections that fold, copy and download buttons."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, groupby
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import (
    answer_card,
    copying,
    file_marks,
    history,
    layout_options,
    own_profile,
    own_uploads,
    placeholders,
    session_hardware,
    sharing,
)
from app.backend import backend
from app.mistakes import errors_shown as errors_shown
from app.options import BASIC, DECLARED, MONEY, MORE, Option, as_command, as_python, options, scenario
from app.plain import plain
from app.state import START, chosen, close_page, open_page, widget
from perfmodel.core.sentences import sentence as sentence
from perfmodel.interfaces.reports.page import Page
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card


class PageRequest(NamedTuple):
    """The options that the user chose on a page."""

    picked: dict[str, Any]
    """Chosen values by option name on the command line; the model chooses all others."""
    top: DeltaGenerator
    """Container for the verdict, above the page's own widgets."""

    def predict(self, changed: Mapping[str, Any] = {}) -> Prediction:
        """Return the prediction of ``scenario(changed)``."""
        return backend().predict(self.scenario(changed))

    def scenario(self, changed: Mapping[str, Any] = {}) -> Scenario:
        """Return the scenario of the chosen options, with some changed; None leaves one to the model.

        Raises
        ------
        InputError : an invalid value
        """
        picked = {**self.picked, **changed}
        for given, other in (BATCHES, BATCHES[::-1]):
            if given in changed:
                picked.pop(other, None)
        kept = {name: value for name, value in picked.items() if value is not None}
        return scenario(kept, session_hardware.own_files())


BATCHES = ("local-batch-size", "global-batch-size")
"""Options that exclude each other; the last one changed counts."""


MORE_OPTIONS = "More options"
MANY = 12
"""Options of a folded section above which a field finds some of them."""
ABREAST = 3
"""Folded sections in a row."""
CALIBRATION = "calibration"
TAKES_SPECS = {
    *("predict", "scale", "compare", "sensitivity", "plan", "check-quote", "layouts", "explain", "diagnose"),
    "calibrate",
    *("collective", "fits", "specs", "trace", "compression", "downpour", "servers"),
}
"""Commands that take a user's own hardware."""
TAKES_FILES = {
    **dict.fromkeys(
        ("predict", "scale", "compare", "sensitivity", "fits", "diagnose"), ("profile", CALIBRATION)
    ),
    **dict.fromkeys(("plan", "check-quote"), (CALIBRATION,)),
}
"""Command -> its options that take a user's own files."""


def all_count(name: str) -> bool:
    """Return True: the default of ``counts``, by which every option applies."""
    return True


def as_it_is(option: Option) -> Option:
    """Return the option: the default of ``fitted``, by which no option changes its words."""
    return option


def scenario_form(
    page: str,
    body: Sequence[Option] = (),
    without: Sequence[str] = (),
    start: Mapping[str, Any] = START,
    money: bool = False,
    at_once: Collection[str] = (),
    columns: Mapping[str, Sequence[Option]] = {},
    picture: Sequence[Option] = (),
    counts: Callable[[str], bool] = all_count,
    fitted: Callable[[Option], Option] = as_it_is,
) -> PageRequest:
    """Draw the form of a scenario's options in the sidebar; return the user's choices.

    Parameters
    ----------
    page : its name in the URL
    body : options of the page itself, drawn above its chart
    without : options of a scenario that the page does not use, or has in ``body``
    start : options that the page opens with
    money : whether to include prices, power and failures
    at_once : options that are drawn with the basic ones
    columns, picture, counts, fitted : as of ``options_form``
    """
    first = [name for name in DECLARED if name in BASIC or name in at_once]
    more = [name for name in MORE if name not in at_once]
    groups = {"": first, MORE_OPTIONS: more, **({"Prices, power, failures": MONEY} if money else {})}
    known = {
        heading: [options()[name] for name in names if name not in without]
        for heading, names in groups.items()
    }
    request = options_form(
        page,
        known,
        body,
        start,
        columns=columns,
        picture=picture,
        has_layout=True,
        counts=counts,
        fitted=fitted,
    )
    with st.sidebar:
        own_calibration()
    return request


def own_calibration() -> None:
    """Draw the upload field for the user's own runs, or for what was learned from them."""
    with fold("Your own runs") as is_open:
        if is_open:
            with errors_shown():
                words = "A CSV of your own runs, or what was learned from one"
                own_uploads.field("calibration", words, "calibration-file")
                st.page_link("views/runs.py", label="See what your runs teach")
    own_uploads.in_use_line("calibration", "Learned from", "Predict without it")


def options_form(
    page: str,
    groups: Mapping[str, Sequence[Option]],
    body: Sequence[Option] = (),
    start: Mapping[str, Any] = START,
    ends: Mapping[str, str] = {},
    columns: Mapping[str, Sequence[Option]] = {},
    picture: Sequence[Option] = (),
    has_layout: bool = False,
    counts: Callable[[str], bool] = all_count,
    fitted: Callable[[Option], Option] = as_it_is,
) -> PageRequest:
    """Draw the form of a page's options; return the user's choices.

    An invalid value in the URL is reported, and the page stops.

    Parameters
    ----------
    page : its name in the URL
    groups : heading -> options in the sidebar, in a folded section; those of an empty heading are not folded
    body : options above the page's chart, in a row
    start : options that the page opens with
    ends : slider in the body -> option whose value is its upper end
    columns : heading -> options above the page's chart, in folded sections in a row
    picture : options without a field: chosen in a chart, or set by an address alone
    has_layout : whether layout options get a section of their own, with what fits in memory
    counts : function from an option's name to whether it applies now; one that does not is kept but not drawn
    fitted : function that gives an option the words that go with the present values of others
    """
    every = (*body, *picture, *chain(*columns.values()), *chain(*groups.values()))
    known = placeholders.of_other_fields(open_page(page, every, start))
    known = {name: fitted(option) for name, option in known.items()}
    top = st.container()
    if has_layout:
        groups = layout_options.arranged(groups, chosen(known))
    for heading, known_here in groups.items():
        members: Sequence[Option] = [option for option in known_here if counts(option.name)]
        if not members:
            continue
        st.session_state.folds |= {
            option.name: f"in the sidebar, under “{heading}”" for option in members if heading
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
    return PageRequest(chosen(known), top)


def _drawn(members: Sequence[Option], titled: bool) -> None:
    """Draw options in a column; if ``titled``, under the headings of the help, below a field to find some."""
    if titled and len(members) > MANY:
        sought = st.text_input("Find an option", placeholder="e.g. LoRA, expert, jitter", key="find-option")
        members = matching(members, sought)
        if not members:
            st.caption("No option has these words.")
    for heading, some in groupby(members, key=lambda option: option.heading if titled else ""):
        if heading:
            st.caption(heading)
        for option in some:
            widget(option)


def matching(members: Sequence[Option], sought: str) -> list[Option]:
    """Return the options with all words of a text in name, label, heading or help, in any case.

    >>> from app.options import options
    >>> [option.name for option in matching(list(options().values()), "qlora")]
    ['lora', 'frozen-weights']
    """
    wanted = sought.casefold().split()
    return [
        option
        for option in members
        if all(
            word in f"{option.name} {option.label} {option.heading} {option.help}".casefold()
            for word in wanted
        )
    ]


def _brought(page: str) -> None:
    """Draw the user's own files that the answer uses and that have no field on the page."""
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
    """Draw a folded section and yield whether it is open, so that its content is drawn only then.

    The title must not change, which would close the section; so it contains no numbers.
    """
    place = st.expander(title, key=f"fold-{title}", on_change=history.note_action)
    with place:
        yield bool(place.open)


def shell_command(command: str, picked: Mapping[str, Any], more: Sequence[tuple[str, str]] = ()) -> str:
    """Return the shell command that answers the same question.

    Parameters
    ----------
    command : its name
    picked : its options; the session's own files are added
    more : options that may be given several times
    """
    own, name = session_hardware.own_names(), command.partition(" ")[0]
    files = {option: own[option] for option in TAKES_FILES.get(name, ()) if option in own}
    specs = session_hardware.specs() if name in TAKES_SPECS else []
    return as_command(command, {**picked, **files}, [*more, *(("specs", file.name) for file in specs)])


def copy_buttons(
    command: str,
    picked: Mapping[str, Any],
    python: str | None = None,
    more: Sequence[tuple[str, str]] = (),
    others: Sequence[Mapping[str, Any]] = (),
    card: Card | None = None,
    files: Sequence[str] = (),
) -> None:
    """Draw buttons that copy the page's question as a shell command and as Python, and its answer as text.

    Parameters
    ----------
    command : name of the command
    picked : its options
    python : the Python code; by default that of a prediction
    more : options that may be given several times
    others : options of further commands that answer the rest of the page
    card : of the answer; None where the page has none
    files : names of files that the page offers to download and the command reads
    """
    lines = [shell_command(command, picked, more), *(shell_command(command, each) for each in others)]
    needed = sharing.beside(sharing.files_of(lines, files))
    with sharing.place(), st.container(horizontal=True, width="content"):
        if card is not None:
            first = f"{lines[0]}  # {needed}" if needed else lines[0]
            copying.popover("Copy answer", answer_card.as_text(card, first))
        copying.popover("Copy command", "\n".join(lines), "shell", needed)
        code = python or as_python(picked, session_hardware.own_names(), session_hardware.catalogue_words())
        copying.popover("Copy Python", code, "python")


def download_buttons(
    name: str,
    rows: Sequence[Mapping[str, Any]] | Callable[[], Sequence[Mapping[str, Any]] | str],
    answer: Any,
    report: Callable[[], Page | str] | None = None,
) -> None:
    """Draw buttons to download a table as CSV, the answer as JSON and a report; each is made when clicked.

    Parameters
    ----------
    name : of the files, without ending
    rows : the table, or a function that returns it or its text
    answer : JSON text or a value for JSON, or a function that returns either
    report : function that returns the report or its text; None without one
    """

    without_folder = session_hardware.folder_remover()  # files are written outside the session

    def table() -> str:
        result = rows() if callable(rows) else rows
        return without_folder(result if isinstance(result, str) else csv_text(result))

    def whole() -> str:
        result = answer() if callable(answer) else answer
        return without_folder(result if isinstance(result, str) else json.dumps(result, allow_nan=False))

    with sharing.place(), st.container(horizontal=True, width="content"):
        st.download_button("Download CSV", table, f"{name}.csv", "text/csv", on_click="ignore")
        st.download_button("Download JSON", whole, f"{name}.json", "application/json", on_click="ignore")
        if report is not None:

            def report_text() -> str:
                page = report()
                return without_folder(page if isinstance(page, str) else page.text(".html"))

            st.download_button("Download report", report_text, f"{name}.html", "text/html", on_click="ignore")


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
