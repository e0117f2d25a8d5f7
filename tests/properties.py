"""What must hold of every prediction, tried on random scenarios over all options.

``python -m tests.properties 20000 --seed 1`` tries many; the suite tries a few.  Each scenario hangs on the
seed and its number alone: ``--only 17`` repeats one.

The last run of 20,000 had seed 20261130 and eight parts, ``2500 --first 0``, ``1000000`` and so on to
``7000000``: seven violations, and of the named exceptions 93.  Six violations were faults of formulas, since
mended: interleaved pipelines of many micro-batches (4002336, 4002625), one rank's port where tables are
shared out (1001919, 4003862, 5001988), sends that connections bind under a machine's limit (3002201).
The seventh taught an exception: at the peak faster launches shift time between layers (1004352).  Another
3,000, of seed 20261201, had none.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

from perfmodel.core.choices import (
    Algorithm,
    DecoderName,
    Input,
    Optimizer,
    Overlap,
    Placement,
    PrecisionOfCopies,
    StrategyOfCopies,
)
from perfmodel.core.errors import InputError
from perfmodel.decide.economics import Conditions
from perfmodel.decide.sensitivity.case import Case, with_numbers
from perfmodel.decide.sensitivity.elasticity import case_of, derivatives
from perfmodel.equations.fusion import CYCLE_TIME
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.releases import release
from perfmodel.hardware.storage import storages
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.layout import NEUTRAL, RECOMPUTE, SHARDING
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.assemble import AT_PEAK
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.evaluate import Outcome, evaluate, outcome
from perfmodel.model.step.messages import messages
from perfmodel.workloads import names, workload
from tests.exceptions import EXCEPTIONS

CATALOGUE = Catalogue.built_in()
ACCELERATORS, NODES, LINKS = (CATALOGUE.ids(kind) for kind in ("accelerators", "nodes", "links"))
WITHIN = [name for name in LINKS if CATALOGUE.link(name).scope == "intra"]
BETWEEN = [name for name in LINKS if CATALOGUE.link(name).scope == "inter"]
TRAINS = {name: release(name, CATALOGUE).trains for name in CATALOGUE.ids("software")}
OF_ANY, OF_TRANSFORMERS = (
    [name for name, trains in TRAINS.items() if trains in ("any", kind)]
    for kind in ("others", "transformers")
)
ROUNDING = 1e-9
ABSURD = "absurd number"
"""What ``predict`` says of an overflow or a division by zero."""
SOME = 5
"""Inputs of the hardware that one scenario tries."""
BETTER = {
    "peak_flops": 1,
    "vector_peak_flops": 1,
    "memory_bandwidth": 1,
    "intra_link_bandwidth": 1,
    "inter_link_bandwidth": 1,
    "host_link_bandwidth": 1,
    "intra_link_hop_latency": -1,
    "inter_link_hop_latency": -1,
    "inter_link_flow_bandwidth": 1,
    "node_network_bandwidth": 1,
    "socket_link_bandwidth": 1,
    "cross_socket_bandwidth": 1,
    "kernel_floor": -1,
    "dispatch_time": -1,
    "loader_workers": 1,
    "decode_rate": 1,
    "storage_bandwidth": 1,
}
"""Inputs that are better larger (1) or smaller (-1)."""
JITTERS = (
    "none",
    "lognormal:cv=0.05",
    "exponential:rate=1",
    "gamma:shape=40,scale=1",
    "pareto:scale=1,shape=4",
)
PROFILE = """
made_by = "t"
files = []
workload = "resnet50"
accelerator = "v100-sxm2-16gb"
precision = "amp"
local_batch_size = 32
[computation]
value = 1.1
deviation = 0.01
basis = "t"
[jitter]
value = 0.05
deviation = 0.01
basis = "t"
"""


class Violation(NamedTuple):
    """Something that must hold and does not."""

    check: str
    of: str
    """What was changed or compared."""
    excess: float
    """How much too slow, as a part of the iteration time."""
    asked: dict[str, Any]
    overlap: str
    """How gradients travelled: the option's default filled in."""
    algorithm: str
    strategy: str = "all-reduce"
    longest_message: float = 0.0
    """Of what Horovod fuses, before or after the change, and a cycle: as a part of the iteration time."""
    at_peak: bool = False
    """Whether computation takes as long as the peak does, which learned efficiencies would beat."""


SHARED_OUT = 0.5
"""Of scenarios of transformers that do not predict tokens: those with a layout."""


@cache
def profile() -> str:
    """Return the path of a measured profile."""
    path = Path(tempfile.mkdtemp()) / "profile.toml"
    path.write_text(PROFILE)
    return str(path)


def question(seed: int, number: int) -> dict[str, Any]:
    """Return the options of one random scenario; most can be answered."""
    rng = random.Random(f"{seed}/{number}")

    def sometimes(share: float, choose: Callable[[], Any]) -> Any:
        return choose() if rng.random() < share else None

    def count(most: int) -> int:
        return round(math.exp(rng.uniform(0, math.log(most))))

    strategy = rng.choice(get_args(StrategyOfCopies))
    name = rng.choice(sorted(names()))
    accelerator = rng.choice(ACCELERATORS)
    network = workload(name)
    if predicts_tokens(network) or (network.architecture is not None and rng.random() < SHARED_OUT):
        return _layout(rng, name, accelerator)
    precisions = [p for p in get_args(PrecisionOfCopies) if _has(accelerator, p)]
    has_machine = CATALOGUE.accelerator(accelerator).usual_node is not None
    node = sometimes(0.4 if has_machine else 1.0, lambda: rng.choice(NODES))
    alone = strategy in ("parameter-server-local", "data-parallel-single-process")
    asked: dict[str, Any] = {
        "workload": name,
        "accelerator": accelerator,
        "strategy": strategy,
        "world_size": rng.randint(1, 4) if alone else count(2048),
        "node": node,
        "accelerators_per_node": sometimes(0.4, lambda: count(4)),
        "intra_link": sometimes(0.3, lambda: rng.choice(WITHIN)),
        "inter_link": sometimes(0.7, lambda: rng.choice(BETWEEN)),
        "nics": sometimes(0.3, lambda: count(8)),
        "connections": sometimes(0.1, lambda: count(32)),
        "oversubscription": sometimes(0.1, lambda: rng.choice((1.5, 4.0))),
        "placement": sometimes(0.2, lambda: rng.choice(get_args(Placement))),
        "servers": count(64) if strategy == "parameter-server" and rng.random() < 0.7 else None,
        "local_aggregation": sometimes(0.3, lambda: rng.random() < 0.5),
        "algorithm": sometimes(0.7, lambda: rng.choice(get_args(Algorithm))),
        "overlap": None
        if strategy == "data-parallel-single-process"
        else sometimes(0.8, lambda: rng.choice(get_args(Overlap))),
        "precision": sometimes(0.8, lambda: rng.choice(precisions)),
        "local_batch_size": sometimes(0.7, lambda: count(512)),
        "accumulation_steps": sometimes(0.2, lambda: count(16)),
        "optimizer": sometimes(0.3, lambda: rng.choice(get_args(Optimizer))),
        "framework": sometimes(0.5, lambda: rng.choice(OF_ANY) + rng.choice(("", "@2018", "@2020", "@2023"))),
        "input": sometimes(0.3, lambda: rng.choice(get_args(Input))),
        "jitter": sometimes(0.3, lambda: rng.choice(JITTERS)),
        "anchor": sometimes(0.1, lambda: f"iteration_time={rng.lognormvariate(-1.5, 1):.4g}s@1"),
        "profile": sometimes(0.05, profile),
    }
    if workload(name).sequence_length is not None:
        asked["sequence_length"] = sometimes(0.3, lambda: rng.choice((128, 256, 512)))
    if asked["local_batch_size"] is not None and rng.random() < 0.25:
        steps = asked["accumulation_steps"] or 1
        asked["global_batch_size"] = asked.pop("local_batch_size") * asked["world_size"] * steps
    if asked["oversubscription"] is not None:
        asked["rack_nodes"] = count(16)
    if asked["input"] == "real":
        asked["loader_workers"] = sometimes(0.5, lambda: count(64))
        asked["storage"] = sometimes(0.5, lambda: rng.choice(sorted(storages().bandwidth)))
        asked["pinned_memory"] = rng.random() < 0.7
        asked["non_blocking"] = rng.random() < 0.7
        asked["persistent_workers"] = sometimes(0.3, lambda: True)
        if workload(name).sample == "image":
            asked["decoder"] = sometimes(0.5, lambda: rng.choice(get_args(DecoderName)))
        if asked["loader_workers"] is None:
            asked["prefetch_depth"] = sometimes(0.3, lambda: rng.choice((0, 1, 8)))
    if asked["profile"] is not None:
        asked |= {"anchor": None, "accelerator": None, "workload": "resnet50", "precision": None}
    return {key: value for key, value in asked.items() if value is not None}


def _layout(rng: random.Random, name: str, accelerator: str) -> dict[str, Any]:
    """Return the options of a random way to share a transformer out."""
    tensor, stages = rng.choice((1, 1, 2, 4, 8)), rng.choice((1, 1, 2, 4))
    context, data = rng.choice((1, 1, 1, 2)), 2 ** rng.randint(0, 8)
    passes = stages * rng.randint(1, 8)
    has = [each for each in ("fp16", "amp", "bf16", "fp8") if _has(accelerator, each)]
    asked: dict[str, Any] = {
        "workload": name,
        "accelerator": accelerator,
        "world_size": tensor * stages * context * data,
        "tensor_parallel": tensor,
        "pipeline_parallel": stages,
        "context_parallel": context,
        "virtual_stages": rng.choice((1, 2)),
        "expert_parallel": rng.choice((1, 2)) if workload(name).architecture.experts else 1,
        "sharding": rng.choice((None, *SHARDING)),
        "recompute": rng.choice((None, *RECOMPUTE)),
        "framework": rng.choice((None, *OF_TRANSFORMERS)),
        "precision": rng.choice([None, *has]),
        "inter_link": rng.choice((None, rng.choice(BETWEEN))),
        "nics": rng.choice((None, 1, 4, 8)),
        "local_batch_size": 2 ** rng.randint(0, 4),
        "accumulation_steps": passes,
        "jitter": rng.choice((None, None, rng.choice(JITTERS))),
        "sequence_length": rng.choice((None, None, 512, 4096, 32768, 131072)),
    }
    return {key: value for key, value in asked.items() if value is not None}


def _has(accelerator: str, precision: str) -> bool:
    try:
        CATALOGUE.accelerator(accelerator).training_peak(precision)
    except InputError:
        return False
    return True


def violations(asked: dict[str, Any], rng: random.Random) -> Iterator[Violation]:
    """Yield what does not hold of one scenario.

    Raises
    ------
    InputError : the scenario is refused
    """
    scenario = Scenario(**asked)
    found = predict(scenario)
    case = case_of(scenario, CATALOGUE, calibration(), Conditions())
    setting = case.setting
    checks = (
        _sound,
        _bounded,
        _utilisation,
        _one_model,
        _round_trip,
        _better_hardware,
        _larger_batch,
        _best_choices,
        _dominated,
    )
    for check in checks:
        for of, excess, *cases in check(asked, found, case, rng):
            longest = max((_longest_message(each) for each in cases), default=0.0)
            yield Violation(
                check.__name__.strip("_"),
                of,
                excess,
                asked,
                setting.overlap,
                setting.scenario.algorithm,
                setting.strategy,
                longest / found.iteration_time,
                AT_PEAK in found.warnings,
            )


Failures = Iterator[tuple[Any, ...]]
"""What is wrong, by which part of the iteration time, and the cases whose messages bound that, if any."""


def _longest_message(case: Case) -> float:
    """Return the time of the longest message that Horovod fuses, and of one cycle [s]."""
    if case.setting.layout is not None:
        return 0.0
    with with_numbers(case, case.multiplied) as case:
        return _longest_fused(case)


def _longest_fused(case: Case) -> float:
    setting = case.setting._replace(overlap="fused")
    step = evaluate(setting, case.constants)

    def time(sizes: Any) -> Any:
        return message_times(setting, sizes, step.fabric)

    return float(time(messages(setting, step.work, time).message_bytes).max()) + CYCLE_TIME


def _sound(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """Every number is finite, terms are not negative and sum up, what is exposed is communication."""
    total, terms = found.iteration_time, found.terms
    if not all(math.isfinite(number) for number in _numbers(found.model_dump())):
        yield "finite", math.inf
    if abs(sum(terms.values()) - total) > ROUNDING * total:
        yield "terms sum up", abs(sum(terms.values()) / total - 1)
    if min(terms.values()) < 0 or total <= 0:
        yield "not negative", -min(terms.values()) / total
    excess = (terms["exposed_communication_time"] - found.communication_time) / total
    if excess > ROUNDING:
        yield "exposed communication is communication", excess
    within = found.interval
    if within is not None and not 0 < within.low_80 <= total <= within.high_80:
        yield "the interval holds its point", math.inf


def _bounded(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """No end of an interval lies beyond the same work on one accelerator, nor beyond the ratio of them."""
    kept = {name: value for name, value in asked.items() if name not in ("global_batch_size", "servers")}
    changed = {"world_size": 1, "strategy": "all-reduce", "input": "synthetic", "overlap": None}
    if found.interval is None or found.layout is not None or found.scaling == "strong":
        return
    if (
        asked["world_size"] == 1 or case.setting.workload.tables is not None
    ):  # each holds a part of the tables
        return
    if found.scenario["input"] == "real":
        return  # alone it would wait for other samples, and physics lets it skip their padding
    alone = predict(**kept | changed)
    if alone.interval is None:
        return
    least = alone.iteration_time if "anchor" in asked else alone.interval.low_80
    excess = least / found.interval.low_80 - 1
    if excess > ROUNDING:
        yield "low_80 below that of one accelerator", excess
    ratio = ratio_between(found, alone, "one")
    most = max(ratio.value, asked["world_size"])
    if ratio.high_80 > most * (1 + ROUNDING):
        yield "speed-up above the ratio of accelerators", ratio.high_80 / most - 1


def _one_model(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """Network and layout decide which model answers: another option is refused, or the same model answers.

    So it is of options of a layout with a value that shares nothing out.
    """
    other = question(rng.randrange(10**6), rng.randrange(10**6))
    kept = {"workload", "micro_batch_size", *NEUTRAL}
    changed = {name: value for name, value in other.items() if name not in kept}
    neutral = {name: values[-1] for name, values in NEUTRAL.items() if asked.get(name, values[0]) in values}
    changed |= neutral | {"virtual_stages": 2, "micro_batch_size": 1}
    some = {
        *rng.sample(sorted(changed), min(SOME, len(changed))),
        *rng.sample(sorted(neutral), min(2, len(neutral))),
    }
    for name in sorted(some):
        try:
            again = predict(**{**asked, name: changed[name]})
        except InputError:
            continue
        if again.model != found.model:
            yield f"{name} {changed[name]}", math.inf


def _utilisation(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """From specs nothing computes faster than the peak; publications count as much or more."""
    if found.mode == "specs" and found.mfu > 1 + ROUNDING:
        yield "mfu", found.mfu - 1
    if found.hfu is not None and found.hfu < found.mfu * (1 - ROUNDING):
        yield "hfu", found.mfu - found.hfu
    if found.mfu_nominal < found.mfu * (1 - ROUNDING):
        yield "nominal mfu", found.mfu - found.mfu_nominal


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _numbers(each)
    elif isinstance(value, float):
        yield value


def _round_trip(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """The scenario of an answer gives that answer."""
    again = predict(Scenario(**found.scenario))
    ends = [each.interval for each in (found, again)]
    if ends[0] and ends[1] and ends[0].scale > ends[1].scale:  # what it left open, its scenario states
        ends = []
    if again.terms != found.terms or len(set(map(str, ends))) > 1:
        yield "scenario fed back", abs(again.iteration_time / found.iteration_time - 1)


def _better_hardware(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """No part of the hardware slows the job down by being faster.

    Left out is what changes the factor of an anchor: it fixes the measured time of one accelerator, so a
    faster part of that one would only shift its time between the passes, and from them to the samples.
    """
    here = _evaluated(case)
    known = [which for which, value in derivatives(case).inputs() if which.name in BETTER and value]
    for which in rng.sample(known, min(SOME, len(known))):
        direction = BETTER[which.name]
        factor = rng.choice((1.001, 1.1, 1.5, 2, 10))
        better = which.scaled(case, factor**direction)
        after = _evaluated(better)
        if case.setting.layout is None and after.anchor_factor != here.anchor_factor:
            continue
        if after.iteration_time > here.iteration_time * (1 + ROUNDING):
            excess = after.iteration_time / here.iteration_time - 1
            yield f"{which.name} x {factor**direction:.3g}", excess, case, better


def _evaluated(case: Case) -> Outcome:
    with with_numbers(case, case.multiplied) as changed:
        return outcome(changed.setting, changed.constants)


def _larger_batch(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """More samples take no less time; a measurement is of one batch, so those scenarios are left out."""
    if asked.keys() & {"anchor", "profile"}:
        return
    local = case.setting.local_batch_size
    larger = local + rng.choice((1, 2, max(1, local // 2), local, 7 * local))
    steps = case.setting.accumulation_steps
    batch = (
        {"global_batch_size": larger * found.scenario["world_size"] * steps}
        if "global_batch_size" in asked
        else {"local_batch_size": larger}
    )
    after = predict(Scenario(**(asked | batch))).iteration_time
    if after < found.iteration_time * (1 - ROUNDING):
        bigger = case_of(Scenario(**(asked | batch)), CATALOGUE, calibration(), Conditions())
        yield f"local batch {local} -> {larger}", 1 - after / found.iteration_time, case, bigger


def _best_choices(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """What is called optimal or best is no slower than what it chooses from."""
    if case.setting.strategy == "data-parallel-single-process" or case.setting.layout is not None:
        return
    option, best, others = "overlap", "optimal", get_args(Overlap)
    if case.setting.strategy == "all-reduce" and rng.random() < 0.5:
        option, best, others = "algorithm", "best", get_args(Algorithm)
    times: dict[str, float] = {}
    for each in others:
        try:
            times[each] = predict(Scenario(**(asked | {option: each}))).iteration_time
        except InputError as error:
            if ABSURD in str(error):
                yield f"{option} {each} answered", math.inf
    times.pop("switch-tree", None)  # of a network that adds, which no spec promises
    least = min(times, key=times.__getitem__)
    if times.get(best, 0.0) > times[least] * (1 + ROUNDING):
        cases = [
            case_of(Scenario(**(asked | {option: each})), CATALOGUE, calibration(), Conditions())
            for each in (best, least)
        ]
        yield f"{option} {best}, not {least}", times[best] / times[least] - 1, *cases


def _dominated(asked: dict[str, Any], found: Prediction, case: Case, rng: random.Random) -> Failures:
    """A network that is nowhere worse is never slower, and `compare` is sure of it where it is faster."""
    here, servers = case.setting.inter_link, case.setting.strategy == "parameter-server"
    better: list[dict[str, Any]] = [
        {"inter_link": name}
        for name in BETWEEN
        if "inter_link" in asked and not servers and _nowhere_worse(CATALOGUE.link(name), here)
    ]
    better += [{"nics": count} for count in (2, 4, 8) if count > asked.get("nics", math.inf)]
    if asked.get("oversubscription", 1) > 1:
        better.append({"oversubscription": 1.0})
    for changed in rng.sample(better, min(SOME, len(better))):
        try:
            other = predict(**asked | changed)
        except InputError:
            continue
        ratio = ratio_between(other, found, "this")
        if ratio.value < 1 - ROUNDING:
            there = case_of(Scenario(**asked | changed), CATALOGUE, calibration(), Conditions())
            yield f"{changed} slower", 1 / ratio.value - 1, case, there
        elif ratio.sure is not None and ratio.value > 1 + ROUNDING and ratio.sure < 1:
            yield f"{changed} unsure", 1 - ratio.sure


def _nowhere_worse(one: Link, other: Link) -> bool:
    if one.id == other.id or one.kind != other.kind:
        return False
    flows = [math.inf if each.flow_bandwidth is None else each.flow_bandwidth.value for each in (one, other)]
    bulk = [(each.bulk_hop_latency or each.hop_latency).value for each in (one, other)]
    is_fast = one.bandwidth.value >= other.bandwidth.value and flows[0] >= flows[1]
    return is_fast and one.hop_latency.value <= other.hop_latency.value and bulk[0] <= bulk[1]


class Report(NamedTuple):
    """What came of many scenarios."""

    answered: int
    refused: Counter[str]
    violations: list[tuple[int, Violation]]
    """With the scenario's number."""
    excepted: dict[str, list[float]]
    """By the exception's name: how much each was over."""


def run(numbers: Iterator[int] | range, seed: int) -> Report:
    """Try scenarios by number, and sort out what the named exceptions allow."""
    report = Report(0, Counter(), [], {})
    answered = 0
    for number in numbers:
        asked = question(seed, number)
        try:
            bad = list(violations(asked, random.Random(f"{seed}/{number}/checks")))
        except InputError as error:
            if ABSURD in str(error):  # no number of a built-in spec is
                unanswered = Violation("sound", str(error), math.inf, question(seed, number), "", "")
                report.violations.append((number, unanswered))
            report.refused[str(error).split(":")[0][:60]] += 1
            continue
        answered += 1
        for each in bad:
            name = next((e.name for e in EXCEPTIONS if e.allows(each)), None)
            if name is None:
                report.violations.append((number, each))
            else:
                report.excepted.setdefault(name, []).append(each.excess)
    return report._replace(answered=answered)


def main() -> int:
    """Try many scenarios and print what does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="scenarios to be answered; those refused come on top")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first scenario")
    parser.add_argument("--only", type=int, help="number of a single scenario")
    options = parser.parse_args()
    if options.only is not None:
        print(question(options.seed, options.only))
        numbers: Any = [options.only]
    else:
        numbers = _until_answered(options.count, options.seed, options.first)
    report = run(numbers, options.seed)
    for number, each in report.violations:
        print(
            f"{number}: {each.check}: {each.of}: {each.excess:.3%} ({each.overlap}, {each.algorithm})"
            f" {each.asked}"
        )
    print(f"seed {options.seed}: {report.answered} answered, {sum(report.refused.values())} refused")
    for reason, count in report.refused.most_common(8):
        print(f"  refused {count}: {reason}")
    for name, excesses in report.excepted.items():
        print(f"  exception {name}: {len(excesses)}, at most {max(excesses):.2%}")
    print(f"{len(report.violations)} violations: {dict(Counter(v.check for _, v in report.violations))}")
    return int(bool(report.violations))


def _until_answered(count: int, seed: int, first: int) -> Iterator[int]:
    answered = 0
    for number in itertools.count(first):
        if answered >= count:
            return
        try:
            predict(Scenario(**question(seed, number)))
            answered += 1
        except InputError:
            pass
        yield number


if __name__ == "__main__":
    sys.exit(main())
