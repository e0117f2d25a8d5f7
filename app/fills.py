"""Fills of bars on which text is readable, in light and dark themes."""

from __future__ import annotations

from typing import Any

BLACK, WHITE = "#000000", "#ffffff"
LINES = {"fillmode": "overlay", "fgopacity": 1.0, "solidity": 0.3}
"""Plotly's settings of pattern lines: drawn over the bar's own colour, not that of the page."""
SHADE = {BLACK: (WHITE, 0.65), WHITE: (BLACK, 0.45)}
"""Colour of letters -> colour of pattern lines, as the share of a mix of the fill with another colour."""


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb``, as WCAG 2 defines it.

    >>> luminance(BLACK), round(luminance(WHITE), 3)
    (0.0, 1.0)
    """
    shares = [part / 255 for part in parts(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def parts(colour: str) -> list[int]:
    """Return red, green and blue of ``#rrggbb``, 0 to 255 each.

    >>> parts("#0072B2")
    [0, 114, 178]
    """
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, as WCAG 2 defines it: 1 to 21; small letters need 4.5.

    >>> round(contrast(WHITE, BLACK), 3), round(contrast("#0072B2", WHITE), 2)
    (21.0, 5.19)
    """
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def letters_on(colour: str) -> str:
    """Return black or white, whichever reads better: 4.58 or more on any colour.

    >>> letters_on("#E69F00"), letters_on("#0072B2")
    ('#000000', '#ffffff')
    """
    return max(BLACK, WHITE, key=lambda letters: contrast(letters, colour))


def line_on(colour: str) -> str:
    """Return the colour of a pattern's lines on a fill, on which letters are as readable as on the fill.

    >>> line_on("#E69F00"), line_on("#0072B2")
    ('#f6dda6', '#003f62')
    """
    end, share = SHADE[letters_on(colour)]
    mixed = [part + (other - part) * share for part, other in zip(parts(colour), parts(end), strict=True)]
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def filled(look: tuple[str, str]) -> dict[str, Any]:
    """Return Plotly's ``marker`` of bars with a colour and a pattern."""
    colour, shape = look
    return {"color": colour, "pattern": {"shape": shape, "fgcolor": line_on(colour), **LINES}}
