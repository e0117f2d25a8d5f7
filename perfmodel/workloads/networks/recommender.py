"""Recommenders: neural collaborative filtering (He et al. 2017), DLRM (Naumov et al. 2019) and two towers.

Sizes are those of NVIDIA's DeepLearningExamples, of AdaptDL's example for MovieLens 1M, and of TorchRec's
retrieval example for two towers.  As there, NCF's tables are replicated with dense gradients, and the others'
are sharded.
"""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.workload import Workload


class _Ratings(NamedTuple):
    users: int
    items: int
    factors: int
    mlp: tuple[int, ...]
    samples: int
    """Positive ratings less one per user, and four negatives for each."""
    dataset: str


_NCF = {
    "ncf": _Ratings(138_493, 26_744, 64, (256, 256, 128, 64), 5 * (20_000_263 - 138_493), "MovieLens 20M"),
    "ncf-ml1m": _Ratings(6_040, 3_706, 32, (256, 128, 64, 32), 5 * (1_000_209 - 6_040), "MovieLens 1M"),
}

# fmt: off
_CRITEO_TABLES = (
    7912889, 33823, 17139, 7339, 20046, 4, 7105, 1382, 63, 5554114, 582469, 245828, 11,
    2209, 10667, 104, 4, 968, 15, 8165896, 2675940, 7156453, 302516, 12022, 97, 35,
)
# fmt: on
"""Rows of the 26 tables of Criteo Terabyte, values seen fewer than 15 times dropped."""

NAMES = ("ncf", "ncf-ml1m", "dlrm", "two-tower")


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    if name in _NCF:
        return _ncf(name)
    return _dlrm(name) if name == "dlrm" else _two_tower(name)


def _ncf(name: str) -> Workload:
    sizes = _NCF[name]
    net = Network()
    factors = [
        net.embedding(f"mf_{side}", 1, rows, sizes.factors)
        for side, rows in (("user", sizes.users), ("item", sizes.items))
    ]
    product = net.multiply(factors[0], factors[1], "mf_product")
    halves = [
        net.embedding(f"mlp_{side}", 1, rows, sizes.mlp[0] // 2)
        for side, rows in (("user", sizes.users), ("item", sizes.items))
    ]
    x = net.concat(halves, "mlp_input")
    x = _perceptron(net, x, "mlp", sizes.mlp[1:], dropout=True)
    x = net.concat([product, x], "joined")
    net.loss(net.linear(x, "final", 1))
    return Workload(
        id=name,
        name="NeuMF",
        family="recommender",
        layers=tuple(net.layers),
        variant=f"{sizes.factors} factors, MLP {'-'.join(map(str, sizes.mlp))}, {sizes.dataset}",
        source="he2017",
        sample="rating",
        input_elements=3.0,
        stored_bytes=12.0,
        dataset=sizes.dataset,
        dataset_samples=sizes.samples,
        default_local_batch_size=131_072 if name == "ncf" else 2_048,
        default_optimizer="adam",
    )


def _dlrm(name: str) -> Workload:
    features, width = 13, 128
    net = Network()
    x = _perceptron(net, Tensor(features, needs_gradient=False), "bottom", (512, 256, width))
    embedded = [net.embedding(f"table{index}", 1, rows, width) for index, rows in enumerate(_CRITEO_TABLES)]
    vectors = len(_CRITEO_TABLES) + 1
    together = net.concat([x, *embedded], "vectors")
    products = net.matmul(together, together, "interaction", vectors, vectors, width, 1)
    pairs = net.gather(products.view(1, products.elements), "pairs", vectors * (vectors - 1) // 2)
    # the dense vector, every pair once, and one zero to keep the width even
    x = net.concat([x, pairs.flat(), Tensor(1, needs_gradient=False)], "top_input")
    x = _perceptron(net, x, "top", (1024, 1024, 512, 256))
    net.loss(net.linear(x, "top.final", 1))
    elements = features + len(_CRITEO_TABLES) + 1
    return Workload(
        id=name,
        name="DLRM",
        family="recommender",
        layers=tuple(net.layers),
        variant="Criteo Terabyte, frequency limit 15, embeddings of 128",
        source="naumov2019",
        sample="click",
        input_elements=float(elements),
        stored_bytes=4.0 * elements,
        dataset="Criteo Terabyte",
        dataset_samples=4_195_197_692,
        default_local_batch_size=8_192,
        shares_tables=True,
    )


def _two_tower(name: str) -> Workload:
    rows, width, layers = 1024**2, 64, (128, 64)
    net = Network()
    looked_up = [net.embedding(f"{side}_table", 1, rows, width) for side in ("user", "item")]
    user, item = (
        _perceptron(net, x, f"{side}_tower", layers)
        for side, x in zip(("user", "item"), looked_up, strict=True)
    )
    net.loss(net.matmul(user, item, "score", 1, 1, layers[-1], 1))
    return Workload(
        id=name,
        name="Two-tower retrieval",
        family="recommender",
        layers=tuple(net.layers),
        variant=f"two tables of {rows:,} x {width}, towers of {'-'.join(map(str, layers))}, MovieLens 20M",
        source="ivchenko2022",
        sample="rating",
        input_elements=3.0,
        stored_bytes=12.0,
        dataset="MovieLens 20M",
        dataset_samples=20_000_263,
        default_local_batch_size=32,
        default_optimizer="adam",
        shares_tables=True,
    )


def _perceptron(net: Network, x: Tensor, name: str, widths: tuple[int, ...], dropout: bool = False) -> Tensor:
    for index, width in enumerate(widths):
        x = net.relu(net.linear(x, f"{name}.{index}", width), f"{name}.{index}.relu")
        if dropout:
            x = net.dropout(x, f"{name}.{index}.dropout")
    return x
