"""What a workload is: a network as a table of layers, with what is known of its data set."""

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
    """What decides how fast a kind of layer is computed."""

    traffic: str
    """Of ``efficiency.KINDS``: how fast its memory traffic goes."""
    product: str = ""
    """Of ``efficiency.CLASSES``: how fast its matrix product goes; ``conv`` where the shape of its filter
    says which, empty where there is none."""

    @property
    def is_weighted(self) -> bool:
        """Whether its product is one of weights; ``matmul`` is one of two activations (attention)."""
        return self.product not in ("", MATMUL)

    @property
    def convolves(self) -> bool:
        """Whether its weights are filters that pass over a map."""
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
"""Every kind of layer."""


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
    """FLOP per sample; a layer whose input needs no gradient has its weight gradient only."""
    forward_elements: float = 0.0
    """Activation elements read and written per sample; parameters are counted apart."""
    backward_elements: float = 0.0
    """Activation and gradient elements read and written per sample."""
    saved_elements: float = 0.0
    """Elements per sample kept from the forward for the backward pass."""
    gemm_rows: float = 0.0
    """Rows per sample of the (implicit) matrix product: output pixels, or tokens; 0 where there is none."""
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
        """What decides how fast it is computed."""
        return KINDS[self.kind]


class Tables(NamedTuple):
    """Embedding tables that are shared out over accelerators; arrays of shape (tables,)."""

    parameters: NDArray[np.float64]
    looked_up: NDArray[np.float64]
    """Elements of the rows that one sample looks up."""

    @property
    def number(self) -> float:
        """How many there are."""
        return float(len(self.parameters))

    @property
    def all_parameters(self) -> float:
        """Parameters of all tables together."""
        return ops.number(self.parameters.sum())  # type: ignore[no-any-return]

    @property
    def largest(self) -> float:
        """Parameters of the largest, which is never cut."""
        return ops.number(self.parameters.max())  # type: ignore[no-any-return]

    @property
    def all_looked_up(self) -> float:
        """Elements that one sample looks up in all of them."""
        return ops.number(self.looked_up.sum())  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Workload:
    """A network and the data it is trained on.

    Arrays over the layers are in forward order, float64, and made once.
    """

    id: str
    """What ``--workload`` takes."""
    name: str
    """As its publication writes it."""
    family: str
    """``cnn``, ``transformer``, ``recommender`` or ``custom``."""
    layers: tuple[Layer, ...]
    variant: str = ""
    """What tells this network from its namesakes: v1 or v1.5, auxiliary heads, groups."""
    source: str = ""
    """A key of ``references.toml``, or the file it was read from."""
    sample: str = "image"
    """What one sample is: ``image``, ``sequence``, ``volume``, ``rating`` or ``click``."""
    sequence_length: int | None = None
    input_elements: float = 0.0
    """Elements of one sample copied to the accelerator."""
    stored_bytes: float = 0.0
    """Bytes of one sample as it lies in storage."""
    dataset: str = ""
    dataset_samples: int | None = None
    default_local_batch_size: int = 32
    """Samples on each accelerator where nobody says."""
    default_optimizer: str = "sgd"
    """Taken where nobody says."""
    detection_heads: bool = False
    """Whether it works on boxes or regions, which no layer stands for."""
    padded: bool = False
    """Whether half of what it is trained on may be padding, which software can leave out."""
    architecture: Architecture | None = None
    """Widths and counts of a transformer; None of another network, and where only its layers are known."""
    without: str = ""
    """Parts of the published network that are left out, with their parameters; empty where none are."""

    shares_tables: bool = False
    """Whether it is usually trained with its embedding tables shared out over the accelerators."""
    remarks: tuple[str, ...] = ()
    """What a file left open, and what was taken instead: a prediction notes it."""
    tables: Tables | None = None
    """Those that are shared out, whose layers then hold no tensors; None where every copy has all."""

    @property
    def notes(self) -> list[str]:
        """What to say wherever it is predicted."""
        left_out = [f"{self.id} is predicted without {self.without}"] if self.without else []
        return [*left_out, *self.remarks]

    @property
    def tokens(self) -> int | None:
        """Tokens of one sample, as a transformer's layers see it: of a sequence, or of an image's patches."""
        model = self.architecture
        if self.sequence_length is None and model is not None and model.patch_elements:
            return model.positions
        return self.sequence_length

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """Kind of each layer."""
        return np.array([layer.kind for layer in self.layers])

    def column(self, field: str) -> NDArray[np.float64]:
        """One field of every layer, as float64 [layers]."""
        columns: dict[str, NDArray[np.float64]] = self._columns
        if field not in columns:
            columns[field] = np.array([getattr(layer, field) for layer in self.layers], dtype=np.float64)
        return columns[field]

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {}

    @cached_property
    def tensor_elements(self) -> NDArray[np.float64]:
        """Elements of every parameter tensor, in the order the network registers them, as float64."""
        return np.array([n for layer in self.layers for n in layer.tensors], dtype=np.float64)

    def with_counts(self, columns: dict[str, Any], tensor_elements: Any, others: dict[str, Any]) -> Self:
        """Return the network with other counts: of its layers, by field, of its tensors, of its fields."""
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
