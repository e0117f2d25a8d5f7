"""Compare: two or three scenarios side by side, with what they differ by."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from app import charts, decisions, memory_chart, session_hardware
from app.answering import Compared, answering
from app.layout import Asked, ask_scenario, downloads, mistakes_shown, sentence, shell_command, ways_out
from app.looks import labelled
from app.options import MONEY, SCENARIO, Option, arguments, options, scenario, values, written
from perfmodel.comparison import Comparison, Row
from perfmodel.reports.page import Page
from perfmodel.specs.conditions import Conditions
from perfmodel.step.terms import ANY_TERM
from perfmodel.units import show

START = {"gpus": 32, "b-inter-link": "ethernet-25g-tcp", "c-inter-link": "ethernet-100g-rdma"}
VARIED = (
    "inter-link",
    "gpus",
    "accelerator",
    "node",
    "strategy",
    "servers",
    "precision",
    "local-batch-size",
    "algorithm",
    "overlap",
)
LETTERS = ("b", "c")
BATCHES = ("local-batch-size", "global-batch-size")


def varied(letter: str) -> list[Option]:
    """Return the options in which one variant may differ."""
    return [
        options()[name]._replace(name=f"{letter}-{name}", session=f"{letter}-{name}", usual="same as A")
        for name in VARIED
    ]


def changes(picked: dict[str, Any], letter: str) -> dict[str, Any]:
    """Return what one variant changes."""
    return {name: picked[f"{letter}-{name}"] for name in VARIED if f"{letter}-{name}" in picked}


def compared(asked: Asked) -> Compared:
    """Set the scenario and each variant of it side by side."""
    base = {name: value for name, value in asked.picked.items() if name in (*SCENARIO, *MONEY)}
    conditions = Conditions(**values(base, MONEY))
    differing = {name for letter in LETTERS for name in changes(asked.picked, letter)}
    mine = {name: base[name] for name in VARIED if name in differing and name in base}
    plans: dict[str, dict[str, Any]] = {f"A: {_said(mine)}" if mine else "A": {}} | {
        f"{letter.upper()}: {_said(changed)}": changed
        for letter in LETTERS
        if (changed := changes(asked.picked, letter))
    }
    if len(plans) == 1:
        plans["B: the same"] = {}
    jobs = {
        name: scenario(_laid_over(base, changed), session_hardware.own_files())
        for name, changed in plans.items()
    }
    return answering().compare(jobs, conditions)


def _laid_over(base: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """A variant's options over the scenario's; a batch per GPU takes the place of one of the job."""
    kept = {name: v for name, v in base.items() if not ("local-batch-size" in changed and name in BATCHES)}
    return kept | changed


def _said(changed: dict[str, Any]) -> str:
    return ",".join(f"{name}={written(value)}" for name, value in changed.items())


def shown(value: float | None, unit: str) -> str:
    """Return a quantity as people read it."""
    if value is None:
        return "-"
    if unit == "B":  # a memory's
        return f"{value / 2**30:.3g} GiB"
    if unit == "s":
        return show(value, unit)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _bar(name: str) -> str:
    """What a bar is called: its letter, and below it what it changes."""
    letter, _, changed = name.partition(": ")
    return "<br>".join([letter, *(each.rpartition("=")[2] for each in changed.split(",") if each)])


def _label(quantity: str) -> str:
    return ANY_TERM[quantity].label if quantity in ANY_TERM else quantity.replace("_", " ")


def _change(relative: float | None) -> str:
    return "" if relative is None else f"{relative:+.1%}" if relative else "same"


def table(result: Comparison) -> list[dict[str, str]]:
    """Return every quantity, and what the others differ by from the first."""
    letters = [name.partition(":")[0] for name in result.names]
    return [
        {
            "": _label(row.quantity),
            "unit": "" if row.unit in ("s", "B", "1") else row.unit,
            **{letter: shown(value, row.unit) for letter, value in zip(letters, row.values, strict=True)},
            **{
                f"{letter} - A": _change(change)
                for letter, change in list(zip(letters, row.relative, strict=True))[1:]
            },
        }
        for row in result.rows
    ]


def page(asked: Asked) -> None:
    """Draw the answer."""
    with mistakes_shown():
        result, answers = compared(asked)
    with asked.top:
        first = next(iter(answers.values())).scenario
        st.subheader(
            f"{first['world_size']} x {first['accelerator']} training {first['workload']}, beside others",
            anchor=False,
        )
        st.markdown(f"**{decisions.of_comparison(result)}** {sentence(result.verdict)}")
    if result.inputs:
        differ = "; ".join(
            f"{entry.option}: {' / '.join(str(value) for value in entry.values)}" for entry in result.inputs
        )
        st.caption(f"What differs: {differ}")
    named = {_bar(name): answer for name, answer in answers.items()}
    charts.draw(charts.side_by_side(named), "compare", result.verdict, height=140 + 70 * len(named))
    memory_chart.draw_memory(
        {name.replace("<br>", " "): memory_chart.of_prediction(each) for name, each in named.items()},
        "memory",
    )
    st.dataframe(table(result), hide_index=True, height="content")
    for note in result.notes:
        st.caption(labelled(note[:1].upper() + note[1:]))
    base = {name: value for name, value in asked.picked.items() if name in (*SCENARIO, *MONEY)}
    said = [_said(changed) for letter in LETTERS if (changed := changes(asked.picked, letter))]
    said = said or [f"gpus={first['world_size']}"]  # the same once more
    with st.container(horizontal=True):
        ways_out("compare", base, _python(base, list(result.names)), [("set", text) for text in said])
        rows = [_flat(result, row) for row in result.rows]
        downloads("compare", rows, result.model_dump(mode="json"), report(asked, result, base, said))


def report(asked: Asked, result: Comparison, base: dict[str, Any], said: list[str]) -> Callable[[], Page]:
    """Return what makes the page to hand on, outside the session."""
    command = shell_command("compare", base, [("set", text) for text in said])
    conditions, catalogue = Conditions(**values(asked.picked, MONEY)), session_hardware.catalogue()

    def page() -> Page:
        from perfmodel.reports.compared import page_of_comparison

        return page_of_comparison(result, command, catalogue, conditions)

    return page


def _flat(result: Comparison, row: Row) -> dict[str, Any]:
    return {"quantity": row.quantity, "unit": row.unit, **dict(zip(result.names, row.values, strict=True))}


def _python(base: dict[str, Any], names: list[str]) -> str:
    """The question in Python: every case under the name that it has on the page."""
    plans = [changed for letter in LETTERS if (changed := changes(asked.picked, letter))]
    conditions = ", ".join(f"{name}={value!r}" for name, value in values(base, MONEY).items())
    costs = f", conditions=Conditions({conditions})" if conditions else ""
    own = session_hardware.own_names()
    lines = [
        f"case_of({name!r}, Scenario({arguments(values(_laid_over(base, changed), SCENARIO) | own)}){costs})"
        for name, changed in zip(names, [{}, *(plans or [{}])], strict=True)
    ]
    return (
        f"from perfmodel import {'Conditions, ' * bool(conditions)}Scenario\n"
        "from perfmodel.comparison import case_of, compare\n\n"
        "result = compare([\n    " + ",\n    ".join(lines) + ",\n])\n"
        "print(result.verdict)"
    )


asked = ask_scenario(
    "compare",
    start=START,
    money=True,
    columns={f"{letter.upper()}, where it differs from A": varied(letter) for letter in LETTERS},
)
page(asked)
