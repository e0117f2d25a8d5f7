"""Page Scale: efficiency, throughput and cost by the number of GPUs, for several strategies and networks."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import (
    charts,
    layout_options,
    money,
    report_pages,
    session_hardware,
    sharing,
    similar_runs,
    to_compare,
)
from app.backend import backend
from app.layout import (
    PageRequest,
    copy_buttons,
    download_buttons,
    errors_shown,
    fold,
    scenario_form,
    sentence,
    shell_command,
)
from app.looks import labelled, refused_words, show_warnings
from app.options import MONEY, SCENARIO, convert, one_of, options, some_of
from app.options import values as option_values
from app.plain import plain
from perfmodel.core.errors import InputError
from perfmodel.core.units import show
from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, card
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.scaling import COLUMNS, headline_of, notes_of, scaling_of
from perfmodel.model.step.terms import sent

START = {"gpus": "1,2,4,8,16,32,64"}
MOST = 60
# Most counts in a chart.
MOST_TICKS = 12
HIGH = 0.6
# Least efficiency above which the axis does not begin at 0.
YS = {
    "efficiency": "scaling efficiency",
    "throughput": "throughput [samples/s]",
    "speedup": "speed-up over one GPU [1]",
    "time": "iteration time [s]",
    "cost": "cost of an epoch [USD]",
}
FIELDS = {
    "efficiency": "scaling_efficiency",
    "throughput": "samples_per_second",
    "speedup": "speedup",
    "time": "iteration_time",
}
# Quantity of the chart -> field of a prediction; the cost is computed separately.
COUNTS = options("scale")["gpus"]._replace(session="counts", label="GPUs, e.g. 1,2,4 or 1-16")
SHOWN = one_of("show", YS, "efficiency", "What is drawn against the number of GPUs.")
STRATEGIES = some_of("strategies", options()["strategy"].choices, "Drawn over the chosen one.")._replace(
    label="Overlay strategies"
)
NETWORKS = some_of("networks", options()["inter-link"].choices, "Drawn over the chosen one.")._replace(
    label="Overlay networks", offers="links between nodes"
)


def curves(request: PageRequest) -> dict[str, list[Prediction]]:
    """Return curve's name -> predictions at each count; report and leave out a curve that has none."""
    counts = convert(COUNTS, request.picked.get("gpus", "1,2,4,8,16,32"))
    if len(counts) > MOST:
        st.warning(f"{len(counts)} counts; the first {MOST} are drawn")
    result = {}
    for name, changed in overlaid(request).items():
        try:
            line = backend().predict_each([request.scenario({**changed, "gpus": n}) for n in counts[:MOST]])
        except InputError as error:
            if not name:  # the chosen plan itself: overlaid curves alone would answer another question
                raise
            st.error(plain(f"{name}: {refused_words(error)}"))
            continue
        result[name or _chosen(line[-1], request)] = line
    return result


def jobs(request: PageRequest) -> list[Scenario]:
    """Return the jobs of the chosen plan at every count."""
    counts = convert(COUNTS, request.picked.get("gpus", "1,2,4,8,16,32"))
    return [request.scenario({"gpus": count}) for count in counts[:MOST]]


def overlaid(request: PageRequest) -> dict[str, dict[str, Any]]:
    """Return curve's name -> options that it changes; the chosen plan comes first, with an empty name."""
    plans: dict[str, dict[str, Any]] = {"": {}}
    plans |= {
        name: {"strategy": name} if name == "parameter-server" else {"strategy": name, "servers": None}
        for name in request.picked.get("strategies", ())
    }
    return plans | {name: {"inter-link": name} for name in request.picked.get("networks", ())}


def _chosen(last: Prediction, request: PageRequest) -> str:
    """Return the name of the chosen plan's curve among overlaid ones."""
    name = str(last.scenario["inter_link" if request.picked.get("networks") else "strategy"])
    return f"{name} (chosen)" if len(overlaid(request)) > 1 else name


def values(
    result: dict[str, list[Prediction]], request: PageRequest, y: str
) -> dict[str, list[float | None]]:
    """Return curve's name -> values of the drawn quantity."""
    if y in FIELDS:
        return {name: [getattr(p, FIELDS[y]) for p in line] for name, line in result.items()}
    return {name: [_epoch_cost(p, request) for p in line] for name, line in result.items()}


def _epoch_cost(prediction: Prediction, request: PageRequest) -> float | None:
    epoch = money.costs(prediction, request.picked, session_hardware.catalogue())["per_epoch"]
    return epoch["cost"] if epoch else None


def table(
    result: dict[str, list[Prediction]], drawn: dict[str, list[float | None]], y: str
) -> list[dict[str, Any]]:
    """Return every point as ``perfmodel scale --csv`` prints it, with the name of its curve."""
    return [
        {
            "curve": name,
            "world_size": p.scenario["world_size"],
            **{column: getattr(p, column) for column in COLUMNS[1:5]},
            "exposed_communication_time": sent(p.terms),
            "low_80": p.interval.low_80 if p.interval else None,
            "high_80": p.interval.high_80 if p.interval else None,
            **({} if y in FIELDS else {"cost_per_epoch": value}),
        }
        for name, line in result.items()
        for p, value in zip(line, drawn[name], strict=True)
    ]


def answer_of(
    result: dict[str, list[Prediction]], drawn: dict[str, list[float | None]], y: str
) -> dict[str, Any]:
    """Return what ``perfmodel scale --json`` prints of every curve, each row with the name of its curve."""
    rows = []
    for name, line in result.items():
        scaling = scaling_of(tuple(line))
        for row, value in zip(json.loads(scaling.to_json())["rows"], drawn[name], strict=True):
            rows.append({"curve": name, **row, **({} if y in FIELDS else {"cost_per_epoch": value})})
    last = next(iter(result.values()))[-1]
    return {"rows": rows, "model": last.model, "scenario": last.scenario}


def picture(result: dict[str, list[Prediction]], drawn: dict[str, list[float | None]], y: str) -> None:
    """Draw the chart of one quantity: all curves with bands, the ideal, and similar measured runs."""
    xs = {name: [p.scenario["world_size"] for p in line] for name, line in result.items()}
    first = next(iter(result.values()))
    counts = xs[next(iter(result))]
    straight: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "efficiency": (counts, [1.0 for _ in counts]),
        "speedup": (counts, counts),
    }
    figure = charts.lines(
        {name: (xs[name], drawn[name]) for name in result},
        "GPUs [1]",
        YS[y],
        log_y=y in ("throughput", "speedup"),
        bands=_bands(result, y),
        points=_measured(first[-1].scenario, y),
        ideal=straight.get(y),
        percent=y == "efficiency",
        ticks=_ticks(counts),
    )
    least = min((value for line in drawn.values() for value in line if value is not None), default=0.0)
    if y == "efficiency" and least > HIGH:
        figure.update_yaxes(rangemode="normal", range=[math.floor(10 * least - 0.5) / 10, 1.02])
    charts.draw(figure, y, f"{YS[y]} against GPUs")


def _ticks(counts: list[int]) -> list[int] | None:
    """Return the counts that get ticks: all of a few, else powers of two; None for automatic ticks."""
    some = counts if len(counts) <= MOST_TICKS else [count for count in counts if count & (count - 1) == 0]
    return some if len(some) <= MOST_TICKS and (some == counts or len(some) > 2) else None


def _bands(result: dict[str, list[Prediction]], y: str) -> dict[str, tuple[list[float], list[float]]]:
    """Return curve's name -> ends of the 80 % interval, of the time or the throughput."""
    bands = {}
    for name, line in result.items():
        spans = [(p, p.interval) for p in line if p.interval]
        if len(spans) < len(line) or y not in ("time", "throughput"):
            continue
        if y == "time":
            bands[name] = ([i.low_80 for _, i in spans], [i.high_80 for _, i in spans])
        else:
            rate = [p.samples_per_second * p.iteration_time for p, _ in spans]
            bands[name] = (
                [samples / i.high_80 for samples, (_, i) in zip(rate, spans, strict=True)],
                [samples / i.low_80 for samples, (_, i) in zip(rate, spans, strict=True)],
            )
    return bands


def _measured(scenario: Mapping[str, Any], y: str) -> dict[str, tuple[list[float], list[float], list[str]]]:
    """Return measured points of runs with the same network, accelerator, precision and batch."""
    runs = [
        run
        for run in similar_runs.family(scenario)
        if (run.precision, run.local_batch_size) == (scenario["precision"], scenario["local_batch_size"])
    ]
    value = {"throughput": lambda run: run.samples_per_second, "time": measured_time}.get(y)
    points = [(run, seen) for run in runs if value and (seen := value(run)) is not None]
    if not points:
        return {}
    labels = [
        f"{run.source}: {run.strategy}, {run.inter_link or run.node or 'one machine'}" for run, _ in points
    ]
    return {
        "measured (same batch and precision)": (
            [run.world_size for run, _ in points],
            [seen for _, seen in points],
            labels,
        )
    }


def card_of(result: dict[str, list[Prediction]], remedy: str = "") -> Card:
    """Return the last point of the chosen plan, what each other curve gives there, and what limits the plan.

    Parameters
    ----------
    result : predictions by curve
    remedy : advice for the chosen plan if it does not fit
    """
    chosen, *others = result
    last = result[chosen][-1]
    text = headline_of(result[chosen], {name: result[name][-1] for name in others})
    text += f" What to do: {remedy}." if remedy else ""
    text += " This is too wide to plan with: measure first." if card.is_too_wide(last) else ""
    return Card(advice=text, limit=last.verdict)


def captions(result: dict[str, list[Prediction]]) -> list[str]:
    """Return the notes on all curves; what holds for several of them is said once."""
    names: dict[str, list[str]] = {}
    for name, line in result.items():
        for note in notes_of(line):
            names.setdefault(note, []).append(name)
    return [
        note if len(some) == len(result) else f"{', '.join(some)}: {note}" for note, some in names.items()
    ]


def _python(picked: dict[str, Any], counts: list[int]) -> str:
    """Return Python code for one curve."""
    given = {name: value for name, value in picked.items() if name != "gpus"}
    words = "".join(
        f", {name}={value!r}"
        for name, value in (option_values(given, SCENARIO) | session_hardware.own_names()).items()
    )
    own = session_hardware.catalogue_words(", catalogue=perfmodel.")
    return f"print(perfmodel.scale(gpus={counts}{words}{own}))"


def copies(request: PageRequest, counts: list[int], shown: Card) -> str:
    """Draw the buttons that copy the answer and what gives all curves; return the first shell command."""
    base = {name: value for name, value in request.picked.items() if name in SCENARIO}
    lines = [
        {name: value for name, value in (base | changed).items() if value is not None}
        for changed in overlaid(request).values()
    ]
    python = "\n".join(_python(line, counts) for line in lines)
    command = {"gpus": ",".join(map(str, counts))}
    others = [command | each for each in lines[1:]]
    copy_buttons("scale", command | lines[0], f"import perfmodel\n\n{python}", others=others, card=shown)
    return shell_command("scale", command | lines[0])


def points_to_compare(request: PageRequest, result: dict[str, list[Prediction]]) -> dict[str, dict[str, Any]]:
    """Return point's name -> options of its scenario, the last point of each curve first."""
    base, plans = {n: v for n, v in request.picked.items() if n in (*SCENARIO, *MONEY)}, overlaid(request)
    points = {
        f"{f'{curve}, ' if len(result) > 1 else ''}{each.scenario['world_size']} GPUs": base
        | plans.get(curve, {})
        | {"gpus": each.scenario["world_size"]}
        for curve, line in result.items()
        for each in reversed(line)
    }
    return {
        name: {option: value for option, value in picked.items() if value is not None}
        for name, picked in points.items()
    }


def page(request: PageRequest) -> None:
    """Draw the page for the chosen options."""
    y = request.picked.get("show", "efficiency")
    with errors_shown("How far does it scale?", request.top, jobs=lambda: jobs(request)):
        result = curves(request)
        if not result:
            return
        drawn = values(result, request, y)
    first = next(iter(result.values()))
    with request.top:
        last = first[-1]
        network = network_name(last.scenario["workload"])
        st.subheader(
            plain(f"{network} on {accelerator_name(last.scenario['accelerator'])}"),
            anchor=False,
        )
        at_end = request.picked | {"gpus": first[-1].scenario["world_size"]}
        remedy = "" if first[-1].memory.fits else layout_options.remedy(at_end)
        shown = card_of(result, remedy)
        st.markdown(f"**{plain(shown.advice)}**\n\n{labelled(sentence(shown.limit))}")
        sharing.here()
    if y == "cost" and not any(value for line in drawn.values() for value in line):
        st.info("No price is known: give one under “Prices, power, failures”, or choose a cloud machine.")
    show_warnings(warning for line in result.values() for p in line for warning in p.warnings)
    picture(result, drawn, y)
    notes = [plain(labelled(note)) for note in captions(result)]
    st.caption("  \n".join([*notes, f"By the {first[-1].model} model."]))
    rows = table(result, drawn, y)
    to_compare.offer(points_to_compare(request, result))
    with st.container(horizontal=True):
        command = copies(request, [p.scenario["world_size"] for p in first], shown)
        report = report_pages.of_scaling(first, command)
        csv = rows if len(result) > 1 else sharing.csv_of("scale", scaling_of(tuple(first)))
        download_buttons("scale", csv, lambda: answer_of(result, drawn, y), report)
    if len(result) > 1:
        st.caption("The report is of the first curve; CSV and JSON have all.")
    with fold("As a table") as is_open:
        if is_open:
            st.dataframe(
                [
                    {
                        "curve": row["curve"],
                        "GPUs": row["world_size"],
                        "iteration": show(row["iteration_time"], "s"),
                        "samples/s": row["samples_per_second"],
                        "speed-up": row["speedup"],
                        "efficiency": row["scaling_efficiency"],
                    }
                    for row in rows
                ],
                hide_index=True,
                column_config={
                    "efficiency": st.column_config.NumberColumn(format="percent"),
                    "samples/s": st.column_config.NumberColumn(format="%.0f"),
                    "speed-up": st.column_config.NumberColumn(format="%.2f"),
                },
            )


page(
    scenario_form(
        "scale", body=(COUNTS, SHOWN, STRATEGIES, NETWORKS), without=("gpus",), start=START, money=True
    )
)
