"""Anchors: measured times or rates, ``iteration_time=0.145s@1`` or ``samples_per_second=220@1``.

Of a transformer with a layout the options of the measured run may follow, and more runs after
semicolons: ``iteration_time=6.2s@512,tensor_parallel=8; iteration_time=5.9s@512,tensor_parallel=4``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core import units
from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.errors import InputError, refusal
from perfmodel.model.options.exchanges import EXCHANGES, takes_of
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.options.pairs import stated_pairs
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue

_FORM = re.compile(r"(\w+)=([^@]+)@(\d{1,9})((?:,[^,]*)*)", re.ASCII)
RANGES = {
    "iteration_time": (1e-6, 1e7),
    "samples_per_second": (1e-6, 1e10),
    "tokens_per_second": (1e-6, 1e13),
}
"""Plausible values by quantity; any other value is refused as a mistaken unit."""
MACHINE = ("accelerator", "node", "accelerators_per_node", "intra_link", "inter_link", "nics")
BATCH = ("micro_batch_size", "global_batch_size", "accumulation_steps")
LAYOUT_OPTIONS = (*DEGREES, "expert_tensor_parallel", "sharding", "recompute")
OWN = (*LAYOUT_OPTIONS, *EXCHANGES, *BATCH, "sequence_length", "image_tokens", "precision", *MACHINE)
"""Options in which a measured run of a transformer may differ from the job that is predicted."""
IMPLIED = {
    "global_batch_size": ("accumulation_steps",),
    "accumulation_steps": ("global_batch_size",),
    "micro_batch_size": ("local_batch_size",),
    "accelerator": MACHINE,
    "node": MACHINE,
}
"""An option stated of the measured run -> options of the job that no longer apply to that run."""


class Anchor(NamedTuple):
    """One measured run of the job, or of the same network in another layout or on other hardware."""

    quantity: str
    value: float
    """Seconds, or samples or tokens per second of the whole job."""
    world_size: int
    options: Mapping[str, Any] = {}
    """Options of the measured run that differ from those of the job."""

    def iteration_time(self, samples: Any, sequence_length: Any = None) -> Any:
        """Return the measured iteration time [s], given ``samples`` per iteration.

        Raises
        ------
        InputError : the anchor is a rate of tokens and the network has no sequence length
        """
        if self.quantity == "iteration_time":
            return self.value
        if self.quantity == "samples_per_second":
            return samples / self.value
        if sequence_length is None:
            raise refusal("anchor.no_tokens", "anchor")
        return samples * sequence_length / self.value

    def words(self) -> str:
        """Return the anchor in the notation of ``--anchor``."""
        options = "".join(f",{name}={value}" for name, value in self.options.items())
        return f"{self.quantity}={self.value!r}@{self.world_size}{options}"

    @property
    def own_options(self) -> set[str]:
        """Options that the measured run does not take from the job: those it states, and those they imply."""
        return {"anchor", "world_size", *self.options, *(e for o in self.options for e in IMPLIED.get(o, ()))}

    def of_run(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the measured run: its own, completed with those of the job.

        >>> parse_anchor("iteration_time=2s@8,tensor_parallel=4").of_run({"gpus": 64, "tensor_parallel": 8})
        {'gpus': 64, 'tensor_parallel': 4, 'world_size': 8}
        """
        kept = {name: value for name, value in job.items() if name not in self.own_options}
        return {**kept, **self.options, "world_size": self.world_size}


class Repeat(NamedTuple):
    """The anchor is a measurement of this data-parallel job itself, on as many accelerators."""

    anchor: str | None
    """The anchor as given; None if the time comes from a calibration file."""
    noise: float
    """Standard deviation of the logarithm of the time between repeated measurements; 0 for a job that was not
    measured itself, but on other numbers of accelerators."""
    sizes: tuple[int, ...] = ()
    """Numbers of accelerators that own runs measured the job on."""


def parse_anchors(text: str) -> list[Anchor]:
    """Parse the anchors of a transformer, separated by semicolons.

    >>> [anchor.world_size for anchor in parse_anchors("iteration_time=2s@8; iteration_time=1.1s@16")]
    [8, 16]

    Raises
    ------
    InputError : as for ``parse_anchor``
    """
    return [parse_anchor(each) for each in text.split(";")]


@lru_cache(maxsize=1024)
def parse_anchor(text: str) -> Anchor:
    """Parse one anchor: ``QUANTITY=VALUE@GPUS``, with options of the measured run after commas.

    >>> parse_anchor("iteration_time=145ms@1")
    Anchor(quantity='iteration_time', value=0.145, world_size=1, options={})
    >>> parse_anchor("tokens_per_second=1.2e6@512,tensor-parallel=8").options
    {'tensor_parallel': 8}

    Raises
    ------
    InputError : a malformed text, an implausible value, or an option that a measured run cannot have
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
    stated = stated_pairs("anchor", text, options.split(",")[1:], OWN, "an anchor")
    return Anchor(quantity, measured, int(world_size), stated)


def with_measured_runs(
    scenario: Scenario,
    software: str,
    precision: str,
    catalogue: Catalogue,
    resolve: Callable[[Scenario, Catalogue], Any],
) -> tuple[Scenario, tuple[Any, ...]]:
    """Return a scenario whose anchors state every option of their runs, and the ``Setting`` of each run.

    Parameters
    ----------
    scenario : of a transformer with a layout, with an anchor
    software, precision : of the job; the runs have the same
    catalogue : with the hardware that the runs name
    resolve : turns a scenario into a setting; an argument, since it calls this function

    Raises
    ------
    InputError : a malformed anchor, or an impossible run
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
        words.append(anchor._replace(options=_run_options(run)).words())
        runs.append(run)
    return scenario.model_copy(update={"anchor": "; ".join(words)}), tuple(runs)


def _run_options(run: Any) -> dict[str, Any]:
    """Return every option that an anchor may state, with its value in the ``Setting`` of a run."""
    words = run.layout.words()
    options: dict[str, Any] = {name: words[name] for name in (*LAYOUT_OPTIONS, "micro_batch_size")}
    options |= {name: value for name, value in takes_of(run.layout).items() if value is not None}
    options |= {"global_batch_size": run.global_batch_size, "precision": run.precision}
    if run.workload.sequence_length is not None:
        options |= {"sequence_length": run.workload.sequence_length}
    if run.workload.image_tokens is not None:
        options |= {"image_tokens": run.workload.image_tokens}
    machine = {name: getattr(run.scenario, name) for name in MACHINE}
    machine |= {"accelerator": run.accelerator.id, "node": run.node.id}
    return options | {name: value for name, value in machine.items() if value is not None}
