"""How much is enough: parameter servers, adapters, a network, until a share of linear scaling."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from perfmodel.core.choices import LARGEST_WORLD_SIZE, Varied
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table
from perfmodel.core.problem import Words
from perfmodel.core.records.record import Record
from perfmodel.core.units import plural, show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.intervals.ratio import chance_above_one, half_width, ratio_between
from perfmodel.model.setting.named import id_of

MOST_SERVERS = 64
MOST_NICS = 16
MOST_GPUS = 16_384
MOST_VALUES = 512
"""That are tried."""
EQUAL = 1e-9
"""Relative: one accelerator's own efficiency is a quotient that rounding may leave that much below 1."""
SOLD = ("ethernet", "roce", "infiniband")
"""Families of links that anyone can buy; others are tried with machines that have them."""


class Tried(Record):
    """One value that was tried."""

    value: int | str
    """How many, or the link's id."""
    bandwidth: float | None
    """Of a link, one adapter, one direction, nominal [B/s]; None of counts."""
    scaling_efficiency: float
    low_80: float | None
    """Where the efficiency lies with 80 % confidence; None where the interval was not learned."""
    high_80: float | None
    """Upper end of that interval."""
    iteration_time: float
    """[s]"""
    samples_per_second: float
    """Of the whole job."""
    reaches: bool
    """Whether the efficiency is at least what was asked for."""
    chance: float | None
    """Probability that it is; None where the interval was not learned."""


class Enough(Record, Table):
    """What suffices for a share of linear scaling, with everything that was tried."""

    vary: Varied
    """What was varied."""
    until: float
    """The scaling efficiency that was asked for [1]."""
    answer: int | str | None
    """The fewest servers or adapters, the slowest link, or the most accelerators; None where none does."""
    also: list[str]
    """Other links of the same bandwidth that suffice."""
    scaling: Literal["weak", "strong"]
    """Of which efficiency is meant: the batch of one accelerator is fixed, or that of the job."""
    tried: list[Tried]
    """Counts rising, links by their bandwidth."""
    left_out: list[str]
    """Values that could not be predicted, with the reason."""
    headline: str
    """The job in a line."""
    words: str
    """The answer in a sentence or two."""
    binds: str | None
    """What holds the best one back, where none is enough."""

    def records(self) -> list[Row]:
        """Return a row for each value that was tried."""
        return [row.model_dump() for row in self.tried]

    def to_json(self) -> str:
        """Return what ``perfmodel sensitivity --vary ... --until ... --json`` prints."""
        return self.model_dump_json()

    def __repr__(self) -> str:
        return f"<Enough: {self.words}>"


class _Axis(NamedTuple):
    field: str
    """Of the scenario."""
    noun: str
    most: bool = False
    """Whether the most that still suffices is looked for, instead of the fewest."""


AXES: Mapping[str, _Axis] = {
    "servers": _Axis("servers", "parameter server"),
    "inter-link": _Axis("inter_link", "link"),
    "nics": _Axis("nics", "adapter"),
    "gpus": _Axis("world_size", "GPU", most=True),
}


def enough(
    scenario: Scenario,
    vary: str,
    until: float,
    values: Sequence[int | str] | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
) -> Enough:
    """Return the least of something by which a job reaches a share of linear scaling.

    Parameters
    ----------
    scenario : all else of the job
    vary : one of ``Varied``
    until : scaling efficiency [1], above 0 and at most 1
    values : to try; by default up to 64 servers (or as many as there are workers), 16 adapters, 16,384
        accelerators, and the links between nodes that anyone can buy
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : as ``predict``; what the job does not have, so that it cannot be varied; no value possible
    """
    catalogue = Catalogue.of(catalogue)
    if vary not in AXES:
        raise refusal("sensitivity.vary", vary=vary, known=tuple(AXES))
    if not (isinstance(until, int | float) and 0 < until <= 1):
        raise refusal("sensitivity.until", until=until)
    first = predict(scenario, catalogue, constants)
    _check(vary, scenario, first)
    chosen = _values(vary, first, values, catalogue)
    predictions, left_out = _predicted(AXES[vary].field, scenario, chosen, catalogue, constants)
    if not predictions:
        raise refusal("sensitivity.none_left", vary=vary, left_out=Words(left_out[0]))
    alone: dict[Any, Prediction | None] = {}
    rows = []
    for value, each in predictions.items():
        replica = None if each.layout is None else value
        if replica not in alone:  # one accelerator is the same whatever joins it to others
            alone[replica] = _baseline(scenario, each, catalogue, constants)
        rows.append(_tried(value, each, until, catalogue, alone[replica]))
    answer, also = _answer(vary, rows)
    return Enough.model_construct(
        vary=vary,
        until=float(until),
        answer=answer,
        also=also,
        scaling=first.scaling,
        tried=rows,
        left_out=left_out,
        headline=_headline(vary, first),
        words=_words(vary, float(until), rows, answer, also),
        binds=None if answer is not None else predictions[_best(rows).value].verdict,
    )


def _check(vary: str, scenario: Scenario, first: Prediction) -> None:
    """Refuse to vary what the job does not have."""
    asked = first.scenario
    if vary == "servers" and not asked["servers"]:
        raise refusal("sensitivity.servers", strategy=asked["strategy"])
    if vary in ("inter-link", "nics") and asked["nodes"] == 1 and not asked["servers"]:
        raise refusal("sensitivity.one_machine", vary=vary, node=asked["node"])
    if scenario.profile is not None and vary == "gpus":
        raise refusal("sensitivity.profile")


def _values(
    vary: str, first: Prediction, given: Sequence[int | str] | None, catalogue: Catalogue
) -> list[int | str]:
    """Return what to try, in the order of the rows."""
    if given is not None:
        if not 1 <= len(given) <= MOST_VALUES:
            raise refusal("sensitivity.values", vary=vary, count=len(given), most_values=MOST_VALUES)
        if vary == "inter-link":
            ids = dict.fromkeys(id_of("links between nodes", str(name), catalogue) for name in given)
            return _by_bandwidth([catalogue.link(id) for id in ids])
        for value in given:
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= LARGEST_WORLD_SIZE:
                raise refusal("sensitivity.not_whole", vary=vary, value=value)
        return sorted(set(given))  # type: ignore[type-var,unused-ignore]
    if vary == "inter-link":
        own = catalogue.link(str(first.scenario["inter_link"]))
        links = (catalogue.link(id) for id in catalogue.ids("links"))
        sold = [one for one in links if one.scope == "inter" and one.family in (*SOLD, own.family or "none")]
        return _by_bandwidth([*sold, *([] if own in sold else [own])])
    if vary == "gpus":
        held = catalogue.node(str(first.scenario["node"])).accelerators
        counts = {2**i for i in range(held.bit_length())} | {held * 2**i for i in range(15)}
        return [count for count in sorted(counts) if count <= MOST_GPUS]
    most = MOST_NICS if vary == "nics" else max(MOST_SERVERS, min(first.scenario["world_size"], MOST_VALUES))
    return list(range(1, most + 1))


def _by_bandwidth(links: Sequence[Link]) -> list[int | str]:
    return [link.id for link in sorted(links, key=lambda link: (link.bandwidth.value, link.kind, link.id))]


def _predicted(
    field: str,
    scenario: Scenario,
    values: Sequence[int | str],
    catalogue: Catalogue,
    constants: Calibration | None,
) -> tuple[dict[int | str, Prediction], list[str]]:
    """Return the predictions by value, and those that are not possible with the reason."""
    predictions: dict[int | str, Prediction] = {}
    left_out: list[str] = []
    for value in values:
        try:
            predictions[value] = predict(scenario.model_copy(update={field: value}), catalogue, constants)
        except InputError as error:
            left_out.append(f"{value}: {error.note()}")
    return predictions, left_out


def _baseline(
    scenario: Scenario, of: Prediction, catalogue: Catalogue, constants: Calibration | None
) -> Prediction | None:
    """Return the job on one accelerator, or by one replica; None where that cannot be predicted."""
    size = 1
    if of.layout is not None:
        size = int(of.scenario["world_size"]) // int(of.layout["data_parallel"])
    changed: dict[str, Any] = {"world_size": size}
    if of.scenario["servers"]:
        changed |= {"strategy": "all-reduce", "servers": None, "server_shards": None, "server_node": None}
    if of.scaling == "strong" and of.layout is not None:
        changed["accumulation_steps"] = None
    try:
        return predict(scenario.model_copy(update=changed), catalogue, constants)
    except InputError:
        return None


def _tried(
    value: int | str, one: Prediction, until: float, catalogue: Catalogue, alone: Prediction | None
) -> Tried:
    efficiency = one.scaling_efficiency
    low = high = chance = None
    ratio = None if alone is None else ratio_between(one, alone, "one")
    if ratio is not None and (half := half_width(ratio)) is not None:
        factor = math.exp(half)
        low, high = efficiency / factor, efficiency * factor
        if efficiency <= 1:  # more than linear comes of what grows with a job, such as a sharded optimizer
            high = min(1.0, high)
        chance = chance_above_one(efficiency / until, half)
    return Tried.model_construct(
        value=value,
        bandwidth=catalogue.link(value).bandwidth.value if isinstance(value, str) else None,
        scaling_efficiency=efficiency,
        low_80=low,
        high_80=high,
        iteration_time=one.iteration_time,
        samples_per_second=one.samples_per_second,
        reaches=efficiency >= until * (1 - EQUAL),
        chance=chance,
    )


def _answer(vary: str, rows: Sequence[Tried]) -> tuple[int | str | None, list[str]]:
    able = [row for row in rows if row.reaches]
    if not able:
        return None, []
    if vary != "inter-link":
        return able[-1 if AXES[vary].most else 0].value, []
    slowest = [row for row in able if row.bandwidth == able[0].bandwidth]
    best = _best(slowest)
    return best.value, [str(row.value) for row in slowest if row is not best]


def _best(rows: Sequence[Tried]) -> Tried:
    """The row of the largest efficiency, of several alike the first."""
    return max(rows, key=lambda row: row.scaling_efficiency)


def _headline(vary: str, first: Prediction) -> str:
    """The job in a line, without what is varied."""
    asked = first.scenario
    count = "" if vary == "gpus" else f"{asked['world_size']} x "
    batch = f"batch {asked['local_batch_size']} each"
    if first.scaling == "strong" or (first.layout is not None and vary != "gpus"):
        batch = f"{asked['global_batch_size']:,} {plural(first.sample, asked['global_batch_size'])} a step"
    rest = [f"{asked['precision']}, {batch}, {asked['strategy']}"]
    rest += [] if vary == "inter-link" else [str(asked["inter_link"])]
    return f"{asked['workload']} on {count}{asked['accelerator']} ({asked['node']}), {', '.join(rest)}"


def _words(
    vary: str,
    until: float,
    rows: Sequence[Tried],
    answer: int | str | None,
    also: Sequence[str],
) -> str:
    say: Callable[[int | str], str] = _counted(vary)
    goal = f"{until * 100:.4g} % scaling efficiency"
    if answer is None:
        best = _best(rows)
        of = {"inter-link": "no link tried", "gpus": "no number of GPUs tried"}
        none = of.get(vary, f"no number of {AXES[vary].noun}s up to {rows[-1].value}")
        return f"{none} reaches {goal}: the most is {_percent(best)} with {say(best.value)}"
    row = next(row for row in rows if row.value == answer)
    at = rows.index(row)
    text = f"{say(answer)}: {_percent(row)}"
    if vary == "inter-link":
        text = f"{goal} takes {text}, {show(row.bandwidth or 0.0, 'B/s')} an adapter"
        text += f"; as slow and enough: {', '.join(also)}" if also else ""
        slower = [one for one in rows[:at] if (one.bandwidth or 0.0) < (row.bandwidth or 0.0)]
        if not slower:
            return f"{text}; nothing slower was tried"
        best = _best(slower)
        return f"{text}; the best of the slower, {best.value}, reaches {_percent(best)}"
    if AXES[vary].most:
        text = f"{goal} holds up to {text}{_gaps(rows[:at], say)}"
        later = rows[at + 1 :]
        return f"{text}; {say(later[0].value)}: {_percent(later[0])}" if later else f"{text}; no more tried"
    text = f"{goal} takes {text}{_gaps(rows[at + 1 :], say)}"
    return f"{text}; {say(rows[at - 1].value)}: {_percent(rows[at - 1])}" if at else text


def _gaps(rows: Sequence[Tried], say: Callable[[int | str], str]) -> str:
    """Say which of the counts on the side that suffices do not."""
    missed = [row for row in rows if not row.reaches]
    if not missed:
        return ""
    worst = min(missed, key=lambda row: row.scaling_efficiency)
    text = f"{say(worst.value)}: {worst.scaling_efficiency:.1%}"
    if len(missed) == 1:
        return f", but not with {text}"
    return f", but not with {len(missed)} of the {len(rows)} counts on that side, the worst {text}"


def _counted(vary: str) -> Callable[[int | str], str]:
    noun = AXES[vary].noun
    return str if vary == "inter-link" else lambda value: f"{value:,} {plural(noun, float(value))}"


def _percent(row: Tried) -> str:
    if row.low_80 is None or row.high_80 is None or row.chance is None:
        return f"{row.scaling_efficiency:.1%}"
    sure = row.chance if row.reaches else 1 - row.chance
    sure = min(sure, 0.99)
    side = "reached" if row.reaches else "missed"
    between = f"80 %: {row.low_80:.0%} to {row.high_80:.0%}"
    return f"{row.scaling_efficiency:.1%} ({between}; {sure:.0%} sure it is {side})"
