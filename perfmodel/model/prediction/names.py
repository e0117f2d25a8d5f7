"""What people call the network, accelerator, links and machine of a prediction, which knows their ids.

Of what the catalogue does not have, as of a saved answer or of a file, the id is returned.
"""

from collections.abc import Mapping
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words, node_words
from perfmodel.workloads.built_in import MODULES
from perfmodel.workloads.catalogue import network_words, workload


def accelerator_name(id: str, catalogue: Catalogue | None = None) -> str:
    """Return what people call an accelerator of a catalogue, by default the built-in one."""
    try:
        return accelerator_words(Catalogue.of(catalogue).accelerator(id))
    except InputError:
        return id


def link_name(id: str | None, catalogue: Catalogue | None = None) -> str:
    """Return what people call a link of a catalogue, by default the built-in one; of None ``no network``."""
    if id is None:
        return "no network"
    try:
        return link_words(Catalogue.of(catalogue).link(id))
    except InputError:
        return id


def node_name(id: str, catalogue: Catalogue | None = None) -> str:
    """Return what people call a machine of a catalogue, by default the built-in one."""
    try:
        return node_words(Catalogue.of(catalogue).node(id))
    except InputError:
        return id


def effect_words(name: str) -> str:
    """Return an effect on runs as people call it, by its name in ``OwnEffects``.

    >>> effect_words("accelerator/v100-sxm2-16gb"), effect_words("link/ib-edr-100g")
    ('accelerator V100 SXM2 16 GB', 'link InfiniBand EDR 100 Gbit/s')
    >>> effect_words("run/resnet50 on v100-sxm2-16gb, pytorch in amp")
    'ResNet-50 on V100 SXM2 16 GB, pytorch in amp alone'
    """
    component, _, key = name.partition("/")
    if component == "run":
        job, _, software = key.rpartition(", ")
        network, _, accelerator = job.rpartition(" on ")
        return f"{network_name(network)} on {accelerator_name(accelerator)}, {software} alone"
    called = {"accelerator": accelerator_name, "network": network_name, "link": link_name}.get(component, str)
    return f"{component} {called(key)}"


def network_name(id: str) -> str:
    """Return what people call a built-in network; of a file its path.

    >>> network_name("llama-3-70b"), network_name("resnet50"), network_name("resnet50-v1.5")
    ('Llama 3 70B', 'ResNet-50', 'ResNet-50 v1.5')
    """
    return network_words(workload(id)) if id in MODULES else id


def training_name(id: str, options: Mapping[str, Any]) -> str:
    """Return what people call a network, and that adapters alone are trained where they are.

    Parameters
    ----------
    id : of the network
    options : of the job, by their names in Python

    >>> training_name("llama-2-70b", {"lora": 16, "frozen_weights": "nf4"}), training_name("llama-2-7b", {})
    ('QLoRA of Llama 2 70B', 'Llama 2 7B')
    """
    if not options.get("lora"):
        return network_name(id)
    four_bits = str(options.get("frozen_weights") or "").startswith("nf4")
    return f"{'QLoRA' if four_bits else 'LoRA'} of {network_name(id)}"
