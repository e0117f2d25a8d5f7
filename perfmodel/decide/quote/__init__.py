"""Compare a vendor's claims with physical bounds, the model's interval and measured runs."""

from perfmodel.decide.quote.check import check_quote
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.file import Claim, Quote, example_names, read_quote

__all__ = ["Checked", "Claim", "Quote", "check_quote", "example_names", "read_quote"]
