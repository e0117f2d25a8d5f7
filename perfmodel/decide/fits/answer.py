"""The answer of ``fits``: the memory of every stage, the verdict, and changes that make a job fit."""

from collections.abc import Sequence
from functools import cache

from perfmodel.core.command_line import command_line
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table, flat
from perfmodel.core.records.record import Record
from perfmodel.core.units import counted
from perfmodel.decide.fits.advice import Change, Job, advice_of
from perfmodel.decide.fits.changes import Changed, batch_of, changes_of
from perfmodel.decide.fits.starts import starts_of
from perfmodel.decide.fits.ways import is_known
from perfmodel.decide.fits.words import assumed_length
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.assemble import prediction_of_setting, settled
from perfmodel.model.prediction.card import card_of, limit_words, throughput_words
from perfmodel.model.prediction.memory_odds import CERTAIN, if_as_assumed, odds_of
from perfmodel.model.prediction.names import training_name
from perfmodel.model.prediction.result import Memory
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.memory import known_bytes

MOST_CHANGES = 8
"""Changes that are listed."""


class Place(Record):
    """Memory of an accelerator of one stage, or of the first accelerator and of the others."""

    name: str
    """``stage 1 of 8``, ``every accelerator``, ``the first accelerator``, ``the others``."""
    accelerators: int
    """How many have as much."""
    layers: int | None
    """Layers that it computes; null without a layout."""
    micro_batches: float | None
    """Micro-batches whose activations it keeps; null without a layout."""
    bytes: float
    """Memory that training needs [B]."""
    fits_probability: float
    """Probability that this fits [1]."""
    rows: dict[str, float]
    """What needs it, by name [B]."""


class Fits(Record, Table):
    """Whether a job fits into memory, and what would make it fit."""

    headline: str
    """The job in one line."""
    card: Card
    """The answer in short, as ``predict`` gives it; its advice is the first change where one helps."""
    verdict: str
    """``fits``, ``fits with probability 70 %``, ``does not fit``."""
    fits_probability: float
    """Probability that it fits [1]."""
    bytes: float
    """Memory that the fullest accelerator needs [B]."""
    low_80: float
    """Lower end of the 80 % interval of ``bytes`` [B]."""
    high_80: float
    """Upper end of it [B]."""
    known_bytes: float
    """Of it weights, gradients and optimizer states, at least, by what is stated: no need is below [B]."""
    capacity: float
    """Memory that a program can use [B]."""
    host_bytes: float
    """Of each machine's host memory that it needs [B]."""
    host_capacity: float | None
    """Memory of a machine's host [B]; null where it is not known, or none of it is used."""
    not_stated: list[str]
    """Options that affect the memory and are left to their defaults, which widens the interval."""
    largest_batch: int
    """The largest micro-batch, or batch of an accelerator, that fits with as many passes, with even odds at
    least; 0: none does."""
    largest_sure_batch: int
    """The largest that fits with a probability of 95 % at least; 0: none does."""
    batch: int
    """Samples of the job's own."""
    places: list[Place]
    """Of every stage, the first one first."""
    confidence: float
    """Probability of fitting from which a change makes a job fit."""
    changes: list[Change]
    """What makes it fit, first what its software is known to do, on its accelerators before more; then what
    comes near.  Of each, the same training comes first, then what nothing warns of, then by cost; empty where
    it fits already, or nothing was found."""
    starts: dict[str, list[str]]
    """Options or settings that start the job, by software; empty where it cannot run or none are known."""
    change_starts: dict[str, list[str]]
    """The same with the first change by which it fits; empty without one."""
    software: str
    """The job's own software."""
    defaults: list[str]
    """Options that were left to their defaults."""
    warnings: list[str]
    """Warnings of the job."""

    @property
    def fitting(self) -> Change | None:
        """The first change by which it fits as surely as asked; None without one."""
        return next((each for each in self.changes if each.fits_probability >= self.confidence), None)

    def records(self) -> list[Row]:
        """Return a row for each stage."""
        return [flat(place.model_dump()) for place in self.places]

    def to_json(self) -> str:
        """Return what ``perfmodel fits --json`` prints."""
        return self.model_dump_json()

    def __repr__(self) -> str:
        return f"<Fits: {self.headline}: {self.verdict}>"


def fits(
    scenario: Scenario,
    confidence: float,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
) -> Fits:
    """Return whether a job fits into memory, by stage, and what would make it fit.

    Parameters
    ----------
    scenario : the job
    confidence : least probability of fitting, above 0 and below 1
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : as ``predict``
    """
    catalogue, numbers = Catalogue.of(catalogue), constants_of(constants)
    setting, settled_numbers = settled(scenario, catalogue, numbers)
    prediction = prediction_of_setting(setting, settled_numbers)
    memory = prediction.memory
    spent = prediction.iteration_time * setting.world_size
    changes: list[Changed] = []
    if memory.probability < confidence:
        changes = changes_of(scenario, setting, confidence, spent, catalogue, numbers)
    shown = _first(changes, confidence)
    listed = [_change(one, scenario, setting, spent) for one in shown]
    first = next((one for one in shown if one.memory.probability >= confidence), None)
    card = card_of(prediction)
    if memory.probability < confidence:
        name = training_name(prediction.scenario["workload"], prediction.scenario)
        job = Job(name, memory, setting.world_size, prediction.iteration_time, setting.software_name)
        fitting = next((one for one in listed if one.fits_probability >= confidence), None)
        said = {} if memory.fits else _of_change(card, fitting)
        card = card.model_copy(update={"advice": advice_of(job, listed, confidence), **said})
    if assumed := assumed_length(prediction.defaults, scenario.lora is not None):
        card = card.model_copy(update={"advice": f"{card.advice} {assumed}"})
    return Fits.model_construct(
        headline=prediction.headline,
        card=card,
        verdict=memory.verdict,
        fits_probability=memory.probability,
        bytes=memory.bytes,
        low_80=memory.low_80,
        high_80=memory.high_80,
        known_bytes=memory.known_bytes or 0.0,
        capacity=memory.capacity,
        host_bytes=memory.host_bytes,
        host_capacity=memory.host_capacity,
        not_stated=memory.not_stated,
        largest_batch=memory.largest_local_batch_size,
        largest_sure_batch=memory.largest_sure_batch_size or 0,
        batch=int(setting.local_batch_size),
        places=_places(setting, memory),
        confidence=confidence,
        changes=listed,
        starts={} if memory.probability <= 1 - CERTAIN else starts_of(setting),
        change_starts={} if first is None else starts_of(first.setting),
        software=setting.software_name,
        defaults=list(prediction.defaults),
        warnings=[*_few_passes(setting), *setting.warnings],
    )


def _first(changes: Sequence[Changed], confidence: float) -> list[Changed]:
    """Return the changes that are listed, with one on more accelerators where there is one.

    What makes the job fit comes first, by what its software is known to do before what it is not known to do,
    then what comes near, the surest first.
    """

    def standing(one: Changed) -> tuple[int, float]:
        if one.memory.probability >= confidence:
            return int(not is_known(one)), 0.0
        return 2, -one.memory.probability

    ordered = sorted(changes, key=standing)
    listed = ordered[:MOST_CHANGES]
    more = next((one for one in ordered if "world_size" in one.options), None)
    return listed if more is None or more in listed else [*listed[:-1], more]


def _of_change(card: Card, change: Change | None) -> dict[str, str]:
    """Return fields of the card of a job that does not fit: as if it fitted, and with the first change."""
    own = {"limit": f"memory; if it fitted, {card.limit}", "time": f"if it fitted, {card.time}"}
    if change is None:
        return own
    time = f"with the change {change.time}; {own['time']}"
    return {**own, "time": time, "throughput": f"with the change {change.throughput}"}


def _few_passes(setting: Setting) -> list[str]:
    """Return a warning where a step has fewer micro-batches than would fill its pipeline."""
    layout = setting.layout
    if layout is None or layout.accumulation_steps >= layout.pipeline_parallel:
        return []
    steps, stages = int(layout.accumulation_steps), int(layout.pipeline_parallel)
    return [
        f"memory is that of {counted(steps, 'micro-batch')} in {stages} stages: with a larger "
        "--global-batch-size the first stages keep more"
    ]


def _change(changed: Changed, scenario: Scenario, setting: Setting, spent: float) -> Change:
    """Return a change as the answer has it, whole predicted when its interval or throughput is first read."""
    stated = scenario.model_dump(exclude_unset=True)
    batch = {**batch_of(setting), **changed.options}
    anchor = changed.setting.scenario.anchor if scenario.anchor else None
    line = command_line("fits", {**stated, **batch, **({"anchor": anchor} if anchor else {})})
    predicted = cache(lambda: prediction_of_setting(changed.setting, changed.constants))
    memory = changed.memory
    need, known = memory.bytes, memory.known_bytes or 0.0
    return Change.model_construct(
        options=dict(changed.options),
        words=command_line("", changed.options).removeprefix("perfmodel '' "),
        command=line,
        anchor=anchor,
        iteration_time=changed.iteration_time,
        iteration_time_low_80=lambda: (interval := predicted().interval) and interval.low_80,
        iteration_time_high_80=lambda: (interval := predicted().interval) and interval.high_80,
        samples_per_second=lambda: predicted().samples_per_second,
        tokens_per_second=lambda: predicted().tokens_per_second,
        throughput=lambda: throughput_words(predicted()),
        slowdown=changed.spent / spent - 1,
        bytes=memory.bytes,
        low_80=memory.low_80,
        high_80=memory.high_80,
        rows=memory.rows,
        fits_probability=memory.probability,
        if_as_assumed=if_as_assumed(need, known, memory.capacity, memory.not_stated),
        host_bytes=memory.host_bytes,
        host_memory=memory.host_words,
        limit=limit_words(changed.terms),
        same_training=changed.same_training,
        more_gpus="world_size" in changed.options,
        warnings=list(changed.warnings),
    )


def _places(setting: Setting, memory: Memory) -> list[Place]:
    """Return the memory of every stage, or of accelerators that differ."""
    if setting.layout is None:
        alike = [("every accelerator", setting.world_size, memory.bytes, memory.rows)]
        if memory.devices:
            names = ("the first accelerator", "the others")
            alike = [
                (name, each.count, each.bytes, each.rows)
                for name, each in zip(names, memory.devices, strict=True)
            ]
        return [
            _place(name, count, None, None, size, known_bytes(rows), rows, memory)
            for name, count, size, rows in alike
        ]
    from perfmodel.model.transformers.evaluate import case_of_setting
    from perfmodel.model.transformers.job import job_of
    from perfmodel.model.transformers.stage_memory import memory_of_each_stage

    stages, job = int(setting.layout.pipeline_parallel), job_of(case_of_setting(setting))
    result = []
    for stage, layers, kept, held, known in memory_of_each_stage(job, memory.not_stated):
        name = f"stage {stage + 1} of {stages}" if stages > 1 else "every accelerator"
        rows = {row: float(size) for row, size in held._asdict().items()}
        count = setting.world_size // stages
        result.append(_place(name, count, layers, kept, float(held.total), known, rows, memory))
    return result


def _place(
    name: str,
    accelerators: int,
    layers: int | None,
    micro_batches: float | None,
    size: float,
    known: float,
    rows: dict[str, float],
    fullest: Memory,
) -> Place:
    """Return the memory of one place, with its probability by the law of the fullest."""
    chance = odds_of(size, known, fullest.capacity, fullest.not_stated).fits_probability
    return Place.model_construct(
        name=name,
        accelerators=accelerators,
        layers=layers,
        micro_batches=micro_batches,
        bytes=size,
        fits_probability=chance,
        rows=rows,
    )
