"""Why predictions of the same job differ between software releases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.core.errors import InputError
from perfmodel.core.units import show
from perfmodel.decide.comparison.case import Case
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import release
from perfmodel.hardware.software import Release, learned_year
from perfmodel.model.fitted.learned import origins
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS
from perfmodel.model.options.scenario import scenario_of
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers import job
from perfmodel.model.transformers.computation import case_of_whole
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.step import step_of

FACTS: dict[str, tuple[str, str]] = {
    "fused": ("elementwise operations fused", "a kernel for each elementwise operation"),
    "unfused_transformer": (
        "a transformer's small operations in kernels of their own",
        "in the usual kernels",
    ),
    "joined_norms": ("norms computed with: {}", ""),
    "graphs": ("kernels replayed as a graph: {}", ""),
    "prepared_products": ("products without a set-up", "products with a set-up"),
    "update_tensors": ("tensors that an update's kernel takes: {}", ""),
    "channels_first": ("images channels first", "images channels last"),
    "python_replicas": ("replicas copied out in Python", "replicas copied out natively"),
    "pipelined_servers": ("servers answer block by block", "servers answer whole tensors"),
    "adds_gradients": ("gradients added to cleared buffers", "gradients written once"),
    "native_decoding": ("decoding by compiled code", "decoding by Python workers"),
    "winograd": ("Winograd's algorithm: {}", ""),
    "server_shards": ("gradients dealt out to servers: {}", ""),
}
"""By fact of a release: its words where it holds, and where it does not; ``{}`` is its value."""

BETWEEN_KERNELS = ("graphs", "prepared_products", "update_tensors")
"""Facts on what happens between kernels."""
EFFECTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "slow_start": ("a trainer around the step", ("step_slow", "step")),
    "whole_graph": ("the host's part in a step", ("step",)),
    "all_logits": ("logits of all positions or of those predicted", ()),
    "fused_casts": ("operands of 8 bits cast in passes of their own or not", ("cast",)),
    "fused_activations": ("activation functions in the products' kernels or not", ()),
    "launch": ("who launches kernels", ("launch", "launch_compiled", "launch_checkpointed")),
    "pace": ("how well kernels are chosen", ("early", "eager", "deepspeed", "xla")),
    "fused": ("elementwise operations fused or not", ("fusion", "loose_scores")),
    "unfused": ("small operations in kernels of their own", ("unfused",)),
    "activations_in_32": ("norms and activations in fp32", ()),
    "added_gradient_bytes": ("gradients added to cleared buffers", ()),
    "flash": ("the kernel of attention", ("flash", "score")),
    "newest_flash": ("the generation of that kernel", ("flash_newest", "flash_hopper")),
    "biased_attention": ("scores with a bias", ("biased",)),
    "hides_data": ("gradients during the backward pass or after it", ("between", "inside")),
    "hides_tensor": ("tensor parallelism's traffic hidden or not", ("tensor_hidden",)),
    "gradient_bytes": ("bytes of a gradient", ("between", "inside")),
    "casts_weights": ("weights cast for every micro-batch", ("update",)),
    "pads_vocabulary": ("a padded vocabulary or not", ("odd_vocabulary",)),
    "checkpoints_operations": ("what is computed again", ("selective",)),
    "adapted": ("products with adapters by default", ()),
}
"""Facts of software on a transformer: in words, with the learned numbers by which they change a step."""
DEFAULTS: dict[str, tuple[str, ...]] = {
    "sharding": ("sharding",),
    "recompute": ("recompute", "recomputed_layers"),
    "lora_targets": (),
}
"""Options whose default is the software's -> their fields of a layout."""
DEFAULT_WORDS = {"sharding": "what replicas share", "recompute": "layers recomputed by default"}
NOTED = 0.1
"""Smallest share of the difference of two steps that is named as a reason."""
MOST_SOURCES = 3
"""Sources of a learned number that are named."""


def facts_apart(releases: Sequence[Release], fields: Iterable[str]) -> list[list[str]]:
    """Return the facts in which releases differ, in words, one list per release.

    Parameters
    ----------
    releases : to distinguish
    fields : keys of ``FACTS`` to compare

    >>> facts_apart([Release(), Release(fused=True)], ["fused", "winograd"])
    [['a kernel for each elementwise operation'], ['elementwise operations fused']]
    """
    stated: list[list[str]] = [[] for _ in releases]
    for field in fields:
        values = [getattr(each, field) for each in releases]
        if len(set(values)) > 1:
            for words, value in zip(stated, values, strict=True):
                shown = f"{value:g}" if isinstance(value, float) else value
                words.append(FACTS[field][value is False].format(shown))
    return stated


def software_notes(cases: Sequence[Case]) -> list[str]:
    """Return notes on how the software of the cases differs, and what that does to their predictions."""
    scenarios = [case.prediction.scenario for case in cases]
    catalogues = {one["framework"]: case.catalogue for one, case in zip(scenarios, cases, strict=True)}
    if len(catalogues) < 2:
        return []
    learned = [line for other in cases[1:] for line in _transformer_reasons(cases[0], other)]
    if learned or any(case.prediction.layout is not None for case in cases):
        return learned
    strategies = {one["strategy"] for one in scenarios}
    fields = {
        "image": ["fused", "joined_norms", *BETWEEN_KERNELS, "adds_gradients", "channels_first", "winograd"],
        "sequence": ["fused", "adds_gradients", "unfused_transformer"],
    }.get(cases[0].prediction.sample, ["fused", *BETWEEN_KERNELS, "adds_gradients"])
    fields += ["native_decoding"] if "real" in {one["input"] for one in scenarios} else []
    fields += ["python_replicas"] if "data-parallel-single-process" in strategies else []
    fields += ["pipelined_servers", "server_shards"] if "parameter-server" in strategies else []
    releases = [release(name, catalogue) for name, catalogue in catalogues.items()]
    lines = [
        f"{name}: {'; '.join(facts)}"
        for name, facts in zip(catalogues, facts_apart(releases, fields), strict=True)
        if facts
    ]
    reasons = ["what is stated of them"] if lines else []
    reasons += ["the year of the software"] if len(set(map(learned_year, catalogues))) > 1 else []
    if not reasons:
        return ["nothing that is stated tells these frameworks apart: they are predicted alike"]
    by = " and ".join(reasons)
    return [*lines, f"frameworks differ by {by}; measured ones lie further apart than predicted"]


def _transformer_reasons(first: Case, other: Case) -> list[str]:
    """Return a sentence on the facts of software that make one transformer's step longer than another's.

    None for jobs that differ in more than software, and for software that takes as long.
    """
    fast, slow = sorted((first, other), key=lambda case: case.prediction.iteration_time)
    if not _differ_in_software(fast, slow):
        return []
    one, two = (setting_of(case) for case in (fast, slow))
    if one is None or two is None or not has_layouts(one.workload):
        return []
    fast_job, slow_job = (
        case_of_whole(each) if each.layout is None else case_of_setting(each) for each in (one, two)
    )
    extra_time = _time(slow_job) - _time(fast_job)
    parts = {
        name: _time(slow_job) - _time(each) for name, each in _with_each_fact_of(fast_job, slow_job).items()
    }
    named = sorted((time, name) for name, time in parts.items() if time > NOTED * extra_time)
    reasons = [f"{show(time, 's')} by {_because(name)}" for time, name in reversed(named)]
    if not reasons:
        return []
    return [f"{two.software} takes {show(extra_time, 's')} longer than {one.software}: {'; '.join(reasons)}"]


def setting_of(case: Case) -> Setting | None:
    """Return the setting of a case; None where its scenario names something no longer known."""
    try:
        return resolve(scenario_of(case.prediction.scenario), Catalogue.of(case.catalogue))
    except InputError:
        return None


def _differ_in_software(one: Case, other: Case) -> bool:
    """Return whether two jobs differ in software alone, or in software and its defaults."""
    jobs = (case.prediction.scenario for case in (one, other))
    first, second = ({key: value for key, value in job.items() if key not in DEFAULTS} for job in jobs)
    return {key for key in first if first[key] != second.get(key)} == {"framework"}


def _with_each_fact_of(other: job.Case, case: job.Case) -> dict[str, job.Case]:
    """Return copies of a case, each with one fact (or default) of another that differs, by fact."""
    differing = (name for name in EFFECTS if getattr(case.stack, name) != getattr(other.stack, name))
    result = {
        name: case._replace(stack=case.stack._replace(**{name: getattr(other.stack, name)}))
        for name in differing
    }
    for name, fields in DEFAULTS.items():
        theirs = {field: getattr(other.layout, field) for field in fields}
        if case.layout._replace(**theirs) != case.layout:
            result[name] = case._replace(layout=case.layout._replace(**theirs))
    return result


def _time(case: job.Case) -> float:
    """Return the step time of a transformer's job [s]."""
    return float(step_of(job_of(case), fitted().parameters).iteration_time)


def _because(fact: str) -> str:
    """Return a fact in words, with the sources of the runs from which its effect was learned."""
    if fact in DEFAULT_WORDS:
        return DEFAULT_WORDS[fact]
    words, numbers = EFFECTS[fact]
    if not numbers:
        return words
    shares: dict[str, float] = {}
    for name in numbers:
        for source, share in origins(TRANSFORMERS)[name].sources.items():
            shares[source] = max(shares.get(source, 0.0), share)
    most = sorted(shares, key=lambda source: -shares[source])[:MOST_SOURCES]
    return f"{words} (learned from runs of {', '.join(most)})"
