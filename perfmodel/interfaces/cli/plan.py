"""``perfmodel plan``: what to hire for a run, by when and for how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import declared
from perfmodel.interfaces.cli.economics_options import conditions_options, take_conditions
from perfmodel.interfaces.cli.export import export_options, show_rows, take_form
from perfmodel.interfaces.cli.fleets import answer_fleet, fleet_options, show_fleets, take_fleet
from perfmodel.interfaces.cli.options import catalogue_from, options_of, specs_option
from perfmodel.interfaces.cli.options_file import naming_the_file, read_options
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.types import Quantity
from perfmodel.model.options.conditions import LARGEST
from perfmodel.model.options.run import Run
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.planning import Goal, SearchResult

_RUN = declared(Run)
_PRICES = ("prices", "purchase_prices")
DOLLARS = Quantity("USD", LARGEST)
_NO_OPTIONS = ("conditions", "options", "meant")
"""Fields of a run that have options of their own."""


class _Priced(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``dgx-h100=98.5``: a machine and a number of dollars."""

    name = "node=usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        name, equals, amount = str(value).rpartition("=")
        if not equals or not name.strip():
            self.fail(f"{value!r}: expected NODE=USD, e.g. dgx-h100=98.5", param, ctx)
        return name.strip(), DOLLARS.convert(amount, param, ctx)


@click.command("plan")
@options_of(one for field, one in _RUN.items() if field not in (*_PRICES, *_NO_OPTIONS))
@options_of((_RUN[field] for field in _PRICES), type=_Priced(), multiple=True)
@fleet_options
@conditions_options
@options_of(one for one in declared(Scenario).values() if one.info.plan)
@click.option(
    "--scenario",
    "options_file",
    metavar="FILE",
    is_eager=True,
    callback=read_options,
    help="TOML file with any of these options.",
)
@specs_option
@click.option(
    "--torchrun",
    "as_torchrun",
    is_flag=True,
    help="Print the line that starts the plan chosen: one NCCL can run.",
)
@click.option(
    "--slurm", "as_slurm", is_flag=True, help="Print a Slurm job of the plan chosen: one NCCL can run."
)
@report_option
@export_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    as_torchrun: bool,
    as_slurm: bool,
    report: str | None,
    specs: tuple[str, ...],
    options_file: str | None,
    **options: Any,
) -> None:
    """What to hire: the cheapest in time, the fastest within budget, and why not others.

    Every offer of the catalogue, strategy, precision and batch that fits in memory is
    tried, on every count of machines up to 32 and on counts a sixteenth apart beyond;
    of networks that predict the next token every layout, on counts that are powers of
    two, half as many more, and the most allowed.  Of plans within 1 % of each other
    one that NCCL can run is taken.  Without --epochs, --samples and --tokens the
    run ends at the published target, whose epochs grow with the batch.  Exit code 1
    where no plan meets the limits.

    With --have instead: what more machines of the same kind, other ones beside them, or a faster network
    add to a fleet, each with its price and the time after which it has paid back.  Unlike machines train
    in step, with as many samples each (the slowest pace) and with as many as each is fast.

    \b
    Examples:
      perfmodel plan --workload resnet50 --epochs 90 --deadline 24h --budget 500
      perfmodel plan --workload bert-large --deadline 12h --accelerator a100-sxm4-40gb
      perfmodel plan --epochs 90 --node dgx-1v,dgx-a100-40gb --price dgx-1v=12
      perfmodel plan --workload gpt2 --samples 5e6 --instance p4d.24xlarge --max-gpus 64
      perfmodel plan --workload llama-3-70b --tokens 1T --deadline "60 days" --budget 5M
      perfmodel plan --deadline 2h --instance p3.16xlarge,p4d.24xlarge --slurm
      perfmodel plan --epochs 90 --budget 500 --report plan.html
      perfmodel plan --have "8 x dgx-a100-80gb" --workload bert-large --samples 1e9
      perfmodel plan --have "8 x dgx-a100-80gb" --buy "4 x dgx-h100" --purchase-price dgx-h100=350000
      perfmodel plan --have "8 x dgx-1v" --buy ib-hdr-200g --adapter-price 900 --switch-price 0
    """
    from perfmodel.decide.planning import search

    form, page = take_form(options), report_file(report)
    script = as_torchrun or as_slurm
    if (as_torchrun and as_slurm) or (script and form not in (None, "json")):
        raise refusal("plan.forms")
    own = take_fleet(options)
    if own is not None:
        if script:
            raise refusal("plan.scripts_have")
        with naming_the_file(options_file):
            prices = {name: _once(name, options.pop(name) or ()) for name in _PRICES}
            catalogue = catalogue_from(specs)
            answer = answer_fleet(own, options, prices, catalogue)
        if page is not None:
            from perfmodel.interfaces.reports.fleet import page_of_fleets
            from perfmodel.interfaces.reports.page import write_page

            write_page(page, page_of_fleets(answer, typed_command(), catalogue))
        show_fleets(answer, form)
        return
    with naming_the_file(options_file):
        catalogue = catalogue_from(specs)
        result = search(_goal(options, script), catalogue)
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.planned import page_of_plan

        write_page(page, page_of_plan(result, typed_command(), catalogue))
    if script and form is None:
        _show_script(result, as_slurm)
    elif form == "json":
        from perfmodel.decide.planning.plans import Plans

        click.echo(Plans(result).to_json())
    elif form is not None:
        show_rows(result.front, form)
    else:
        from perfmodel.interfaces.cli.plan_render import show_plan

        show_plan(result)
    if not result.met:
        ctx.exit(1)


def _goal(options: dict[str, Any], script: bool) -> Any:
    """What the options ask; a script needs a plan that torchrun and NCCL can run."""
    if script:
        options["strategies"] = options["strategies"] or ("all-reduce",)
    return goal_of(options)


def goal_of(options: dict[str, Any]) -> Goal:
    """Return what the options of ``perfmodel plan`` ask, by the names of its parameters.

    Raises
    ------
    InputError : a machine priced twice
    """
    from perfmodel.decide.planning import Goal
    from perfmodel.decide.planning.goal import SHARED

    given = {name: value for name, value in options.items() if value not in (None, ())}
    prices, bought = (_once(name, given.pop(name, ())) for name in _PRICES)
    length = {
        name: given.pop(name) for name in ("epochs", "samples", "tokens") if name in given
    }  # of the run
    conditions = take_conditions(given)
    shared = {name: given.pop(name) for name in SHARED if name in given}
    return Goal(
        prices=prices, purchase_prices=bought, conditions=conditions, options=shared, **length, **given
    )


def _once(name: str, given: Sequence[tuple[str, float]]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for node, price in given:
        if node in prices:
            raise refusal("plan.node_twice", _RUN[name].name, node=node)
        prices[node] = price
    return prices


def _show_script(result: SearchResult, as_slurm: bool) -> None:
    from perfmodel.decide.planning.launch import slurm_job, torchrun
    from perfmodel.decide.planning.plan_verdict import verdict

    chosen = result.chosen
    if chosen is not None:
        click.echo((slurm_job if as_slurm else torchrun)(chosen, result.goal.workload))
    if not result.met:
        click.echo(f"perfmodel: {' '.join(verdict(result)[:2])}", err=True)
