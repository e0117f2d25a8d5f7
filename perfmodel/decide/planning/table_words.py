"""Plans in tables: short names that tell them apart, and marks of the one to take and of missed limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from perfmodel.core.units import counted, percent
from perfmodel.decide.planning.front import evenly_spaced
from perfmodel.decide.planning.price_words import basis_words, priced_name
from perfmodel.decide.planning.within import Limits
from perfmodel.hardware.machine_words import distinct_names

Row = Mapping[str, Any]

MOST = 10
"""Plans of a table of the front."""
TAKE, SUREST, LATE, OVER, AT_RISK, DOMINATED = "take", "surest", "late", "over", "at risk", "dominated"
_MISSED: Final = {"meets_deadline": LATE, "within_budget": OVER}
"""Column that says whether a plan keeps a limit -> mark of one that does not."""


def of_front(front: Sequence[Row], chosen: Row | None) -> list[Row]:
    """Return at most ``MOST`` plans of a front, evenly spaced, and the plan in question, the fastest first.

    >>> front = [{"run_time": time} for time in range(1, 21)]
    >>> [row["run_time"] for row in of_front(front, {"run_time": 2.5})]
    [1, 2.5, 3, 5, 7, 9, 12, 14, 16, 18, 20]
    """
    spaced = evenly_spaced(len(front), MOST)
    shown = [row for index, row in enumerate(front) if index in spaced or row == chosen]
    if chosen is not None and chosen not in shown:
        shown.append(chosen)
    return sorted(shown, key=lambda row: float(row["run_time"]))


def front_records(front: Iterable[Row], answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plans of a front as rows of a file, with marks, and the kind of price in each name.

    Parameters
    ----------
    answer : with ``goal``, ``chosen`` and ``surest``, as ``mark_of`` takes it
    """
    return [{"mark": mark_of(row, answer), **row, "machines": priced_name(row)} for row in front]


def front_words(shown: Sequence[Row], front: Sequence[Row]) -> str:
    """Return the heading of a table of plans of a front, with what it leaves out or adds."""
    on_front = sum(row in front for row in shown)
    some = f", {on_front} of {len(front)}" if on_front < len(front) else ""
    added = "; and the plan in question" if on_front < len(shown) else ""
    return f"None is both faster and cheaper than these{some}{added}"


def mark_of(row: Row, answer: Mapping[str, Any]) -> str:
    """Return the mark of a plan: to take, the surest where none is, or the limits it is over as predicted.

    Empty for a plan that keeps all limits as surely as asked for.

    Parameters
    ----------
    row : the plan
    answer : ``chosen``, ``surest`` and ``goal`` with its ``confidence``, as of ``perfmodel plan --json``
    """
    chosen = answer["chosen"]
    if row == (chosen or answer["surest"]):
        return TAKE if chosen else SUREST
    missed = [mark for column, mark in _MISSED.items() if row[column] is False]
    sure = row["probability"]
    if not missed and sure is not None and sure < answer["goal"]["confidence"]:
        missed = [AT_RISK]
    return ", ".join(missed)


def marks_words(marks: Iterable[str], confidence: float) -> str:
    """Return what marks of a table mean, as text; of the plan to take nothing is said.

    >>> marks_words(["take", "", "late", "at risk"], 0.8)
    'late: past the deadline as predicted; at risk: less than 80 % sure'
    """
    meaning = {
        LATE: "past the deadline as predicted",
        OVER: "over the budget as predicted",
        AT_RISK: f"less than {percent(confidence)} sure",
    }
    seen = {word for mark in marks for word in mark.split(", ")}
    return "; ".join(f"{mark}: {words}" for mark, words in meaning.items() if mark in seen)


def verdict_of(row: Row, answer: Mapping[str, Any]) -> str:
    """Return the mark of a plan in words; of one that keeps all limits why it is not the one to take.

    Parameters
    ----------
    row : the plan; of another machine with its ``reason``
    answer : as ``mark_of`` takes it, and the ``deadline`` and ``budget`` of its ``goal``

    >>> goal = {"confidence": 0.8, "deadline": 9.0, "budget": None}
    >>> plan = {"meets_deadline": True, "within_budget": None, "probability": 0.9}
    >>> answer = {"chosen": {}, "surest": {}, "goal": goal}
    >>> verdict_of(plan, answer), verdict_of(plan | {"probability": 0.7}, answer)
    ('dearer', 'under 80 % sure')
    """
    goal, mark = answer["goal"], mark_of(row, answer)
    by_cost = Limits(goal["deadline"], goal["budget"], goal["confidence"]).by_cost
    words = {
        LATE: "too late",
        OVER: "over the budget",
        AT_RISK: f"under {percent(goal['confidence'])} sure",
        DOMINATED: "dearer and slower",
    }
    reason = mark or row.get("reason") or ("dearer" if by_cost else "slower")
    return ", ".join(words.get(each, each) for each in reason.split(", "))


def chance_heading(goal: Mapping[str, Any]) -> str:
    """Return the heading of the column of probabilities: of keeping the limits, without any of fitting."""
    return "fits" if goal["deadline"] is None and goal["budget"] is None else "chance"


def chance_of(row: Row) -> str:
    """Return the probability that a plan fits and keeps the limits as text; a dash where it is not known."""
    return "-" if row["probability"] is None else percent(row["probability"])


class ShortName(NamedTuple):
    """What tells a plan from the others of a table."""

    accelerators: str
    servers: str
    """Parameter servers beside them; empty where there are none."""
    offered_by: str
    """Who rents them out, or the machine where nobody does."""
    node: str
    """The machine, where there are several with such accelerators; else empty."""
    price_kind: str
    """Kind of the price; empty where it is on demand."""

    def __str__(self) -> str:
        beside = self.servers and f", with {self.servers}"
        kind = self.price_kind and f", {self.price_kind}"
        return f"{self.accelerators}, {self.offered_by}{self.node and f' {self.node}'}{beside}{kind}"


def short_names(rows: Sequence[Row]) -> list[ShortName]:
    """Return short names of plans.

    >>> rows = [{"world_size": 8 * nodes, "accelerator_name": "H100 SXM5 80 GB", "node": node, "name": node}
    ...     | {"provider": of} for nodes, node, of in ((2, "p5", "AWS"), (3, "p5", "AWS"), (1, "dgx", None))]
    >>> [str(name) for name in short_names(rows)]
    ['16 x H100, AWS', '24 x H100, AWS', '8 x H100, dgx']
    >>> str(short_names([rows[0] | {"servers": 4}])[0])
    '16 x H100, AWS, with 4 parameter servers'
    """
    called = distinct_names(row["accelerator_name"] for row in rows)
    names = [(called[row["accelerator_name"]], row["provider"] or row["name"]) for row in rows]
    nodes: dict[tuple[str, str], set[str]] = {}
    for row, name in zip(rows, names, strict=True):
        nodes.setdefault(name, set()).add(row["node"])
    return [
        ShortName(
            f"{row['world_size']:,} x {name[0]}",
            counted(row["servers"], "parameter server") if row.get("servers") else "",
            name[1],
            row["name"] if len(nodes[name]) > 1 else "",
            basis_words(row).removeprefix(", "),
        )
        for row, name in zip(rows, names, strict=True)
    ]
