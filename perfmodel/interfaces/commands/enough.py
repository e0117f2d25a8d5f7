"""``enough``: how many servers or adapters, or which network, suffice for a scaling efficiency."""

from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Varied
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import forms_of
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.sensitivity.until import Enough, Tried

USUAL_SHARE = 0.95
"""Default scaling efficiency to reach [1]."""
MOST_VALUES = 512
"""Largest number of values that are tried."""
MOST_ROWS = 20
"""Rows of the table in plain text; of more, powers of two and those around the answer."""
_COLUMNS = {
    "value": "value",
    "bandwidth": "bandwidth [B/s]",
    "scaling_efficiency": "efficiency",
    "low_80": "80 %, from",
    "high_80": "to",
    "iteration_time": "iteration [s]",
    "reaches": "enough",
}
VARY = OptionInfo(synonyms={"inter_link": "inter-link"})
_Share = Annotated[float, Within(gt=0, le=1)]
_Values = Annotated[
    tuple[Annotated[int, Within(strict=True)] | str, ...], Within(min_length=1, max_length=MOST_VALUES)
]


class EnoughRequest(Scenario, heading="How much is enough"):
    """A training job, and the option to vary until it reaches a scaling efficiency.

    Parameters
    ----------
    vary : Find the fewest servers or nics, the slowest inter-link or the most gpus that reach --until.
    until : [1] Scaling efficiency to reach, e.g. 0.95 or "95%".  [default: 0.95]
    values : Values of --vary to try: whole numbers, or names of links.  [default: those on the market]
    """

    vary: Annotated[Varied, VARY]
    until: _Share | None = None
    values: _Values | None = None


def run(request: EnoughRequest, context: Context) -> "Enough":
    """Return how many servers or adapters, or which network, a job needs to reach a scaling efficiency.

    Raises
    ------
    InputError : as ``predict``; an option without effect on the job; no value that can be predicted

    Examples
    --------
    >>> from perfmodel import enough
    >>> answer = enough("servers", workload="vgg16", gpus=32, strategy="parameter-server", until="90%")
    >>> answer.answer, [row.reaches for row in answer.tried[:3]]
    (3, [False, False, True])
    """
    from perfmodel.core.candidates import tries
    from perfmodel.decide.sensitivity.until import enough

    tries(len(request.values or ()))
    until = USUAL_SHARE if request.until is None else request.until
    return enough(request.alone(), request.vary, until, request.values, context.catalogue, context.constants)


def text(answer: "Enough", request: object) -> None:
    """Print a row for each value that was tried."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(answer.words), style="bold")
    if answer.binds is not None:
        out.print(Text(f"its limit: {answer.binds}"))
    out.print(Text(f"{answer.headline}; {answer.scaling} scaling"))
    links = answer.vary == "inter-link"
    of = {"inter-link": "link", "gpus": "GPUs"}.get(answer.vary, answer.vary)
    rows = table(of, *(["adapter"] if links else []), "efficiency", "80 %", "iteration", "enough")
    for column in rows.columns:
        column.no_wrap = True
    shown = _shown(answer)
    for row in shown:
        rate = [show(row.bandwidth, "B/s")] if links and row.bandwidth is not None else []
        mark = "*" if row.value == answer.answer else ""
        name = f"{row.value:,}{mark}" if isinstance(row.value, int) else f"{row.value}{mark}"
        cells = [per_cent(row.scaling_efficiency), row.between, show(row.iteration_time, "s")]
        rows.add_row(name, *rate, *cells, "yes" if row.reaches else "no")
    out.print(rows)
    if answer.answer is not None:
        out.print(Text("*: the answer"))
    if len(shown) < len(answer.tried):
        out.print(Text(f"{len(shown)} of {len(answer.tried)} tried (--csv: all)"))
    for line in answer.left_out[:3]:
        out.print(Text(f"left out: {line}"))
    if len(answer.left_out) > 3:
        out.print(Text(f"and {len(answer.left_out) - 3} more left out (--json: all)"))


def _shown(answer: "Enough") -> "list[Tried]":
    """Return all rows of a short table; of a long one powers of two and those around the answer."""
    if len(answer.tried) <= MOST_ROWS or answer.vary == "inter-link":
        return answer.tried
    at = next((i for i, row in enumerate(answer.tried) if row.value == answer.answer), 0)
    near = range(at - 1, at + 2)
    last = len(answer.tried) - 1
    return [
        row
        for i, row in enumerate(answer.tried)
        if i in near or i == last or (isinstance(row.value, int) and row.value & (row.value - 1) == 0)
    ]


def markdown_of(answer: "Enough", _: object) -> str:
    """Return the answer as Markdown."""
    from perfmodel.core.files.tables import markdown_table, with_values

    rows = answer.records()
    return f"{answer.headline}\n\n{answer.words}\n\n{markdown_table(rows, with_values(rows, _COLUMNS))}"


def status(answer: Any) -> int:
    """Return 1 where no value that was tried suffices."""
    return int(answer.answer is None)


COMMAND = Command(
    name="enough",
    summary="Find how many servers or adapters, or which network, suffice for a scaling efficiency.",
    request=EnoughRequest,
    answers=("perfmodel.decide.sensitivity.until:Enough",),
    run=run,
    text=text,
    forms=forms_of(markdown=markdown_of),
    status=status,
    constants=True,
    positional=("vary", "scenario"),
    examples=("perfmodel sensitivity --gpus 32 --workload vgg16 --vary inter-link --until 90%",),
    bodies={
        "the slowest network": {"workload": "vgg16", "gpus": 32, "vary": "inter-link", "until": 0.85},
        "of two": {"workload": "vgg16", "gpus": 16, "vary": "nics", "values": [1, 2], "until": "60%"},
    },
    without={"shell": "perfmodel sensitivity --vary"},
)
