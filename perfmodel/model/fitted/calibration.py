"""What the equations leave out: constants read off measurements, and efficiencies fitted to training runs.

The first are in ``calibration.toml``, by hand and each with its source; the second in ``calibration.json``,
which ``perfmodel calibrate`` writes.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.reading import LARGEST_TEXT, read_json, read_toml, version
from perfmodel.model.fitted.efficiency import Efficiency, borrowed_effects

if TYPE_CHECKING:
    from perfmodel.model.fitted.own_effects import OwnEffects

SCALARS = (
    "jitter",
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
    "first_step_time",
    "reserved_bytes",
    "allocator_share",
)
"""Numbers of ``calibration.toml`` that stand alone."""
LATENCIES = {
    "launch_time": "launch",
    "library_hop_latency": "hop",
    "host_latency": "proxy",
    "crowd_latency": "crowd",
}
"""Numbers learned from collectives, by their names there."""
COLLECTIVE_FIT = Path(__file__).parents[1] / "collectives" / "model.json"
"""What ``python -m perfmodel.evidence.accuracy.collectives.collective_fit`` writes."""
TRANSFORMER_FIT = Path(__file__).parents[1] / "transformers" / "model.json"
"""What ``python -m perfmodel.evidence.accuracy.transformers.transformer_refit`` writes."""
FITTED = Path(__file__).parent / "calibration.json"
"""What ``perfmodel calibrate`` writes."""
NORMAL_80, NORMAL_95 = 1.2816, 1.9600
"""Quantiles of the normal law, either side."""


class Spread(NamedTuple):
    """How far runs of unseen sources were missed, as a scale times two quantiles."""

    weights: dict[str, float]
    """Of each condition, in the logarithm of the scale."""
    quantile_80: float
    """Of the absolute logarithmic error, at a scale of 1."""
    quantile_95: float


class Calibration(NamedTuple):
    """The fitted or assumed constants, in SI units."""

    efficiency: Efficiency
    """Of one accelerator, learned from measured runs."""
    seen: dict[str, frozenset[str]]
    """Accelerators, links and software that the measured runs were made with."""
    reach: dict[str, tuple[float, float]]
    """Smallest and largest measured: ``world size``, and ``local batch/NETWORK``."""
    spread: dict[str, Spread]
    """By the mode of a prediction."""
    link_fraction: dict[str, float]
    """Share of a link's rate that bulk transfers reach, by kind of link."""
    decode_rate: float
    """Samples per second of one loader worker."""
    jitter: float
    """Coefficient of variation of one worker's iteration, independent of the others'."""
    tcp_ceiling: float
    """Of one adapter through the kernel's TCP, by the connections that a library usually opens [B/s]."""
    connections_exponent: float
    """By which it grows with more of them [1]."""
    server_fraction: float
    """Share of the kernel's TCP that the software of parameter servers reaches."""
    server_ceiling: float
    """What one parameter server adds up, each way [B/s]."""
    staged_fraction: float
    """Share of a PCIe link's rate that is left on the way through host memory."""
    contention: float
    """Computation lost for each second of communication hidden behind it, on 80 multiprocessors."""
    replica_dispatches: float
    """Kernel dispatches of one process for each tensor, module and launch of a replica."""
    pageable_fraction: float
    """Share of the host link's rate of copies from memory that is not pinned."""
    page_cache_share: float
    """Of a host's memory, which keeps samples once read."""
    worker_start_time: float
    """To start one loader worker [s]."""
    process_start_time: float
    """Until a process is ready to build its network [s]."""
    first_step_time: float
    """Of the first iteration beyond a usual one [s]."""
    launch_time: float
    """Of a library's collective, before its first hop, by GPUs before Hopper [s]."""
    library_hop_latency: float
    """Of such a collective's hop in the only node, by a low-latency protocol [s]."""
    host_latency: float
    """What the host adds to a hop between nodes [s]."""
    crowd_latency: float
    """Of an all-reduce over several nodes, for each of them [s]."""
    reserved_bytes: float
    """Memory taken before the network's own [B]."""
    allocator_share: float
    """Memory lost to rounding and between blocks, over that of the tensors."""
    transformers: Mapping[str, float]
    """What was learned of steps of transformers, by name."""
    assumed: tuple[str, ...]
    """Names of the constants that nobody measured and no fit learned."""
    own: OwnEffects | None = None
    """What a user's own runs say beside all of this."""

    @property
    def latencies(self) -> tuple[float, float, float, float]:
        """What was learned from collectives, in the order of ``LATENCIES`` [s]."""
        return self.launch_time, self.library_hop_latency, self.host_latency, self.crowd_latency


def with_scaling(constants: Calibration, numbers: Mapping[str, float]) -> Calibration:
    """Return ``constants`` with what several accelerators taught; links are ``link/KIND``.

    What was learned is no longer assumed, whatever was believed of it before.
    """
    links = {name.removeprefix("link/"): value for name, value in numbers.items() if "/" in name}
    alone: dict[str, Any] = {name: value for name, value in numbers.items() if "/" not in name}
    learned = {*alone, *(f"link_fraction.{kind}" for kind in links)}
    assumed = tuple(name for name in constants.assumed if name not in learned)
    return constants._replace(link_fraction=constants.link_fraction | links, assumed=assumed, **alone)


@cache
def calibration() -> Calibration:
    """The constants shipped with the package, read once."""
    return read_calibration(FITTED)


def constants_of(constants: Calibration | None) -> Calibration:
    """Return learned constants, or for None those shipped with the package.

    Raises
    ------
    InputError : neither
    """
    if constants is None:
        return calibration()
    if not isinstance(constants, Calibration):
        raise refusal("calibration.invalid", "constants", constants=constants)
    return constants


def read_calibration(path: Path | str) -> Calibration:
    """Return the constants that ``perfmodel calibrate --output`` wrote, for ``predict(..., constants=...)``.

    Raises
    ------
    InputError : the file cannot be read, or is none of these; effects of own runs that were changed, or
        learned from another fit than comes along
    """
    try:
        fitted = _read(path)
        if isinstance(fitted, dict) and "effects" in fitted:
            from perfmodel.model.fitted.own_effects import effects_of, fingerprint

            return beside(calibration(), effects_of(fitted, path, fingerprint(FITTED.read_bytes())))
        learned = before_fit()._replace(
            efficiency=Efficiency(fitted["efficiency"], borrowed=borrowed_effects(fitted["efficiency"])),
            seen={kind: frozenset(names) for kind, names in fitted["seen"].items()},
            reach={name: (low, high) for name, (low, high) in fitted["reach"].items()},
            spread={mode: Spread(**numbers) for mode, numbers in fitted["spread"].items()},
        )
        of_steps = fitted.get("transformers", of_transformers()["parameters"])
        learned = learned._replace(transformers={**of_steps, **learned.efficiency.half_rates})
        return with_scaling(learned, fitted["scaling"])
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise refusal("calibration.malformed", error=str(error)).under(path) from None


def _read(path: Path | str) -> Any:
    try:
        return read_json(path, LARGEST_TEXT, "what perfmodel calibrate writes")
    except InputError as error:
        if _is_toml(path):
            raise refusal("calibration.toml").under(path) from error
        raise


def _is_toml(path: Path | str) -> bool:
    try:
        return bool(read_toml(path))
    except InputError:
        return False


def beside(constants: Calibration, own: OwnEffects) -> Calibration:
    """Return constants with what own runs say beside them."""
    return constants._replace(efficiency=constants.efficiency.beside(own), own=own)


def calibrated(path: str, profile: str | None = None) -> Calibration:
    """Return the constants of a file of ``perfmodel calibrate``, read once as long as it stays as it is.

    Parameters
    ----------
    path : of the file
    profile : the file of one of the same job, which then rules how fast an accelerator is

    Raises
    ------
    InputError : as of ``read_calibration``
    """
    if not path.strip():
        raise refusal("calibration.no_file", path=path)
    return _read_once(path, profile is not None, *version(path))


@lru_cache(maxsize=16)
def _read_once(path: str, links_alone: bool, changed: int, size: int) -> Calibration:
    read = read_calibration(path)
    return read if read.own is None or not links_alone else beside(read, read.own.of_links())


@cache
def of_collectives() -> Mapping[str, Any]:
    """What was learned from measured collectives, as ``model.collectives.model`` reads it."""
    table: Mapping[str, Any] = json.loads(COLLECTIVE_FIT.read_text("utf-8"))
    return table


@cache
def of_transformers() -> Mapping[str, Any]:
    """What was learned from measured steps of transformers."""
    table: Mapping[str, Any] = json.loads(TRANSFORMER_FIT.read_text("utf-8"))
    return table


@cache
def facts() -> Mapping[str, Mapping[str, Any]]:
    """What ``calibration.toml`` says of each constant, by name; of links as ``link_fraction.KIND``."""
    table = tomllib.loads((Path(__file__).parent / "calibration.toml").read_text("utf-8"))
    links = {f"link_fraction.{kind}": entry for kind, entry in table.pop("link_fraction").items()}
    return links | {name: entry for name, entry in table.items() if name != "sources"}


@cache
def before_fit(left_out: frozenset[str] = frozenset()) -> Calibration:
    """The constants of ``calibration.toml`` alone: what was known or believed before any run was fitted.

    Parameters
    ----------
    left_out : sources of measured rows that may not be looked at: what rests on them alone is neutral
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
