"""The smallest number of servers or adapters, or the slowest link, for a given scaling efficiency."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from perfmodel.core.choices import LARGEST_WORLD_SIZE, Varied
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table
from perfmodel.core.problem import Words
from perfmodel.core.records.record import Record
from perfmodel.core.sentences import likely_to_be
from perfmodel.core.units import per_cent, plural, show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.alone import efficiency_range, job_alone
from perfmodel.model.prediction.intervals.ratio import chance_above_one
from perfmodel.model.prediction.names import accelerator_name, link_name, network_name, node_name
from perfmodel.model.setting.named import id_of

MOST_SERVERS = 64
"""Largest number of parameter servers that is tried by default."""
MOST_NICS = 16
"""Largest number of adapters that is tried by default."""
MOST_GPUS = 16_384
"""Largest number of accelerators that is tried by default."""
MOST_VALUES = 512
"""Largest number of values that are tried."""
EQUAL = 1e-9
"""Relative rounding error of an efficiency: that of one accelerator may be so much below 1."""
SOLD = ("ethernet", "roce", "infiniband")
"""Families of links that anyone can buy; others are tried only with machines that have them."""


class Tried(Record):
    """A value that was tried, with its prediction."""

    value: int | str
    """The number, or the id of the link."""
    bandwidth: float | None
    """Nominal bandwidth of one adapter of a link, in one direction [B/s]; null of counts."""
    scaling_efficiency: float
    low_80: float | None
    """Lower end of the efficiency's 80 % interval; null where it was not learned."""
    high_80: float | None
    """Upper end of that interval."""
    iteration_time: float
    """Time of one iteration [s]."""
    samples_per_second: float
    """Of the whole job."""
    reaches: bool
    """Whether the efficiency is at least the requested one."""
    chance: float | None
    """Probability of that; null where the interval was not learned."""

    @property
    def between(self) -> str:
        """The efficiency's 80 % interval in words; a dash where it was not learned."""
        if self.low_80 is None or self.high_80 is None:
            return "-"
        return f"{per_cent(self.low_80, 0)} to {per_cent(self.high_80, 0)}"


class Enough(Record, Table):
    """The value that suffices for a scaling efficiency, with all values that were tried."""

    vary: Varied
    """The varied quantity."""
    until: float
    """The requested scaling efficiency [1]."""
    answer: int | str | None
    """The fewest servers or adapters, the slowest link, or the most accelerators; null where none suffices.
    """
    also: list[str]
    """Other links of the same bandwidth that suffice."""
    scaling: Literal["weak", "strong"]
    """Whether the batch of one accelerator is fixed (weak), or that of the job (strong)."""
    tried: list[Tried]
    """Values that were tried: counts rising, links by bandwidth."""
    left_out: list[str]
    """Values that could not be predicted, with the reason."""
    headline: str
    """The job in one line."""
    words: str
    """The answer in a sentence or two."""
    binds: str | None
    """The limit of the best value, where none suffices."""

    def records(self) -> list[Row]:
        """Return a row for each value that was tried."""
        return [row.model_dump() for row in self.tried]

    def to_json(self) -> str:
        """Return what ``perfmodel sensitivity --vary ... --until ... --json`` prints."""
        return self.model_dump_json()

    def __repr__(self) -> str:
        return f"<Enough: {self.words}>"


class _Axis(NamedTuple):
    """A quantity that can be varied."""

    field: str
    """Field of the scenario."""
    noun: str
    most: bool = False
    """Whether the largest value that suffices is sought, instead of the smallest."""


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
    """Return the smallest value of an option with which a job reaches a scaling efficiency.

    Parameters
    ----------
    scenario : the job
    vary : the option, one of ``Varied``
    until : scaling efficiency [1], above 0 and at most 1
    values : to try; by default up to 64 servers (or as many as there are workers), 16 adapters, 16,384
        accelerators, and the links between nodes that anyone can buy
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : as ``predict``; an option that has no effect on the job; no value that can be predicted
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
    baselines: dict[Any, Prediction | None] = {}
    rows = []
    for value, each in predictions.items():
        replica = None if each.layout is None else value
        if replica not in baselines:  # one accelerator is the same whatever joins it to others
            try:
                baselines[replica] = predict(job_alone(scenario, each), catalogue, constants)
            except InputError:
                baselines[replica] = None
        rows.append(_tried(value, each, until, catalogue, baselines[replica]))
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
    """Raise an InputError for an option that has no effect on the job."""
    options = first.scenario
    if vary == "servers" and not options["servers"]:
        raise refusal("sensitivity.servers", strategy=options["strategy"])
    if vary in ("inter-link", "nics") and options["nodes"] == 1 and not options["servers"]:
        raise refusal("sensitivity.one_machine", vary=vary, node=options["node"])
    if scenario.profile is not None and vary == "gpus":
        raise refusal("sensitivity.profile")


def _values(
    vary: str, first: Prediction, given: Sequence[int | str] | None, catalogue: Catalogue
) -> list[int | str]:
    """Return the values to try, in the order of the rows.

    Raises
    ------
    InputError : too many values, an unknown link, or numbers that are not whole
    """
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
        per_machine = catalogue.node(str(first.scenario["node"])).accelerators
        counts = {2**i for i in range(per_machine.bit_length())} | {per_machine * 2**i for i in range(15)}
        return [count for count in sorted(counts) if count <= MOST_GPUS]
    most = MOST_NICS if vary == "nics" else max(MOST_SERVERS, min(first.scenario["world_size"], MOST_VALUES))
    return list(range(1, most + 1))


def _by_bandwidth(links: Sequence[Link]) -> list[int | str]:
    """Return the ids of links, the slowest first."""
    return [link.id for link in sorted(links, key=lambda link: (link.bandwidth.value, link.kind, link.id))]


def _predicted(
    field: str,
    scenario: Scenario,
    values: Sequence[int | str],
    catalogue: Catalogue,
    constants: Calibration | None,
) -> tuple[dict[int | str, Prediction], list[str]]:
    """Return the predictions by value, and the values that cannot be predicted with the reason."""
    predictions: dict[int | str, Prediction] = {}
    left_out: list[str] = []
    for value in values:
        try:
            predictions[value] = predict(scenario.model_copy(update={field: value}), catalogue, constants)
        except InputError as error:
            left_out.append(f"{value}: {error.note()}")
    return predictions, left_out


def _tried(
    value: int | str, prediction: Prediction, until: float, catalogue: Catalogue, baseline: Prediction | None
) -> Tried:
    """Return one value with its efficiency, interval and probability."""
    efficiency = prediction.scaling_efficiency
    low = high = chance = None
    if (ends := efficiency_range(prediction, baseline)) is not None:
        low, high = ends
        half = math.log(max(efficiency / low, high / efficiency))
        if efficiency <= 1:  # more than linear comes of what grows with a job, such as a sharded optimizer
            high = min(1.0, high)
        chance = chance_above_one(efficiency / until, half)
    return Tried.model_construct(
        value=value,
        bandwidth=catalogue.link(value).bandwidth.value if isinstance(value, str) else None,
        scaling_efficiency=efficiency,
        low_80=low,
        high_80=high,
        iteration_time=prediction.iteration_time,
        samples_per_second=prediction.samples_per_second,
        reaches=efficiency >= until * (1 - EQUAL),
        chance=chance,
    )


def _answer(vary: str, rows: Sequence[Tried]) -> tuple[int | str | None, list[str]]:
    """Return the value that suffices, and other links of its bandwidth."""
    able = [row for row in rows if row.reaches]
    if not able:
        return None, []
    if vary != "inter-link":
        return able[-1 if AXES[vary].most else 0].value, []
    slowest = [row for row in able if row.bandwidth == able[0].bandwidth]
    best = _best(slowest)
    return best.value, [str(row.value) for row in slowest if row is not best]


def _best(rows: Sequence[Tried]) -> Tried:
    """Return the row with the largest efficiency; of equal rows the first."""
    return max(rows, key=lambda row: row.scaling_efficiency)


def _headline(vary: str, first: Prediction) -> str:
    """Return the job in one line, without the varied option."""
    options = first.scenario
    count = "" if vary == "gpus" else f"{options['world_size']} x "
    batch = f"batch {options['local_batch_size']} each"
    if first.scaling == "strong" or (first.layout is not None and vary != "gpus"):
        batch = (
            f"{options['global_batch_size']:,} {plural(first.sample, options['global_batch_size'])} a step"
        )
    rest = [f"{options['precision']}, {batch}, {options['strategy']}"]
    rest += [] if vary == "inter-link" else [link_name(str(options["inter_link"]))]
    machine = f"{accelerator_name(options['accelerator'])} ({node_name(options['node'])})"
    return f"{network_name(options['workload'])} on {count}{machine}, {', '.join(rest)}"


def _words(
    vary: str,
    until: float,
    rows: Sequence[Tried],
    answer: int | str | None,
    also: Sequence[str],
) -> str:
    """Return the answer in a sentence or two."""
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
    """Return a clause on values that do not suffice though a smaller one does."""
    missed = [row for row in rows if not row.reaches]
    if not missed:
        return ""
    worst = min(missed, key=lambda row: row.scaling_efficiency)
    text = f"{say(worst.value)}: {per_cent(worst.scaling_efficiency)}"
    if len(missed) == 1:
        return f", but not with {text}"
    return f", but not with {len(missed)} of the {len(rows)} counts on that side, the worst {text}"


def _counted(vary: str) -> Callable[[int | str], str]:
    """Return a function that words a value: a number with its noun, or a link."""
    noun = AXES[vary].noun
    return str if vary == "inter-link" else lambda value: f"{value:,} {plural(noun, float(value))}"


def _percent(row: Tried) -> str:
    """Return an efficiency with its interval and probability in words."""
    if row.chance is None:
        return per_cent(row.scaling_efficiency)
    sure = row.chance if row.reaches else 1 - row.chance
    side = "reached" if row.reaches else "missed"
    return f"{per_cent(row.scaling_efficiency)} (80 %: {row.between}), {likely_to_be(side, sure)}"
