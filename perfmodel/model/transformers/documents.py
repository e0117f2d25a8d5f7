"""Positions that attention reaches at most: those of a sequence, or of a document packed into it."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations.packing import positions_of_document
from perfmodel.workloads.architecture import Architecture


def document_positions(model: Architecture, sequence_length: Any) -> Any:
    """Return the positions of the document in which a token lies, the mean over tokens; at most a sequence.

    Parameters
    ----------
    model : network, with the documents of its sequences
    sequence_length : tokens of a sequence
    """
    if not model.document_length:
        return sequence_length
    return ops.minimum(sequence_length, positions_of_document(model.document_length, model.document_spread))
