"""Documents packed into sequences, with attention inside each document alone.

Validity
--------
Many documents in a step; a document does not exceed a sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=("krell2021",))
def positions_of_document(document_length: Real, document_spread: Real) -> Real:
    r"""Positions of the document in which a token lies, the mean over tokens.

    .. math:: d = \frac{\sum_i s_i^2}{\sum_i s_i} = m (1 + v^2)

    Attention to all positions of a document of s tokens makes s^2 scores, so this length, not the mean over
    documents, decides the scores of a token.

    Parameters
    ----------
    document_length : m [tokens], the mean over documents
    document_spread : v [1], standard deviation of the length over its mean

    Returns
    -------
    document_positions [tokens]

    Examples
    --------
    Documents of 100 and 300 tokens, m = 200 and v = 1/2: (100^2 + 300^2) / 400.

    >>> positions_of_document(200, 0.5)
    250.0
    """
    return document_length * (1 + document_spread**2)
