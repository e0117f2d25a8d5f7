"""``adaptive-synchrony``: how much to synchronise as the error falls."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated

from perfmodel.core.choices import Count
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within
from perfmodel.core.updates import EXAMPLE_LAW
from perfmodel.interfaces.command import Command, Context

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.adaptive import Schedule

_FromZero = Annotated[float, Within(ge=0)]


class Workers(Described):
    """Workers whose times spread.

    Parameters
    ----------
    workers : [1] Workers, backup ones included.
    distribution : Distribution of one worker's time per gradient; a name, or name:key=value,...
    params : Parameters of the distribution by name, in addition to those in its text.
    communication_time : Time after the barrier, common to all workers.
    """

    workers: Annotated[Count, OptionInfo(old="gpus")] = 16
    distribution: Annotated[
        str, OptionInfo(law=True, also="perfmodel.equations.distribution:Distribution")
    ] = EXAMPLE_LAW
    params: Mapping[str, float | str] | None = None
    communication_time: Annotated[_FromZero, OptionInfo(unit="s", bare=True)] = 0.0


class AdaptiveSynchronyRequest(Workers):
    """Workers who synchronise more as the error falls.

    Parameters
    ----------
    interval : Time until the next choice.  [default: 20 mean gradients]
    learning_rate : [1] Learning rate of the example objective, above 0, at most 1.
    """

    interval: Annotated[_FromZero | None, OptionInfo(unit="s", bare=True)] = None
    learning_rate: float = 0.05


def run(request: AdaptiveSynchronyRequest, context: Context) -> "Schedule":
    """Return how many gradients an update should wait for (AdaSync), and how many local steps (AdaComm).

    Each choice minimises the bound on an example objective at the time of the next choice.

    Raises
    ------
    InputError : an unknown distribution or parameter, one without a mean, a number out of its range

    Examples
    --------
    An update waits for few gradients at first, for more later; models are averaged rarely at first, often
    later.

    >>> from perfmodel import adaptive_synchrony
    >>> first, *_, last = adaptive_synchrony(workers=16, communication_time="0.5s").choices
    >>> first.k_sync < last.k_sync, first.local_steps > last.local_steps
    (True, True)
    """
    from perfmodel.model.prediction.intervals.absurd import checked
    from perfmodel.model.prediction.training.adaptive import schedule
    from perfmodel.model.prediction.training.stragglers import law_from

    choose = partial(
        schedule,
        learning_rate=request.learning_rate,
        communication_time=request.communication_time,
        interval=request.interval,
    )
    return checked(choose, law_from(request.distribution, request.params), request.workers)


def text(answer: "Schedule", request: AdaptiveSynchronyRequest) -> None:
    """Print a row for each error."""
    from rich.text import Text

    from perfmodel.core.units import counted
    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.model.prediction.training.adaptive import HEADINGS
    from perfmodel.model.prediction.training.stragglers import law_from

    out = console()
    words = f"{counted(request.workers, 'worker')}, {law_from(request.distribution, request.params)}"
    out.print(Text(f"best choices as the error falls, {words}"), style="bold")
    shown = table(*HEADINGS, left=0)
    for row in answer.cells():
        shown.add_row(*row)
    out.print(shown)
    out.print(Text(answer.note))
    out.print(Text("K-batch: workers go on; by rule: AdaSync's and AdaComm's, from the first row's choice"))


COMMAND = Command(
    name="adaptive-synchrony",
    summary="How many gradients to wait for, and how many local steps to take, as the error falls.",
    request=AdaptiveSynchronyRequest,
    answers=("perfmodel.model.prediction.training.adaptive:Schedule",),
    run=run,
    text=text,
    hardware=False,
    examples=("perfmodel stragglers --adaptive --workers 16 --communication-time 0.5s",),
    bodies={"averages of half a second": {"workers": 16, "communication_time": "0.5s"}},
    without={"shell": "it is stragglers --adaptive"},
)
