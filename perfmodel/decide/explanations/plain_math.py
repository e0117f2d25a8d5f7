r"""LaTeX of a formula's docstring as plain text: ``\frac{S}{n B}`` becomes ``S / (n B)``."""

from __future__ import annotations

import re

_GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "rho": "ρ",
    "phi": "φ",
    "ell": "l",
    "sigma": "σ",
    "tau": "τ",
    "Psi": "Ψ",
}
_WORDS = {
    "max": "max",
    "min": "min",
    "log": "log",
    "exp": "exp",
    "sum": "sum",
    "sqrt": "sqrt",
    "ge": ">=",
    "le": "<=",
    "lceil": "ceil(",
    "rceil": ")",
    "lfloor": "floor(",
    "rfloor": ")",
    "cdot": "*",
    "times": "x",
    "in": "in",
    "infty": "inf",
    "quad": "  ",
    "qquad": "  ",
    "ldots": "...",
    "dots": "...",
    "prod": "prod",
    "approx": "~",
    "to": "to",
}
_SPACES = re.compile(r"\\[,;:! ]|~")
_WRAPPERS = ("mathrm", "text", "mathit", "operatorname", "bar", "hat", "lVert", "rVert")


def plain(latex: str) -> str:
    r"""Return an equation as text.

    >>> plain(r"T = 2(n-1)\left(\alpha + \frac{S}{n B}\right)")
    'T = 2(n-1)(α + S / (n B))'
    >>> plain(r"t = \sqrt{a^2 + b^2}")
    't = sqrt(a^2 + b^2)'
    >>> plain(r"g = e^{-R/M}")
    'g = e^(-R/M)'
    """
    text = latex.replace("\\\\", "; ").replace("\\left", "").replace("\\right", "")
    text = _SPACES.sub(" ", text)
    for begin in ("\\begin{cases}", "\\end{cases}"):
        text = text.replace(begin, "{" if "begin" in begin else "}")
    text = text.replace("&", " if ") if "{" in text and "cases" in latex else text
    while (match := re.search(r"\\frac(?![a-zA-Z])", text)) is not None:
        top, end = _group(text, match.end())
        bottom, end = _group(text, end)
        ratio = f"{_wrapped(top)} / {_wrapped(bottom)}"
        if _is_factor(text[: match.start()], text[end:]):
            ratio = f"({ratio})"
        text = f"{text[: match.start()]} {ratio} {text[end:]}"
    for word in _WRAPPERS:
        while (match := re.search(rf"\\{word}(?![a-zA-Z])", text)) is not None:
            inner, end = _group(text, match.end())
            text = f"{text[: match.start()]}{inner}{text[end:]}"
    while (match := re.search(r"\\sqrt(?![a-zA-Z])", text)) is not None:
        inner, end = _group(text, match.end())
        text = f"{text[: match.start()]}sqrt({inner}){text[end:]}"
    text = re.sub(r"(\w?)\\([a-zA-Z]+)", _word, text)
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
    text = re.sub(r"([_^])\{([^{}]*)\}", _raised, text)
    return (
        " ".join(text.replace("{", "").replace("}", "").split())
        .replace("( ", "(")
        .replace(" )", ")")
        .replace(" ,", ",")
    )


def _raised(match: re.Match[str]) -> str:
    """Return an index or exponent as text, in parentheses where it is ambiguous."""
    mark, inner = match.groups()
    apart = " " in inner or (mark == "^" and not re.fullmatch(r"\w+", inner))
    return f"{mark}({inner})" if apart else f"{mark}{inner}"


def _word(match: re.Match[str]) -> str:
    """Return a command as a Greek letter or a word, with a space where it would join the text before."""
    before, name = match.groups()
    if name in _GREEK:
        return f"{before}{_GREEK[name]}"
    word = _WORDS.get(name, name)
    return f"{before} {word}" if before and word[0].isalpha() else f"{before}{word}"


def _group(text: str, start: int) -> tuple[str, int]:
    """Return the text in the braces at ``start``, or one character, and the index after it."""
    while start < len(text) and text[start] == " ":
        start += 1
    if start >= len(text):
        return "", start
    if text[start] != "{":
        return text[start], start + 1
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[start + 1 : end], end + 1
    return text[start + 1 :], len(text)


def _is_factor(before: str, after: str) -> bool:
    """Return whether a fraction needs brackets, because the text before or after multiplies it."""
    before, after = before.rstrip(), after.lstrip()
    opened = before == "" or before[-1] in "(=+-,{&;/" or before.endswith(("ceil", "floor"))
    closed = after == "" or after[0] in ")+-,}&;" or after.startswith(("\\rceil", "\\rfloor"))
    return not (opened and closed)


def _wrapped(part: str) -> str:
    """Return a part in parentheses where it has more than one factor."""
    part = part.strip()
    return part if re.fullmatch(r"\\?\w+(_\w|_\{\w+\})?", part) else f"({part})"


def greek(symbol: str) -> str:
    r"""Return a docstring's symbol as LaTeX: names of Greek letters become commands.

    >>> greek("eta_c F_p")
    '\\eta_c F_p'
    """
    return re.sub(r"(?<![a-zA-Z\\])[A-Za-z]+", lambda m: f"\\{m[0]}" if m[0] in _GREEK else m[0], symbol)
