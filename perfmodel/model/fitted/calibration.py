"""The constants of the model: numbers taken from measurements, and efficiencies fitted to training runs.

The first are in ``calibration.toml``, edited by hand, each with its source; the second in
``calibration.json``, which ``perfmodel calibrate`` writes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.learner import is_table, learned_from
from perfmodel.core.files.reading import LARGEST_TEXT, read_json, read_toml, version
from perfmodel.model.fitted.efficiency import Efficiency, borrowed_effects

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.fitted.own_effects import OwnEffects

SCALARS = (
    "jitter",
    "shared_jitter",
    "stall_probability",
    "stall_length",
    "shared_slowdown",
    "loader_jitter",
    "loader_stall_probability",
    "loader_slowdown",
    "tcp_ceiling",
    "connections_exponent",
    "server_fraction",
    "server_ceiling",
    "staged_fraction",
    "contention",
    "replica_dispatches",
    "pageable_fraction",
    "page_cache_share",
    "worker_start_time",
    "process_start_time",
    "communicator_base_time",
    "communicator_rank_time",
    "first_step_time",
    "reserved_bytes",
    "allocator_share",
)
"""Scalar constants of ``calibration.toml``."""
LATENCIES = {
    "launch_time": "launch",
    "library_hop_latency": "hop",
    "host_latency": "proxy",
    "crowd_latency": "crowd",
}
"""Latencies of a ``Calibration`` -> their names among the parameters of collectives."""
COLLECTIVE_FIT = Path(__file__).parents[1] / "collectives" / "model.json"
"""Output of ``python -m perfmodel.evidence.accuracy.collectives.collective_fit``."""
TRANSFORMER_FIT = Path(__file__).parents[1] / "transformers" / "model.json"
"""Output of ``python -m perfmodel.evidence.accuracy.transformers.transformer_refit``."""
FITTED = Path(__file__).parent / "calibration.json"
"""Output of ``perfmodel calibrate``."""
NORMAL_80, NORMAL_95 = 1.2816, 1.9600
"""Standard deviations from the mean of a normal distribution to either end of its 80 and 95 % intervals."""


class Spread(NamedTuple):
    """Prediction errors on runs of unseen sources, as a scale times two quantiles."""

    weights: dict[str, float]
    """Weight of each condition in the logarithm of the scale."""
    quantile_80: float
    """80 % quantile of the absolute logarithmic error, at a scale of 1."""
    quantile_95: float


class StepSpread(NamedTuple):
    """How the steps of a job's ranks spread; fields as of ``Calibration``."""

    jitter: float
    stall_probability: float
    stall_length: float
    slowdown: float

    def __str__(self) -> str:
        """Return the distribution of a rank's time as ``--jitter`` takes it."""
        if not self.jitter:
            return "none"
        if not self.stall_probability:
            return f"lognormal:cv={self.jitter:g}"
        stalls = f"probability={self.stall_probability:g},length={self.stall_length:g}"
        return f"stalling:cv={self.jitter:g},{stalls}"


class Calibration(NamedTuple):
    """The fitted or assumed constants, in SI units."""

    efficiency: Efficiency
    """Efficiency of one accelerator, learned from measured runs."""
    seen: dict[str, frozenset[str]]
    """Accelerators, links and software of the measured runs."""
    reach: dict[str, tuple[float, float]]
    """Smallest and largest measured ``world size``, and ``local batch/NETWORK``."""
    spread: dict[str, Spread]
    """Spread by the mode of a prediction."""
    link_fraction: dict[str, float]
    """Share of a link's rate that bulk transfers reach, by kind of link."""
    decode_rate: float
    """Samples per second of one loader worker."""
    jitter: float
    """Coefficient of variation of one worker's iteration, independent of the others'."""
    shared_jitter: float
    """Coefficient of variation that all workers of a job share in each iteration."""
    stall_probability: float
    """Share of one worker's iterations that stall."""
    stall_length: float
    """Time of a stall over that of an iteration."""
    shared_slowdown: float
    """Time that all ranks of a job lose alike, over that of the same work on one accelerator alone."""
    loader_jitter: float
    """``jitter`` of workers that read samples; loaders of a machine share its processors."""
    loader_stall_probability: float
    """``stall_probability`` of such workers."""
    loader_slowdown: float
    """``shared_slowdown`` of such ranks."""
    tcp_ceiling: float
    """Rate of one adapter through the kernel's TCP with a library's usual connections [B/s]."""
    connections_exponent: float
    """Exponent of the growth of that rate with connections [1]."""
    server_fraction: float
    """Share of the kernel's TCP rate that the software of parameter servers reaches."""
    server_ceiling: float
    """Rate at which one parameter server sums gradients, in each direction [B/s]."""
    staged_fraction: float
    """Share of a PCIe link's rate left for transfers through host memory."""
    contention: float
    """Computation lost for each second of communication hidden behind it, on 80 multiprocessors."""
    replica_dispatches: float
    """Kernel dispatches of a single process for each tensor, module and launch of a replica."""
    pageable_fraction: float
    """Share of the host link's rate that copies from pageable memory reach."""
    page_cache_share: float
    """Share of a host's memory that caches samples."""
    worker_start_time: float
    """Time to start one loader worker [s]."""
    process_start_time: float
    """Time until a process is ready to build its network [s]."""
    communicator_base_time: float
    """Time to join a communicator of the collective library, whatever its size [s]."""
    communicator_rank_time: float
    """Time to join it, for each further rank [s]."""
    first_step_time: float
    """Time of the first iteration beyond a usual one, without communicators [s]."""
    launch_time: float
    """Time of a library's collective before its first hop, on GPUs before Hopper [s]."""
    library_hop_latency: float
    """Time of such a collective's hop in a single node, by a low-latency protocol [s]."""
    host_latency: float
    """Time that the host adds to a hop between nodes [s]."""
    crowd_latency: float
    """Time of an all-reduce over several nodes for each node [s]."""
    reserved_bytes: float
    """Memory reserved before the network is built [B]."""
    allocator_share: float
    """Memory lost to rounding and fragmentation, over that of the tensors."""
    transformers: Mapping[str, float]
    """Parameters learned from steps of transformers, by name."""
    assumed: tuple[str, ...]
    """Names of the constants that are neither measured nor fitted."""
    own: OwnEffects | None = None
    """Effects learned from a user's own runs."""

    def spread_of_steps(self, loads: bool) -> StepSpread:
        """Return how the steps of a job's ranks spread, which read samples if ``loads``."""
        if loads:
            return StepSpread(
                self.loader_jitter, self.loader_stall_probability, self.stall_length, self.loader_slowdown
            )
        return StepSpread(self.jitter, self.stall_probability, self.stall_length, self.shared_slowdown)

    @property
    def latencies(self) -> tuple[float, float, float, float]:
        """Latencies learned from collectives, in the order of ``LATENCIES`` [s]."""
        return self.launch_time, self.library_hop_latency, self.host_latency, self.crowd_latency


def with_scaling(constants: Calibration, numbers: Mapping[str, float]) -> Calibration:
    """Return ``constants`` with numbers learned on several accelerators; those of links are ``link/KIND``.

    The learned numbers no longer count as assumed.
    """
    links = {name.removeprefix("link/"): value for name, value in numbers.items() if "/" in name}
    alone: dict[str, Any] = {name: value for name, value in numbers.items() if "/" not in name}
    learned = {*alone, *(f"link_fraction.{kind}" for kind in links)}
    assumed = tuple(name for name in constants.assumed if name not in learned)
    return constants._replace(link_fraction=constants.link_fraction | links, assumed=assumed, **alone)


@cache
def calibration() -> Calibration:
    """Return the constants shipped with the package, read once."""
    return read_calibration(FITTED)


def constants_of(constants: Calibration | None) -> Calibration:
    """Return the given constants, or for None those shipped with the package.

    Raises
    ------
    InputError : neither None nor a ``Calibration``
    """
    if constants is None:
        return calibration()
    if not isinstance(constants, Calibration):
        raise refusal("calibration.invalid", "constants", constants=constants)
    return constants


def read_calibration(path: Path | str, catalogue: Catalogue | None = None) -> Calibration:
    """Return the constants that ``perfmodel calibrate --output`` wrote, for ``predict(..., constants=...)``.

    Parameters
    ----------
    path : of the file; of a table of own runs, ``.csv``, what it teaches is learned here
    catalogue : where hardware that such a table names is looked up; None is the built-in

    Raises
    ------
    InputError : the file cannot be read or is malformed; effects of own runs that were edited, or learned
        with another version of the shipped fit
    """
    if is_table(path):
        taught: Calibration = learned_from(path, catalogue)
        return taught
    try:
        fitted = _read_fit(path)
        if isinstance(fitted, dict) and "effects" in fitted:
            from perfmodel.model.fitted.own_effects import effects_of, fingerprint

            return with_own_effects(calibration(), effects_of(fitted, path, fingerprint(FITTED.read_bytes())))
        learned = before_fit()._replace(
            efficiency=Efficiency(fitted["efficiency"], borrowed=borrowed_effects(fitted["efficiency"])),
            seen={kind: frozenset(names) for kind, names in fitted["seen"].items()},
            reach={name: (low, high) for name, (low, high) in fitted["reach"].items()},
            spread={mode: Spread(**numbers) for mode, numbers in fitted["spread"].items()},
        )
        of_steps = fitted.get("transformers", of_transformers()["parameters"])
        learned = learned._replace(transformers={**of_steps, **learned.efficiency.of_transformers})
        return with_scaling(learned, fitted["scaling"])
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal("calibration.malformed", error=str(error)).under(path) from None


def _read_fit(path: Path | str) -> Any:
    """Read a calibration file, with its own error for a TOML file."""
    try:
        return read_json(path, LARGEST_TEXT, "what perfmodel calibrate writes")
    except InputError as error:
        if _is_toml(path):
            raise refusal("calibration.toml").under(path) from error
        raise


def _is_toml(path: Path | str) -> bool:
    """Return whether a file is readable TOML."""
    try:
        return bool(read_toml(path))
    except InputError:
        return False


def with_own_effects(constants: Calibration, own: OwnEffects) -> Calibration:
    """Return constants with the effects learned from a user's own runs."""
    return constants._replace(efficiency=constants.efficiency.with_own_effects(own), own=own)


def calibrated(path: str, profile: str | None = None, catalogue: Catalogue | None = None) -> Calibration:
    """Return the constants in a file of ``perfmodel calibrate``, cached until the file changes.

    Parameters
    ----------
    path, catalogue : as of ``read_calibration``
    profile : the profile's file of the same job, if any; it replaces effects on computation

    Raises
    ------
    InputError : as for ``read_calibration``
    """
    if not path.strip():
        raise refusal("calibration.no_file", path=path)
    return _read_once(path, profile is not None, catalogue if is_table(path) else None, *version(path))


@lru_cache(maxsize=16)
def _read_once(
    path: str, links_only: bool, catalogue: Catalogue | None, changed: int, size: int
) -> Calibration:
    """Read a calibration file; the time and size of the file are part of the cache's key."""
    read = read_calibration(path, catalogue)
    return read if read.own is None or not links_only else with_own_effects(read, read.own.of_links())


@cache
def of_collectives() -> Mapping[str, Any]:
    """Return the fit to measured collectives, as ``model.collectives.model`` reads it."""
    table: Mapping[str, Any] = json.loads(COLLECTIVE_FIT.read_text("utf-8"))
    return table


@cache
def of_transformers() -> Mapping[str, Any]:
    """Return the fit to measured steps of transformers."""
    table: Mapping[str, Any] = json.loads(TRANSFORMER_FIT.read_text("utf-8"))
    return table


@cache
def facts() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of ``calibration.toml`` by name; those of links are ``link_fraction.KIND``."""
    table = tomllib.loads((Path(__file__).parent / "calibration.toml").read_text("utf-8"))
    links = {f"link_fraction.{kind}": entry for kind, entry in table.pop("link_fraction").items()}
    return links | {name: entry for name, entry in table.items() if name != "sources"}


@cache
def before_fit(left_out: frozenset[str] = frozenset()) -> Calibration:
    """Return the constants of ``calibration.toml`` alone, before any run is fitted.

    Parameters
    ----------
    left_out : sources of measured rows to exclude: constants that rest on them alone take neutral values
    """

    def rests_on_them(entry: Mapping[str, Any]) -> bool:
        return "neutral" in entry and left_out.issuperset(entry["sources"])

    value: dict[str, Any] = {
        name: float(entry["neutral"] if rests_on_them(entry) else entry["value"])
        for name, entry in facts().items()
    }

    return Calibration(
        efficiency=Efficiency({}),
        seen={"accelerator": frozenset(), "link": frozenset(), "software": frozenset()},
        reach={},
        spread={},
        link_fraction={
            name.removeprefix("link_fraction."): share for name, share in value.items() if "." in name
        },
        decode_rate=value["decode_rate"],
        **{name: value[name] for name in SCALARS},
        **{name: of_collectives()["parameters"][learned] for name, learned in LATENCIES.items()},
        transformers=of_transformers()["parameters"],
        assumed=tuple(name for name, entry in facts().items() if entry["basis"] == "assumed"),
    )
