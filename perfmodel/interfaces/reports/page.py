"""A report as one page: self-contained HTML or Markdown."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from perfmodel.core.drawing import LINE, MARK, POINT, WIDTH, drawn
from perfmodel.core.errors import refusal
from perfmodel.core.files.templating import bar, render
from perfmodel.core.files.writing import check_writable, write_whole

TEMPLATES = {".html": "page.html.j2", ".htm": "page.html.j2", ".md": "page.md.j2", ".markdown": "page.md.j2"}


@dataclass(frozen=True)
class Listing:
    """A table of texts, and of numbers with their units."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    """Columns of text, from the left; the others are right-aligned."""

    def records(self) -> list[dict[str, str]]:
        """Return the rows, each from column to text."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True)
class Shares:
    """A bar of parts of a whole."""

    heading: str
    parts: Sequence[tuple[str, float, str]]
    """Label, share of the whole, and text of each part."""

    @property
    def drawn(self) -> list[tuple[str, float, str]]:
        """Colour, width [%] and words of each part."""
        return bar([(share, f"{label}: {words}") for label, share, words in self.parts])

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Colour and words of each part."""
        return [(colour, words) for colour, _, words in self.drawn]

    @property
    def words(self) -> str:
        """All parts in words."""
        return ", ".join(f"{label} {words}" for label, _, words in self.parts)

    @property
    def lines(self) -> list[str]:
        """The parts as lines of text."""
        wide = max(len(label) for label, *_ in self.parts)
        return [
            f"{label:<{wide}}  {'█' * round(WIDTH * share):<{WIDTH}} {words}"
            for label, share, words in self.parts
        ]


@dataclass(frozen=True)
class Span:
    """A value within its interval."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    words: str
    mark: float | None = None
    """A value to compare it with."""


@dataclass(frozen=True)
class Spans:
    """Values with their intervals on one axis."""

    heading: str
    spans: Sequence[Span]
    caption: str
    line: float | None = None
    """Value at which all of them have a line: the first case, a deadline."""
    logarithmic: bool = False
    """Whether the axis is logarithmic."""
    ends: tuple[float, float] | None = None
    """Both ends of the axis; by default it holds all, from 0 if it is not logarithmic."""

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Return both ends of the axis."""
        if self.ends is not None:
            return self.ends
        every = [(span.value, span.low, span.high, span.mark) for span in self.spans]
        known = [end for ends in (*every, (self.line,)) for end in ends if end]
        return (min(known) / 1.1 if self.logarithmic else 0.0), max(known) * 1.02

    def at(self, value: float) -> float:
        """Return the position of a value, in percent of the axis."""
        least, most = self._ends
        if self.logarithmic:
            return 100 * math.log(value / least) / math.log(most / least)
        return 100 * (value - least) / (most - least)

    @property
    def lines(self) -> list[str]:
        """The spans as lines of text."""
        wide = max(len(span.label) for span in self.spans)
        return [f"{span.label:<{wide}}  {self._drawn(span)} {span.words}" for span in self.spans]

    def _drawn(self, span: Span) -> str:
        """Return the bar of a span as text."""

        def share(value: float | None) -> float | None:
            return None if value is None else self.at(value) / 100

        low, high = share(span.low), share(span.high)
        signs = ((share(self.line), LINE), (share(span.value), POINT), (share(span.mark), MARK))
        return drawn(None if low is None or high is None else (low, high), signs)


@dataclass(frozen=True)
class Page:
    """The content of a report."""

    question: str
    answer: Sequence[str]
    """Sentences, the answer itself first."""
    charts: Sequence[Shares | Spans]
    tables: Sequence[Listing]
    assumptions: Sequence[str]
    notes: Sequence[str]
    sources: Sequence[str]
    command: str | None
    """Shell command that repeats it, or None."""

    def text(self, suffix: str) -> str:
        """Return the page as HTML or Markdown.

        Parameters
        ----------
        suffix : of its file, a key of ``TEMPLATES``
        """
        return render(
            TEMPLATES[suffix],
            page=self,
            version=sys.modules["perfmodel"].__version__,
            spans=lambda chart: isinstance(chart, Spans),
        )


def check_page(path: Path) -> None:
    """Check that a page can be written to a file.

    Raises
    ------
    InputError : neither ``.html`` nor ``.md``, or it cannot be written
    """
    if path.suffix.lower() not in TEMPLATES:
        raise refusal("report.ending", "report", path=path)
    check_writable(path)


def write_page(path: Path, page: Page) -> None:
    """Write a page, completely or not at all.

    Raises
    ------
    InputError : as ``check_page``
    """
    check_page(path)
    write_whole(path, page.text(path.suffix.lower()))
