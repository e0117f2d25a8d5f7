"""The sources of a prediction: of its formulas, specs, price and fitted constants."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perfmodel.core.files.resources import folder
from perfmodel.core.formula import FORMULAS
from perfmodel.core.tracing.gradients import slopes
from perfmodel.core.units import per_cent
from perfmodel.decide.explanations.derivation import Derivation
from perfmodel.decide.sensitivity.case import Case
from perfmodel.evidence.accuracy.source_titles import source_titles
from perfmodel.hardware import provenance
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.decoder import decoders
from perfmodel.hardware.provenance import Provenance
from perfmodel.hardware.software import LATEST_RELEASE, Software, parts
from perfmodel.hardware.storage import storages
from perfmodel.model.fitted import calibration as calibration_module
from perfmodel.model.fitted.efficiency import SIZES
from perfmodel.model.fitted.learned import origins
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS
from perfmodel.model.setting.leaves import FITTED, SPECS
from perfmodel.model.setting.profile import read_profile
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers import parameters as transformer_parameters

MOST = 0.5
"""Smallest share of the information on a learned number for which one source is cited."""
MOVING = 1e-3
"""Smallest elasticity of the iteration time to a learned number for which the number is cited."""
ASSUMED = "assumed"
PACKAGE = Path(calibration_module.__file__).parent


@dataclass(frozen=True)
class CitedSource:
    """A publication, file or measurement, with what it is used for."""

    key: str
    """Its name in files of the project."""
    kind: str
    """``formula``, ``spec``, ``software``, ``price``, ``workload`` or ``fit``."""
    cited: str
    """The citation, in one line."""
    used_for: list[str]
    """Formulas, numbers of specs, networks or constants that rest on it."""
    url: str | None = None
    """Its address."""
    date: str | None = None
    """The day a person last compared a spec with it, or the year of a publication."""


@cache
def references() -> dict[str, dict[str, Any]]:
    """Return the publications that formulas cite, by key."""
    return tomllib.loads((PACKAGE.parents[1] / "equations" / "references.toml").read_text("utf-8"))


def cited(key: str) -> str:
    """Return the citation of a publication, in one line."""
    entry = references()[key]
    parts = [str(entry[name]) for name in ("authors", "title", "where", "year") if entry.get(name)]
    return ", ".join(parts)


def sources_of(case: Case, result: Derivation, catalogue: Catalogue) -> list[CitedSource]:
    """Return the sources of a prediction, each once with everything it is used for.

    Parameters
    ----------
    case : the predicted case, with the price of a node where it is known
    result : its derivation; the sources of formulas are those of its trace
    catalogue : has the software
    """
    sources = [*_of_formulas(result.trace.ran), *_of_workload(case)]
    for id, numbers, published in _numbers(case, result):
        sources += _of_numbers(id, numbers, published)
    for software, facts in _software(case.setting, catalogue):
        sources += _of_numbers(software.id, facts, software.sources, "software")
    return [*sources, *_of_price(case), *_of_fit(case, result), *_of_measurement(case)]


def assumed_of(case: Case, result: Derivation, catalogue: Catalogue) -> list[str]:
    """Return the numbers and facts behind a prediction that are assumed, as lines of text."""
    lines = [
        f"{id}: {key}"
        for id, numbers, _ in _numbers(case, result)
        for key, number in numbers.items()
        if number.basis == ASSUMED
    ]
    for software, facts in _software(case.setting, catalogue):
        if names := [fact for fact, stated in facts.items() if stated.basis == ASSUMED]:
            lines.append(f"{software.id}: {', '.join(names)}")
    constants = [name.removeprefix("constants.") for name, of in result.given.items() if of == ASSUMED]
    return lines + [f"calibration: {name}" for name in constants if name in case.constants.assumed]


def _numbers(case: Case, result: Derivation) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each spec, storage and decoder in use: its id, the numbers used, and its sources."""
    setting, known = case.setting, storages()
    specs = {spec.id: spec for place in SPECS if (spec := getattr(setting, place)) is not None}
    stated = [(id, id, dict(spec.statements()), spec.sources) for id, spec in specs.items()]
    for id, rate in known.bandwidth.items():
        numbers = {"bandwidth": rate, "requests": known.requests.get(id)}
        stated.append((f"storage.{id}", id, numbers, known.sources))
    if setting.feed is not None and setting.feed.decoder is not None:
        id, numbers = str(setting.scenario.decoder), vars(setting.feed.decoder)
        stated.append((f"decoder.{id}", id, numbers, decoders().sources))
    taken = {f"{setting.accelerator.id}.tdp", *result.given}  # cost and energy take the power
    taken |= {name.rpartition(".")[0] for name in taken}  # one of several that have a source together
    for prefix, id, numbers, sources in stated:
        mine = {key: number for key, number in numbers.items() if f"{prefix}.{key}" in taken}
        if mine:
            yield id, mine, sources


def _software(setting: Setting, catalogue: Catalogue) -> Iterator[tuple[Software, dict[str, Provenance]]]:
    """Yield the software files of a job, base releases included, with the facts used from each."""
    name, year = parts(setting.software)
    seen: set[str] = set()
    while name:
        software = catalogue.software(name)
        new = software.stated_until(year or LATEST_RELEASE).keys() - seen
        seen |= new
        yield software, {fact: stated for fact, stated in software.statements() if fact in new}
        name = software.based_on or ""


def _of_formulas(ran: Iterable[str]) -> list[CitedSource]:
    """Return the publications of formulas, each with the formulas that cite it."""
    used: dict[str, list[str]] = {}
    for name in ran:
        for key in FORMULAS[name].cites:
            used.setdefault(key, []).append(name)
    return [_reference(key, "formula", names) for key, names in used.items()]


def _reference(key: str, kind: str, used_for: list[str]) -> CitedSource:
    """Return a publication as a cited source."""
    entry = references()[key]
    year = str(entry["year"]) if entry.get("year") else None
    return CitedSource(key, kind, cited(key), used_for, entry.get("url"), year)


def _of_workload(case: Case) -> list[CitedSource]:
    """Return the source of the network: a publication or the user's file; none of a synthetic one."""
    workload = case.setting.workload
    if workload.source in references():
        return [_reference(workload.source, "workload", [workload.id])]
    if not workload.source:
        return []
    return [CitedSource(workload.source, "workload", f"your file {workload.source}", [workload.id])]


def _of_numbers(
    name: str,
    numbers: Mapping[str, Provenance],
    published: Mapping[str, provenance.Source],
    kind: str = "spec",
) -> list[CitedSource]:
    """Return the sources of the numbers of one spec, each with the numbers it is used for."""
    used: dict[str, list[str]] = {}
    for field, number in numbers.items():
        if number.source in published:
            used.setdefault(str(number.source), []).append(field)
    return [
        CitedSource(f"{name}/{key}", kind, source.title, fields, source.url, source.read_on.isoformat())
        for key, fields in used.items()
        for source in (published[key],)
    ]


def _of_price(case: Case) -> list[CitedSource]:
    """Return the source of the price; none where it is given or unknown."""
    price = case.price
    if price is None or price.source is None:
        return []
    lists = tomllib.loads((folder("hardware_specs") / "instances.toml").read_text("utf-8"))["sources"]
    entry = lists.get(price.source, {})
    title = entry.get("title", f"your price of {price.instance}")
    used_for = [f"{price.instance} in {price.region}: {price.usd_per_hour:g} USD/h"]
    return [CitedSource(price.source, "price", title, used_for, entry.get("url"), price.date)]


def _of_measurement(case: Case) -> list[CitedSource]:
    """Return the user's own sources: runs, an anchor, or a profile with the files it was made from."""
    scenario, own = case.setting.scenario, case.constants.own
    runs: list[CitedSource] = []
    if scenario.calibration is not None:
        many = (
            f", {own.runs} runs in addition to the shipped fit" if own is not None else ", a fit of your own"
        )
        used_for = ["time of computation", "rate of links", "interval"]
        runs = [CitedSource(scenario.calibration, "fit", f"your calibration{many}", used_for)]
    cited = f"your measurement {scenario.anchor}" if scenario.anchor else None
    if scenario.profile is not None:
        profile = read_profile(scenario.profile)
        cited = f"your profile, by {profile.made_by}, of {', '.join(profile.files) or 'no named file'}"
    if cited is None:
        return runs
    of_anchor = (
        "the time of one accelerator" if case.setting.layout is None else "how far predictions are off"
    )
    used_for = [of_anchor if scenario.anchor else "what it holds"]
    return [
        *runs,
        CitedSource("anchor" if scenario.anchor else scenario.profile or "", "fit", cited, used_for),
    ]


def _of_fit(case: Case, derived: Derivation) -> list[CitedSource]:
    """Return the sources of fitted constants, and of constants read off measurements by hand."""
    setting = case.setting
    result: list[CitedSource] = []
    if has_layouts(setting.workload):
        result += _of_transformers(derived)
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
    taken = {name.removeprefix("constants.") for name, of in derived.given.items() if of != FITTED}
    used: dict[str, list[str]] = {}
    for name, entry in calibration_module.facts().items():
        if name in taken and entry.get("source"):
            used.setdefault(entry["source"], []).append(name)
    for key, names in used.items():
        source = table["sources"][key]
        read_on = source["read_on"].isoformat()
        result.append(CitedSource(key, "fit", source["title"], names, source.get("url"), read_on))
    return result


def _fit(key: str, fitted: Mapping[str, Any], rows: str, used_for: list[str]) -> CitedSource:
    """Return a fit as a cited source: its command, its rows and the hash of its inputs."""
    text = (
        f"fitted by `{fitted['made_by']}` to {rows}, sha256 {fitted['sha256'][:12]}; each run names its "
        "source in validation/sources.csv"
    )
    return CitedSource(key, "fit", text, used_for)


def _of_transformers(derived: Derivation) -> list[CitedSource]:
    """Return the fit to transformers, and each source that dominates a learned number."""
    titles = source_titles()
    fitted = calibration_module.of_transformers()
    many: list[str] = []
    of_one: defaultdict[str, list[str]] = defaultdict(list)
    for name in _influential_numbers(derived):
        source, share = next(iter(origins(TRANSFORMERS)[name].sources.items()))
        if share > MOST:
            of_one[source].append(f"{name} ({per_cent(share, 0)} of what rows tell of it)")
        else:
            many.append(name)
    result = [
        _fit("transformers/model.json", fitted, f"{fitted['runs']} runs of {fitted['sources']} sources", many)
    ]
    return result + [CitedSource(key, "fit", titles[key], names) for key, names in of_one.items()]


def _influential_numbers(derived: Derivation) -> list[str]:
    """Return the learned numbers whose elasticity of the iteration time is at least ``MOVING``."""
    time: Any = derived.step.iteration_time
    moving = {each.name for each in slopes(time) if abs(each.elasticity(time.value)) >= MOVING}
    return [
        name
        for name in transformer_parameters.PARAMETERS
        if (f"efficiency.{name}/matrix" if name in SIZES else f"transformers.{name}") in moving
    ]


def bibtex(result: list[CitedSource]) -> str:
    """Return the sources as BibTeX entries."""
    entries = []
    for source in result:
        entry = references().get(source.key, {})
        fields = {
            "author": " and ".join(str(entry["authors"]).split(", ")) if entry.get("authors") else None,
            "title": entry.get("title") or source.cited,
            "howpublished": entry.get("where"),
            "year": str(entry["year"]) if entry.get("year") else None,
            "url": source.url,
            "note": f"read {source.date}" if source.kind == "spec" and source.date else None,
        }
        lines = [f"  {name} = {{{_escaped(value)}}}," for name, value in fields.items() if value]
        entries.append("\n".join([f"@misc{{{source.key.replace('/', '-')},", *lines, "}"]))
    return "\n\n".join(entries) + "\n"


def _escaped(text: str) -> str:
    """Return text with the special characters of BibTeX escaped."""
    return "".join(f"\\{c}" if c in "&%$#" else c for c in text)
