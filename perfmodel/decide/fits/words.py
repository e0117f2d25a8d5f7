"""A change of options in words, for the advice and for pages."""

from collections.abc import Mapping
from typing import Any

from perfmodel.decide.comparison.option_words import COUNTED, option_words


def change_words(options: Mapping[str, Any]) -> str:
    """Return changed options in words, the number of GPUs first.

    >>> change_words({"tensor_parallel": 2, "world_size": 4, "local_batch_size": None})
    '4 GPUs, tensor parallel 2'
    """
    given = {name: value for name, value in options.items() if value is not None}
    order = sorted(given, key=lambda name: name not in COUNTED)
    return ", ".join(option_words(name, given[name]) for name in order)


def cost_words(slowdown: float) -> str:
    """Return GPU time over that of the job as it is, in words.

    >>> cost_words(0.234), cost_words(4.03), cost_words(-0.1)
    ('+23 %', '5.0 x the cost', '-10 %')
    """
    return f"{1 + slowdown:.1f} x the cost" if slowdown >= 1 else f"{100 * slowdown:+.0f} %"
