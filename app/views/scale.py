"""Page Scale: efficiency, throughput and cost by the number of GPUs, for several strategies and networks."""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from app import (
    answer_card,
    layout_options,
    money,
    report_pages,
    scaling_chart,
    session_hardware,
    sharing,
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
from perfmodel.core.units import show, show_range
from perfmodel.decide.comparison.option_words import option_words, words_of_values
from perfmodel.hardware.machine_words import kind_words
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import accelerator_name, network_name
from perfmodel.model.prediction.scaling import COLUMNS, Scaling, scaling_of
from perfmodel.model.prediction.scaling_card import (
    card_of_scaling,
    efficiency_words,
    gpus,
    speed_words,
    up_to,
)
from perfmodel.model.step.terms import sent

START = {"gpus": "1,2,4,8,16,32,64"}
MOST = 60
# Most counts in a chart.
COUNTS = options("scale")["gpus"]._replace(session="counts", label="GPUs, e.g. 1,2,4 or 1-16")
SHOWN = one_of("show", scaling_chart.YS, "efficiency", "What is drawn against the number of GPUs.")
STRATEGIES = some_of("strategies", options()["strategy"].choices, "Drawn over the chosen one.")._replace(
    label="Overlay strategies"
)
NETWORKS = some_of("networks", options()["inter-link"].choices, "Drawn over the chosen one.")._replace(
    label="Overlay networks", offers="links between nodes"
)


def curves(request: PageRequest) -> dict[str, Scaling]:
    """Return curve's name -> its table over the counts; report and leave out a curve that has none."""
    counts = convert(COUNTS, request.picked.get("gpus", "1,2,4,8,16,32"))
    if len(counts) > MOST:
        st.warning(f"{len(counts)} counts; the first {MOST} are drawn")
    result = {}
    for name, changed in overlaid(request).items():
        try:
            at = [request.scenario({**changed, "gpus": n}) for n in counts[:MOST]]
            line = scaling_of(at, backend().predict_each)
        except InputError as error:
            if not name:  # the chosen plan itself: overlaid curves alone would answer another question
                raise
            st.error(plain(f"{name}: {refused_words(error)}"))
            continue
        result[name or _chosen(line.predictions[-1], request)] = line
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
    names = words_of_values("inter_link", request.picked.get("networks", ()))
    return plans | {name: {"inter-link": id} for id, name in names.items()}


def _chosen(last: Prediction, request: PageRequest) -> str:
    """Return the name of the chosen plan's curve among overlaid ones."""
    field = "inter_link" if request.picked.get("networks") else "strategy"
    name = option_words(field, dict(last.scenario)[field])
    return f"{name} (chosen)" if len(overlaid(request)) > 1 else name


def values(result: dict[str, Scaling], request: PageRequest, y: str) -> dict[str, list[float | None]]:
    """Return curve's name -> values of the drawn quantity."""
    if y in scaling_chart.FIELDS:
        field = scaling_chart.FIELDS[y]
        return {name: [getattr(row, field) for row in line.rows] for name, line in result.items()}
    return {name: [_epoch_cost(p, request) for p in line.predictions] for name, line in result.items()}


def _epoch_cost(prediction: Prediction, request: PageRequest) -> float | None:
    epoch = money.costs(prediction, request.picked, session_hardware.catalogue())["per_epoch"]
    return epoch["cost"] if epoch else None


def table(result: dict[str, Scaling], drawn: dict[str, list[float | None]], y: str) -> list[dict[str, Any]]:
    """Return every point as ``perfmodel scale --csv`` prints it, with the name of its curve."""
    return [
        {
            "curve": name,
            "world_size": p.scenario["world_size"],
            **{column: getattr(p, column) for column in COLUMNS[1:5]},
            "exposed_communication_time": sent(p.terms),
            "low_80": p.interval.low_80 if p.interval else None,
            "high_80": p.interval.high_80 if p.interval else None,
            **({} if y in scaling_chart.FIELDS else {"cost_per_epoch": value}),
        }
        for name, line in result.items()
        for p, value in zip(line.predictions, drawn[name], strict=True)
    ]


def _range(row: Mapping[str, Any]) -> str:
    """Return the 80 % interval of a row of the table, as text."""
    return "" if row["low_80"] is None else show_range(row["low_80"], row["high_80"], "s")


def answer_of(result: dict[str, Scaling], drawn: dict[str, list[float | None]], y: str) -> dict[str, Any]:
    """Return what ``perfmodel scale --json`` prints of every curve, each row with the name of its curve."""
    answers = {name: json.loads(line.to_json()) for name, line in result.items()}
    rows = []
    for name, answer in answers.items():
        for row, value in zip(answer["rows"], drawn[name], strict=True):
            cost = {} if y in scaling_chart.FIELDS else {"cost_per_epoch": value}
            rows.append({"curve": name, **row, **cost})
    first: dict[str, Any] = next(iter(answers.values()))
    return first | {"card": card_of(result).model_dump(), "rows": rows}


def card_of(result: dict[str, Scaling], remedy: str = "") -> Card:
    """Return the card of the chosen plan, with what each other curve gives.

    Parameters
    ----------
    result : predictions by curve
    remedy : advice for the chosen plan if it does not fit
    """
    chosen, *others = result
    own, rest = result[chosen], {name: result[name].predictions for name in others}
    card = card_of_scaling(own.predictions, rest, own.alone)
    more = f" What to do: {remedy}." if remedy else ""
    return card.model_copy(update={"advice": f"{card.advice}{more}"})


def figures(shown: Prediction, alone: Prediction | None) -> dict[str, answer_card.Shown]:
    """Return throughput and efficiency of the chosen plan, on as many GPUs as pay, as figures of the card."""
    if not shown.memory.fits:
        return {}
    return {
        f"On {gpus(shown)}": answer_card.with_unit(speed_words(shown)),
        "Efficiency": answer_card.with_unit(efficiency_words(shown, alone)),
    }


def captions(result: dict[str, Scaling]) -> list[str]:
    """Return the notes on all curves; what holds for several of them is said once."""
    names: dict[str, list[str]] = {}
    for name, line in result.items():
        for note in line.notes:
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


def points_to_compare(request: PageRequest, result: dict[str, Scaling]) -> dict[str, dict[str, Any]]:
    """Return point's name -> options of its scenario, the last point of each curve first."""
    base, plans = {n: v for n, v in request.picked.items() if n in (*SCENARIO, *MONEY)}, overlaid(request)
    points = {
        f"{f'{curve}, ' if len(result) > 1 else ''}{each.scenario['world_size']} GPUs": base
        | plans.get(curve, {})
        | {"gpus": each.scenario["world_size"]}
        for curve, line in result.items()
        for each in reversed(line.predictions)
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
    scaling = next(iter(result.values()))
    first = scaling.predictions
    with request.top:
        last = first[-1]
        network = network_name(last.scenario["workload"])
        several = kind_words(accelerator_name(last.scenario["accelerator"]))
        st.subheader(plain(f"How far does {network} scale on {several}?"), anchor=False)
        at_end = request.picked | {"gpus": first[-1].scenario["world_size"]}
        remedy = "" if first[-1].memory.fits else layout_options.remedy(at_end)
        shown = card_of(result, remedy)
        answer_card.show(shown, figures(up_to(first), scaling.alone), without=("throughput",))
        if y == "cost" and not any(value for line in drawn.values() for value in line):
            st.info("No price is known: give one under “Prices, power, failures”, or choose a cloud machine.")
        show_warnings(warning for line in result.values() for p in line.predictions for warning in p.warnings)
    scaling_chart.draw(result, drawn, y)
    notes = [
        *scaling_chart.band_words(result, y),
        *captions(result),
        f"by the {first[-1].model} model",
    ]
    st.caption(plain(" ".join(labelled(sentence(note)) for note in notes)))
    with st.expander("What limits it, in full"):
        st.markdown("\n".join(f"* {plain(labelled(sentence(each)))}" for each in last.verdict.split("; ")))
    sharing.here()
    if len(result) > 1:
        st.caption("Download CSV and Download JSON have every curve, the report the first.")
    rows = table(result, drawn, y)
    command = copies(request, [p.scenario["world_size"] for p in first], shown)
    report = report_pages.of_scaling(scaling, command)
    csv = rows if len(result) > 1 else sharing.csv_of("scale", scaling)
    download_buttons("scale", csv, lambda: answer_of(result, drawn, y), report)
    to_compare.offer(points_to_compare(request, result))
    with fold("As a table") as is_open:
        if is_open:
            st.dataframe(
                [
                    {
                        "curve": row["curve"],
                        "GPUs": row["world_size"],
                        "iteration": show(row["iteration_time"], "s"),
                        "80 %": _range(row),
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
