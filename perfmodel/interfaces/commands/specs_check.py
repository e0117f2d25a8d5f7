"""``specs check``: missing, stale, suspicious or unsourced entries in hardware files."""

from typing import TYPE_CHECKING, Annotated

from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.interfaces.command import Command, Context

if TYPE_CHECKING:
    from perfmodel.evidence.spec_quality import Findings

WRONG = ("suspicious", "stale", "accepted")
"""Findings that are always printed."""


class SpecsCheckRequest(Described):
    """Hardware files to check: the user's own if there are any, else the built-in ones."""


class _Typed(SpecsCheckRequest):
    """The request in a shell, with the findings to print.

    Parameters
    ----------
    everything : Also print missing and assumed numbers.
    """

    everything: Annotated[bool, OptionInfo(name="all", denied=False)] = False

    def request(self) -> "_Typed":
        return self


def run(request: SpecsCheckRequest, context: Context) -> "Findings":
    """Return missing, stale, suspicious or unsourced entries in hardware files.

    Raises
    ------
    InputError : none; a file that cannot be read is a finding

    Examples
    --------
    >>> from perfmodel import specs_check
    >>> {finding.kind for finding in specs_check()} <= {"missing", "stale", "assumed"}
    True
    """
    from datetime import date

    from perfmodel.evidence.spec_quality import Findings, report

    return Findings(report(context.catalogue, date.today(), own=context.catalogue.has_own))


def text(answer: "Findings", request: _Typed, context: Context) -> None:
    """Print a line for each finding, and the number of findings."""
    from collections import Counter

    import click

    everything = request.everything or context.catalogue.has_own
    for finding in answer:
        if everything or finding.kind in WRONG:
            click.echo(f"{finding.id}: {finding.kind}: {finding.message}")
    counts = Counter(finding.kind for finding in answer)
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    click.echo(f"found {listed}{'' if everything else '; --all lists them'}")


COMMAND = Command(
    name="specs check",
    summary="Report missing, stale, suspicious or unsourced entries; exit code 1 if anything is suspicious.",
    about="With --specs all findings on these files only; their numbers are compared with the catalogue's.",
    request=SpecsCheckRequest,
    typed=_Typed,
    answers=("perfmodel.evidence.spec_quality:Findings",),
    run=run,
    text=text,
    needs_context=True,
    status=lambda answer: int(any(finding.kind == "suspicious" for finding in answer)),
    examples=("perfmodel specs check --all",),
    bodies={"of the package": {}},
)
