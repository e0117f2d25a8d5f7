"""The equations of one prediction with its numbers in them, and the sources it stands on.

The only package that imports sympy, and that only for exact derivatives.
"""

from perfmodel.explanations.explanation import explain

__all__ = ["explain"]
