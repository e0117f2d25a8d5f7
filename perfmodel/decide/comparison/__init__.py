"""Predictions side by side: which options differ, and by how much the results do."""

from perfmodel.decide.comparison.case import Case, case_of
from perfmodel.decide.comparison.saved import saved_case
from perfmodel.decide.comparison.side_by_side import Comparison, Input, Row, compare

__all__ = ["Case", "Comparison", "Input", "Row", "case_of", "compare", "saved_case"]
