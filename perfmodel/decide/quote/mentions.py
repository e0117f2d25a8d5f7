"""Whether a text mentions something without denying it right before or after."""

from __future__ import annotations

import re

_DENIES = (
    r"(?<!with and )(?<!with or )(?<!with/)"
    r"(?:\b(?:no|not|without|never|excluding|excludes?|neither|nor|isn't|aren't|doesn't|don't)|\bw/o"
    r"|\b(?:instead|free|exclusive) of|\b(?:rather|other) than|\bnon)\b(?!\s+(?:only|just|merely)\b)"
)
_BETWEEN = (
    r"(?:any|the|a|use|usage|of|structured|unstructured|fine-grained|2:4|weight|with|using|counting|including"
    r"|relying|on|requiring|at|in|for|is|it|its|full)"
)
_BEFORE = re.compile(rf"{_DENIES}(?:[\s-]+{_BETWEEN})*[\s-]*$", re.IGNORECASE)
_NOUN = (
    r"(?:attention|clocks?|mode|matri(?:x|ces)|weights?|tensors?|cores?|kernels?|features?|support|speeds?)"
)
_AFTER = re.compile(
    rf"^(?:\s+{_NOUN})*(?:\s+(?:is|are|was|were|being|been|has|have))*\s*[-(]?\s*"
    r"(?:off|disabled|excluded|free"
    r"|(?:(?:not|never)|(?:is|are|was|were)n't)\s+(?:been\s+)?(?:used|counted|included|enabled|assumed|required"
    r"|needed|necessary|applied|exploited|measured|considered|reported|claimed|meant))\b",
    re.IGNORECASE,
)


def mentions(pattern: str, text: str) -> bool:
    r"""Return whether a pattern occurs in a text at a place where the text does not deny it.

    >>> mentions(r"spars\w*", "1,979 TFLOPS, sparsity"), mentions(r"spars\w*", "989 TFLOPS without sparsity")
    (True, False)
    >>> mentions(r"spars\w*", "no loss of accuracy with sparsity"), mentions(r"spars\w*", "sparsity off")
    (True, False)
    >>> mentions(r"spars\w*", "with and without sparsity"), mentions(r"spars\w*", "sparsity is not needed")
    (True, False)
    """
    return any(
        not (_BEFORE.search(text[: match.start()]) or _AFTER.search(text[match.end() :]))
        for match in re.finditer(pattern, text, re.IGNORECASE)
    )
