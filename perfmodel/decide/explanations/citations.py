"""The cited sources of a prediction, as an answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from perfmodel.core.files.tables import Record, Rows, aligned, flat
from perfmodel.decide.explanations.sources import CitedSource, bibtex
from perfmodel.model.options.understood import Understood


@dataclass(frozen=True, repr=False)
class Citations(Rows):
    """The sources that a prediction rests on."""

    title: str
    """The job in one line."""
    scenario: Understood
    """Its options, with defaults filled in."""
    sources: list[CitedSource]
    """Each source once, with everything it is used for."""
    assumed: list[str]
    """Numbers and facts that are assumed: neither measured nor published."""

    def records(self) -> list[Record]:
        """Return a record per source."""
        return [flat(asdict(source)) for source in self.sources]

    def to_bibtex(self) -> str:
        """Return the sources as BibTeX entries."""
        return bibtex(self.sources)

    def __repr__(self) -> str:
        rows = [(source.kind, source.key) for source in self.sources]
        return aligned(f"sources of {self.title}", ("used for", "key"), rows, left=2)
