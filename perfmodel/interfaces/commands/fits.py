"""``fits``: whether a job fits into memory, and what would make it fit."""

from typing import TYPE_CHECKING

from perfmodel.core.records.record import same_as
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import card_and_table, forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.risk import Risk
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.fits.answer import Fits, Place
    from perfmodel.interfaces.reports.page import Page

BAR = 36
"""Width of the bar of a full accelerator, in columns; less where a longer bar has to fit as well."""
MOST_BAR = 42
"""Width of the longest bar."""
LETTERS = {
    "weights": "W",
    "weight_copy": "w",
    "gradients": "G",
    "optimizer": "O",
    "activations": "A",
    "logits": "L",
    "other": "g",
}
"""Rows of a bar, by their letters; all others are ``+``."""


class FitsRequest(Scenario):
    """A training job, and how sure it must be to fit.

    Parameters
    ----------
    confidence : [1] Probability of fitting from which a change makes a job fit, e.g. 0.95 or "95%".
    """

    confidence: float = same_as(Risk)


def run(request: FitsRequest, context: Context) -> "Fits":
    """Return whether a job fits into memory, by stage, and what would make it fit.

    Raises
    ------
    InputError : as ``predict``

    Examples
    --------
    Adam's states alone, 16 bytes for each of 8 billion parameters, are more than 80 GB.

    >>> from perfmodel import fits
    >>> answer = fits(workload="llama-3-8b", accelerator="h100-sxm5-80gb", gpus=8, sharding="none")
    >>> answer.fits_probability < 0.5, answer.changes[0].same_training
    (True, True)
    """
    from perfmodel.decide.fits.answer import fits

    return fits(request.alone(), request.confidence, context.catalogue, context.constants)


def text(answer: "Fits", request: object) -> None:
    """Print the answer card, the memory of every stage as bars, and what would make the job fit."""
    from rich.text import Text

    from perfmodel.decide.fits.listing import largest_words, shown_places, started_words, unstarted_words
    from perfmodel.interfaces.cli.render import LABEL, console, lines_to, show_card
    from perfmodel.model.step.memory import listed

    out = console()
    lines_to(out, answer.headline)
    show_card(out, answer.card)
    if answer.not_stated:
        stated = ", ".join(f"--{name}" for name in answer.not_stated)
        lines_to(out, f"less wide with {stated}", f"{'memory is known':<{LABEL}}")
    fullest = max(answer.places, key=lambda place: place.bytes)
    uses = ", ".join(f"{label} {_gib(size)}" for label, size in listed(fullest.rows))
    lines_to(out, uses, f"{'of it, GiB':<{LABEL}}")
    lines_to(out, largest_words(answer), f"{'largest micro-batch':<{LABEL}}")
    out.print()
    shown = shown_places(answer)
    width = max(len(place.name) for place in shown)
    scale = min(BAR / answer.capacity, MOST_BAR / max(place.bytes for place in shown))
    for place in shown:
        out.print(Text(_line(place, max(1, round(answer.capacity * scale)), scale, width)))
    known = ", ".join(f"{letter} {name.replace('_', ' ')}" for name, letter in LETTERS.items())
    lines_to(out, f"{known}, + others; | is where the memory ends")
    if answer.fits_probability < answer.confidence:
        _print_changes(answer)
    started, starts = started_words(answer)
    lines = starts.get(answer.software, [])
    if lines:
        out.print()
        lines_to(out, f"{answer.software} starts {started} with", style="bold")
        for line in lines:
            out.print(Text(f"  {line}"), soft_wrap=True)
    if lacking := unstarted_words(answer):
        out.print()
        lines_to(out, lacking)
    others = [name for name in starts if name != answer.software]
    if others:
        lines_to(out, f"--json also has the lines of {', '.join(others)}")
    if answer.defaults:
        lines_to(out, "defaults taken: " + ", ".join(answer.defaults))
    for warning in answer.warnings:
        lines_to(out, f"note: {warning}")


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f}"


def _line(place: "Place", end: int, scale: float, width: int) -> str:
    """Return name, bar, size and verdict of a place.

    Parameters
    ----------
    place : whose memory is drawn
    end : column at which an accelerator's memory ends
    scale : columns of a byte
    width : to which the name is filled up
    """
    from perfmodel.model.prediction.memory_odds import short_verdict

    bar, reached = "", 0.0
    for name in (*LETTERS, *(row for row in place.rows if row not in LETTERS)):
        reached += place.rows.get(name, 0.0) * scale
        bar += LETTERS.get(name, "+") * (round(reached) - len(bar))
    bar = f"{bar[:end]:<{end}}|{bar[end:]:<{MOST_BAR - end}}"
    return (
        f"{place.name:<{width}} {bar} {_gib(place.bytes):>6} GiB {short_verdict(place.fits_probability):>4}"
    )


def _print_changes(answer: "Fits") -> None:
    """Print what would make the job fit."""
    from rich.text import Text

    from perfmodel.core.units import percent, show
    from perfmodel.decide.fits.listing import changes_title
    from perfmodel.interfaces.cli.render import console, lines_to, table

    out = console()
    if not answer.changes:
        out.print(Text("\nno change of options was found that makes it fit"))
        return
    out.print(Text(f"\n{changes_title(answer)}", style="bold"))
    shown = table("change", "step", "cost", "memory", "fits")
    for change in answer.changes:
        mark = ("" if change.same_training else " *") + (" !" if change.warnings else "")
        shown.add_row(
            change.words + mark,
            show(change.iteration_time, "s"),
            per_cent(change.slowdown, signed=True),
            f"{_gib(change.bytes)} GiB",
            percent(change.fits_probability),
        )
    out.print(shown)
    lines_to(out, "cost: accelerator-seconds for as many tokens, over those of the job if it fitted")
    if not all(change.same_training for change in answer.changes):
        lines_to(out, "*: other weights, another optimizer, shorter sequences or a larger batch are trained")
    for line in dict.fromkeys(line for change in answer.changes for line in change.warnings):
        lines_to(out, line, "!: ")


def _page(answer: "Fits", request: FitsRequest, context: Context) -> "Page":
    """Return the page of whether a job fits."""
    from perfmodel.interfaces.reports.fitted import page_of_fits

    return page_of_fits(answer, context.typed, context.catalogue, request, request.alone())


COMMAND = Command(
    name="fits",
    summary="Whether a job fits into memory, how sure that is, and what would make it fit.",
    about="The exit code is 1 where the job as it is fits with a smaller probability than --confidence.",
    request=FitsRequest,
    answers=("perfmodel.decide.fits.answer:Fits",),
    run=run,
    constants=True,
    status=lambda answer: int(answer.fits_probability < answer.confidence),
    text=text,
    forms=forms_of(markdown=card_and_table),
    writes={"report": report(_page)},
    examples=(
        "perfmodel fits --workload llama-3-8b --accelerator h100-sxm5-80gb --gpus 8",
        "perfmodel fits --workload llama-3-70b --node dgx-h100 --gpus 64 --tensor-parallel 8 "
        "--pipeline-parallel 4",
        "perfmodel fits --workload llama-3-70b --accelerator rtx-4090 --gpus 2 --framework axolotl --lora 16 "
        "--frozen-weights nf4 --sharding zero3 --recompute full --sequence-length 1024 --host-memory 128GB",
        "perfmodel fits --workload resnet152 --accelerator k80 --local-batch-size 64",
    ),
    bodies={
        "Llama 3 8B on 8 GPUs": {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8},
    },
)
