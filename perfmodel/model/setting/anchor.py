"""A measurement to start from: ``iteration_time=0.145s@1`` or ``samples_per_second=220@1``.

Of a transformer with a layout the options of the measured run may follow, and more runs after
semicolons: ``iteration_time=6.2s@512,tensor_parallel=8; iteration_time=5.9s@512,tensor_parallel=4``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import units
from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.options.scenario import Scenario, field_of

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue

_FORM = re.compile(r"(\w+)=([^@]+)@(\d{1,9})((?:,[^,]*)*)", re.ASCII)
RANGES = {
    "iteration_time": (1e-6, 1e7),
    "samples_per_second": (1e-6, 1e10),
    "tokens_per_second": (1e-6, 1e13),
}
"""What accelerators can be thought to do; anything else is a slip of the unit."""
MACHINE = ("accelerator", "node", "accelerators_per_node", "intra_link", "inter_link", "nics")
BATCH = ("micro_batch_size", "global_batch_size", "accumulation_steps")
SHARED_BY = (*DEGREES, "sharding", "recompute")
OWN = (*SHARED_BY, *BATCH, "sequence_length", "precision", *MACHINE)
"""Options in which a measured run of a transformer may differ from the job that is predicted."""
TAKES = {
    "global_batch_size": ("accumulation_steps",),
    "accumulation_steps": ("global_batch_size",),
    "micro_batch_size": ("local_batch_size",),
    "accelerator": MACHINE,
    "node": MACHINE,
}
"""An option of the measured run -> those of the job that follow from it, or go with it, and hold no more."""


class Anchor(NamedTuple):
    """One measured run of the same plan, or of the same network in another layout."""

    quantity: str
    value: float
    """Seconds, or samples or tokens per second of the whole job."""
    world_size: int
    options: Mapping[str, Any] = {}
    """Of the measured run, where it says them; else they are those of the job."""

    def iteration_time(self, samples: Any, sequence_length: Any = None) -> Any:
        """Return the measured iteration time [s] of ``samples`` per iteration.

        Raises
        ------
        InputError : a rate of tokens, of samples that are no sequences
        """
        if self.quantity == "iteration_time":
            return self.value
        if self.quantity == "samples_per_second":
            return samples / self.value
        if sequence_length is None:
            raise refusal("anchor.no_tokens", "anchor")
        return samples * sequence_length / self.value

    def words(self) -> str:
        """Return the anchor as people write it."""
        options = "".join(f",{name}={value}" for name, value in self.options.items())
        return f"{self.quantity}={self.value!r}@{self.world_size}{options}"

    @property
    def unlike(self) -> set[str]:
        """Options that the measured run does not take from the job: those it states, and what follows."""
        return {"anchor", "world_size", *self.options, *(e for o in self.options for e in TAKES.get(o, ()))}

    def of_run(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the measured run: its own, and for the rest those of the job.

        >>> parse_anchor("iteration_time=2s@8,tensor_parallel=4").of_run({"gpus": 64, "tensor_parallel": 8})
        {'gpus': 64, 'tensor_parallel': 4, 'world_size': 8}
        """
        kept = {name: value for name, value in job.items() if name not in self.unlike}
        return {**kept, **self.options, "world_size": self.world_size}


class Repeat(NamedTuple):
    """The job itself was measured, on as many accelerators, and trains copies of a network."""

    anchor: str | None
    """The anchor as it was given; None of a calibration file."""
    noise: float
    """Standard deviation of the logarithm of its time, when it is measured again."""


def parse_anchors(text: str) -> list[Anchor]:
    """Read the anchors of a transformer.

    >>> [anchor.world_size for anchor in parse_anchors("iteration_time=2s@8; iteration_time=1.1s@16")]
    [8, 16]

    Raises
    ------
    InputError : as of ``parse_anchor``
    """
    return [parse_anchor(each) for each in text.split(";")]


def parse_anchor(text: str) -> Anchor:
    """Read an anchor.

    >>> parse_anchor("iteration_time=145ms@1")
    Anchor(quantity='iteration_time', value=0.145, world_size=1, options={})
    >>> parse_anchor("tokens_per_second=1.2e6@512,tensor-parallel=8").options
    {'tensor_parallel': 8}

    Raises
    ------
    InputError : another form, a value that no accelerators can have measured, or an option that a measured
        run has not
    """
    if ";" in text:
        raise refusal("anchor.several", "anchor", text=text)
    match = _FORM.fullmatch(text.strip())
    if not match or match[1] not in RANGES:
        raise refusal("anchor.malformed", "anchor", text=text)
    quantity, value, world_size, options = match.groups()
    if not 1 <= int(world_size) <= LARGEST_WORLD_SIZE:
        raise refusal("anchor.gpus", "anchor", text=text, largest_world_size=LARGEST_WORLD_SIZE)
    try:
        measured = units.parse(value, "s" if quantity == "iteration_time" else "1/s")
    except InputError as error:
        raise error.under("anchor", said="") from None
    low, high = RANGES[quantity]
    if not low <= measured <= high:
        raise refusal("anchor.range", "anchor", text=text, quantity=quantity, low=low, high=high)
    return Anchor(quantity, measured, int(world_size), _options(text, options))


def _options(text: str, written: str) -> dict[str, Any]:
    """Return what an anchor says of its run, as values of a scenario."""
    result: dict[str, Any] = {}
    for each in written.split(",")[1:]:
        key, equals, value = (part.strip() for part in each.partition("="))
        name = field_of(key)
        if not equals or not value:
            raise refusal("anchor.option", "anchor", text=text, each=each)
        if name not in OWN:
            raise unknown_name("option of an anchor's run", key, OWN)
        if name in result:
            raise refusal("anchor.twice", "anchor", text=text, name=name)
        number = int(value) if re.fullmatch(r"\d{1,12}", value, re.ASCII) else value
        read: dict[str, Any] = {name: number}
        result[name] = getattr(Scenario(**read), name)
    return result


def with_measured_runs(
    scenario: Scenario,
    software: str,
    precision: str,
    catalogue: Catalogue,
    resolve: Callable[[Scenario, Catalogue], Any],
) -> tuple[Scenario, tuple[Any, ...]]:
    """Return a scenario whose anchors say all of their runs, and the ``Setting`` of each run.

    Parameters
    ----------
    scenario : of a transformer that is shared out, with an anchor
    software, precision : of the job, which are the run's, too
    catalogue, resolve : what names mean, and how a scenario becomes a setting

    Raises
    ------
    InputError : no anchor, or a run that cannot be
    """
    job = {name: getattr(scenario, name) for name in scenario.model_fields_set}
    job |= {"framework": software, "precision": precision}
    words, runs = [], []
    for anchor in parse_anchors(str(scenario.anchor)):
        try:
            run = resolve(LaidOut.model_construct(**anchor.of_run(job)), catalogue)
            anchor.iteration_time(run.global_batch_size, run.workload.sequence_length)
        except InputError as error:
            raise error.under("anchor", said=f"anchor {anchor.words()!r}") from error
        words.append(anchor._replace(options=_said(run)).words())
        runs.append(run)
    return scenario.model_copy(update={"anchor": "; ".join(words)}), tuple(runs)


def _said(run: Any) -> dict[str, Any]:
    """Return all that an anchor may say of its run."""
    words = run.layout.words()
    said: dict[str, Any] = {name: words[name] for name in (*SHARED_BY, "micro_batch_size")}
    said |= {"global_batch_size": run.global_batch_size, "precision": run.precision}
    if run.workload.sequence_length is not None:
        said |= {"sequence_length": run.workload.sequence_length}
    machine = {name: getattr(run.scenario, name) for name in MACHINE}
    machine |= {"accelerator": run.accelerator.id, "node": run.node.id}
    return said | {name: value for name, value in machine.items() if value is not None}
