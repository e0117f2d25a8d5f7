"""Page Add machines: what more machines, other ones or a faster network add to those one has."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import streamlit as st

from app import answer_card, charts, file_marks, fleet_form, plan_form, plan_length, session_hardware, sharing
from app.colours import BLUE, GREY, ORANGE
from app.command_answer import answer_of
from app.figure import Figure
from app.fleet_form import (
    ADD,
    BATCH,
    BUY,
    HAVE,
    HOW_MANY,
    KNOWN,
    LINK,
    MACHINE,
    MACHINES,
    MONEY,
    NETWORKS,
    PAGE,
    PRICES,
    RUN_TIME,
)
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    options_form,
    own_calibration,
    sentence,
    shell_command,
)
from app.looks import for_planners, labelled
from app.options import Option, convert, written
from app.plain import markdown, plain
from app.state import newest
from perfmodel.core.units import dollars
from perfmodel.decide.planning.fleets import Fleets
from perfmodel.decide.planning.fleets.card import advice_beside_chart, best_of, is_advised
from perfmodel.decide.planning.fleets.option_words import (
    EQUAL_SHARES_SAID,
    GROWS,
    SHARES_SAID,
    name_of,
    run_words,
)
from perfmodel.decide.planning.fleets.payback_words import basis_words, with_same_batch
from perfmodel.decide.planning.fleets.result import FleetOption
from perfmodel.decide.planning.fleets.table_words import SPEED, columns_of, rows_of
from perfmodel.decide.planning.fleets.verdict import startable
from perfmodel.decide.planning.fleets.written import read_addition
from perfmodel.hardware.machine_words import node_words
from perfmodel.interfaces.reports.fleet import page_of_fleets
from perfmodel.interfaces.reports.page import Listing
from perfmodel.model.prediction.names import network_name
from perfmodel.model.setting.sharing import predicts_tokens

PRICE = "purchase-price"
PRICE_HELP = "A price that is unknown may change the answer. Rents go into “Prices”."
FAINT = 0.5
# Opacity of the interval of an option that the card does not advise.
NAMED = 0.24
# Place of the name of an option above its bar; bars are 1 apart.
ROOM = 1.06
# Right end of the chart, over the end of the widest interval.
START: dict[str, Any] = {
    "workload": "llama-3-8b",
    "machine": "dgx-h100",
    "machines": 8,
    "how-many": "4",
    "tokens": "1T",
}


def speeds(answer: Fleets) -> Figure:
    """Return a chart of the speed of options as a multiple of the present fleet's, with its interval.

    Options that no stock software trains are left out; the one that the card advises has a colour of its own.
    """
    figure = Figure()
    best = best_of(answer)
    known = [(one, one.ratio) for one in startable(answer) if one.ratio is not None]
    for index, (one, ratio) in enumerate(known):
        if ratio.low_80 is not None:
            figure.add_scatter(
                x=[ratio.low_80, ratio.high_80],
                y=[index, index],
                mode="lines",
                line={"color": BLUE if one is best else GREY, "width": 12},
                opacity=1 if one is best else FAINT,
                hoverinfo="skip",
                showlegend=False,
            )
        advised = ": advised" if is_advised(one) else ""
        name = f"<b>{name_of(one)}{advised}</b>" if one is best else name_of(one)
        figure.add_annotation(
            x=0, y=index - NAMED, text=name, showarrow=False, align="left", xanchor="left", yanchor="bottom"
        )
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="lines",
        line={"color": GREY, "width": 12},
        opacity=FAINT,
        name="80 % interval",
    )
    figure.add_scatter(
        x=[ratio.value for _, ratio in known],
        y=list(range(len(known))),
        text=[f"{name_of(one)}: {ratio.words}" for one, ratio in known],
        mode="markers",
        marker={"color": "white", "size": 13, "line": {"color": BLUE, "width": 3}},
        name="expected",
        hovertemplate="%{text}<extra></extra>",
    )
    figure.add_scatter(  # marks on the bars, which leave the names free
        x=[1.0] * len(known),
        y=list(range(len(known))),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": ORANGE, "line": {"width": 3}},
        name="what you have",
        hoverinfo="skip",
    )
    ends = [1.0, *(ratio.high_80 or ratio.value for _, ratio in known)]
    figure.update_xaxes(title="times as fast as what you have", range=[0, ROOM * max(ends)])
    # names above, not left of the points, where they would take half of a phone's width
    figure.update_yaxes(visible=False, autorange=False, range=[len(known) - 0.6, -0.9], fixedrange=True)
    return figure


def overview(answer: Fleets) -> list[dict[str, str]]:
    """Return a row for each option that stock software trains, as the table of the command.

    With the interval of a run, and what an unknown price may be.  The option that the card advises is bold.
    """
    columns, best = columns_of(answer), best_of(answer)
    shown, result = startable(answer), []
    for row, one in zip(rows_of(answer), (answer.have, *answer.options), strict=True):
        if one is not answer.have and one not in shown:
            continue
        cells = dict(zip(columns, row, strict=True))
        if one.payback is None and one.purchase is not None:
            cells["pays back"] = with_same_batch(one, if_below(one), if_below)
        if one.ratio is not None and one.run_time is not None:
            cells["run"] = run_words(one).replace("80 %: ", "").replace(" to ", " to\u00a0")
        cells[SPEED] = re.sub(r" (?!\()", "\u00a0", cells[SPEED])  # its interval stays in one line
        drawn = {
            (f"{name} (80 %)" if name == "run" else name).replace(" %", "\u00a0%"): plain(words)
            for name, words in cells.items()
            if name not in ("GPUs", "USD")
        }
        if one is best:
            drawn = {name: f"**{words}**" if words else "" for name, words in drawn.items()}
        result.append(drawn)
    return result


def if_below(one: FleetOption) -> str:
    """Return below which price of a machine an option of unknown price pays back in time."""
    if not one.worth:
        return "-" if one.worth is None else "at no price"
    added = read_addition(one.option, session_hardware.catalogue())
    each = sum(group.machines for group in added.groups) if added.network is None else 0
    return f"if below {dollars(one.worth / each)} each" if each else f"if below {dollars(one.worth)}"


def rows(table: Listing) -> list[dict[str, str]]:
    """Return a table of a report as rows, with words as pages have them."""
    option = table.columns[0]
    return [
        {name: words if name == option else for_planners(words) for name, words in row.items()}
        for row in table.records()
    ]


def without_price(answer: Fleets) -> list[str]:
    """Return the machines to buy without a known price."""
    catalogue, nodes = session_hardware.catalogue(), list[str]()
    for one in startable(answer):
        if one.purchase is None or one.purchase.capital is not None:
            continue
        addition = read_addition(one.option, catalogue)
        if addition.network is None and len(addition.groups) == 1:
            nodes.append(addition.groups[0].node)
    return nodes


def ask_prices(answer: Fleets, picked: Mapping[str, Any]) -> None:
    """Draw a field for the purchase price of each machine without one, and for each price given."""
    query = {name: written(value) for name, value in picked.items()}
    given = dict(chain.from_iterable(convert(KNOWN[PRICE], query[PRICE]))) if PRICE in query else {}
    unknown = without_price(answer)
    with st.container(horizontal=True, vertical_alignment="bottom", key="machine-prices"):
        for node in dict.fromkeys((*given, *unknown)):
            name = node_words(session_hardware.catalogue().node(node))
            before, key = given.get(node), f"price-of-{node}"
            if st.session_state.get(f"{key}-was") != before:  # of an address, or of another visit
                st.session_state[key] = before
            st.session_state[f"{key}-was"] = before
            price = st.number_input(
                f"{name}, USD each",
                min_value=0.0,
                value=None,
                placeholder="unknown",
                format="%.0f",
                key=key,
                help=PRICE_HELP,
            )
            if price != before and (price or before):
                now = {**given, node: price}
                words = ",".join(f"{node}={each:g}" for node, each in now.items() if each)
                rest = {name: value for name, value in query.items() if name != PRICE}
                file_marks.go_to(PAGE, rest | ({PRICE: words} if words else {}))


def words_of_table(answer: Fleets, said: str) -> list[str]:
    """Return sentences on words of the table that the sentences next to it do not explain.

    Parameters
    ----------
    said : these sentences
    """
    shown, lines = startable(answer), list[str]()
    if any(one.policy == "slowest paces" for one in shown):
        lines.append(sentence(EQUAL_SHARES_SAID if len(shown) < len(answer.options) else SHARES_SAID))
    basis = basis_words(answer.work_value)
    if any(one.payback is None and one.worth for one in shown) and basis not in said:
        grown = any(one.same_batch for one in shown if one.worth)
        step = f", {GROWS} with the GPUs" if grown else ""
        lines.append(f"“if below”: the price below which it pays back{basis}{step}.")
    return lines


def details(tables: Sequence[Listing], notes: Sequence[str]) -> None:
    """Draw the folded tables of costs and mixed steps, and the notes."""
    for table in tables:
        with fold(table.heading) as is_open:
            if is_open:
                st.dataframe(rows(table), hide_index=True)
    with fold("What was assumed, and what was left out") as is_open:
        for note in notes if is_open else ():
            st.markdown(f"* {plain(for_planners(sentence(note)))}")


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    with errors_shown():
        asked = fleet_form.asked(request.picked, session_hardware.catalogue())
        answer, _, python = answer_of("plan", asked.values(), asked.names(), asked.fields())
    once, more = plan_form.as_words({"have": asked.have, **asked.picked}, PRICES)
    more = [*(("buy", each) for each in asked.buy), *more]
    report = page_of_fleets(answer, shell_command("plan", once, more), session_hardware.catalogue())
    others = report.tables[1:]
    with request.top:
        catalogue = session_hardware.catalogue()
        have = " + ".join(
            f"{kind.machines} x {node_words(catalogue.node(kind.node))}" for kind in answer.have.kinds
        )
        st.subheader(plain(f"What to add to {have} for {network_name(answer.workload)}?"), anchor=False)
        advice, rest = advice_beside_chart(answer)
        answer_card.show(answer.card.model_copy(update={"advice": advice}))
    ask_prices(answer, request.picked)
    shown = startable(answer)
    charts.draw(speeds(answer), "fleets", answer.card.advice, height=110 + 52 * len(shown))
    with st.container(key="wrapped-fleets"):
        st.markdown(markdown(overview(answer)))
    if lines := [*words_of_table(answer, " ".join(rest)), *rest]:
        st.markdown("\n".join(f"* {plain(labelled(line))}" for line in lines))
    sharing.here()
    details(others, [*report.assumptions, *report.notes])
    with st.container(horizontal=True):
        copy_buttons("plan", once, python, more, card=answer.card)
        download_buttons(PAGE, answer.records(), answer.to_json, lambda: report)


network = plan_length.current(KNOWN["workload"], PAGE, START["workload"])
LENGTH = ("tokens" if network is not None and predicts_tokens(network) else "epochs", "samples")
FIRST = ("workload", *LENGTH, "deadline", "precision", "local-batch-size")
# Options that the sidebar shows at once.
IN_BODY = (RUN_TIME, BATCH)


def with_assumed_batch(option: Option) -> Option:
    """Return an option; that of the batch with what is assumed where it is empty."""
    if option.name != BATCH:
        return option
    of_batch = {
        each.name: newest(each) for each in (MACHINE, MACHINES, LINK, HAVE, KNOWN["local-batch-size"])
    }
    picked = {name: value for name, value in of_batch.items() if value is not None}
    return option._replace(usual=fleet_form.assumed_batch(picked, network, session_hardware.catalogue()))


page_request = options_form(
    PAGE,
    {
        "": [KNOWN[name] for name in FIRST],
        "More about what you have": [LINK, HAVE],
        "Other things to add": [NETWORKS, BUY],
        "Prices": [KNOWN[name] for name in MONEY],
        "More options": [option for name, option in KNOWN.items() if name not in (*FIRST, *MONEY, *IN_BODY)],
    },
    body=[MACHINE, MACHINES, *(KNOWN[name] for name in IN_BODY), HOW_MANY, ADD],
    start=START,
    fitted=with_assumed_batch,
)
with st.sidebar:
    own_calibration()
page(page_request)
