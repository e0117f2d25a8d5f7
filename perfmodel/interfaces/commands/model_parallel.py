"""``model-parallel``: speed-up of one replica over machines, by a law through one reported point."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from perfmodel.core.candidates import tries
from perfmodel.core.choices import LARGEST_WORLD_SIZE, Count
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.core.units import number, per_cent
from perfmodel.interfaces.command import Command, Context

if TYPE_CHECKING:
    from perfmodel.equations.model_parallel import FittedModel
    from perfmodel.model.prediction.training.distbelief import ModelSpeedups


class Point(NamedTuple):
    """A number of machines, and the speed-up on them."""

    machines: int
    speedup: float


def point_of(given: Any) -> Point:
    """Return the point of a text such as ``8:2.2``, or of a pair of numbers.

    Raises
    ------
    InputError : another form; fewer than two machines, or a speed-up above their number
    """
    pair = given.split(":") if isinstance(given, str) else given
    words = [str(each) for each in pair] if isinstance(pair, list | tuple) else []
    if len(words) != 2 or not words[0].isdecimal() or len(words[0]) > 12:
        raise refusal("distbelief.point_form", "point", given=given)
    machines, speedup = int(words[0]), number(words[1])
    if not (2 <= machines <= LARGEST_WORLD_SIZE and 1 <= speedup <= machines):
        raise refusal("distbelief.point_range", "point", given=given)
    return Point(machines, speedup)


class ModelParallelRequest(Described):
    """A model that is partitioned over machines.

    Parameters
    ----------
    model : Model of DistBelief: speech, 2.2 times on 8 machines; image, 12 times on 81.
    machines : [1] Numbers of machines to list.  [default: 1,2,4,8,16,32,64,81,128]
    point : Machines and speed-up of your own model, instead of --model, e.g. 8:2.2.
    peak : Whether the speed-up of --point is the largest possible.
    """

    model: Literal["speech", "image"] = "speech"
    machines: Annotated[tuple[Count, ...], Within(min_length=1)] = (1, 2, 4, 8, 16, 32, 64, 81, 128)
    point: Annotated[Point | None, OptionInfo(read=point_of, form="MACHINES:SPEED-UP")] = None
    peak: Annotated[bool, OptionInfo(denied=False)] = False


def run(request: ModelParallelRequest, context: Context) -> "ModelSpeedups":
    """Return the speed-up of one replica over machines, by a closed form through one reported point.

    Raises
    ------
    InputError : an unknown model, or a point that the law cannot pass through

    Examples
    --------
    The law passes through the point it was fitted to, and falls beyond its peak.

    >>> from perfmodel import model_parallel
    >>> [round(row.speedup, 2) for row in model_parallel("speech", [8, 16]).rows]
    [2.2, 2.0]
    """
    from perfmodel.equations.model_parallel import DISTBELIEF
    from perfmodel.model.prediction.training.distbelief import model_speedups

    tries(len(request.machines))
    if request.point is None and request.peak:
        raise refusal("distbelief.peak", "peak", "point")
    fitted = DISTBELIEF[request.model] if request.point is None else _own(*request.point, request.peak)
    return model_speedups(fitted, request.machines)


def _own(machines: int, speedup: float, peak: bool) -> "FittedModel":
    """Return the law fitted to the user's point."""
    from perfmodel.equations.model_parallel import FittedModel

    words = f"your model: {speedup:g} times on {machines} machines{', the peak' if peak else ''}"
    model = FittedModel(words, machines, speedup, peak)
    contention, _ = model.contention_and_coherency()
    if contention < 0:
        most = machines**2 / (2 * machines - 1)
        raise refusal("distbelief.point_law", "point", machines=machines, speedup=speedup, most=most)
    return model


def text(answer: "ModelSpeedups", request: object) -> None:
    """Print a row for each number of machines, and the law."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, lines_to, table

    out = console()
    lines_to(out, f"fitted to: {answer.facts}", style="bold")
    rows = table("machines", "speed-up", "efficiency", "square tiles", "", left=0)
    for row in answer.rows:
        rows.add_row(
            str(row.machines),
            f"{row.speedup:.2f}",
            per_cent(row.efficiency),
            "" if row.tiled_speedup is None else f"{row.tiled_speedup:.2f}",
            "the point itself" if row.fitted else "",
        )
    out.print(rows)
    shape = f"contention {answer.contention:.4g}, coherency {answer.coherency:.4g}"
    peak = "" if answer.peak_machines is None else f"; largest on {answer.peak_machines:.1f} machines"
    out.print(Text(f"{shape}{peak}"))
    out.print(Text("one point fits either law: they part beyond it"))


COMMAND = Command(
    name="model-parallel",
    summary="Speed-up of one replica over machines, by a law through one reported point.",
    request=ModelParallelRequest,
    answers=("perfmodel.model.prediction.training.distbelief:ModelSpeedups",),
    run=run,
    text=text,
    positional=("model", "machines"),
    hardware=False,
    examples=(
        "perfmodel model-parallel --model image",
        "perfmodel model-parallel --point 16:5 --machines 1-32",
    ),
    bodies={"a model of one's own": {"point": "16:5", "machines": [1, 16, 32]}},
)
