"""Wide & Deep (Cheng et al. 2016) on Outbrain's clicks, in the sizes of NVIDIA's DeepLearningExamples."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.workload import Workload

NAMES = ("wide-and-deep",)

NUMBERS, HIDDEN, LAYERS = 13, 1024, 5
"""Features that are numbers; neurons and number of the deep part's layers."""

# fmt: off
_ONE = (
    (300_000, 128), (250_000, 128), (100_000, 128), (5_000, 128), (4_000, 64), (4_000, 64), (2_500, 64),
    (2_500, 64), (2_000, 64), (1_000, 64), (1_000, 64), (300, 64), (4, 19),
)
_MANY = ((10_000, 64), (350, 64), (100, 64))
# fmt: on
"""Rows and width of the tables: of features with one value, and of those with up to ``HOTNESS``."""
HOTNESS = 3


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    deep: list[Tensor] = [Tensor(NUMBERS, needs_gradient=False)]
    wide: list[Tensor] = []
    for index, (rows, width) in enumerate((*_ONE, *_MANY)):
        lookups = 1 if index < len(_ONE) else HOTNESS
        deep.append(_looked_up(net, f"deep.table{index}", lookups, rows, width))
        wide.append(_looked_up(net, f"wide.table{index}", lookups, rows, 1))
    x = net.concat(deep, "deep.input")
    for layer in range(LAYERS):
        x = net.relu(net.linear(x, f"deep.{layer}", HIDDEN), f"deep.{layer}.relu")
        x = net.dropout(x, f"deep.{layer}.dropout")
    x = net.linear(x, "deep.final", 1)
    y = net.linear(net.concat([deep[0], *wide], "wide.input"), "wide.final", 1)
    net.loss(net.add(x, y, "sum"))
    elements = NUMBERS + len(_ONE) + HOTNESS * len(_MANY) + 1
    return Workload(
        id=name,
        name="Wide & Deep",
        family="recommender",
        layers=tuple(net.layers),
        variant=f"Outbrain, {LAYERS} layers of {HIDDEN}; all tables on every device",
        source="cheng2016",
        sample="click",
        input_elements=float(elements),
        stored_bytes=4.0 * elements,
        dataset="Outbrain Click Prediction",
        default_local_batch_size=16_384,
        default_optimizer="adam",
    )


def _looked_up(net: Network, name: str, lookups: int, rows: int, width: int) -> Tensor:
    """Append a look-up of several rows of a table, and their mean."""
    x = net.embedding(name, lookups, rows, width)
    return net.global_pool(x, f"{name}.mean") if lookups > 1 else x
