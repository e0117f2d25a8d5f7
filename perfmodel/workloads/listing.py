"""Networks as tables, as ``perfmodel workloads --json`` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import unknown_name
from perfmodel.core.files.tables import ListAnswer, Rows
from perfmodel.workloads.built_in import groups, names

if TYPE_CHECKING:
    from perfmodel.workloads.workload import Workload


@dataclass(frozen=True)
class NetworkSummary:
    """A network; counts are of one sample, without a batch."""

    id: str
    """By which options name it."""
    name: str
    """As papers write it."""
    variant: str
    """Which of several networks of that name it is."""
    source: str
    """Who describes it."""
    sample: str
    """What one sample is."""
    sequence_length: int | None
    """Tokens of a sample, where it has any."""
    parameters: int
    forward_flops: float
    """Of the forward pass [FLOP]; a multiply-add is two."""
    training_flops: float
    """Of forward and backward pass [FLOP]."""
    dataset: str | None
    """It is usually trained on; None where that is not known."""
    dataset_samples: int | None
    """Samples of an epoch; None where that is not known."""
    without: str
    """Parts of the published network that are left out; empty where none are."""
    active_parameters: int
    """That one sample or token passes through."""


@dataclass(frozen=True)
class LayerRow:
    """One layer; counts are of one sample."""

    name: str
    """Of the layer."""
    kind: str
    """Of the layer."""
    parameters: int
    forward_flops: float
    """[FLOP]"""
    backward_flops: float
    """[FLOP]"""
    forward_elements: float
    """Of activations, read and written."""
    backward_elements: float
    """Read and written by the backward pass of one sample."""
    saved_elements: float
    """Kept for the backward pass."""


@dataclass(frozen=True)
class NetworkTable(NetworkSummary, Rows):
    """A network, layer by layer."""

    architecture: dict[str, Any] | None
    """Widths and counts of a transformer; None of other networks."""
    layers: list[LayerRow]
    """In order."""

    @property
    def rows(self) -> list[LayerRow]:
        """The layers, as of any table."""
        return self.layers


class NetworkList(ListAnswer[NetworkSummary]):
    """Networks; counts are of one sample, without a batch."""


LAYER_FIELDS = tuple(LayerRow.__dataclass_fields__)
SUMMARY_FIELDS = tuple(name for name in NetworkSummary.__dataclass_fields__ if name != "active_parameters")


def listed(word: str | None = None) -> dict[str, list[str]]:
    """Return heading -> names of built-in networks, or only names that contain a word.

    Raises
    ------
    InputError : no name contains the word
    """
    from perfmodel.core.records.names import squashed

    result = {
        heading: [name for name in members if word is None or squashed(word) in squashed(name)]
        for heading, members in groups().items()
    }
    if not any(result.values()):
        raise unknown_name("workload", str(word), names())
    return result


def networks(word: str | None = None) -> NetworkList:
    """Return the summaries of built-in networks whose names contain a word; errors as of ``listed``."""
    from perfmodel.workloads import workload

    return NetworkList(summary_of(workload(name)) for members in listed(word).values() for name in members)


def summary_of(network: Workload) -> NetworkSummary:
    """Return the row of a network in a list."""
    return NetworkSummary(**_summary(network))


def _summary(network: Workload) -> dict[str, Any]:
    counts = {field: getattr(network, field) for field in SUMMARY_FIELDS}
    return counts | {"active_parameters": active_parameters(network)}


def table_of(network: Workload) -> NetworkTable:
    """Return the table of a network, layer by layer."""
    model = network.architecture
    widths = None if model is None else model._asdict()
    if widths is not None and model is not None and model.tower is not None:
        widths["tower"] = model.tower._asdict()
    layers = [
        LayerRow(**{field: getattr(layer, field) for field in LAYER_FIELDS}) for layer in network.layers
    ]
    if widths and network.architecture and network.architecture.scan:
        widths["scan"] = network.architecture.scan._asdict()
    return NetworkTable(**_summary(network), architecture=widths, layers=layers)


def active_parameters(network: Workload) -> int:
    """Return the parameters that one sample or token uses."""
    architecture = network.architecture
    return architecture.active_parameters if architecture and architecture.experts else network.parameters
