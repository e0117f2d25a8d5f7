"""The answer of ``fits``: the memory of every stage, the verdict, and changes that make a job fit."""

from collections.abc import Sequence
from typing import Any

from perfmodel.core.command_line import command_line
from perfmodel.core.files.tables import Record as Row
from perfmodel.core.files.tables import Table, flat
from perfmodel.core.records.record import Record
from perfmodel.core.units import counted, percent
from perfmodel.decide.fits.changes import DEAR, Changed, batch_of, changes_of
from perfmodel.decide.fits.starts import starts_of
from perfmodel.decide.fits.ways import unknown_of
from perfmodel.decide.fits.words import change_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.assemble import prediction_of_setting, settled
from perfmodel.model.prediction.card import card_of, unfit_words
from perfmodel.model.prediction.memory_odds import CERTAIN, odds_of
from perfmodel.model.prediction.result import Memory
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.memory import known_bytes

MOST_CHANGES = 8
"""Changes that are listed."""


HOST_WEIGHTS = (
    "Weights in the host's memory (FSDP's offload_params, DeepSpeed's offload_param) would be up to {size} "
    "there for each GPU; neither memory nor time of that is modelled."
)
"""What is said where nothing makes a job fit on its accelerators."""


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


class Change(Record):
    """A change of options by which a job comes to fit."""

    options: dict[str, Any]
    """Changed options, by their names in Python."""
    words: str
    """The same as options of the command line."""
    command: str
    """Command line of the changed job."""
    iteration_time: float
    """Of a step: of the same batch, of as many tokens in shorter sequences, or of more samples where more
    accelerators need them [s]."""
    slowdown: float
    """Accelerator-seconds for as many tokens over those of the job, if it fitted: 0.28 for 28 % more [1]."""
    bytes: float
    """Memory that training then needs [B]."""
    fits_probability: float
    """Probability that it then fits [1]."""
    same_training: bool
    """Whether optimizer, trained weights and samples stay as they are."""
    more_gpus: bool
    """Whether it takes more accelerators."""
    warnings: list[str]
    """What is possible and poor of it, or not known of the software."""


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
    """What makes it fit on its accelerators, or comes nearest there; then what makes it fit on more.
    Of each, the same training comes first, then what nothing warns of, then by cost; empty where it fits
    already, or nothing was found."""
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
    listed = [_change(one, scenario, setting, spent) for one in _first(changes)]
    first = next((one for one in changes if one.memory.probability >= confidence), None)
    on_as_many = any(_is_sure(one, confidence) and not one.more_gpus for one in listed)
    is_short = setting.layout is not None and memory.probability < confidence and not on_as_many
    card = card_of(prediction)
    if memory.probability < confidence:
        advice = _advice(memory, listed, confidence, setting.world_size, is_short)
        card = card.model_copy(update={"advice": advice})
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


def _first(changes: Sequence[Changed]) -> list[Changed]:
    """Return the changes that are listed, with one on more accelerators where there is one."""
    listed = list(changes[:MOST_CHANGES])
    more = next((one for one in changes if "world_size" in one.options), None)
    return listed if more is None or more in listed else [*listed[:-1], more]


def _advice(memory: Memory, changes: Sequence[Change], confidence: float, gpus: int, is_short: bool) -> str:
    """Return that a job does not fit as surely as asked, what comes nearest on its GPUs, and what fits.

    Parameters
    ----------
    memory : of the job
    changes : what is listed
    confidence : how sure to be
    gpus : the job's own
    is_short : whether nothing that is modelled makes it fit on these as surely
    """
    lines = [f"It {memory.verdict}." if memory.fits else unfit_words(memory)]
    if is_short:
        lines.append(HOST_WEIGHTS.format(size=f"{memory.rows['weights'] / 2**30:.1f} GiB"))
    fitting = [change for change in changes if change.fits_probability >= confidence]
    nearest = [change for change in changes if not change.more_gpus and change not in fitting]
    if not changes:
        return (
            f"{' '.join(lines)} No change of options was found that makes it fit: take GPUs with more memory."
        )
    if not fitting:
        lines.append(f"Nothing tried makes it fit with {percent(confidence)}; GPUs with more memory may.")
    if nearest:
        words = [f"{change_words(each.options)}, {_odds(each)}{_but(each)}" for each in nearest]
        known = any(not change.more_gpus for change in fitting)
        of = " of what the software is known to do" if known else ""
        lines.append(f"With {counted(gpus, 'GPU')} nearest{of}: {'; '.join(words)}.")
    if fitting:
        lines.append(_taken(fitting, "To be surer" if memory.fits else "To make it fit"))
    elif not nearest:
        change = max(changes, key=lambda each: (each.fits_probability, -each.bytes))
        lines.append(
            f"{change_words(change.options)} comes closest, with {percent(change.fits_probability)}."
        )
    return " ".join(lines)


def _taken(fitting: Sequence[Change], begin: str) -> str:
    """Return the first change that makes a job fit, and where something speaks against it another."""
    change = fitting[0]
    chance = percent(change.fits_probability)
    words = (
        f"{begin}, take {change_words(change.options)}: it then fits with {chance}, "
        f"at {_more_time(change)}{_but(change)}."
    )
    is_dear = change.slowdown >= DEAR
    others = [each for each in fitting if _but(each) != _but(change)] if _but(change) else []
    others += [each for each in fitting if is_dear and each.slowdown < DEAR]
    if not others:
        return words
    other = min(others, key=lambda each: (bool(_but(each)), not _is_known(each)))
    time = f", at {_more_time(other)}" if is_dear else ""
    return (
        f"{words} Or else {change_words(other.options)}: "
        f"{percent(other.fits_probability)}{time}{_but(other)}."
    )


def _more_time(change: Change) -> str:
    """Return in words how much more or less accelerator time as many tokens take with a change."""
    if change.slowdown >= 1:
        return f"{1 + change.slowdown:.1f} x the GPU time a step"
    return f"{100 * abs(change.slowdown):.0f} % {'more' if change.slowdown > 0 else 'less'} GPU time a step"


def _odds(change: Change) -> str:
    """Return the probability of fitting with a change, or the memory needed where it cannot fit."""
    if change.fits_probability <= 1 - CERTAIN:
        return f"{change.bytes / 2**30:,.0f} GiB"
    return percent(change.fits_probability)


def _is_sure(change: Change, confidence: float) -> bool:
    """Return whether a job fits with a change, by what its software is known to do."""
    return change.fits_probability >= confidence and _is_known(change)


def _is_known(change: Change) -> bool:
    """Return whether its software is known to do a change."""
    return not unknown_of(change.warnings)


def _but(change: Change) -> str:
    """Return what speaks against a change; empty where nothing does."""
    unknown = [line.partition(";")[0] for line in unknown_of(change.warnings)]
    reasons = [*([] if change.same_training else ["it changes the training"]), *unknown]
    return f", but {' and '.join(reasons)}" if reasons else ""


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
    """Return a change as the answer has it."""
    stated = scenario.model_dump(exclude_unset=True)
    batch = {**batch_of(setting), **changed.options}
    line = command_line("fits", {**stated, **batch})
    return Change.model_construct(
        options=dict(changed.options),
        words=command_line("", changed.options).removeprefix("perfmodel '' "),
        command=line,
        iteration_time=changed.iteration_time,
        slowdown=changed.spent / spent - 1,
        bytes=changed.memory.bytes,
        fits_probability=changed.memory.probability,
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
