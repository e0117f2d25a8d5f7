"""What tells the predictions of one job by several software apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from perfmodel.comparison.case import Case
from perfmodel.specs.software import Release, learned_year, release

FACTS: dict[str, tuple[str, str]] = {
    "fused": ("elementwise operations fused", "a kernel for each elementwise operation"),
    "unfused_transformer": (
        "a transformer's small operations in kernels of their own",
        "in the usual kernels",
    ),
    "channels_first": ("images channels first", "images channels last"),
    "python_replicas": ("replicas copied out in Python", "replicas copied out natively"),
    "pipelined_servers": ("servers answer block by block", "servers answer whole tensors"),
    "adds_gradients": ("gradients added to cleared buffers", "gradients written once"),
    "native_decoding": ("decoding by compiled code", "decoding by Python workers"),
    "winograd": ("Winograd's algorithm: {}", ""),
    "server_shards": ("gradients dealt out to servers: {}", ""),
}
"""What a fact means for the time of a step, where it holds and where it does not; ``{}`` is its value."""


def facts_apart(releases: Sequence[Release], fields: Iterable[str]) -> list[list[str]]:
    """Return what each of several releases states that not all of them do, in words.

    Parameters
    ----------
    releases : to be told apart
    fields : keys of ``FACTS``: what matters

    >>> facts_apart([Release(), Release(fused=True)], ["fused", "winograd"])
    [['a kernel for each elementwise operation'], ['elementwise operations fused']]
    """
    stated: list[list[str]] = [[] for _ in releases]
    for field in fields:
        values = [getattr(each, field) for each in releases]
        if len(set(values)) > 1:
            for words, value in zip(stated, values, strict=True):
                words.append(FACTS[field][value is False].format(value))
    return stated


def software_notes(cases: Sequence[Case]) -> list[str]:
    """Return what is known of software that differs: all that tells its predictions apart."""
    scenarios = [case.prediction.scenario for case in cases]
    catalogues = {one["framework"]: case.catalogue for one, case in zip(scenarios, cases, strict=True)}
    if len(catalogues) < 2 or any(case.prediction.layout is not None for case in cases):
        return []
    strategies = {one["strategy"] for one in scenarios}
    matters = {
        "image": ["fused", "adds_gradients", "channels_first", "winograd"],
        "sequence": ["fused", "adds_gradients", "unfused_transformer"],
    }.get(cases[0].prediction.sample, ["fused", "adds_gradients"])
    matters += ["native_decoding"] if "real" in {one["input"] for one in scenarios} else []
    matters += ["python_replicas"] if "data-parallel-single-process" in strategies else []
    matters += ["pipelined_servers", "server_shards"] if "parameter-server" in strategies else []
    releases = [release(name, catalogue) for name, catalogue in catalogues.items()]
    lines = [
        f"{name}: {'; '.join(facts)}"
        for name, facts in zip(catalogues, facts_apart(releases, matters), strict=True)
        if facts
    ]
    reasons = ["what is stated of them"] if lines else []
    reasons += ["the year of the software"] if len(set(map(learned_year, catalogues))) > 1 else []
    if not reasons:
        return ["nothing that is stated tells these frameworks apart: they are predicted alike"]
    by = " and ".join(reasons)
    return [*lines, f"frameworks differ by {by}; measured ones lie further apart than predicted"]
