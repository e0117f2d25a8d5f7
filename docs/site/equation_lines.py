r"""Long equations on several lines: browsers do not break MathML, and a page is as narrow as a telephone.

An equation that defines its quantities in turn (``T = a + b, \quad a = ...``) has a line for each; a long sum
goes on below its sign of equality.
"""

from __future__ import annotations

import re

LONGEST = 100
"""Characters of LaTeX beyond which a sum is broken."""
_TOGETHER = 60
"""Characters of LaTeX up to which definitions stay on one line."""
_DEFINITIONS = re.compile(r",\s*\\q?quad\s*")
_OPEN = (r"\left", r"\begin", "{", "(")
_CLOSE = (r"\right", r"\end", "}", ")")
_TOKEN = re.compile(r"\\left\s*.|\\right\s*.|\\begin|\\end|\\[{}]|\\[A-Za-z]+|.", re.DOTALL)


def lines(latex: str) -> str:
    r"""Return an equation with its lines divided by ``\\``, each aligned at its sign of equality.

    >>> lines(r"T = a")
    'T = a'
    >>> print(lines(r"T = \frac{a + b}{c} + \frac{d}{e f} + \frac{g}{h}, \quad b = \max(i, j + k)"))
    T &= \frac{a + b}{c} + \frac{d}{e f} + \frac{g}{h} \\ b &= \max(i, j + k)
    """
    parts = _definitions(latex) if len(latex) > _TOGETHER else [latex]
    if len(parts) == 1 and len(latex) <= LONGEST:
        return latex
    rows = [row for part in parts for row in _rows(part)]
    return latex if len(rows) == 1 else r" \\ ".join(rows)


def _definitions(latex: str) -> list[str]:
    result: list[str] = []
    for part in _DEFINITIONS.split(latex):
        if result and "=" not in part:
            result[-1] += rf",\quad {part}"  # where the line above it holds
        else:
            result.append(part)
    return result


def _rows(part: str) -> list[str]:
    """One part as rows: cut in two beside the sign of a sum that is nearest to its middle."""
    equals, *_ = [*_top_level(part, "="), -1]
    if equals < 0:
        return [rf"&{part}"]
    aligned = f"{part[:equals]}&{part[equals:]}"
    signs = [place for sign in "+-" for place in _top_level(part, sign) if place > equals + 3]
    if len(part) <= LONGEST or not signs:
        return [aligned]
    middle = (equals + len(part)) / 2
    cut = min(signs, key=lambda place: abs(place - middle))
    return [aligned[: cut + 1].rstrip(), rf"&\quad {part[cut:]}"]


def _top_level(latex: str, sign: str) -> list[int]:
    """Where a sign stands in no bracket, subscript or environment."""
    result, depth = [], 0
    for token in _TOKEN.finditer(latex):
        text = token[0]
        if text.startswith(_OPEN):
            depth += 1
        elif text.startswith(_CLOSE):
            depth -= 1
        elif text == sign and not depth:
            result.append(token.start())
    return result
