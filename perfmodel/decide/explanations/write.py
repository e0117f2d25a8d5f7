"""An explanation, and its text of 80 columns, LaTeX, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from perfmodel.core.files.templating import render
from perfmodel.core.sentences import wrapped
from perfmodel.core.units import UNITS, per_cent, show
from perfmodel.decide.economics import KWH
from perfmodel.decide.explanations.equations import Cost, Equation, Symbol, largest
from perfmodel.decide.explanations.library_crossovers import ExactCrossover
from perfmodel.decide.explanations.plain_math import plain
from perfmodel.model.collectives.model import NO_LIMIT
from perfmodel.model.step.memory import listed

WIDTH = 80
"""Columns of the text."""
POINTS = ("ready_times",)
"""Quantities that are points in time, which do not add up."""
NEAR = 10
"""Largest printed crossover, as a multiple of the present value; JSON has all."""
ADDED = ("s", "B", "FLOP")
"""Units of quantities that are added up over layers or messages."""


@dataclass(frozen=True, repr=False)
class Explanation:
    """The equations of a prediction with their numbers, crossovers and sources."""

    title: str
    """The job in one line."""
    model: str | None
    """The model that predicts the job: data-parallel or transformer."""
    iteration_time: float
    terms: dict[str, float]
    """Parts of the iteration time by name, which sum to it [s]."""
    memory: dict[str, float]
    """Memory of one accelerator by use [B]; the rows of ``perfmodel.model.step.memory``."""
    costs: dict[str, Cost]
    """``cost_of_iteration``, ``energy_of_run`` and the like; empty where none was requested."""
    assumed: list[str]
    """Assumptions of the costs."""
    unknown: list[str]
    """Missing facts that leave a cost out."""
    notes: list[str]
    """Warnings: the job does not fit into memory, or its network is predicted without some part."""
    equations: list[Equation]
    """In the order in which they were computed."""
    turns: list[ExactCrossover]
    """Crossovers at which another arm or algorithm takes over, solved exactly."""
    complete: bool
    """Whether every step is derived; if not, a search or a queue in between is named."""
    recorded: list[str]
    """Every formula that ran in this prediction."""
    sources: dict[str, str]
    """How to cite each source, by key of ``references.toml``."""

    def arithmetic(self, term: str) -> str:
        """Return the sum of equations that makes a term; empty of one equation, and of a cost."""
        whole = (each for each in self.equations if each.term == each.quantity == "iteration_time")
        notes = {symbol.parameter: symbol.note for equation in whole for symbol in equation.symbols}
        return notes.get(term, "")

    def to_json(self) -> str:
        """Return what ``perfmodel explain --json`` prints."""
        return json.dumps(asdict(self))

    def to_markdown(self) -> str:
        """Return what ``perfmodel explain --markdown`` prints: equations in LaTeX, which notebooks draw."""
        return markdown(self)

    def to_latex(self) -> str:
        """Return what ``perfmodel explain --latex`` prints: a document."""
        return latex(self)

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return (
            f"<Explanation: {self.title}: {show(self.iteration_time, 's')}; {len(self.equations)} equations, "
            f"{len(self.sources)} sources; print it to read them>"
        )


def number(value: float | None, unit: str) -> str:
    """Return one value with its unit as people write it."""
    if value is None or (unit == "B/s" and value >= NO_LIMIT):
        return "without limit"
    if unit in UNITS and unit != "1":
        return show(value, unit)
    return f"{value:.5g}" if unit == "1" else f"{value:.5g} {unit}"


def value_text(value: Any, unit: str, name: str) -> str:
    """Return a number with its unit, or range, count and sum of a list of numbers."""
    if not isinstance(value, list):
        return value if isinstance(value, str) else number(value, unit)
    several = sorted(set(value))
    if len(several) == 1:
        return f"{number(several[0], unit)}, {len(value)} times"
    if len(several) == 2:
        return f"{number(several[0], unit)} or {number(several[1], unit)}, {len(value)} values"
    text = f"{number(several[0], unit)} to {number(several[-1], unit)}, {len(value)} values"
    return f"{text}, {number(sum(value), unit)} in all" if unit in ADDED and name not in POINTS else text


def text(result: Explanation) -> str:
    """Return an explanation as plain text."""
    lines = [*_wrapped(result.title), ""]
    lines += _wrapped(
        f"iteration time {_exact(result.iteration_time)} by the {result.model} model: the sum of the exposed "
        "terms"
    )
    for name, time in result.terms.items():
        lines.append(f"  {name:<28}{_exact(time):>14}  {per_cent(time / result.iteration_time):>7}")
    lines += [f"{name:<30}{amount(cost)}" for name, cost in result.costs.items()]
    lines += _taken(result)
    done: dict[str, int] = {}
    term = ""
    for equation in result.equations:
        if equation.term != term:
            term = equation.term
            lines += ["", *_wrapped(f"{term.upper()} = {_head(result, term)}", later="    ")]
        lines += ["", *_equation_text(equation, done)]
    near = [turn.words for turn in result.turns if _is_near(turn)]
    if near:
        lines += ["", "CROSSOVERS"]
    for words in near:
        lines += _wrapped(words, "- ", "  ")
    lines += ["", *_wrapped(_closing_sentences(result)), "", "SOURCES"]
    for key, cited in result.sources.items():
        lines += _wrapped(f"[{key}] {cited}", "  ", "    ")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _exact(time: float) -> str:
    """Return a time in milliseconds with six digits, enough to add terms by hand."""
    return f"{1e3 * time:.6g} ms"


def amount(cost: Cost) -> str:
    """Return an amount of money, energy or the like with six digits and its unit."""
    unit = cost.unit
    value, unit = (cost.value / KWH, "kWh") if unit == "J" else (cost.value, unit)
    return f"{value:.6g} {'USD' if unit == '$' else unit}".removesuffix(" 1")


def _head(result: Explanation, term: str) -> str:
    """Return the value of a term or cost, with the equations it is the sum of."""
    if term in result.costs:
        return amount(result.costs[term])
    time = _exact(result.terms.get(term, result.iteration_time))
    made = result.arithmetic(term)
    return f"{time} {made}" if made.startswith("=") else f"{time}; {made}" if made else time


def _taken(result: Explanation) -> list[str]:
    """Return lines with notes on the job, and with assumptions and gaps of the costs."""
    lines = [line for note in result.notes for line in _wrapped(f"note: {note}")]
    lines += _wrapped(f"assumed: {'; '.join(result.assumed)}") if result.assumed else []
    for unknown in result.unknown:
        lines += _wrapped(f"unknown: {unknown}")
    return lines


def _wrapped(line: str, first: str = "", later: str = "") -> list[str]:
    """Return a line wrapped to ``WIDTH``, with the indents of its first and its later lines."""
    return wrapped(line, WIDTH, first, later, breaks_words=True)


def _equation_text(equation: Equation, done: dict[str, int]) -> list[str]:
    """Return an equation as lines of text.

    Parameters
    ----------
    done : number of the first equation of each formula printed so far; extended by this one
    """
    head = f"({equation.number}) "
    pad = " " * len(head)
    before = done.setdefault(equation.formula, equation.number)
    if before != equation.number:
        lines = _wrapped(f"{equation.title} As ({before}).", head, pad)
    else:
        cites = f" [{', '.join(equation.cites)}]" if equation.cites else ""
        lines = _wrapped(f"{equation.title}{cites}", head, pad)
        lines += _wrapped(plain(equation.latex), pad + "  ", pad + "      ")
    for symbol in equation.symbols:
        lines += _wrapped(f"{_name(symbol)} = {_origin(symbol)}", pad + "    ", pad + "        ")
    for active in equation.active:
        lines += _wrapped(active, pad + "  ", pad + "      ")
    unit = equation.unit
    lines += _wrapped(
        f"-> {equation.quantity} = {value_text(equation.value, unit, equation.quantity)}",
        pad + "  ",
        pad + "      ",
    )
    if equation.unit == "s" and equation.quantity not in POINTS and (most := largest(equation)):
        text = "; ".join(f"{label} {number(value, unit)}" for label, value in most)
        lines += _wrapped(f"largest: {text}", pad + "     ", pad + "      ")
    return lines


def _name(symbol: Symbol) -> str:
    """Return a symbol with the name of its parameter."""
    short = plain(symbol.symbol)
    return f"{short}, {symbol.parameter}" if short else symbol.parameter


def _origin(symbol: Symbol) -> str:
    """Return the value of a symbol, with the equation that computes it or its source."""
    text = value_text(symbol.value, symbol.unit, symbol.parameter)
    if symbol.equation:
        return f"{text} ({symbol.equation})"
    return f"{text}; {symbol.note}" if symbol.note else text


def _is_near(turn: ExactCrossover) -> bool:
    """Return whether a crossover is near enough to the present value to be printed."""
    return turn.now is None or 1 / NEAR < turn.at / turn.now < NEAR


def _memory(result: Explanation) -> str:
    """Return the memory of one accelerator by use, in a sentence."""
    uses = ", ".join(f"{label} {show(size, 'B')}" for label, size in listed(result.memory))
    return f"Memory of one accelerator, {show(sum(result.memory.values()), 'B')}: {uses}."


def _closing_sentences(result: Explanation) -> str:
    """Return closing sentences: memory, gaps in the derivation, and formulas that ran but are not shown."""
    shown = {equation.formula for equation in result.equations}
    others = [name for name in result.recorded if name not in shown]
    lines = [_memory(result)]
    lines += [] if result.complete else ["Some steps are a search or a queue, named where they occur."]
    if others:
        lines.append(f"Further formulas, for speed-up, memory and searches: {', '.join(others)}.")
    return " ".join(lines)


def markdown(result: Explanation) -> str:
    """Return an explanation as Markdown with LaTeX equations."""
    return _rendered("explanation.md.j2", result)


def latex(result: Explanation) -> str:
    r"""Return an explanation as a LaTeX document."""
    return _rendered("explanation.tex.j2", result)


def _rendered(template: str, result: Explanation) -> str:
    """Return an explanation rendered by a template."""
    return render(
        template,
        explanation=result,
        amount=amount,
        full=_full,
        result=lambda equation: _value_full(equation.value, equation.unit, equation.quantity),
        turns=[turn.words for turn in result.turns if _is_near(turn)],
        taken=_taken(result),
        rest=_closing_sentences(result),
        tex=_escaped,
    )


def _full(symbol: Symbol) -> str:
    """Return the value of a symbol with nine digits, with the equation that computes it or its source."""
    text = _value_full(symbol.value, symbol.unit, symbol.parameter)
    if symbol.equation:
        return f"{text} ({symbol.equation})"
    return f"{text}; {symbol.note}" if symbol.note else text


def _value_full(value: Any, unit: str, name: str) -> str:
    """Return a number in SI units with nine digits; a list as in the text."""
    if isinstance(value, float):
        return f"{value:.9g}" if unit == "1" else f"{value:.9g} {unit}"
    return value_text(value, unit, name)


_SPECIAL = {
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def _escaped(text: str) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return "".join(_SPECIAL.get(c, c) for c in text)
