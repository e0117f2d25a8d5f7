"""The equations of one prediction with its numbers in them, and their sources.

Only this package imports sympy, and only where an explanation needs it: to say which arm of a maximum is
active and where another one takes over.
"""

from perfmodel.decide.explanations.explanation import explain

__all__ = ["explain"]
