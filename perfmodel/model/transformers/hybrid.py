"""Networks whose layers differ in more than experts: dimensions of each type, and means over types."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.scans import scan_projected_width
from perfmodel.workloads.architecture import ATTENTION, DENSE, EXPERTS, SCAN, Architecture
from perfmodel.workloads.scan import DELTA, GATED_DELTA, KIMI_DELTA, MAMBA, MAMBA_2, Scan


class ScanDimensions(NamedTuple):
    """Widths of a scan that its time depends on, of all ranks together."""

    inner: Any
    keys: Any
    heads: Any
    state: Any
    convolved: Any
    taps: Any
    chunk: Any
    """Tokens of a chunk; None where every token is a step."""
    follows_delta_rule: Any


class LayerType(NamedTuple):
    """Layers that are alike."""

    share: Any
    """Of all layers."""
    model: Any
    """Their ``Dimensions``."""


class LayerTypes(NamedTuple):
    """The types of layers of a network; None where it has none of a type."""

    attention: LayerType | None
    scan: LayerType | None
    feed_forward: LayerType | None
    """Layers that are a feed-forward part alone."""
    module: LayerType | None
    """Modules that predict a further token: a product and a layer with attention."""


def with_types(model: Architecture, base: Any) -> Any:
    """Return dimensions with the types of a network's layers; ``base`` itself if all layers are alike.

    Widths of the result are means over layers, as parameters, memory and messages need them; the time of a
    layer is computed for each type.

    Parameters
    ----------
    model : the network
    base : dimensions as if every layer had attention
    """
    if not (model.pattern or model.mtp_layers):
        return base
    layers = base.layers + model.mtp_layers
    scanning = alone = module = None
    attending: LayerType | None = LayerType(1.0, base)
    if model.pattern:
        attending = _of(model, base, ATTENTION, {})
        scanning = _of(model, base, SCAN, _scan_fields(model.scan, base.hidden)) if model.scan else None
        alone = _of(model, base, "", NO_MIXER) if model.parts == 1 else None
    if model.mtp_layers:
        dense = 0.0 if model.moe_layers else 1.0
        made = {name: getattr(base, name) + 2 * base.hidden for name in ("projected_width", "qkv_width")}
        module = LayerType(model.mtp_layers / layers, base._replace(dense_share=dense, **made))
    before = base.layers / layers
    attending, scanning, alone = (
        each and each._replace(share=each.share * before) for each in (attending, scanning, alone)
    )
    types = LayerTypes(attending, scanning, alone, module)
    predicted = base.predicted_share * (1 + model.mtp_layers)
    return _mean(base._replace(layers=layers, parts=model.parts, predicted_share=predicted), types)


NO_MIXER: dict[str, Any] = {
    "heads": 0.0,
    "kv_heads": 0.0,
    "head_size": 0.0,
    "value_size": 0.0,
    "projected_width": 0.0,
    "qkv_width": 0.0,
    "attended": 0.0,
    "up_parameters": 0.0,
    "mixes": False,
}
"""Fields of a layer that is a feed-forward part alone."""


def _of(model: Architecture, base: Any, letter: str, fields: dict[str, Any]) -> LayerType | None:
    """Return the layers whose first letter is ``letter``, of "" those without attention and scan."""
    groups = [model.letters(layer) for layer in range(int(ops.plain(model.layers)))]
    own = [each for each in groups if (each[0] == letter if letter else each[0] in DENSE + EXPERTS)]
    if not own:
        return None
    last = [each[-1] for each in own]
    routed, dense = last.count(EXPERTS), last.count(DENSE)
    share = len(own) / base.layers
    others = {
        "dense_share": 1 - routed / base.layers / share,
        "feed_forward": base.feed_forward if routed + dense else 0.0,
        "feeds": routed + dense > 0,
        "parts": model.parts,
    }
    return LayerType(share, base._replace(**{**others, **fields}))


def _scan_fields(scan: Scan, hidden: Any) -> dict[str, Any]:
    """Return the fields of a layer with a scan, whose products take the place of attention's.

    Products between the first and the last count as features of the first of equal cost.
    """
    of_heads = {MAMBA_2: 1, GATED_DELTA: 2, KIMI_DELTA: 1}.get(scan.type, 0) * scan.heads
    gate = 2 * scan.rank if scan.type == KIMI_DELTA else scan.inner
    keys = 0 if scan.type == MAMBA else scan.keys
    width = scan_projected_width(ops.number(scan.inner), ops.number(gate), ops.number(keys), of_heads)
    return {
        "heads": ops.number(scan.heads),
        "value_size": ops.number(scan.head_size),
        "kv_heads": 0.0,
        "head_size": 0.0,
        "projected_width": width + scan.inner_weights / hidden,
        "qkv_width": width,
        "kept_width": _kept_width(scan),
        "up_parameters": 0.0,
        "attended": 0.0,
        "index_heads": None,
        "is_misaligned": False,
        "scan": ScanDimensions(
            inner=ops.number(scan.inner),
            keys=ops.number(scan.keys),
            heads=ops.number(scan.heads),
            state=ops.number(scan.state),
            convolved=ops.number(scan.convolved if scan.convolution else 0),
            taps=ops.number(scan.convolution) if scan.convolution else None,
            chunk=ops.number(scan.chunk) if scan.chunk else None,
            follows_delta_rule=scan.type in DELTA,
        ),
    }


def _kept_width(scan: Scan) -> Any:
    """Return the features kept for the backward pass beyond those that the products make and read.

    The output of the scan before its gate; of the delta rule the features after the convolution too, and the
    products of keys inside a chunk; of Mamba-1 what its inner products make.
    """
    further = scan.convolved + scan.heads * scan.chunk if scan.type in DELTA else 0
    if scan.type == MAMBA:
        further = scan.inner + scan.rank + 2 * scan.state
    return ops.number(scan.inner + further)


MEANS = ("projected_width", "qkv_width", "kept_width")
"""Fields of the whole that are means over layers."""


def _mean(base: Any, types: LayerTypes) -> Any:
    """Return the dimensions of a network of several types of layers, with the means of their widths."""
    known = [each for each in types if each is not None]

    def mean(of: Callable[[Any], Any]) -> Any:
        return sum(each.share * of(each.model) for each in known)

    routed = mean(lambda model: 1 - model.dense_share)
    dense = mean(lambda model: model.dense_share * model.feed_forward)
    scores = mean(lambda model: model.heads * (model.head_size + model.value_size) * model.attended)
    # the whole has the heads of attention
    values = mean(lambda model: model.heads * model.value_size) / base.heads
    keys = mean(lambda model: model.kv_heads * model.head_size)
    return base._replace(
        **{name: mean(lambda model, name=name: getattr(model, name)) for name in MEANS},  # type: ignore[misc]
        dense_share=1 - routed,
        feed_forward=dense / (1 - routed) if ops.plain(routed) < 1 else base.expert_width,
        value_size=values,
        kv_heads=keys / base.head_size,
        attended=scores / (base.heads * (base.head_size + values)),
        layer_types=types,
    )


def by_type(of_layer: Callable[..., Any], merge: Callable[[list[Any], list[Any]], Any]) -> Callable[..., Any]:
    """Return a function of a job's layer that works for every type of layer and merges the results.

    Parameters
    ----------
    of_layer : computes it for layers that are alike; its first argument is the job
    merge : called with shares and results of the types
    """

    @wraps(of_layer)
    def of_all(job: Any, *others: Any, **named: Any) -> Any:
        if job.model.layer_types is None:
            return of_layer(job, *others, **named)
        types = [each for each in job.model.layer_types if each is not None]
        results = [of_layer(job._replace(model=each.model), *others, **named) for each in types]
        return merge([each.share for each in types], results)

    return of_all


def mean_of(shares: list[Any], results: list[Any]) -> Any:
    """Return the mean of tuples of numbers over types of layers."""
    columns = zip(*results, strict=True)
    means = (sum(share * each for share, each in zip(shares, column, strict=True)) for column in columns)
    return type(results[0])(*means) if hasattr(results[0], "_fields") else tuple(means)
