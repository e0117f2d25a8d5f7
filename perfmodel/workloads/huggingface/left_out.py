"""Parts of a published network that a config.json describes but the workload leaves out."""

from __future__ import annotations

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import Config

TOWERS = {"vision_config": "vision tower", "audio_config": "audio tower"}
"""Table of a file -> the part of the network that it describes."""
MORE_TOKENS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
"""Keys that count layers which predict a token after the next one (DeepSeek-V3, Qwen3.5)."""
WIDTHS = (("hidden_size",), ("num_hidden_layers", "depth"), ("intermediate_size",))
"""Keys of a tower's table: for its features, its layers and the inner width of its feed-forward part."""


def left_out(whole: Config, text: Config, architecture: Architecture, with_images: bool = False) -> str:
    """Return text on the parts left out, with their parameters if known; "" if nothing is left out.

    Parameters
    ----------
    whole, text : values of the file, and of its table from which the workload is read
    architecture : of the workload
    with_images : whether the vision tower is part of the workload
    """
    parts = [
        f"its {name}{_size(_tower_parameters(whole.table(key)))}"
        for key, name in TOWERS.items()
        if whole.values.get(key) and not (with_images and key == "vision_config")
    ]
    layers = sum(text.whole(key, 0, smallest=0) for key in MORE_TOKENS)
    if layers:
        what = "module that predicts" if layers == 1 else f"{layers} modules that predict"
        parts.append(f"its {what} more tokens{_size(layers * _module_parameters(architecture))}")
    return " and ".join(parts)


def _tower_parameters(tower: Config) -> float:
    """Return the parameters of the products in a tower's layers; 0 if the file does not state the widths."""
    sizes = [next((tower.whole(key) for key in keys if tower.values.get(key)), 0) for keys in WIDTHS]
    hidden, layers, inner = sizes
    return layers * (4 * hidden**2 + 2 * hidden * inner) if all(sizes) else 0


def _module_parameters(a: Architecture) -> int:
    """Return the parameters of one module that predicts a further token: a product and a layer."""
    experts = a.router_parameters + (a.experts + a.shared_experts) * a.expert_parameters
    return a.attention_parameters + (experts or a.dense_parameters) + 2 * a.hidden**2


def _size(parameters: float) -> str:
    return f" ({parameters / 1e9:.2g} B parameters)" if parameters else ""
