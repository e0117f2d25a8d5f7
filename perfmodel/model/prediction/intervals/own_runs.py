"""Effects of a calibration file's own runs on a prediction, as factors and as text."""

from __future__ import annotations

import json
import math

from perfmodel.model.fitted.own_effects import OwnEffects, effect_names, fingerprint
from perfmodel.model.prediction.limits import crossed_link
from perfmodel.model.prediction.names import link_name
from perfmodel.model.prediction.understood import understood
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.inside import inside_link
from perfmodel.model.step.layer_rates import conditions
from perfmodel.model.step.parts import communicates

NOT_COMPARED = ("anchor", "profile", "calibration", "scaling")
"""Options that do not distinguish jobs."""
OF_AN_EXCHANGE = ("strategy", "overlap", "algorithm", "intra_link", "inter_link", "nics", "connections")
"""Options that do not distinguish jobs without an exchange of gradients."""


def work_key(setting: Setting) -> str:
    """Return how the ``job_key`` of every job begins that gives an accelerator the work of this one."""
    return f"{setting.workload.id} on {setting.accelerator.id}, {setting.local_batch_size} each: "


def job_key(setting: Setting) -> str:
    """Return what identifies a data-parallel job: the work of each accelerator, and a fingerprint."""
    left_out = NOT_COMPARED if communicates(setting) else (*NOT_COMPARED, *OF_AN_EXCHANGE)
    facts = {name: value for name, value in understood(setting).items() if name not in left_out}
    return work_key(setting) + fingerprint(json.dumps(facts, sort_keys=True, default=str).encode())


def applied_factors(setting: Setting, own: OwnEffects) -> dict[str, float]:
    """Return the factors of own runs that apply to a job, by effect; those of link rates as ``link/ID``.

    None applies to a transformer with a layout, which has its own model.
    """
    if setting.layout is not None:
        return {}
    links = (inside_link(setting).id, crossed_link(setting).id) if setting.world_size > 1 else ()
    names = dict.fromkeys([*effect_names(conditions(setting)), *(f"link/{link}" for link in links)])
    return {name: math.exp(own.logarithms[name]) for name in names if name in own.logarithms}


def remark(setting: Setting, own: OwnEffects) -> str:
    """Return a note on the effects of own runs on a prediction."""
    by_name = applied_factors(setting, own)
    runs = f"{own.runs} run{'s' if own.runs != 1 else ''} of your own ({own.file})"
    links = [
        f"rate of {link_name(name.partition('/')[2])} x {by_name.pop(name):.3f}"
        for name in [*by_name]
        if name.startswith("link/")
    ]
    if setting.layout is not None:
        return f"{runs} are none of transformers with a layout: it is as without them"
    if not by_name and not links:
        return f"{runs} share no software, accelerator, network or link with this job: it is as without them"
    effects = conditions(setting)
    parts = [f"{name.partition('/')[0]} x {factor:.3f}" for name, factor in by_name.items()]
    computation = (
        [f"computation x {math.exp(own.computation(effects)):.3f} ({', '.join(parts)})"] if parts else []
    )
    return f"by {runs}: {'; '.join(computation + links)}"
