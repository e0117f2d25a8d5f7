"""The products of a transformer that have adapters of low rank (LoRA)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.errors import refusal
from perfmodel.hardware.software import AMPERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from perfmodel.hardware.accelerator import Accelerator
    from perfmodel.hardware.software import Release
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.architecture import Architecture

PRODUCTS = ("q", "k", "v", "o", "gate", "up", "down")
"""Products of a layer: queries, keys, values, attention's output, and those of a feed-forward part."""
GATE = "gate"
GROUPS: dict[str, tuple[str, ...]] = {
    "attention": PRODUCTS[:4],
    "feed-forward": PRODUCTS[4:],
    "mlp": PRODUCTS[4:],
    "all": PRODUCTS,
    "all-linear": PRODUCTS,
    "linear_qkv": PRODUCTS[:3],
    "linear_proj": ("o",),
    "linear_fc1": ("gate", "up"),
    "linear_fc2": ("down",),
    "output_proj": ("o",),
    **{f"{product}_proj": (product,) for product in PRODUCTS},
}
"""Other names of products, by PEFT, torchtune and Megatron, and names of several -> the products."""


def targets_of(text: str | None, usual: Iterable[str], model: Architecture) -> tuple[str, ...]:
    """Return the products of a network that have adapters, in the order of ``PRODUCTS``.

    Parameters
    ----------
    text : names of products or groups, separated by commas; None for the usual ones
    usual : products that the software adapts by default; a network without gates has no ``gate``
    model : the network

    Raises
    ------
    InputError : an unknown name, or a product that the network does not have

    Examples
    --------
    >>> from perfmodel.workloads import workload
    >>> model = workload("llama-3-8b").architecture
    >>> targets_of("q,v,mlp", (), model), targets_of(None, ("q", "v"), model)
    (('q', 'v', 'gate', 'up', 'down'), ('q', 'v'))
    """
    names = list(usual) if text is None else [name.strip() for name in text.lower().split(",")]
    chosen: set[str] = set()
    for name in names:
        products = GROUPS.get(name, (name,))
        if not set(products) <= set(PRODUCTS):
            raise refusal("layout.lora_targets", "lora_targets", name=name, known=", ".join(PRODUCTS))
        if products == (GATE,) and not model.gated and text is not None:
            raise refusal("layout.lora_gate", "lora_targets")
        chosen.update(products)
    if not model.gated:
        chosen.discard(GATE)
    return tuple(product for product in PRODUCTS if product in chosen)


def check_tuning(
    scenario: Scenario,
    model: Architecture,
    facts: Release,
    accelerator: Accelerator,
    remark: Callable[[str], None],
) -> None:
    """Refuse impossible options of fine-tuning, and warn of those without effect.

    Raises
    ------
    InputError : a rank beyond the features of a layer, unknown products, or trained weights in 4 bits
    """
    rank, stored = scenario.lora, scenario.frozen_weights
    targets_of(scenario.lora_targets, (), model)
    if rank is None:
        if stored not in (None, "16-bit"):
            raise refusal("layout.frozen", "frozen_weights", stored=stored)
        named = {"--lora-targets": scenario.lora_targets, "--frozen-weights": stored}
        for option in (option for option, value in named.items() if value is not None):
            remark(f"{option} without effect: all weights are trained; --lora RANK freezes them")
    elif rank > model.hidden:
        raise refusal("layout.lora", rank=rank, hidden=model.hidden)
    if scenario.document_length is not None and (accelerator.compute_capability or AMPERE) < facts.flash_from:
        remark(f"--document-length saves nothing: on {accelerator.id} all scores are computed, then masked")
