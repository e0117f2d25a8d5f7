"""The equations of one prediction with its numbers in them, and the sources it stands on.

The only package that imports sympy, when an explanation needs it: to say which arm of a maximum is active and
where another one takes over.
"""

from perfmodel.decide.explanations.explanation import explain

__all__ = ["explain"]
