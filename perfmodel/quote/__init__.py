"""Hold a vendor's claims against physical bounds, the model's interval and measured runs."""

from perfmodel.quote.check import check_quote
from perfmodel.quote.checked import Checked
from perfmodel.quote.file import Claim, Quote, example_names, read_quote

__all__ = ["Checked", "Claim", "Quote", "check_quote", "example_names", "read_quote"]
