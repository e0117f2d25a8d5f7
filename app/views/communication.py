"""Page Communication: times of collective algorithms by message size and ranks, and their crossovers."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from app import answer_card, assumed, charts, exchanges, line_charts, report_pages, session_hardware, sharing
from app.answer_card import Shown
from app.backend import backend
from app.command_answer import answer_of
from app.figure import Figure
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    options_form,
    sentence,
    shell_command,
)
from app.looks import for_planners, refused_words
from app.options import convert, one_of, options, some_of, values
from app.plain import plain
from perfmodel.core.choices import Algorithm
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note
from perfmodel.core.sentences import interval_80
from perfmodel.core.units import show
from perfmodel.evidence.accuracy.collectives.collective_curves import nearest_curves
from perfmodel.hardware.machine_words import link_words
from perfmodel.interfaces.calls import compression
from perfmodel.interfaces.calls import servers as servers_placed
from perfmodel.interfaces.cli.collective_plot import LARGEST, collective_figure, title_of
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.collectives.bus_bandwidth_words import above_ports
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.names import accelerator_name
from perfmodel.model.prediction.training.compressed_exchange import exchange_words

START = {"ranks": 32, "size": "100MB"}
DRAWN = (exchanges.NCCL, "ring", "tree", "halving-doubling", "hierarchical", exchanges.SERVER)
CHOICES = ("auto", "best")
"""Values of ``--algorithm`` that choose among algorithms."""
BY_ALGORITHM = "By algorithm: message sizes, numbers of GPUs"
YS = {"time": ("time of one exchange [s]", "time"), "bus-bandwidth": ("bus bandwidth [B/s]", "bus_bandwidth")}

RANGE = (math.log10(1e3), math.log10(LARGEST))
# Message sizes of the chart with measured curves, as logarithms, which plotly needs.
Lines = Mapping[str, Sequence[exchanges.Transfer | None]]

KNOWN = {name: option._replace(session=f"exchange-{name}") for name, option in options("collective").items()}
COLLECTIVE, SIZE = KNOWN["collective"], KNOWN["size"]
RANKS_OPTION = KNOWN["ranks"]._replace(label="Ranks (GPUs)")
SERVERS = options()["servers"]._replace(session="exchange-servers")
SHOWN = one_of("show", YS, "time", "What is drawn.")._replace(session="show-exchange")
OTHERS = tuple(name for name in get_args(Algorithm) if name not in (*DRAWN, *CHOICES))
ALGORITHMS = some_of("algorithms", (*DRAWN, *OTHERS), "What is drawn.")._replace(usual="the usual ones")


PLACED = (
    "where they run",
    "machines in all",
    "push and pull",
    "all machines send",
    "a server's port moves",
    "memory of a server",
)
"""Headings of the table of server placements, as of ``Arrangements.cells``."""


def picture(
    lines: Lines, xs: Sequence[float], y: str, x: str, name: str, marks: list[exchanges.Crossover]
) -> None:
    """Put the chart of all algorithms on the page, with dotted lines where the fastest changes.

    Parameters
    ----------
    lines : algorithm -> its transfer at each x
    xs : message sizes [B] or numbers of ranks
    y : key of ``YS``
    x : title of the x axis
    name : key of the chart
    marks : crossovers
    """
    title, field = YS[y]
    series = {
        known: (xs, [None if p is None else getattr(p, field) for p in line]) for known, line in lines.items()
    }
    figure = line_charts.lines(series, x, title, log_y=True, ticks=xs if name == "by-ranks" else None)
    for mark in marks:
        figure.add_vline(x=mark.message_bytes, line={"dash": "dot", "color": charts.GREY})
        figure.add_annotation(
            x=math.log10(mark.message_bytes),  # plotly needs the logarithm on a logarithmic axis
            y=1,
            xref="x",
            yref="paper",
            text=show(mark.message_bytes, "B"),
            showarrow=False,
            xanchor="right",
            yanchor="top",
        )
    charts.draw(figure, name, f"{title} against {x}")


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    picked, y = request.picked, request.picked.get("show", "time")
    name = picked.get("collective", "all-reduce")
    ranks, servers = picked.get("ranks", 8), picked.get("servers")
    with errors_shown():
        size = convert(SIZE, picked.get("size", "100MB"))
        sizes = convert(SIZE, "1KB..1GB")
        place = exchanges.ranks_of(picked, ranks, session_hardware.catalogue())
        fabric = place.fabric
        if ranks < 2:
            st.info("One rank has no peer to exchange messages with: choose two or more.")
            return
        chosen = picked.get("algorithms", DRAWN)
        by_size = exchanges.by_size(name, place, sizes, servers, chosen)
        at = exchanges.by_size(name, place, [size], servers, chosen)
        per_machine = ranks // fabric.hosts
    wanted = [known for known in chosen if known in by_size]
    if not wanted:
        st.info("None of the algorithms chosen can run here.")
        return
    marks = exchanges.crossovers(sizes, by_size, [known for known in wanted if known != exchanges.NCCL])
    with request.top:
        article = "an" if name[0] in "aeiou" else "a"
        title = f"How long does {article} {name} of {show(size, 'B')} over {ranks} GPUs take?"
        st.subheader(plain(title), anchor=False)
        where = exchanges.rank_options(picked)
        more = {"name": name, "ranks": ranks, "size": size}
        answer, asked, _ = answer_of("collective", where, where, more)
        limit = answer.network_limit or exchanges.limit_words(name, place, answer.time)
        card = _card(answer, place, limit)
        answer_card.show(card, _figures(answer))
        if said := above_ports(fabric.of(name, size), answer.bus_bandwidth):
            st.caption(plain(sentence(said)))
    _measured_curves(name, place, size, y)
    if said := _by_formula(at, wanted):
        st.caption(said)
    sharing.here()
    with fold(BY_ALGORITHM) as is_open:
        if is_open:
            if marks:
                st.markdown(f"The fastest by size of message: {exchanges.crossing_words(marks)}.")
            st.caption(f"By message size, {ranks} GPUs; dotted: where the fastest changes")
            picture({k: by_size[k] for k in wanted}, list(sizes), y, "message [B]", "by-size", marks)
            st.caption(f"By number of GPUs, {show(size, 'B')}, up to {per_machine} on each machine")
            counts = exchanges.rank_counts(per_machine)
            with errors_shown():
                places = _places(picked, counts, per_machine)
                by_ranks = exchanges.by_ranks(name, places, size, servers, chosen)
            picture({k: by_ranks[k] for k in wanted if k in by_ranks}, counts, y, "GPUs [1]", "by-ranks", [])
    rows = [
        {"algorithm": known, "message_bytes": each, "time": p.time, "bus_bandwidth": p.bus_bandwidth}
        for known in wanted
        for each, p in zip(sizes, by_size[known], strict=True)
        if p
    ]
    if name == "all-reduce":
        with fold("The same bytes as gradients, compressed") as is_open:
            if is_open:
                compressed(picked, ranks, fabric.hosts, size)
        with fold("Where parameter servers run") as is_open:
            if is_open:
                placed(fabric, servers, size)
    assumed.draw([], [note.said if isinstance(note, Note) else note for note in fabric.notes])
    command = {"collective": name, **where, "ranks": ranks, "size": picked.get("size", "100MB")}
    with st.container(horizontal=True):
        python = _python(name, ranks, values(where, where, "collective"), size)
        copy_buttons("collective", command, python, card=card)
        report = report_pages.of_command("collective", answer, asked, shell_command("collective", command))
        download_buttons("communication", sharing.csv_of("collective", answer), {"rows": rows}, report)


def placed(fabric: Point, count: int | None, size: float) -> None:
    """Draw a table of the times of a push and a pull by the placement of parameter servers.

    Parameters
    ----------
    fabric : placement of the ranks
    count : servers; None: one for each machine
    size : of the gradient [B]
    """
    if fabric.hosts < 2 or fabric.inter_link is None:
        st.info("All GPUs lie in one machine: choose more of them, or more machines.")
        return
    with errors_shown():
        answer = servers_placed(
            workers=fabric.hosts,
            servers=count or fabric.hosts,
            gradient_size=size,
            inter_link=fabric.inter_link.id,
            catalogue=session_hardware.catalogue(),
        )
    st.dataframe([dict(zip(PLACED, row, strict=True)) for row in answer.cells()], hide_index=True)
    st.caption(
        sentence(
            f"{answer.note}; one port of {answer.link} a machine, {show(answer.bandwidth, 'B/s')} each way; "
            "in blocks: pulls start before pushes end; apart and on workers: as BytePS places them"
        )
    )


def compressed(picked: Mapping[str, Any], ranks: int, machines: int, size: float) -> None:
    """Draw a table of compression schemes for a gradient: their times, compared with plain fp32.

    Parameters
    ----------
    picked : chosen options
    ranks, machines : of the job
    size : of the gradient [B]
    """
    names = ("accelerator", "node", "intra-link", "inter-link", "nics", *exchanges.RACKS)
    where = exchanges.rank_options(picked)
    given = values(where, [name for name in names if name in where], "compression")
    per_machine = ranks // machines
    try:
        answer = compression(
            gpus=ranks,
            size=size,
            accelerators_per_node=per_machine,
            catalogue=session_hardware.catalogue(),
            **given,
        )
    except InputError as error:
        st.info(plain(refused_words(error)))
        return
    st.dataframe(
        [
            {
                "scheme": row.scheme,
                "collective": row.collective,
                "sent by a rank": show(row.sent_bytes, "B"),
                "encode": show(row.encode_time, "s"),
                "on the wire": show(row.communication_time, "s"),
                "decode": show(row.decode_time, "s"),
                "in all": show(row.time, "s"),
                "against plain fp32": exchange_words(row, answer.group_size, answer.dense_bandwidth),
            }
            for row in answer.rows
        ],
        hide_index=True,
    )
    st.caption(sentence(f"as one fp32 matrix; assumed: {'; '.join(answer.assumed)}"))


def _places(picked: Mapping[str, Any], counts: Sequence[int], per_machine: int) -> list[exchanges.Ranks]:
    """Return the placement of each number of ranks on machines that are filled alike."""
    catalogue = session_hardware.catalogue()
    return [exchanges.ranks_of(picked, ranks, catalogue, per_machine) for ranks in counts]


def _card(row: Collective, place: exchanges.Ranks, limit: str) -> Card:
    """Return the card of the library's own choice: what it takes, where it runs, and what limits it."""
    ends = f" ({interval_80(row.interval.low_80, row.interval.high_80, 's')})" if row.interval else ""
    fabric = place.fabric
    chips = f"{fabric.group_size} x {accelerator_name(fabric.accelerator.id)} " if fabric.accelerator else ""
    _, _, placed_on = title_of("", fabric).partition(" ranks ")
    reasons = row.interval.wider_because if row.interval else []
    rate = show(row.bus_bandwidth, "B/s")
    return Card(
        advice=f"It takes {show(row.time, 's')}{ends}, at a bus bandwidth of {rate}.",
        machines=for_planners(f"{chips}{placed_on}"),
        limit=for_planners(limit),
        rests_on="; ".join(["a fit to published measurements", *(f"wider: {reason}" for reason in reasons)]),
    )


def _by_formula(at: Mapping[str, Sequence[exchanges.Transfer]], wanted: list[str]) -> str:
    """Return what the fastest algorithm would take without the losses of a library; empty without any.

    Parameters
    ----------
    at : algorithm -> its transfer
    wanted : algorithms that are drawn
    """
    others = {known: at[known][0].time for known in wanted if known != exchanges.NCCL}
    if not others:
        return ""
    best = min(others, key=lambda known: others[known])
    return (
        f"By formulas alone, without what a library loses, the fastest algorithm would take "
        f"{show(others[best], 's')}: {best}."
    )


def _figures(row: Collective) -> dict[str, Shown]:
    """Return the main numbers of the card: time and bus bandwidth, with the interval and what links allow."""
    known, moved = row.interval, row.bus_bandwidth * row.time
    ends, rates = "", []
    if known:
        ends = f"({interval_80(known.low_80, known.high_80, 's')})"
        rates = [f"({interval_80(moved / known.high_80, moved / known.low_80, 'B/s')})"]
    if row.lower_bound:
        rates.append(f"the links allow at most {show(moved / row.lower_bound, 'B/s')}")
    return {
        "Time": Shown(show(row.time, "s"), ends),
        "Bus bandwidth": Shown(show(row.bus_bandwidth, "B/s"), "; ".join(rates)),
    }


def _measured_curves(name: str, place: exchanges.Ranks, size: float, y: str) -> None:
    """Draw the library's choice of algorithm with its interval, and the nearest measured curves.

    Parameters
    ----------
    name, place : of the collective
    size : message size to mark [B]
    y : key of ``YS``
    """
    answers = backend()
    with errors_shown():
        figure = collective_figure(
            name,
            "auto",
            place.fabric,
            [size],
            stacked=True,
            predicted=lambda sizes: answers.collective(name, *place, sizes),
            say_size=lambda each: show(each, "B"),
        )
    title = "By the algorithm that NCCL chooses; dotted: measured"
    st.caption(title)
    whole = figure.to_dict()
    axis = {"time": "y", "bus-bandwidth": "y2"}[y]
    drawn = Figure(layout={"legend": {**charts.UNDER, "xref": "container"}, "showlegend": True})
    for trace in whole["data"]:
        if trace.get("yaxis", "y") == axis:
            one = {word: value for word, value in trace.items() if word not in ("xaxis", "yaxis")}
            if trace.get("marker", {}).get("symbol") == "star":
                one |= {"mode": "markers+text", "texttemplate": show(size, "B"), "textposition": "top left"}
            drawn.data.append({**one, "name": _in_one_line(for_planners(trace["name"])), "showlegend": True})
    decades = [10.0**power for power in range(round(RANGE[0]), math.ceil(RANGE[1]))]
    minor = {"tickvals": decades, "ticks": "outside", "ticklen": 4, "showgrid": True}
    drawn.update_xaxes(title="message [B]", range=RANGE, minor=minor, **charts.scale(True))
    drawn.update_yaxes(title=YS[y][0], **charts.scale(True))
    charts.draw(drawn, "measured", f"{YS[y][0]} by message size, {title}", height=520)
    st.markdown(plain(_measured_elsewhere(name, place)))


def _in_one_line(entry: str) -> str:
    """Return an entry of the legend; of a measured curve its source and GPUs only, as it is one of several.

    >>> _in_one_line("measured by ABCI:<br>32 x A100 SXM4 40 GB<br>on 4 machines"), _in_one_line("predicted")
    ('measured by ABCI, 32 GPUs', 'predicted')
    """
    source, _, placed_on = entry.partition(":<br>")
    return f"{source}, {placed_on.partition(' ')[0]} GPUs" if placed_on else entry


def _measured_elsewhere(name: str, place: exchanges.Ranks) -> str:
    """Return that the curves were measured on other accelerators and networks; empty where on the job's."""
    fabric = place.fabric
    curves = nearest_curves(fabric.of(name, LARGEST))
    chips = {accelerator_name(each.accelerator) for each in curves if each.accelerator}
    links = {link_words(each.point.inter_link) for each in curves if each.point.inter_link}
    own = {accelerator_name(fabric.accelerator.id)} if fabric.accelerator else chips
    if fabric.inter_link is not None and fabric.nodes > 1:
        chips, own = chips | links, own | {link_words(fabric.inter_link)}
    if chips <= own:
        return ""
    return (
        f"The dotted curves were measured on other hardware ({', '.join(sorted(chips - own))}), so they may "
        f"leave the interval, which is of {', '.join(sorted(own - chips))}: compare their shape, not height."
    )


def _python(name: str, ranks: int, where: Mapping[str, Any], size: float) -> str:
    """Return Python code that gives the page's answer."""
    given = "".join(f", {word}={value!r}" for word, value in where.items())
    given += session_hardware.catalogue_words(", catalogue=perfmodel.")
    return f'import perfmodel\n\nprint(perfmodel.collective("{name}", ranks={ranks}, size={size!r}{given}))'


page(
    options_form(
        "communication",
        {
            "": [*(KNOWN[name] for name in exchanges.MACHINE), SERVERS, ALGORITHMS],
            "Racks": [KNOWN[name] for name in exchanges.RACKS],
        },
        body=(COLLECTIVE, RANKS_OPTION, SIZE, SHOWN),
        start=START,
    )
)
