"""What may slow a training run: the job with one option changed, or with some terms longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import percent
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.terms import TERMS

SPREADS = 0.1, 0.3
"""Spreads of a step's time over the ranks that are tried, as parts of it."""
SLOWER_HOST = 2.0, 4.0, 8.0
"""Factors on the time of launching kernels that are tried."""
CLOCKS = 0.8, 0.6
"""Shares of an accelerator's speed that are tried."""
LOADER_WORKERS = 1, 2, 4, 8, 16
"""Workers of the loader on each machine that are tried."""


class Change(NamedTuple):
    """One form of a cause."""

    words: str
    """The changed input."""
    options: Mapping[str, Any] = {}
    """Options of the job instead of its own."""
    longer: Mapping[str, float] = {}
    """Factors on terms of the iteration, by name."""

    def time(self, prediction: Prediction) -> float:
        """Return the iteration time with the longer terms, of the job with the changed options [s]."""
        grown = ((factor - 1) * prediction.terms.get(name, 0.0) for name, factor in self.longer.items())
        return prediction.iteration_time + sum(grown)


class Suspect(NamedTuple):
    """One cause that a training run may have."""

    id: str
    name: str
    """In a few words."""
    words: str
    next: str
    """What tells it from others, or mends it."""
    changes: Callable[[Scenario, Setting, Catalogue], Iterator[Change]]
    """Yields its forms; none where the job cannot have it."""
    is_assumption: bool = False
    """Whether it is that the job is not as taken; nothing is wrong then."""


def predicted(scenario: Scenario, change: Mapping[str, Any], catalogue: Catalogue) -> Prediction | None:
    """Return the prediction of a job with other options; None where such a job is refused."""
    try:
        return predict(scenario.model_copy(update=dict(change)), catalogue)
    except InputError:
        return None


def _tcp(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.nodes > 1 and setting.inter_link is not None and not setting.inter_link.passes_kernel:
        yield Change("--transport tcp", {"transport": "tcp"})


def _few_adapters(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.nodes > 1 and setting.nics > 1:
        yield Change("--nics 1", {"nics": 1})


def _no_peers(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    host = setting.accelerator.host_link
    if setting.world_size > setting.nodes and setting.intra_link.kind in ("nvlink", "xgmi"):
        yield Change(f"--intra-link {host}", {"intra_link": host})


def _exposed(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.world_size > 1 and setting.layout is None and scenario.overlap != "none":
        yield Change("--overlap none", {"overlap": "none"})


def _precision(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    for precision in ("tf32", "fp32"):
        if setting.precision not in ("tf32", "fp32"):
            yield Change(f"--precision {precision}", {"precision": precision})
    if setting.precision == "tf32":
        yield Change("--precision fp32", {"precision": "fp32"})


def _input(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if scenario.input == "synthetic":
        yield Change("--input real", {"input": "real"})
    for workers in LOADER_WORKERS:
        if workers != scenario.loader_workers:
            options = {"input": "real", "loader_workers": workers}
            yield Change(f"--input real --loader-workers {workers}", options)


def _unfused(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.layout is not None and scenario.attention_kernel != "unfused":
        yield Change("--attention-kernel unfused", {"attention_kernel": "unfused"})


def _recompute(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.layout is not None and scenario.recompute in (None, "none", "selective"):
        yield Change("--recompute full", {"recompute": "full", "recompute_modules": None})
        if scenario.recompute != "selective":
            yield Change("--recompute selective", {"recompute": "selective"})


def _stragglers(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    if setting.world_size > 1:
        for spread in SPREADS:
            law = f"lognormal:cv={spread:g}"
            yield Change(f"ranks differ by {percent(spread)}, --jitter {law}", {"jitter": law})


def _host(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    names = [term.name for term in TERMS.values() if term.kind == "host"]
    for factor in SLOWER_HOST:
        yield Change(f"the host is {factor:g} times as slow", {}, dict.fromkeys(names, factor))


def _clocks(scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Iterator[Change]:
    names = [term.name for term in TERMS.values() if term.kind == "busy"]
    for share in CLOCKS:
        yield Change(f"accelerators at {percent(share)} of their speed", {}, dict.fromkeys(names, 1 / share))


SUSPECTS = (
    Suspect(
        "tcp",
        "kernel TCP",
        "the network has fallen back to kernel TCP",
        "run all_reduce_perf on the same machines, and diagnose its output",
        _tcp,
    ),
    Suspect(
        "few-adapters",
        "one adapter a machine",
        "one network adapter of each machine carries everything",
        "run all_reduce_perf on the same machines, and diagnose its output",
        _few_adapters,
    ),
    Suspect(
        "no-peer-access",
        "PCIe inside machines",
        "accelerators of a machine exchange over PCIe, not their own links",
        "read nvidia-smi topo -m; run all_reduce_perf in one machine",
        _no_peers,
    ),
    Suspect(
        "exposed",
        "exchange not overlapped",
        "gradients are not exchanged during the backward pass",
        "take a trace: do collectives run next to kernels of the backward pass?",
        _exposed,
    ),
    Suspect(
        "precision",
        "slower number format",
        "products run in a slower number format than stated",
        "search a trace for kernels of tensor cores; check autocast and allow_tf32",
        _precision,
    ),
    Suspect(
        "input",
        "waiting for samples",
        "the accelerators wait for samples",
        "run with synthetic samples, or look at the loader's share in a trace",
        _input,
    ),
    Suspect(
        "unfused-attention",
        "unfused attention",
        "attention stores its scores: no fused kernel is used",
        "search a trace for flash or fmha kernels",
        _unfused,
    ),
    Suspect(
        "recomputation",
        "recomputation",
        "activations are computed again, which the job does not state",
        "check activation checkpointing in the configuration; compare the peak of memory",
        _recompute,
    ),
    Suspect(
        "stragglers",
        "slower ranks",
        "some ranks are slower, and the others wait for them",
        "trace several ranks: a summary of the traces shows who waits for whom",
        _stragglers,
    ),
    Suspect(
        "host",
        "slow host",
        "the host launches kernels too slowly",
        "trace a step: gaps between kernels; try CUDA graphs or torch.compile, check the host's cores",
        _host,
    ),
    Suspect(
        "clocks",
        "low clocks",
        "the accelerators run slower than usual: clocks, power or heat",
        "read clocks and throttle reasons (nvidia-smi -q -d PERFORMANCE); run on one accelerator",
        _clocks,
    ),
)
"""Causes that are weighed."""
