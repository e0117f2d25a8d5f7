"""Page Compare: two to six scenarios, their differences, and the probability that one is faster."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from app import (
    answer_card,
    assumed,
    cases,
    comparison_charts,
    file_marks,
    fleet_form,
    history,
    layout_options,
    memory_chart,
    no_effect,
    report_pages,
    session_hardware,
    sharing,
    to_compare,
)
from app.backend import ComparisonAnswer, backend
from app.cases import LETTERS, Variant
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import begun, for_planners, show_warnings
from app.options import MONEY, SCENARIO, Option, arguments, options, scenario, values
from app.plain import markdown, plain
from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent, plural, show, show_range
from perfmodel.decide.comparison import Comparison, comparison_words
from perfmodel.decide.comparison.comparison_verdict import ENDS
from perfmodel.decide.comparison.comparison_words import ALIKE
from perfmodel.decide.comparison.network_advice import PAYS, other_count
from perfmodel.decide.comparison.option_words import NAMES
from perfmodel.decide.comparison.reasons import NETWORK
from perfmodel.decide.comparison.side_by_side import Row
from perfmodel.interfaces.jobs import all_conditions
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import USUAL_CONFIDENCE
from perfmodel.model.options.scenario import field_of
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import LABELS, Card

EXAMPLE = {"b-inter-link": "ethernet-25g-tcp", "c-inter-link": "ethernet-100g-rdma"}
# Cases that the page opens with by default.
CONFIDENCE = options("compare")["confidence"]
FEWEST = 3
# Least number of cases whose sections are drawn.
ASSUMED = "assumed: "
# Beginning of a note on prices and power.


def compared(base: dict[str, Any], variants: list[Variant], confidence: float) -> ComparisonAnswer:
    """Return the comparison of every case with the first, under the names that the page shows.

    Parameters
    ----------
    base : options of the first case
    variants : all cases, the first included
    confidence : how sure to be
    """
    files = session_hardware.own_files()
    jobs = [scenario(cases.full(base, each.changed), files) for each in variants]
    try:  # for the values of options that are left to the model
        understood: list[Mapping[str, Any]] = [each.scenario for each in backend().predict_each(jobs)]
    except InputError:  # the comparison reports which case is wrong
        understood = [{} for _ in jobs]
    kinds = [{"pricing": cases.full(base, each.changed).get("pricing", "on-demand")} for each in variants]
    known = [{**one, **kind} for one, kind in zip(understood, kinds, strict=True)]
    named = dict(zip(cases.names(variants, known), jobs, strict=True))
    own = list(map(cases.own_conditions, variants))
    return backend().compare(named, Conditions(**values(base, MONEY)), own, confidence)


SHARES = ("scaling_efficiency", "mfu", "mfu_nominal", "hfu")
# Quantities shown in per cent.


def shown(value: float | None, unit: str, quantity: str) -> str:
    """Return a quantity of the table as text."""
    if quantity in SHARES and value is not None:
        return per_cent(value)
    return comparison_words.shown(value, unit)


def lettered(card: Card, names: list[str]) -> Card:
    """Return a card that says the name of each case once, in its advice, and its letter from there on."""
    fields = ("advice", *LABELS)
    return Card(**{each: cases.by_letters(getattr(card, each), names, each != "advice") for each in fields})


def ratios(result: Comparison, answers: dict[str, Prediction]) -> str:
    """Return a Markdown table with the speed ratio to A, its probability and the time of each case."""
    rows = []
    for case in result.cases:
        answer = answers[case.name]
        faster = "-" if case.ratio is None else case.ratio.words
        time, spread = show(answer.iteration_time, "s"), answer.interval
        time += f" ({show_range(spread.low_80, spread.high_80, 's')})" if spread else ""
        if not answer.memory.fits:
            time = f"{memory_chart.of_prediction(answer).words}; {time} if it did"
        cells = {"case": case.name, "speed against A": faster, "an iteration (80 %)": time}
        rows.append({plain(name): plain(words) for name, words in cells.items()})
    return markdown(rows)


def case_warnings(answers: dict[str, Prediction], picked: list[dict[str, Any]]) -> list[str]:
    """Return the warnings of all cases, each with the letters of the cases it is about.

    Parameters
    ----------
    answers : name of a case -> its prediction
    picked : options of each case
    """
    letters: dict[str, list[str]] = {}
    for (name, answer), chosen in zip(answers.items(), picked, strict=True):
        for warning in dict.fromkeys([*answer.warnings, *no_effect.without_effect(answer, chosen)]):
            letters.setdefault(warning, []).append(name.partition(" ")[0])
    return [f"{', '.join(those)}: {warning}" for warning, those in letters.items()]


def table(result: Comparison) -> tuple[str, list[str]]:
    """Return a Markdown table of the quantities that differ, with changes from A, and those that do not.

    Cases of which all quantities are the same share a column.
    """
    letters = [name.partition(" ")[0] for name in result.names]
    columns: dict[tuple[str, ...], list[str]] = {}
    for index, letter in enumerate(letters):
        columns.setdefault(tuple(_cell(row, index) for row in result.rows), []).append(letter)
    heads = [f"{', '.join(some)}{ALIKE * (len(some) > 1)}" for some in columns.values()]
    rows, same = list[dict[str, str]](), list[str]()
    utilization = next((row.values for row in result.rows if row.quantity == "mfu"), None)
    for row, *cells in zip(result.rows, *columns, strict=True):
        if row.quantity == "mfu_nominal" and row.values == utilization:
            continue
        if len({shown(value, row.unit, row.quantity) for value in row.values}) == 1:
            if row.quantity != "memory_bytes":  # of which its capacity is also said
                same.append(f"{comparison_words.label(row).strip()} {cells[0]}")
        else:
            words = map(plain, (comparison_words.label(row).strip(), *cells))
            rows.append(dict(zip(("", *heads), words, strict=True)))
    return (markdown(rows) if rows else ""), same


def _cell(row: Row, index: int) -> str:
    """Return a quantity of a case, with its change from the first case where it differs."""
    text, relative = shown(row.values[index], row.unit, row.quantity), row.relative[index]
    return f"{text} ({per_cent(relative, signed=True)})" if index and relative else text


def questions(base: dict[str, Any]) -> None:
    """Draw buttons for common questions about the scenario."""
    with st.container(horizontal=True):
        for question in cases.QUESTIONS:
            to_compare.question_button(question, base)


def removals(base: dict[str, Any], variants: list[Variant]) -> None:
    """Draw buttons to remove cases, of which two are left."""
    with st.container(horizontal=True):
        for gone in variants[1:] if len(variants) > 2 else ():
            if st.button(f"Remove {gone.letter.upper()}", key=f"remove-{gone.letter}"):
                kept = [each for each in variants if each is not gone]
                to_compare.open_compare([(each.title, cases.full(base, each.changed)) for each in kept])


def repairs(base: dict[str, Any], variants: list[Variant]) -> None:
    """Draw the buttons that lead away from cases that cannot be compared."""
    questions(base)
    removals(base, variants)


def ask_for_another(request: PageRequest, base: dict[str, Any], only: Variant) -> None:
    """Draw the page where there is one case, which nothing can be compared with."""
    with request.top:
        st.subheader("Add a second case", anchor=False)
        st.markdown(
            f"A is set{f' ({plain(only.title)})' if only.title else ''}. Say below under “{heading('b')}” "
            "what is other in the second case, or take one of these questions."
        )
        questions(base)


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    base = {name: value for name, value in request.picked.items() if name in SCENARIO}
    money = {name: value for name, value in request.picked.items() if name in MONEY}
    which = cases.variants(request.picked)
    to_compare.follow(
        [(each.title, cases.full(base | money, each.changed)) for each in which],
        is_example={name: v for name, v in request.picked.items() if name[:2] in CASES} == EXAMPLE,
    )
    if len(which) == 1:
        ask_for_another(request, base | money, which[0])
        return
    with errors_shown(
        "The cases compared",
        request.top,
        rest=lambda: repairs(base | money, which),
        jobs=lambda: [scenario(cases.full(base, each.changed)) for each in which],
    ):
        chosen = values(request.picked, (CONFIDENCE.name,), "compare")
        result, answers = compared(base | money, which, chosen.get("confidence", USUAL_CONFIDENCE))
    with request.top:
        differ = [entry.option for entry in result.inputs]
        st.subheader(plain(cases.question(differ, answers[result.names[0]].scenario)), anchor=False)
        advice = result.card.advice
        if not any(each.memory.fits for each in answers.values()) and (remedy := layout_options.remedy(base)):
            advice = f"{advice} What to do for {result.names[0]}: {remedy}."
        shown_card = result.card.model_copy(update={"advice": advice})
        drawn = comparison_charts.figures(result, answers)
        reasons = answer_card.show(lettered(shown_card, result.names), drawn, most=2)
        offer_adapters(base | money, which, answers)
        comparison_charts.draw(result, answers)
        st.markdown(reasons)
        for note in result.notes:
            if note.startswith(ENDS):
                st.caption(plain(sentence(note)))
        sharing.here()
        offer_network(result.notes)
        show_warnings(case_warnings(answers, [cases.full(base, each.changed) for each in which]))
        details(result, answers)
        st.subheader("Change the cases", anchor=False)
        removals(base | money, which)
    st.subheader("Ask another question", anchor=False)
    questions(base | money)
    sets = [each.set_argument for each in which[1:] if each.changed]
    more = [*(("set", text) for text in sets), *(("name", name) for name in result.names)]
    with st.container(horizontal=True):
        asked = base | money | {n: v for n, v in request.picked.items() if n == CONFIDENCE.name}
        copy_buttons("compare", asked, _python(base | money, which, result, chosen), more, card=shown_card)
        command = shell_command("compare", asked, more)
        under = [each or Conditions() for each in conditions_under(base | money, which)]
        report = report_pages.of_comparison(result, command, under)
        download_buttons("compare", sharing.csv_of("compare", result), result.model_dump(mode="json"), report)


def details(result: Comparison, answers: dict[str, Prediction]) -> None:
    """Draw the memory where it differs, and the folds with all quantities and what was assumed."""
    quantities, same = table(result)
    bars = {escape(name): memory_chart.of_prediction(each) for name, each in answers.items()}
    if len({tuple(bar.rows.values()) for bar in bars.values()}) == 1:
        same.append(f"memory of the fullest GPU {next(iter(bars.values())).words}")
    else:
        memory_chart.draw_memory(bars, "memory")
    with st.expander("Each quantity, side by side"):
        with st.container(key="ratios"):  # a style wraps the lines of its cells on phones
            st.markdown(ratios(result, answers))
        with st.container(key="ratios-of-quantities"):
            st.markdown(quantities)
        if any(row.quantity == "communication_time" for row in result.rows):
            st.caption("Exposed communication adds to the iteration; computation hides the rest.")
        if same:
            st.caption(plain(f"The same in all cases: {', '.join(same)}."))
        explain(result)
    draw_assumed(result)


def explain(result: Comparison) -> None:
    """Draw what differs, and the notes."""
    labels = {field_of(name): options()[name].label for name in SCENARIO}
    differ = [
        f"{labels.get(entry.option) or entry.option.replace('_', ' ')}: "
        + " / ".join(
            "-" if value is None else NAMES.get(entry.option, str)(str(value)) for value in entry.values
        )
        for entry in result.inputs
    ]
    above = {f"{case.name} is {case.ratio.sentence}" for case in result.cases if case.ratio}
    for note in [f"What differs: {'; '.join(differ)}"] * bool(differ) + result.notes:
        if note not in above and not note.startswith((ASSUMED, PAYS, ENDS)):
            st.caption(plain(cases.by_letters(for_planners(begun(note)), result.names, said=True)))


def draw_assumed(result: Comparison) -> None:
    """Draw the fold with what was assumed."""
    of_assumed = [note.removeprefix(ASSUMED) for note in result.notes if note.startswith(ASSUMED)]
    first, *others = (case.defaults for case in result.cases)
    assumed.draw([each for each in first if all(each in other for other in others)], of_assumed)


def offer_adapters(base: dict[str, Any], which: list[Variant], answers: dict[str, Prediction]) -> None:
    """Draw a button that compares with another number of network adapters than the one assumed for all."""
    count, *others = {other_count(each, session_hardware.catalogue()) for each in answers.values()}
    if count is None or others:
        return
    if st.button(f"With {count} {plural('network adapter', count)} a machine", key="other-adapters"):
        stated = base | {"nics": count}
        to_compare.open_compare([(each.title, cases.full(stated, each.changed)) for each in which])


def offer_network(notes: Sequence[str]) -> None:
    """Draw a button to the page that says what a faster network may cost, where a note has the command."""
    for note in notes:
        if note.startswith(PAYS) and st.button("What may a faster network cost?", key="network-pays"):
            file_marks.go_to(fleet_form.PAGE, fleet_form.query_of(note.removeprefix(PAYS)))


def conditions_under(base: dict[str, Any], variants: list[Variant]) -> Iterator[Conditions | None]:
    """Yield the conditions of each case."""
    own = [cases.own_conditions(each) for each in variants]
    return all_conditions(own, Conditions(**values(base, MONEY)))


def _python(base: dict[str, Any], variants: list[Variant], result: Comparison, chosen: dict[str, Any]) -> str:
    """Return Python code that compares the cases, under the names that the page shows."""
    under = conditions_under(base, variants)
    own, catalogue = session_hardware.own_names(), session_hardware.catalogue_words(", ")
    lines, priced = [], False
    for name, each, at in zip(result.names, variants, under, strict=True):
        given = {} if at is None else at.model_dump(exclude_unset=True)
        words = ", ".join(f"{key}={value!r}" for key, value in given.items() if value is not None)
        priced = priced or bool(words)
        costs = f", conditions=Conditions({words})" if words else ""
        job = arguments(values(cases.full(base, each.changed), SCENARIO) | own)
        lines.append(f"case_of({name!r}, Scenario({job}){catalogue}{costs})")
    imported = ["Catalogue"] * bool(catalogue) + ["Conditions"] * priced + ["Scenario"]
    sure = "".join(f", {name}={value!r}" for name, value in chosen.items())
    return (
        f"from perfmodel import {', '.join(imported)}\n"
        "from perfmodel.decide.comparison import case_of, compare\n\n"
        "result = compare([\n    " + ",\n    ".join(lines) + f",\n]{sure})\n"
        "print(result.card.advice)"
    )


def heading(letter: str) -> str:
    """Return the heading of the section of a case after the first."""
    return f"{letter.upper()}, where it differs from A"


def heading_of_next(letter: str) -> str:
    """Return the heading of the section of a case that is not there yet."""
    return f"Add a case {letter.upper()}"


def columns(stated: set[str]) -> dict[str, list[Option]]:
    """Return heading -> options: a section for each case, and one for what all have.

    Parameters
    ----------
    stated : names of options that the address or the session has
    """
    used = [letter for letter in LETTERS if any(name.startswith(f"{letter}-") for name in stated)]
    last = LETTERS.index(used[-1]) + 2 if used else 0
    letters = LETTERS[: max(last, FEWEST - 1)]
    result = {
        heading(letter) if letter in ("b", *used) else heading_of_next(letter): cases.offered_options(
            letter, stated, _also(letter)
        )
        for letter in letters
    }
    return result | {"Names and confidence": [*map(cases.name_option, ("a", *letters)), CONFIDENCE]}


def _also(letter: str) -> list[str]:
    """Return the options that the user added to a case, from the widget or else from the address."""
    key = f"{letter}-{cases.ALSO}"
    text = st.query_params.get(key, "")
    return list(st.session_state.get(f"option-{key}") or text.split(","))


CASES = tuple(f"{letter}-" for letter in ("a", *LETTERS))
READ = {spelling for option in options().values() for spelling in option.spellings}
READ |= {name for name in st.query_params if name[:2] in CASES} | file_marks.parameters("compare")
ARRIVED = history.arrival("compare", READ)[0]
if not ARRIVED and to_compare.kept():
    to_compare.open_compare(to_compare.kept())
STATED = {*st.query_params, *st.session_state.get("chosen", ())}
START = {"gpus": 32} | ({} if any(name[:2] in CASES for name in STATED) else EXAMPLE)
DRAWN = columns({*STATED, *START})
DIFFER = {name[2:].replace("-", "_") for name in {*STATED, *START} if name[:2] in CASES}
if ARRIVED and not any(name[:2] in CASES for name in st.query_params):  # the first case alone
    st.session_state.setdefault(f"fold-{heading('b')}", True)
page(
    scenario_form(
        "compare",
        start=START,
        money=True,
        at_once=("nics",) if DIFFER & {*NETWORK} else (),
        columns=DRAWN,
        picture=[
            *(option for letter in LETTERS for option in cases.variant_options(letter).values()),
            *(cases.name_option(letter) for letter in ("a", *LETTERS)),
        ],
    )
)
