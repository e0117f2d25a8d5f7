"""Warnings about the accelerator of a job: announced figures, its software, arithmetic, and power limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.hardware.accelerator import USUAL_POWER, Accelerator
from perfmodel.hardware.machine_words import accelerator_words, node_words

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.hardware.link import Link
    from perfmodel.hardware.node import Node
    from perfmodel.hardware.provenance import SourcedSpec


def of_announced(*specs: SourcedSpec) -> list[str]:
    """Return a warning for each spec with numbers that its maker has only announced.

    Parameters
    ----------
    specs : accelerators and links of a job
    """
    return [
        f"{_words(spec)} is announced, not measured: {', '.join(spec.announced)} are preliminary figures"
        for spec in specs
        if spec.announced
    ]


def _words(spec: SourcedSpec) -> str:
    return accelerator_words(spec) if isinstance(spec, Accelerator) else spec.name


def in_another_machine(node: Node, accelerator: Accelerator, catalogue: Catalogue) -> list[str]:
    """Return a warning where a machine is sold with another accelerator; empty where it is not."""
    if node.accelerator in (None, accelerator.id):
        return []
    sold = accelerator_words(catalogue.accelerator(node.accelerator))
    return [f"{node_words(node)} is sold with {sold}; predicted with {accelerator_words(accelerator)} in it"]


def of_hardware(accelerator: Accelerator, intra: Link, software: str) -> list[str]:
    """Return the warnings about an accelerator and its link to peers, whatever the job.

    Parameters
    ----------
    accelerator, intra : the accelerator and its link to peers
    software : name of the job's software
    """
    warnings = of_announced(accelerator, intra)
    if accelerator.collective_library is None and not accelerator.is_tpu:
        warnings.append(f"software of {accelerator.vendor} is not modelled: {software} stands for it")
    return warnings


def of_accelerator(
    accelerator: Accelerator, intra: Link, software: str, precision: str, peak_format: str, is_sharded: bool
) -> list[str]:
    """Return the warnings about the accelerator of a job.

    Parameters
    ----------
    accelerator, intra : the accelerator and its link to peers
    software : name of the job's software
    precision, peak_format : precision of training, and the number format of the peak that serves it
    is_sharded : whether the job has a layout
    """
    warnings = of_hardware(accelerator, intra, software)
    if precision in ("fp16", "amp") and peak_format == "fp32":
        warnings.append(
            f"{accelerator_words(accelerator)} computes {precision} at its fp32 rate; only memory is saved"
        )
    if not is_sharded and accelerator.tdp is None:
        warnings.append(
            f"the power limit of {accelerator_words(accelerator)} is unknown: its matrix products are taken "
            f"as at {USUAL_POWER:g} W"
        )
    return warnings
