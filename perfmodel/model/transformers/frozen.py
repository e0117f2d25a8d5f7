"""Frozen weights of a fine-tuned transformer: their storage, and the adapters trained in their place."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.low_rank import adapter_parameters
from perfmodel.equations.quantized_weights import expansion_traffic_bytes, quantized_bytes
from perfmodel.model.options.adapters import PRODUCTS
from perfmodel.model.transformers.architecture import Dimensions

NF4_BITS, NF4_BLOCK, NF4_SCALE = 4, 64, 4
"""NF4 of bitsandbytes and torchao: bits of a code, parameters of a block, bytes of its scale in fp32."""
SCALE_BITS, SCALE_BLOCK = 8, 256
"""Double quantization: bits of a scale, and scales of a block, which has a scale in fp32."""
EXPANSION_KERNELS = {"16-bit": 0, "nf4": 1, "nf4-double": 3}
"""Storage of frozen weights -> kernels that expand those of one product, by ``dequantize_4bit`` of
bitsandbytes: quantized scales are expanded and shifted first."""
EXPANDED_BYTES = 2
"""Bytes of a weight as the product reads it."""


class Adapted(NamedTuple):
    """Whether each product of a layer has adapters, 1 or 0."""

    q: Any = 0.0
    k: Any = 0.0
    v: Any = 0.0
    o: Any = 0.0
    gate: Any = 0.0
    up: Any = 0.0
    down: Any = 0.0

    @property
    def projections(self) -> Any:
        """Adapted products of those that make queries, keys and values."""
        return self.q + self.k + self.v


def adapted_of(products: tuple[str, ...]) -> Adapted:
    """Return which products have adapters, by their names."""
    return Adapted(*(float(product in products) for product in PRODUCTS))


def stored_bytes(storage: str) -> Any:
    """Return the bytes of a frozen parameter of a product, by the option's word [B]."""
    if storage == "16-bit":
        return float(EXPANDED_BYTES)
    scale: Any = given(NF4_SCALE, "constants.nf4_scale_bytes", "bitsandbytes")
    if storage == "nf4-double":
        bits = given(SCALE_BITS, "constants.nf4_scale_bits", "bitsandbytes")
        scale = quantized_bytes(bits, scale, given(SCALE_BLOCK, "constants.nf4_scale_block", "bitsandbytes"))
    bits = given(NF4_BITS, "constants.nf4_bits", "bitsandbytes")
    return quantized_bytes(bits, scale, given(NF4_BLOCK, "constants.nf4_block", "bitsandbytes"))


def projected_widths(model: Dimensions) -> tuple[Any, Any, Any]:
    """Return the features of queries, keys and values; of latent attention as widths of equal cost."""
    each = (
        model.heads * model.head_size,
        model.kv_heads * model.head_size,
        model.kv_heads * model.value_size,
    )
    return tuple(model.projected_width * width / sum(each) for width in each)


def adapted_projections(model: Dimensions, adapted: Adapted) -> Any:
    """Return the features of those of queries, keys and values whose products have adapters."""
    q, k, v = projected_widths(model)
    return adapted.q * q + adapted.k * k + adapted.v * v


def layer_adapters(model: Dimensions, adapted: Adapted, rank: Any) -> tuple[Any, Any]:
    """Return the parameters of the adapters of a mean layer: of all tokens' products, and of an expert."""
    into_heads = adapted.projections * model.hidden + adapted_projections(model, adapted)
    width = into_heads + adapted.o * (model.heads * model.value_size + model.hidden)
    of_parts = adapted.gate + adapted.up + adapted.down
    routed = 1 - model.dense_share
    dense = model.dense_share * (model.hidden + model.feed_forward)
    shared = routed * model.shared_experts * (model.hidden + model.expert_width)
    of_all = adapter_parameters(rank, width + of_parts * (dense + shared))
    return of_all, adapter_parameters(rank, of_parts * (model.hidden + model.expert_width))


def largest_product(model: Dimensions) -> Any:
    """Return the weights of the largest product of a layer."""
    width = ops.maximum(model.feed_forward, model.expert_width)
    return model.hidden * ops.maximum(model.projected_width, width)


def expansion_bytes(model: Dimensions, tensor: Any, experts_of_rank: Any, stored: Any) -> Any:
    """Return the bytes that one rank moves to expand the weights of a mean layer once."""
    routed = 1 - model.dense_share
    each = model.attention_parameters + model.dense_share * model.dense_parameters
    each = each + routed * (model.shared_experts + experts_of_rank) * model.expert_parameters
    return expansion_traffic_bytes(
        each / tensor, stored, given(EXPANDED_BYTES, "constants.weight_bytes", "bf16")
    )
