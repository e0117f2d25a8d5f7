"""Words of empty fields that depend on what other fields say."""

from __future__ import annotations

from app import names, session_hardware
from app.options import Option
from app.state import newest
from perfmodel.core.units import show
from perfmodel.hardware.node import Node
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.transformers.usual_batch import usual_batch
from perfmodel.workloads import workload
from perfmodel.workloads.workload import Workload


def of_other_fields(known: dict[str, Option]) -> dict[str, Option]:
    """Return options with what an empty field means that follows from the machine and the network.

    That is the machine's accelerator, or the default one, its adapters and the memory of its host, and the
    tokens of a sample and the usual batch of the network.

    Parameters
    ----------
    known : options of a page, by name
    """
    option, machine = known.get("accelerator"), known.get("node")
    if option is None or machine is None or DEFAULT_ACCELERATOR not in option.usual:
        return known
    catalogue, id = session_hardware.catalogue(), _chosen(machine)
    own = catalogue.node(id).accelerator if id else None
    called = names.called(own or DEFAULT_ACCELERATOR, catalogue)
    usual = f"the machine's: {called}" if own else f"{called} (default)"
    taken = id or catalogue.accelerator(_chosen(option) or DEFAULT_ACCELERATOR).usual_node
    words = {"accelerator": usual, **_of_node(catalogue.node(taken) if taken else None), **_of_network(known)}
    if _is_given(known, "accelerators-per-node"):
        words.pop("nics", None)
    return known | {name: known[name]._replace(usual=shown) for name, shown in words.items() if name in known}


def assumed_batch(network: Workload, gpus: int) -> str:
    """Return the samples of a step that are taken where nobody says how many, as a placeholder.

    >>> assumed_batch(workload("bert-large"), 64), assumed_batch(workload("llama-3-8b"), 64)
    ('1,024 (assumed)', '512 (assumed)')
    """
    length = network.sequence_length or 1
    of_tokens = predicts_tokens(network)
    batch = usual_batch(gpus, length) if of_tokens else network.default_local_batch_size * gpus
    return f"{batch:,} (assumed)"


def _is_given(known: dict[str, Option], name: str) -> bool:
    """Return whether a page has a field and something is in it."""
    return name in known and newest(known[name]) is not None


def _chosen(option: Option) -> str | None:
    """Return which of its choices a field has; None where it is empty or has another word."""
    chosen = newest(option)
    return chosen if chosen in option.choices else None


def _of_node(node: Node | None) -> dict[str, str]:
    """Return what empty fields mean by what is known of a machine."""
    size = node.host_memory_bytes if node else None
    memory = "not known, e.g. 128GB" if size is None else f"the machine's: {show(size.value, 'B')}"
    adapters = {"nics": f"the machine's: {node.nics}"} if node and node.nics else {}
    return {"host-memory": memory, **adapters}


def _of_network(known: dict[str, Option]) -> dict[str, str]:
    """Return the samples of a page's network: their tokens, and the usual batch.

    The batch is left out where a layout or the whole batch decides it.
    """
    option = known.get("workload")
    if option is None:
        return {}
    network = workload(_chosen(option) or Scenario().workload)
    length = network.sequence_length
    words = {"sequence-length": f"the network's: {length:,}"} if length else {}
    if network.architecture is not None and network.architecture.predicts_next_token:
        return words
    if _is_given(known, "global-batch-size"):
        return words
    return {**words, "local-batch-size": f"the network's: {network.default_local_batch_size}"}
