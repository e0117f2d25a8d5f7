"""``perfmodel plan``: what to hire for a run, by when and for how much."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from perfmodel.cli.economics_options import ABOVE_ZERO, NAMES, TIME, conditions_options
from perfmodel.cli.export import export_options, show_rows, take_form
from perfmodel.cli.lists import Counts, Names
from perfmodel.cli.options import (
    ALGORITHM,
    COUNT,
    INPUT,
    OPTIMIZER,
    PRECISION,
    SAMPLES,
    STRATEGY,
    catalogue_from,
    data_options,
)
from perfmodel.cli.options_file import naming_the_file, read_options
from perfmodel.cli.spelling import Option
from perfmodel.errors import InputError

if TYPE_CHECKING:
    from perfmodel.planning import Found

_Command = TypeVar("_Command", bound=Callable[..., Any])

_CONDITIONS = tuple(
    name for name in NAMES if name not in ("epochs", "samples", "price", "purchase_price", "server_price")
)
"""What all machines share; the others are of the run, or of one machine each."""
_NAMES = ("accelerators", "instances", "nodes", "strategies", "algorithms", "precisions")


class _Words(Names):
    """``a,b,c``: names that are looked up later."""

    def __init__(self) -> None:
        super().__init__(click.STRING)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Return the names."""
        words = super().convert(value, param, ctx)
        if not all(words):
            self.fail(f"{value!r}: expected names joined by commas", param, ctx)
        return words


def _some(
    name: str,
    option: str,
    kind: Any,
    help: str,
) -> Callable[[_Command], _Command]:
    """An option of names or numbers to choose from; in the plural, as it once was, it works too."""
    return click.option(
        f"--{option}", name, cls=Option, old=[f"--{name.replace('_', '-')}"], type=kind, help=help
    )


class _Priced(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``dgx-h100=98.5``: a machine and a number of dollars."""

    name = "node=usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        name, equals, amount = str(value).rpartition("=")
        if not equals or not name.strip():
            self.fail(f"{value!r}: expected NODE=USD, e.g. dgx-h100=98.5", param, ctx)
        return name.strip(), ABOVE_ZERO.convert(amount, param, ctx)


@click.command("plan")
@click.option("--workload", default="resnet50", show_default=True, help="Network, or a file.")
@click.option("--epochs", type=ABOVE_ZERO, help="Of the run.  [default: those the target takes]")
@click.option("--samples", type=ABOVE_ZERO, help="Of the whole run, instead of --epochs, e.g. 5e6.")
@click.option("--target", help="Published quality that ends the run, instead of either.")
@click.option(
    "--recipe",
    type=click.Choice(["stock", "mlperf"]),
    help="How training to it goes.  [default: mlperf with tuned software, and for BERT; else stock]",
)
@click.option("--deadline", type=TIME, help="Of the run, e.g. 24h or 3d.")
@click.option("--budget", type=ABOVE_ZERO, help="Of the run, USD.")
@_some("accelerators", "accelerator", _Words(), "To choose from, e.g. a100-sxm4-40gb,h100-sxm5-80gb.")
@_some("instances", "instance", _Words(), "Cloud offers to choose from, e.g. p4d.24xlarge.")
@_some(
    "nodes", "node", _Words(), "Machines to choose from, e.g. dgx-1v,p3.16xlarge.  [default: all for hire]"
)
@click.option("--max-gpus", type=COUNT, default=512, show_default=True, help="In the job.")
@_some("strategies", "strategy", Names(STRATEGY), "To choose from.  [default: all-reduce,parameter-server]")
@_some("algorithms", "algorithm", Names(ALGORITHM), "Of all-reduce.  [default: auto]")
@_some("precisions", "precision", Names(PRECISION), "To choose from.  [default: amp,bf16,tf32,fp32]")
@_some(
    "local_batch_sizes", "local-batch-size", Counts(), "To choose from.  [default: powers of two that fit]"
)
@click.option(
    "--max-global-batch-size",
    "max_global_batch",
    cls=Option,
    old=["--max-global-batch"],
    type=SAMPLES,
    help="Largest global batch.  [default: the largest published]",
)
@click.option("--server-node", help="Machine of a parameter server.  [default: as those that train]")
@click.option("--price", type=_Priced(), multiple=True, help="NODE=USD: of one node per hour.")
@click.option("--purchase-price", type=_Priced(), multiple=True, help="NODE=USD: of one node, instead.")
@conditions_options
@click.option("--sequence-length", type=COUNT, help="Tokens of one sample.")
@click.option("--optimizer", type=OPTIMIZER, help="Optimizer.")
@click.option("--framework", help="Software, with its year: pytorch, tensorflow-xla@2020.")
@click.option("--input", type=INPUT, help="Where samples come from.")
@click.option("--loader-workers", type=COUNT, help="Decoding workers per node.")
@click.option("--storage", help="Where samples lie: local-ssd, ebs-gp2, ebs-gp3, s3, ram.")
@data_options
@click.option("--jitter", help="Spread of a worker's time: lognormal:cv=0.05, none.")
@click.option(
    "--scenario",
    "options_file",
    metavar="FILE",
    is_eager=True,
    callback=read_options,
    help="TOML file with any of these options.",
)
@click.option("--specs", multiple=True, metavar="DIR", help="Your own hardware specs, over the built-in.")
@click.option(
    "--torchrun",
    "as_torchrun",
    is_flag=True,
    help="Print the line that starts the plan chosen: one NCCL can run.",
)
@click.option(
    "--slurm", "as_slurm", is_flag=True, help="Print a Slurm job of the plan chosen: one NCCL can run."
)
@export_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    as_torchrun: bool,
    as_slurm: bool,
    specs: tuple[str, ...],
    options_file: str | None,
    **options: Any,
) -> None:
    """What to hire: the cheapest in time, the fastest within budget, and why others lost.

    Every offer of the catalogue, GPU count, strategy, precision and batch that fits
    in memory is tried; of plans within 1 % of each other one that NCCL can run is
    taken.  Without --epochs and --samples the run ends at the published target,
    whose epochs grow with the batch.  Exit code 1 where no plan meets the limits.

    \b
    Examples:
      perfmodel plan --workload resnet50 --epochs 90 --deadline 24h --budget 500
      perfmodel plan --workload bert-large --deadline 12h --accelerator a100-sxm4-40gb
      perfmodel plan --epochs 90 --node dgx-1v,dgx-a100-40gb --price dgx-1v=12
      perfmodel plan --workload gpt2 --samples 5e6 --instance p4d.24xlarge --max-gpus 64
      perfmodel plan --deadline 2h --instance p3.16xlarge,p4d.24xlarge --slurm
    """
    from perfmodel.planning import search

    form = take_form(options)
    script = as_torchrun or as_slurm
    if (as_torchrun and as_slurm) or (script and form not in (None, "json")):
        raise InputError("--torchrun, --slurm, --csv and --markdown: give one of them")
    with naming_the_file(ctx, options_file):
        found = search(_goal(options, script), catalogue_from(specs))
    if script and form is None:
        _show_script(found, as_slurm)
    elif form == "json":
        from perfmodel.planning.report import report

        click.echo(json.dumps(report(found)))
    elif form is not None:
        show_rows(found.front, form)
    else:
        from perfmodel.cli.plan_render import show_plan

        show_plan(found)
    if not found.met:
        ctx.exit(1)


def _goal(options: dict[str, Any], script: bool) -> Any:
    """What the options ask; a script needs a plan that torchrun and NCCL can run."""
    from perfmodel.planning import Goal
    from perfmodel.planning.goal import SHARED
    from perfmodel.prices import Conditions

    options |= {name: options[name] or () for name in (*_NAMES, "local_batch_sizes")}
    if script:
        options["strategies"] = options["strategies"] or ("all-reduce",)
    conditions = Conditions(**{name: options.pop(name) for name in _CONDITIONS})
    shared = {name: value for name in SHARED if (value := options.pop(name)) is not None}
    return Goal(
        prices=_once("price", options.pop("price")),
        purchase_prices=_once("purchase-price", options.pop("purchase_price")),
        conditions=conditions,
        options=shared,
        **options,
    )


def _once(option: str, given: tuple[tuple[str, float], ...]) -> dict[str, float]:
    prices: dict[str, float] = {}
    for name, price in given:
        if name in prices:
            raise InputError(f"--{option}: {name} is given twice")
        prices[name] = price
    return prices


def _show_script(found: Found, as_slurm: bool) -> None:
    from perfmodel.planning.launch import slurm_job, torchrun
    from perfmodel.planning.verdict import verdict

    chosen = found.chosen
    if chosen is not None:
        click.echo((slurm_job if as_slurm else torchrun)(chosen, found.goal.workload))
    if not found.met:
        click.echo(f"perfmodel: {' '.join(verdict(found)[:2])}", err=True)
