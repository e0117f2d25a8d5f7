"""The sources a prediction stands on: of its formulas, its specs, its price, its fitted constants."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from perfmodel import calibration as calibration_module
from perfmodel.evidence import TRANSFORMERS
from perfmodel.formula import FORMULAS
from perfmodel.learned import origins
from perfmodel.profile import read_profile
from perfmodel.reading import read_table
from perfmodel.resolve import Setting
from perfmodel.resources import folder
from perfmodel.sensitivity.case import Case
from perfmodel.sensitivity.inputs import used_links
from perfmodel.sharing import has_layouts
from perfmodel.specs import provenance
from perfmodel.specs.decoder import decoders
from perfmodel.specs.provenance import Provenance, Quantity, SourcedSpec
from perfmodel.specs.storage import storages
from perfmodel.step.evaluate import evaluate
from perfmodel.step.fabric import machine_limit
from perfmodel.step.ports import fraction
from perfmodel.transformers import parameters as transformer_parameters
from perfmodel.transformers.evaluate import case_of_setting
from perfmodel.transformers.job import job_of
from perfmodel.transformers.step import step_of

MOST = 0.5
"""Share of what rows tell of a learned number; a source that has more of it is cited for the number."""
PACKAGE = Path(calibration_module.__file__).parent


class Source(TypedDict):
    """One publication, file or measurement."""

    key: str
    kind: str
    """``formula``, ``spec``, ``price``, ``workload`` or ``fit``."""
    cited: str
    """As a line of text."""
    url: str | None
    date: str | None
    """The day a person last compared a spec with it, or the year of a publication."""
    used_for: list[str]


def _source(
    key: str, kind: str, cited: str, used_for: list[str], url: str | None = None, date: str | None = None
) -> Source:
    return {"key": key, "kind": kind, "cited": cited, "url": url, "date": date, "used_for": used_for}


@cache
def references() -> dict[str, dict[str, Any]]:
    """Return every publication that formulas cite, by key."""
    return tomllib.loads((PACKAGE / "references.toml").read_text("utf-8"))


def cited(key: str) -> str:
    """Return a publication as a line of text."""
    entry = references()[key]
    parts = [str(entry[name]) for name in ("authors", "title", "where", "year") if entry.get(name)]
    return ", ".join(parts)


def sources_of(case: Case, ran: Iterable[str]) -> list[Source]:
    """Return the sources of a prediction, each once with everything it was used for.

    Parameters
    ----------
    case : what was predicted, with the price of a node where it is known
    ran : the formulas that ran
    """
    result = [*_of_formulas(ran), *_of_workload(case)]
    setting = case.setting
    for spec, used in _specs(case):
        result += _of_spec(spec, used)
    if setting.feed is not None:
        for id, key, number in _fed_by(setting):
            result += _of_numbers(id, {key: number}, storages().sources | decoders().sources)
    return [*result, *_of_price(case), *_of_fit(case), *_of_measurement(case)]


def assumed_of(case: Case) -> list[str]:
    """Return the numbers behind a prediction that nobody measured or published."""
    lines = [
        f"{spec.id}: {key}"
        for spec, used in _specs(case)
        for key, number in spec.statements()
        if key in used and number.basis == "assumed"
    ]
    if case.setting.feed is not None:
        lines += [f"{id}: {key}" for id, key, number in _fed_by(case.setting) if number.basis == "assumed"]
    mine = _constants_of(case)
    return lines + [f"calibration: {name}" for name in case.constants.assumed if name in mine]


def _specs(case: Case) -> list[tuple[SourcedSpec, set[str]]]:
    """The specs that were read, with the numbers of each that the prediction took."""
    setting = case.setting
    chip = setting.accelerator
    of_chip = {
        "memory_bandwidth",
        "tdp",
        "usable_memory_bytes" if chip.usable_memory_bytes else "memory_bytes",
    }
    of_chip |= {f"peak_flops.{setting.peak_format}", "peak_flops.fp32"}
    of_links = {"bandwidth", "achieved_fraction", "flow_bandwidth", "ring_bandwidth"}
    if has_layouts(setting.workload):
        of_chip |= {f"achieved_flops.{name}" for name in chip.achieved_flops}
    if setting.layout is not None:
        of_links = {"bandwidth"}  # its shares were learned from collectives
    result: list[tuple[SourcedSpec, set[str]]] = [(chip, of_chip)]
    if setting.world_size > 1:
        limits = {"cross_socket_bandwidth"}
        if machine_limit(setting) is not None:
            limits.add("network_bandwidth")
        result.append((setting.node, limits))
    for link in used_links(case.setting).values():
        latency = "bulk_hop_latency" if link.bulk_hop_latency else "hop_latency"
        result.append((link, {latency, *of_links}))
    return result


def _of_formulas(ran: Iterable[str]) -> list[Source]:
    used: dict[str, list[str]] = {}
    for name in ran:
        for key in FORMULAS[name].cites:
            used.setdefault(key, []).append(name)
    return [_reference(key, "formula", names) for key, names in used.items()]


def _reference(key: str, kind: str, used_for: list[str]) -> Source:
    entry = references()[key]
    year = str(entry["year"]) if entry.get("year") else None
    return _source(key, kind, cited(key), used_for, entry.get("url"), year)


def _of_workload(case: Case) -> list[Source]:
    workload = case.setting.workload
    if workload.source in references():
        return [_reference(workload.source, "workload", [workload.id])]
    if not workload.source:
        return []
    return [_source(workload.source, "workload", f"your file {workload.source}", [workload.id])]


def _of_spec(spec: SourcedSpec, taken: set[str]) -> list[Source]:
    numbers = {name: number for name, number in spec.statements() if name in taken}
    return _of_numbers(spec.id, numbers, spec.sources)


def _fed_by(setting: Setting) -> Iterator[tuple[str, str, Quantity]]:
    """Yield what was read of the storage and the decoder that feed a job: its id, the key, the number."""
    known = storages()
    yield setting.storage, "bandwidth", known.bandwidth[setting.storage]
    if setting.feed is not None and math.isfinite(setting.feed.storage_requests):
        yield setting.storage, "requests", known.requests[setting.storage]
    decoder = None if setting.feed is None else setting.feed.decoder
    for key in ("host_rate", "accelerator_rate"):
        number = getattr(decoder, key, None)
        if number is not None:
            yield str(setting.scenario.decoder), key, number


def _of_numbers(
    name: str, numbers: Mapping[str, Provenance], published: Mapping[str, provenance.Source]
) -> list[Source]:
    """Return the sources of the numbers of one thing, each with the numbers it is used for."""
    used: dict[str, list[str]] = {}
    for field, number in numbers.items():
        if number.source in published:
            used.setdefault(str(number.source), []).append(field)
    return [
        _source(f"{name}/{key}", "spec", of.title, fields, of.url, of.read_on.isoformat())
        for key, fields in used.items()
        for of in (published[key],)
    ]


def _of_price(case: Case) -> list[Source]:
    price = case.price
    if price is None or price.source is None:
        return []
    lists = tomllib.loads((folder("hardware_specs") / "instances.toml").read_text("utf-8"))["sources"]
    entry = lists.get(price.source, {})
    title = entry.get("title", f"your price of {price.instance}")
    used_for = [f"{price.instance} in {price.region}: {price.usd_per_hour:g} USD/h"]
    return [_source(price.source, "price", title, used_for, entry.get("url"), price.date)]


def _of_measurement(case: Case) -> list[Source]:
    """The user's own: runs, an anchor, or a profile with the files it was made of."""
    asked, own = case.setting.scenario, case.constants.own
    runs: list[Source] = []
    if asked.calibration is not None:
        many = f", {own.runs} runs beside the shipped fit" if own is not None else ", a fit of your own"
        used_for = ["time of computation", "rate of links", "interval"]
        runs = [_source(asked.calibration, "fit", f"your calibration{many}", used_for)]
    cited = f"your measurement {asked.anchor}" if asked.anchor else None
    if asked.profile is not None:
        profile = read_profile(asked.profile)
        cited = f"your profile, by {profile.made_by}, of {', '.join(profile.files) or 'no named file'}"
    if cited is None:
        return runs
    of_anchor = (
        "the time of one accelerator" if case.setting.layout is None else "how far predictions are off"
    )
    used_for = [of_anchor if asked.anchor else "what it holds"]
    return [*runs, _source("anchor" if asked.anchor else asked.profile or "", "fit", cited, used_for)]


def _of_fit(case: Case) -> list[Source]:
    """The fitted constants, and those that were read off measurements by hand."""
    setting = case.setting
    result: list[Source] = []
    if has_layouts(setting.workload):
        result += _of_transformers(case)
    if setting.layout is None:
        fitted = json.loads(calibration_module.FITTED.read_text("utf-8"))
        runs, files = fitted["runs"], ", ".join(fitted["inputs"])
        rows = f"{runs['one accelerator']} runs on one accelerator and {runs['anchored']} anchored ones"
        rows += f" of {files}"
        result.append(_fit("calibration.json", fitted, rows, ["efficiencies", "shares of links", "interval"]))
    if setting.world_size > 1:
        fitted = calibration_module.of_collectives()
        rows = f"{fitted['points']} measured collectives of {fitted['sources']} sources"
        result.append(_fit("collectives/model.json", fitted, rows, ["collectives"]))
    table = tomllib.loads((PACKAGE / "calibration.toml").read_text("utf-8"))
    named = set(_constants_of(case))
    used: dict[str, list[str]] = {}
    for name, entry in calibration_module.facts().items():
        if name in named and entry.get("source"):
            used.setdefault(entry["source"], []).append(name)
    for key, names in used.items():
        source = table["sources"][key]
        read_on = source["read_on"].isoformat()
        result.append(_source(key, "fit", source["title"], names, source.get("url"), read_on))
    return result


def _fit(key: str, fitted: Mapping[str, Any], rows: str, used_for: list[str]) -> Source:
    text = (
        f"fitted by `{fitted['made_by']}` to {rows}, sha256 {fitted['sha256'][:12]}; each run names its "
        "source in validation/sources.csv"
    )
    return _source(key, "fit", text, used_for)


def _of_transformers(case: Case) -> list[Source]:
    """The fit to transformers, and each source that most of what is known of a number rests on."""
    with read_table(folder("validation") / "sources.csv") as file:
        titles = {row["key"]: row["title"] for row in csv.DictReader(file)}
    fitted = json.loads(transformer_parameters.RESULT.read_text("utf-8"))
    many: list[str] = []
    of_one: defaultdict[str, list[str]] = defaultdict(list)
    for name in _moving(case):
        source, share = next(iter(origins(TRANSFORMERS)[name].sources.items()))
        if share > MOST:
            of_one[source].append(f"{name} ({share:.0%} of what rows tell of it)")
        else:
            many.append(name)
    result = [
        _fit("transformers/model.json", fitted, f"{fitted['runs']} runs of {fitted['sources']} sources", many)
    ]
    return result + [_source(key, "fit", titles[key], names) for key, names in of_one.items()]


def _moving(case: Case) -> list[str]:
    """Return the learned numbers that, grown by a tenth, move a setting's time by a thousandth or more."""
    setting, known = case.setting, transformer_parameters.fitted().parameters
    job = None if setting.layout is None else job_of(case_of_setting(setting))

    def time(values: Mapping[str, float]) -> float:
        if job is None:
            return float(evaluate(setting, case.constants._replace(transformers=values)).iteration_time)
        return float(step_of(job, values).iteration_time)

    usual = time(known)
    return [
        name
        for name in transformer_parameters.PARAMETERS
        if abs(time({**known, name: 1.1 * known[name]}) / usual - 1) > 1e-3
    ]


def _constants_of(case: Case) -> list[str]:
    """The constants that no run was fitted for and that matter here."""
    setting, names = case.setting, ["reserved_bytes", "allocator_share"]
    fitted = json.loads(calibration_module.FITTED.read_text("utf-8"))["scaling"]
    if setting.world_size > 1 and setting.scenario.jitter is None and setting.layout is None:
        names.append("jitter")
    if setting.feed is not None:
        names += ["decode_rate", "worker_start_time"]
        names += ["pageable_fraction"] if not setting.feed.pinned else []
        names += ["page_cache_share"] if setting.feed.host_memory_bytes else []
    for link in used_links(case.setting).values() if setting.layout is None else ():
        if link.achieved_fraction is None and f"link/{link.kind}" not in fitted:
            known = link.kind if link.kind in case.constants.link_fraction else "other"
            if (
                fraction(link, case.constants) == case.constants.link_fraction[known]
            ):  # else the kernel's TCP's
                names.append(f"link_fraction.{known}")
    return names


def bibtex(result: list[Source]) -> str:
    """Return the sources as BibTeX entries."""
    entries = []
    for source in result:
        entry = references().get(source["key"], {})
        fields = {
            "author": " and ".join(str(entry["authors"]).split(", ")) if entry.get("authors") else None,
            "title": entry.get("title") or source["cited"],
            "howpublished": entry.get("where"),
            "year": str(entry["year"]) if entry.get("year") else None,
            "url": source["url"],
            "note": f"read {source['date']}" if source["kind"] == "spec" and source["date"] else None,
        }
        lines = [f"  {name} = {{{_escaped(value)}}}," for name, value in fields.items() if value]
        entries.append("\n".join([f"@misc{{{source['key'].replace('/', '-')},", *lines, "}"]))
    return "\n\n".join(entries) + "\n"


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if c in "&%$#" else c for c in text)
