"""``workloads``: networks, layer by layer, and their training recipes."""

import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.errors import refusal
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import JSON, Form, markdown
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.evidence.recipe_rows import Recipes
    from perfmodel.workloads.architecture import Architecture
    from perfmodel.workloads.listing import NetworkList, NetworkTable
    from perfmodel.workloads.workload import Layer, Workload

DIGITS = "#.4g"
"""Number format of counts in a list."""
VARIANT = 21
"""Width of a variant in a list, the last column of 80."""
_Word = Annotated[str, Within(min_length=1)]


class WorkloadsRequest(Described):
    """Networks to list or to show.

    Parameters
    ----------
    word : List only networks whose name contains it; with recipes, those of one network, or one recipe.
    name : One network to show instead, layer by layer; may be a file.
    sequence_length : Tokens of one sample, with name.
    image_tokens : Those of images, with name.
    recipes : List training recipes instead: published results, a row for each batch.
    """

    word: _Word | None = None
    name: Annotated[str | None, OptionInfo(offers="workloads")] = None
    sequence_length: int | None = same_as(Scenario)
    image_tokens: int | None = same_as(Scenario)
    recipes: bool = False


class _List(Described):
    """The request of ``workloads list``."""

    word: str | None = same_as(WorkloadsRequest)

    def request(self) -> WorkloadsRequest:
        """Return the request."""
        return WorkloadsRequest.model_construct(word=self.word)


class _Show(Described):
    """The request of ``workloads show``.

    Parameters
    ----------
    name : A network, built in or a file.
    """

    name: str
    sequence_length: int | None = same_as(Scenario)
    image_tokens: int | None = same_as(Scenario)

    def request(self) -> WorkloadsRequest:
        """Return the request."""
        return WorkloadsRequest.model_construct(
            name=self.name, sequence_length=self.sequence_length, image_tokens=self.image_tokens
        )


class _Recipes(Described):
    """The request of ``workloads recipes``."""

    word: str | None = same_as(WorkloadsRequest)

    def request(self) -> WorkloadsRequest:
        """Return the request."""
        return WorkloadsRequest.model_construct(word=self.word, recipes=True)


def run(request: WorkloadsRequest, context: Context) -> "NetworkTable | NetworkList | Recipes":
    """Return the networks, one of them layer by layer, or training recipes; counts are per sample.

    Raises
    ------
    InputError : an unknown network or recipe, or options that do not go together

    Examples
    --------
    >>> from perfmodel import networks
    >>> [network.id for network in networks("llama-3-8")]
    ['llama-3-8b']
    >>> networks(name="alexnet").parameters
    61100840
    """
    from perfmodel.evidence.recipe_rows import recipe_rows
    from perfmodel.workloads import workload
    from perfmodel.workloads.catalogue import LENGTHS
    from perfmodel.workloads.listing import networks, table_of

    if request.recipes:
        for field in ("name", *LENGTHS):
            if getattr(request, field) is not None:
                raise refusal("workloads.recipes", field)
        return recipe_rows(request.word)
    if request.name is not None:
        if request.word is not None:
            raise refusal("workloads.word", "word", "name")
        return table_of(workload(request.name, request.sequence_length, request.image_tokens))
    if request.sequence_length is not None:
        raise refusal("workloads.sequence_length", "sequence_length", "name")
    if request.image_tokens is not None:
        raise refusal("workloads.image_tokens", "image_tokens", "name")
    return networks(request.word)


def text(answer: "NetworkTable | NetworkList | Recipes", request: WorkloadsRequest) -> None:
    """Print a row for each network by type, a row for each layer of one network, or recipes."""
    from perfmodel.evidence.recipe_rows import Recipes
    from perfmodel.workloads import workload
    from perfmodel.workloads.listing import listed

    if isinstance(answer, Recipes):
        _print_recipes(answer)
    elif isinstance(answer, list):
        chosen = {heading: members for heading, members in listed(request.word).items() if members}
        _print_groups({heading: map(workload, members) for heading, members in chosen.items()})
    else:
        _print(workload(str(request.name), request.sequence_length, request.image_tokens))


def _layers(answer: object, request: WorkloadsRequest) -> str:
    """Return the layers of a network as CSV that ``--workload`` reads."""
    import csv
    import io

    from perfmodel.workloads import workload

    layers = workload(str(request.name), request.sequence_length, request.image_tokens).layers
    file = io.StringIO()
    writer = csv.DictWriter(file, layers[0]._fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(_cells, layers))
    return file.getvalue()


def _print_groups(listed: Mapping[str, Iterable["Workload"]]) -> None:
    """Print a row for each network, under a heading per group."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    shown = table("workload", "parameters", "tokens", "MACs", "variant")
    rows = {heading: [_listed(network) for network in networks] for heading, networks in listed.items()}
    for index, column in enumerate(shown.columns):
        column.no_wrap = True  # a wrapped name cannot be copied
        if index < len(shown.columns) - 1:
            cells = [row[index] for group in rows.values() for row in group]
            column.min_width = max(map(len, [str(column.header), *cells]))
    shown.columns[-1].justify = "left"
    for heading, group in rows.items():
        shown.add_section()
        shown.add_row(Text(heading, style="bold"))
        for row in group:
            shown.add_row(*row)
    console().print(shown)


def _listed(network: "Workload") -> tuple[str, ...]:
    """Return a network as a row of the list."""
    return (
        network.id,
        _short(network.parameters, DIGITS),
        f"{network.sequence_length:,}" if network.sequence_length else "",
        _short(network.forward_flops / 2, DIGITS),
        textwrap.shorten(re.split("[:;,]", network.variant)[0], VARIANT, placeholder=" ..."),
    )


def _print_recipes(rows: "Recipes") -> None:
    """Print a paragraph for each recipe: networks, software and range of batches, then a line per batch."""
    from rich.text import Text

    from perfmodel.core.units import many
    from perfmodel.interfaces.cli.render import console

    out = console()
    by_recipe: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for row in rows:
        by_recipe.setdefault((row.recipe, row.target), {}).setdefault(row.workload, []).append(row)
    for (name, target), networks in by_recipe.items():
        first = next(iter(networks.values()))[0]
        out.print(Text(f"{name}: {target}"), style="bold")
        goes_with = [
            f"--{key} {getattr(first, key)}" for key in ("framework", "optimizer") if getattr(first, key)
        ]
        if goes_with:
            out.print(Text(f"  goes with {', '.join(goes_with)}"))
        if first.unit == "tokens":
            lines = [(network, row) for network, some in networks.items() for row in some]
        else:
            out.print(Text(f"  of {', '.join(networks)}"))
            low, high = first.smallest_batch_size, first.largest_batch_size
            range_ = f"of {low:,.0f}" if low == high else f"from {low:,.0f} to {high:,.0f}"
            out.print(Text(f"  holds for batches {range_} {first.batch_unit}"))
            lines = [("", row) for row in next(iter(networks.values()))]
        for network, row in lines:
            amount = f"{row.amount:.3g}" if row.unit == "epochs" else many(row.amount)
            size = row.batch_size
            batch = "" if size is None else many(size) if row.unit == "tokens" else f"{size:,.0f}"
            at = f" at {batch} {row.batch_unit} a step" if batch else ""
            of = f"{network}: " if network else ""
            out.print(Text(f"  {of}{amount} {row.unit}{at}: {row.quality}"))
        for source in dict.fromkeys(row.source for some in networks.values() for row in some):
            out.print(Text(f"  [{source}]"))


def _cells(layer: "Layer") -> dict[str, object]:
    """Return a layer as a row of CSV."""
    tensors, kernel_size = " ".join(map(str, layer.tensors)), "x".join(map(str, layer.kernel_size))
    return {**layer._asdict(), "tensors": tensors, "kernel_size": kernel_size}


def _short(count: float, form: str = ".3f") -> str:
    """Return a count as text with a prefix."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:{form}}".rstrip(".") + f" {prefix}"
    return f"{count:.0f}"


def _widths(architecture: "Architecture") -> str:
    """Return the widths and counts of a transformer in words."""
    a = architecture
    shared = f" and {a.kv_heads} key-value heads" if a.kv_heads < a.heads and not a.kv_rank else ""
    words = [
        f"{a.encoder_layers} + {a.layers} layers" if a.encoder_layers else f"{a.layers} layers",
        f"{a.hidden} wide",
        f"{a.heads} heads{shared} of {a.head_size}",
    ]
    if a.scan:
        words.append(
            f"{a.scan_layers} layers with {a.scan.type} of {a.scan.heads} heads of {a.scan.head_size}, "
            f"{a.attention_layers} with attention"
        )
    gated = ", gated" if a.gated else ""
    if a.feed_forward:
        words.append(f"feed-forward {a.feed_forward}{gated}")
    if a.experts:
        shares = f", {a.shared_experts} shared" if a.shared_experts else ""
        words.append(f"{a.top_k} of {a.experts} experts{shares} of {a.expert_feed_forward}{gated}")
    words.append(f"{a.vocabulary} {'classes' if a.patch_elements else 'words'}")
    return "; ".join(words)


def _print(network: "Workload") -> None:
    """Print a network: its size, notes and layers."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.workloads.listing import active_parameters

    out = console()
    out.print(Text(f"{network.name}  ({network.id})"), style="bold")
    if network.variant:
        out.print(Text(network.variant))
    if network.architecture is not None:
        out.print(Text(_widths(network.architecture)))
    active = active_parameters(network)
    routed = f", {active:,} of them active" if active < network.parameters else ""
    length = f", {network.sequence_length} tokens" if network.sequence_length else ""
    out.print(
        Text(
            f"{network.parameters:,} parameters{routed}; one {network.sample}{length}: "
            f"{_short(network.forward_flops / 2)}MAC forward, {_short(network.training_flops)}FLOP to train"
        )
    )
    for note in network.notes:
        out.print(Text(f"note: {note}"))
    shown = table("layer", "kind", "parameters", "MACs", "moved", "kept", left=2)
    for layer in network.layers:
        shown.add_row(
            layer.name,
            layer.kind,
            f"{layer.parameters:,}" if layer.parameters else "",
            _short(layer.forward_flops / 2) if layer.forward_flops else "",
            _short(layer.forward_elements),
            _short(layer.saved_elements) if layer.saved_elements else "",
        )
    out.print(shown)
    out.print(
        Text("moved, kept: elements of activations, read and written forward, kept for the backward pass")
    )


COMMAND = Command(
    name="workloads",
    summary="Show networks: a list, one layer by layer, or training recipes.",
    request=WorkloadsRequest,
    answers=(
        "perfmodel.workloads.listing:NetworkTable",
        "perfmodel.workloads.listing:NetworkList",
        "perfmodel.evidence.recipe_rows:Recipes",
    ),
    run=run,
    text=text,
    lines={
        "list": {
            "summary": "List the built-in networks, or those whose name contains WORD.",
            "about": "MACs are the multiply-adds of the forward pass of one sample, with the number of "
            "tokens in the table.",
            "typed": _List,
            "arguments": ("word",),
            "examples": ("perfmodel workloads list llama-3",),
        },
        "show": {
            "summary": "Show one network, built in or from a file, layer by layer; counts are per sample.",
            "about": "To describe your own network, start from the --csv of a similar one.",
            "typed": _Show,
            "arguments": ("name",),
            "forms": {
                "json": JSON,
                "csv": Form("Print the layers as the CSV that --workload reads.", _layers),
                "markdown": markdown()._replace(words="Print the layers as a Markdown table."),
            },
            "examples": ("perfmodel workloads show bert-base --sequence-length 384",),
        },
        "recipes": {
            "summary": "List training recipes for --recipe, with the published results by batch.",
            "about": "WORD selects those of one network, or one recipe.  A recipe implies a framework unless "
            "another is given; an answer notes a batch outside the recipe's range.",
            "typed": _Recipes,
            "arguments": ("word",),
            "examples": ("perfmodel workloads recipes bert-large",),
        },
    },
    hardware=False,
    positional=("word",),
    examples=("perfmodel workloads list llama-3", "perfmodel workloads show resnet50"),
    bodies={
        "a word": {"word": "llama-3"},
        "one network": {"name": "resnet50"},
        "how BERT is trained": {"recipes": True, "word": "bert-large"},
    },
)
