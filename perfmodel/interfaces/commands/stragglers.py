"""``stragglers``: the cost of the slowest worker, by variant of distributed SGD."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.core.units import per_cent
from perfmodel.core.updates import USUAL_LOCAL_STEPS
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.commands.adaptive_synchrony import AdaptiveSynchronyRequest, Workers
from perfmodel.interfaces.commands.adaptive_synchrony import run as adaptive_synchrony
from perfmodel.interfaces.commands.adaptive_synchrony import text as print_schedule
from perfmodel.interfaces.forms import TABLE, Form
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.equations.sgd_variants import StragglerPrediction
    from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurves
    from perfmodel.model.prediction.training.stragglers import OrderStatistic, Stragglers

_Variant = Literal[
    "sync",
    "k-sync",
    "k-batch-sync",
    "async",
    "k-async",
    "k-batch-async",
    "backup",
    "local-sgd",
    "elastic",
    "all",
]
_MOST_DIGITS = 12
_OF_VARIANTS = ("variant", "k", "backups", "local_steps", "server_time")
"""Options of single variants."""


class StragglersRequest(Workers):
    """Workers whose times spread, and how their gradients become updates.

    Parameters
    ----------
    variant : Variant of SGD; all for a table.
    server_time : Time of a server for one push and pull: async, k-batch-async, elastic.
    """

    variant: _Variant = "all"
    k: int | None = same_as(Scenario)
    backups: int | None = same_as(Scenario)
    local_steps: int = same_as(Scenario, USUAL_LOCAL_STEPS)
    server_time: Annotated[float, Within(ge=0), OptionInfo(unit="s", bare=True)] = 0.0


class Order(NamedTuple):
    """The k-th fastest of n workers."""

    k: int
    n: int


def order_of(given: Any) -> Order:
    """Return k and n of a text such as ``7:8``.

    Raises
    ------
    InputError : another form
    """
    k, colon, n = str(given).partition(":")
    if not (colon and k.isdecimal() and n.isdecimal() and max(len(k), len(n)) <= _MOST_DIGITS):
        raise refusal("order_statistic.form", given=given)
    return Order(int(k), int(n))


class Typed(StragglersRequest):
    """The request in a shell, with answers other than the variants.

    Parameters
    ----------
    params : A parameter of the distribution, as KEY=VALUE.
    order_statistic : Instead mean and variance of the K-th fastest of N workers.
    curve : Instead the error bound against wall-clock time.
    adaptive : Instead K and local steps to choose as the error falls.
    interval : Time until the next choice, for --adaptive.  [default: 20 mean gradients]
    learning_rate : [1] Learning rate, for --curve and --adaptive.
    """

    params: Annotated[tuple[str, ...], OptionInfo(name="param", commas=True)] = ()  # type: ignore[assignment]
    order_statistic: Annotated[Order | None, OptionInfo(read=order_of, form="K:N")] = None
    curve: Annotated[bool, OptionInfo(denied=False)] = False
    adaptive: Annotated[bool, OptionInfo(denied=False)] = False
    interval: float | None = same_as(AdaptiveSynchronyRequest)
    learning_rate: float = same_as(AdaptiveSynchronyRequest)

    def request(self) -> "Typed":
        """Return the request with all parameters in the text of the distribution."""
        from perfmodel.model.prediction.training.stragglers import with_params

        given: Any = self.params
        return self.model_copy(update={"distribution": with_params(self.distribution, given), "params": None})


def run(
    request: StragglersRequest, context: Context
) -> "StragglerPrediction | Stragglers | OrderStatistic | ErrorCurves | Any":
    """Return the time per update and per gradient, and the staleness, of variants of distributed SGD.

    Raises
    ------
    InputError : an unknown variant, distribution or parameter, k out of range, an option of other variants

    Examples
    --------
    Shifted exponential times, the sixth fastest of 8: 1 + (1/8 + ... + 1/3) / 2.

    >>> from perfmodel import stragglers
    >>> answer = stragglers("k-sync", workers=8, k=6, distribution="shifted-exponential:shift=1,rate=2")
    >>> round(answer.update_time, 9)
    1.608928571
    >>> [row.variant for row in stragglers(workers=8).rows][:3]
    ['sync', 'k-sync', 'k-batch-sync']
    """
    from perfmodel.model.prediction.training.stragglers import (
        OrderStatistic,
        Stragglers,
        law_from,
        variants_of,
    )

    law = law_from(request.distribution, request.params)
    if isinstance(request, Typed):
        if request.order_statistic is not None:
            _refuse_others(request)
            return OrderStatistic.of(law, *request.order_statistic)
        if request.adaptive:
            return adaptive_synchrony(_adaptive(request), context)
        if request.interval is not None:
            raise refusal("updates.interval")
    answer = variants_of(
        request.variant,
        law,
        request.workers,
        k=request.k,
        backups=request.backups,
        local_steps=request.local_steps,
        communication_time=request.communication_time,
        server_time=request.server_time,
    )
    if isinstance(request, Typed) and request.curve:
        from perfmodel.model.prediction.training.sgd_error_bound import error_curves

        rows = answer.rows if isinstance(answer, Stragglers) else (answer,)
        return error_curves(rows, request.learning_rate)
    return answer


def _is_given(request: Typed, name: str) -> bool:
    """Whether an option has another value than its default."""
    return bool(getattr(request, name) != getattr(Typed.model_construct(), name))


def _refuse_others(request: Typed) -> None:
    """Refuse options that an order statistic does not depend on.

    Raises
    ------
    InputError : such an option
    """
    for name in (*_OF_VARIANTS, "communication_time", "curve", "adaptive", "interval"):
        if _is_given(request, name):
            raise refusal("order_statistic.others", name)


def _adaptive(request: Typed) -> AdaptiveSynchronyRequest:
    """Return the request of ``adaptive-synchrony`` for ``--adaptive``.

    Raises
    ------
    InputError : options that it chooses itself
    """
    for name in (*_OF_VARIANTS, "curve"):
        if _is_given(request, name):
            raise refusal("updates.adaptive", name)
    fields = AdaptiveSynchronyRequest.model_fields
    return AdaptiveSynchronyRequest.model_construct(**{name: getattr(request, name) for name in fields})


def _read(answer: Any, request: StragglersRequest) -> "StragglerPrediction | Stragglers":
    """Return the answer of a service as an object."""
    from pydantic import TypeAdapter

    from perfmodel.equations.sgd_variants import VARIANTS, StragglerPrediction
    from perfmodel.model.prediction.training.stragglers import Stragglers, law_from

    rows = TypeAdapter(StragglerPrediction | tuple[StragglerPrediction, ...]).validate_python(answer)
    if isinstance(rows, StragglerPrediction):
        return rows
    lacking = {*VARIANTS} - {row.variant for row in rows}
    left_out: dict[str, str] = {
        name: "the service has no package for it" for name in VARIANTS if name in lacking
    }
    return Stragglers(rows, law_from(request.distribution, request.params), request.workers, left_out)


def text(answer: Any, request: Any) -> None:
    """Print the answer by its type."""
    from perfmodel.model.prediction.training.adaptive import Schedule
    from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurves
    from perfmodel.model.prediction.training.stragglers import OrderStatistic, Stragglers

    if isinstance(answer, Schedule):
        print_schedule(answer, request)
    elif isinstance(answer, OrderStatistic):
        _print_order(answer, request)
    elif isinstance(answer, ErrorCurves):
        _print_curves(answer, request)
    else:
        _note(answer)
        if isinstance(answer, Stragglers):
            _print_card(answer)
        _print_variants(answer.rows if isinstance(answer, Stragglers) else (answer,), request)


def _print_card(answer: "Stragglers") -> None:
    """Print which variant to take, and what it gains and costs."""
    from perfmodel.interfaces.cli.render import console, show_card
    from perfmodel.model.prediction.training.straggler_card import card_of

    out = console()
    show_card(out, card_of(answer))
    out.print()


def _print_order(answer: "OrderStatistic", request: Any) -> None:
    """Print mean and variance of an order statistic."""
    import click

    from perfmodel.model.prediction.training.stragglers import law_from

    law, (k, n) = law_from(request.distribution), request.order_statistic
    click.echo(f"number {k} of {n}, {law}")
    click.echo(f"  mean       {answer.mean:.6g}")
    click.echo(f"  variance   {'does not exist' if answer.variance is None else f'{answer.variance:.6g}'}")
    click.echo(f"  over the mean of one  {answer.mean / law.mean:.4f}")


def _print_variants(rows: "Sequence[StragglerPrediction]", request: StragglersRequest) -> None:
    """Print a row for each variant, and synchronous over asynchronous times."""
    from rich.text import Text

    from perfmodel.core.units import counted, show
    from perfmodel.equations.sgd_variants import sync_over_async
    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.model.prediction.training.stragglers import law_from

    out, law = console(), law_from(request.distribution)
    out.print(Text(f"{counted(request.workers, 'worker')}, {law}"), style="bold")
    shown = table("variant", "per update", "grads", "per gradient", "stale", "fresh", "proven", left=1)
    shown.padding = (0, 1, 0, 0)
    for row in rows:
        shown.add_row(
            row.variant,
            show(row.update_time, "s"),
            str(row.gradients_per_update),
            show(row.time_per_gradient, "s"),
            f"{row.mean_staleness:.2f}",
            "" if row.fresh_fraction is None else per_cent(row.fresh_fraction),
            "exact" if row.status == "exact" else f"{row.low:.3g} to {row.high:.3g} s",
        )
    out.print(shown)
    per_update, per_gradient = sync_over_async(law, request.workers)
    words = f"fully synchronous, an update takes {per_update:.2f} times as long as asynchronously"
    out.print(Text(f"{words}, a gradient {per_gradient:.2f} times"))
    out.print(Text("stale: mean updates between reading and applying; fresh: share of gradients without any"))
    out.print(Text("proven: of the time per update; where no exact mean is known, what it lies between"))


def _print_curves(answer: "ErrorCurves", request: Any) -> None:
    """Print bounds on the error at points in time, for the objective of the published examples."""
    from rich.text import Text

    from perfmodel.core.units import counted, show
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    words = f"{counted(request.workers, 'worker')}, learning rate {request.learning_rate:g}"
    out.print(Text(f"error bound against time, {words}"), style="bold")
    shown = table("time", *(curve.variant.replace("batch-", "b-") for curve in answer.variants), left=0)
    for index, time in enumerate(answer.times):
        shown.add_row(show(time, "s"), *(f"{curve.error[index]:.3g}" for curve in answer.variants))
    out.print(shown)
    out.print(Text(answer.note))
    for reason in answer.left_out.values():
        out.print(Text(f"left out: {reason}"))


def _noted(form: Form) -> Form:
    """Return a form that also prints to standard error which variants lack a package."""

    def text(answer: Any, request: Any) -> str:
        _note(answer)
        return form.text(answer, request)

    return form._replace(text=text)


def _note(answer: Any) -> None:
    """Print to standard error which variants are left out."""
    import click

    from perfmodel.model.prediction.training.stragglers import Stragglers

    if isinstance(answer, Stragglers):
        for name, why in answer.left_out.items():
            click.echo(f"note: {name} is left out: {why}", err=True)


COMMAND = Command(
    name="stragglers",
    summary="Predict the cost of stragglers: time per update and gradient, staleness, error against time.",
    request=StragglersRequest,
    typed=Typed,
    answers=(
        "perfmodel.equations.sgd_variants:StragglerPrediction",
        "perfmodel.model.prediction.training.stragglers:Stragglers",
    ),
    several="variant",
    json=(
        "perfmodel.equations.sgd_variants:StragglerPrediction",
        "perfmodel.interfaces.service.answer_types:StragglerRows",
    ),
    read=_read,
    run=run,
    text=text,
    forms={name: _noted(form) for name, form in TABLE.items()},
    positional=("variant",),
    hardware=False,
    examples=(
        "perfmodel stragglers --workers 16 --k 8",
        "perfmodel stragglers --variant k-sync --workers 16 --k 8 --param shift=1 --param rate=1",
        "perfmodel stragglers --order-statistic 16:16 --distribution lognormal:cv=0.1",
        "perfmodel stragglers --curve --workers 8 --k 4",
        "perfmodel stragglers --adaptive --workers 16 --communication-time 0.5s",
    ),
    bodies={"eight of sixteen": {"variant": "k-sync", "workers": 16, "k": 8}},
)
