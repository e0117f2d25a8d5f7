"""A workload: a network as a table of layers, with its data set and training defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from perfmodel.core import ops

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfmodel.workloads.architecture import Architecture

CONVOLUTION, LINEAR, MATMUL = "conv", "linear", "matmul"


class Operation(NamedTuple):
    """Efficiency classes of a kind of layer, which decide its speed."""

    traffic: str
    """Class of its memory traffic, of ``efficiency.KINDS``."""
    product: str = ""
    """Class of its matrix product, of ``efficiency.CLASSES``; ``conv`` if the filter's shape decides, empty
    without a product."""

    @property
    def is_weighted(self) -> bool:
        """Whether its product has weights; ``matmul`` multiplies two activations (attention)."""
        return self.product not in ("", MATMUL)

    @property
    def convolves(self) -> bool:
        """Whether its weights are filters of a convolution."""
        return self.is_weighted and self.product != LINEAR


KINDS = {
    "conv": Operation("product", CONVOLUTION),
    "depthwise-conv": Operation("product", "depthwise"),
    "linear": Operation("product", LINEAR),
    "matmul": Operation("product", MATMUL),
    "norm": Operation("norm"),
    "activation": Operation("activation"),
    "add": Operation("activation"),
    "pool": Operation("activation"),
    "softmax": Operation("heavy"),
    "embedding": Operation("embedding"),
    "dropout": Operation("heavy"),
    "concat": Operation("heavy"),
    "loss": Operation("activation"),
    "other": Operation("heavy"),
}
"""Kind of layer -> its efficiency classes."""


class Layer(NamedTuple):
    """One layer of a network; counts are per sample where they grow with the batch."""

    name: str
    kind: str
    """One of ``KINDS``."""
    tensors: tuple[int, ...] = ()
    """Elements of each parameter tensor, in the order the network registers them."""
    forward_flops: float = 0.0
    """FLOP per sample; one multiply-add is two."""
    backward_flops: float = 0.0
    """FLOP per sample; a layer whose input needs no gradient has only its weight gradient."""
    forward_elements: float = 0.0
    """Activation elements read and written per sample, without parameters."""
    backward_elements: float = 0.0
    """Activation and gradient elements read and written per sample."""
    saved_elements: float = 0.0
    """Elements per sample kept from the forward for the backward pass."""
    gemm_rows: float = 0.0
    """Rows per sample of the (implicit) matrix product: output pixels, or tokens; 0 without a product."""
    gemm_columns: float = 0.0
    """Columns of the product: output channels of one group, or output features."""
    gemm_depth: float = 0.0
    """Length of each dot product: input channels of one group times filter size, or input features."""
    gemm_count: float = 1.0
    """Independent products: groups of a convolution, heads of an attention."""
    kernel_size: tuple[int, int] = (1, 1)
    stride: int = 1
    forward_kernels: float = 1.0
    """Kernels launched in the forward pass."""
    backward_kernels: float = 1.0
    """Kernels launched in the backward pass."""

    @property
    def parameters(self) -> int:
        """Trainable parameters."""
        return sum(self.tensors)

    @property
    def operation(self) -> Operation:
        """Efficiency classes of its kind."""
        return KINDS[self.kind]


class Tables(NamedTuple):
    """Embedding tables that are sharded over accelerators; arrays of shape (tables,)."""

    parameters: NDArray[np.float64]
    looked_up: NDArray[np.float64]
    """Elements of the rows that one sample looks up."""

    @property
    def number(self) -> float:
        """Number of tables."""
        return float(len(self.parameters))

    @property
    def all_parameters(self) -> float:
        """Parameters of all tables together."""
        return ops.number(self.parameters.sum())  # type: ignore[no-any-return]

    @property
    def largest(self) -> float:
        """Parameters of the largest table, which is never split."""
        return ops.number(self.parameters.max())  # type: ignore[no-any-return]

    @property
    def all_looked_up(self) -> float:
        """Elements that one sample looks up in all tables."""
        return ops.number(self.looked_up.sum())  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Workload:
    """A network and the data it is trained on.

    Arrays over the layers are in forward order, float64, and made once.
    """

    id: str
    """Value of ``--workload``."""
    name: str
    """Its name in the publication."""
    family: str
    """``cnn``, ``transformer``, ``recommender`` or ``custom``."""
    layers: tuple[Layer, ...]
    variant: str = ""
    """Difference from networks of the same name: v1 or v1.5, auxiliary heads, groups."""
    source: str = ""
    """A key of ``references.toml``, or the file it was read from."""
    sample: str = "image"
    """Kind of sample: ``image``, ``sequence``, ``volume``, ``rating`` or ``click``."""
    sequence_length: int | None = None
    image_tokens: int | None = None
    """Tokens of a sample that are of images, or of the image that a diffusion model makes; None of others."""
    input_elements: float = 0.0
    """Elements of one sample copied to the accelerator."""
    stored_bytes: float = 0.0
    """Bytes of one sample in storage."""
    dataset: str = ""
    dataset_samples: int | None = None
    default_local_batch_size: int = 32
    """Default samples per accelerator."""
    default_optimizer: str = "sgd"
    """Default of ``--optimizer``."""
    detection_heads: bool = False
    """Whether it has work on boxes or regions that no layer represents."""
    padded: bool = False
    """Whether up to half of its training tokens may be padding, which software can skip."""
    architecture: Architecture | None = None
    """Widths and counts of a transformer; None of other networks, and if only layers are known."""
    without: str = ""
    """Parts of the published network that are left out, with their parameters; empty without such parts."""

    shares_tables: bool = False
    """Whether its embedding tables are usually sharded over the accelerators."""
    remarks: tuple[str, ...] = ()
    """Assumptions made for what a file left open; a prediction notes them."""
    tables: Tables | None = None
    """Sharded tables, whose layers then have no tensors; None if every replica has all tables."""

    @property
    def notes(self) -> list[str]:
        """Notes for every prediction of it: parts left out, and assumptions."""
        left_out = [f"{self.id} is predicted without {self.without}"] if self.without else []
        return [*left_out, *self.remarks]

    @property
    def tokens(self) -> int | None:
        """Tokens of one sample of a transformer: of a sequence, or patches of an image; else None."""
        model = self.architecture
        if self.sequence_length is None and model is not None and model.patch_elements:
            return model.positions
        return self.sequence_length

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """Kind of each layer."""
        return np.array([layer.kind for layer in self.layers])

    def column(self, field: str) -> NDArray[np.float64]:
        """Return one field of all layers, as float64, shape (layers,)."""
        columns: dict[str, NDArray[np.float64]] = self._columns
        if field not in columns:
            columns[field] = np.array([getattr(layer, field) for layer in self.layers], dtype=np.float64)
        return columns[field]

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def tensor_elements(self) -> NDArray[np.float64]:
        """Elements of all parameter tensors, in the order the network registers them, as float64."""
        return np.array([n for layer in self.layers for n in layer.tensors], dtype=np.float64)

    def with_counts(self, columns: dict[str, Any], tensor_elements: Any, others: dict[str, Any]) -> Self:
        """Return the network with other numbers.

        Parameters
        ----------
        columns : field of a layer -> array over the layers
        tensor_elements : elements of all parameter tensors
        others : field of the workload -> value
        """
        changed = replace(self, **others)
        own: dict[str, Any] = {
            "_columns": columns,
            "tensor_elements": tensor_elements,
            "parameters": columns["parameters"].sum().item(),
        }
        vars(changed).update(own)
        return changed

    @cached_property
    def parameters(self) -> int:
        """Trainable parameters of the whole network."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def forward_flops(self) -> float:
        """FLOP of the forward pass of one sample."""
        return ops.number(self.column("forward_flops").sum())  # type: ignore[no-any-return]

    @cached_property
    def training_flops(self) -> float:
        """FLOP of the forward and backward pass of one sample."""
        backward: float = ops.number(self.column("backward_flops").sum())
        return self.forward_flops + backward

    @cached_property
    def saved_elements(self) -> float:
        """Activation elements of one sample kept for the backward pass."""
        return ops.number(self.column("saved_elements").sum())  # type: ignore[no-any-return]
