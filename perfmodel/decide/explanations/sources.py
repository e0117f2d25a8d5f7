"""The sources a prediction stands on: of its formulas, its specs, its price, its fitted constants."""

from __future__ import annotations

import csv
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from perfmodel.core.files.reading import read_table
from perfmodel.core.files.resources import folder
from perfmodel.core.formula import FORMULAS
from perfmodel.core.tracing.gradients import slopes
from perfmodel.decide.explanations.derivation import Derivation
from perfmodel.decide.sensitivity.case import Case
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
"""Share of what rows tell of a learned number; a source that has more of it is cited for the number."""
MOVING = 1e-3
"""Percent of a time for each percent of a learned number, from which on the number is cited."""
ASSUMED = "assumed"
PACKAGE = Path(calibration_module.__file__).parent


@dataclass(frozen=True)
class CitedSource:
    """One publication, file or measurement."""

    key: str
    """By which files of the project name it."""
    kind: str
    """``formula``, ``spec``, ``software``, ``price``, ``workload`` or ``fit``."""
    cited: str
    """As a line of text."""
    used_for: list[str]
    """Formulas, numbers of specs, networks or constants."""
    url: str | None = None
    """Where it is."""
    date: str | None = None
    """The day a person last compared a spec with it, or the year of a publication."""


@cache
def references() -> dict[str, dict[str, Any]]:
    """Return every publication that formulas cite, by key."""
    return tomllib.loads((PACKAGE.parents[1] / "equations" / "references.toml").read_text("utf-8"))


def cited(key: str) -> str:
    """Return a publication as a line of text."""
    entry = references()[key]
    parts = [str(entry[name]) for name in ("authors", "title", "where", "year") if entry.get(name)]
    return ", ".join(parts)


def sources_of(case: Case, result: Derivation, catalogue: Catalogue) -> list[CitedSource]:
    """Return the sources of a prediction, each once with everything it was used for.

    Parameters
    ----------
    case : what was predicted, with the price of a node where it is known
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
    """Return the numbers and facts behind a prediction that nobody measured or published."""
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
    """Yield the id of each spec, storage and decoder, the numbers that are taken of it, and its sources."""
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
    """Yield the files of a job's software, that it is based on too, with the facts it has of them."""
    name, year = parts(setting.software)
    seen: set[str] = set()
    while name:
        software = catalogue.software(name)
        new = software.stated_until(year or LATEST_RELEASE).keys() - seen
        seen |= new
        yield software, {fact: stated for fact, stated in software.statements() if fact in new}
        name = software.based_on or ""


def _of_formulas(ran: Iterable[str]) -> list[CitedSource]:
    used: dict[str, list[str]] = {}
    for name in ran:
        for key in FORMULAS[name].cites:
            used.setdefault(key, []).append(name)
    return [_reference(key, "formula", names) for key, names in used.items()]


def _reference(key: str, kind: str, used_for: list[str]) -> CitedSource:
    entry = references()[key]
    year = str(entry["year"]) if entry.get("year") else None
    return CitedSource(key, kind, cited(key), used_for, entry.get("url"), year)


def _of_workload(case: Case) -> list[CitedSource]:
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
    """Return the sources of the numbers of one thing, each with the numbers it is used for."""
    used: dict[str, list[str]] = {}
    for field, number in numbers.items():
        if number.source in published:
            used.setdefault(str(number.source), []).append(field)
    return [
        CitedSource(f"{name}/{key}", kind, of.title, fields, of.url, of.read_on.isoformat())
        for key, fields in used.items()
        for of in (published[key],)
    ]


def _of_price(case: Case) -> list[CitedSource]:
    price = case.price
    if price is None or price.source is None:
        return []
    lists = tomllib.loads((folder("hardware_specs") / "instances.toml").read_text("utf-8"))["sources"]
    entry = lists.get(price.source, {})
    title = entry.get("title", f"your price of {price.instance}")
    used_for = [f"{price.instance} in {price.region}: {price.usd_per_hour:g} USD/h"]
    return [CitedSource(price.source, "price", title, used_for, entry.get("url"), price.date)]


def _of_measurement(case: Case) -> list[CitedSource]:
    """The user's own: runs, an anchor, or a profile with the files it was made of."""
    asked, own = case.setting.scenario, case.constants.own
    runs: list[CitedSource] = []
    if asked.calibration is not None:
        many = f", {own.runs} runs beside the shipped fit" if own is not None else ", a fit of your own"
        used_for = ["time of computation", "rate of links", "interval"]
        runs = [CitedSource(asked.calibration, "fit", f"your calibration{many}", used_for)]
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
    return [*runs, CitedSource("anchor" if asked.anchor else asked.profile or "", "fit", cited, used_for)]


def _of_fit(case: Case, derived: Derivation) -> list[CitedSource]:
    """The fitted constants, and those that were read off measurements by hand."""
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
    text = (
        f"fitted by `{fitted['made_by']}` to {rows}, sha256 {fitted['sha256'][:12]}; each run names its "
        "source in validation/sources.csv"
    )
    return CitedSource(key, "fit", text, used_for)


def _of_transformers(derived: Derivation) -> list[CitedSource]:
    """The fit to transformers, and each source that most of what is known of a number rests on."""
    with read_table(folder("validation") / "sources.csv") as file:
        titles = {row["key"]: row["title"] for row in csv.DictReader(file)}
    fitted = calibration_module.of_transformers()
    many: list[str] = []
    of_one: defaultdict[str, list[str]] = defaultdict(list)
    for name in _moving(derived):
        source, share = next(iter(origins(TRANSFORMERS)[name].sources.items()))
        if share > MOST:
            of_one[source].append(f"{name} ({share:.0%} of what rows tell of it)")
        else:
            many.append(name)
    result = [
        _fit("transformers/model.json", fitted, f"{fitted['runs']} runs of {fitted['sources']} sources", many)
    ]
    return result + [CitedSource(key, "fit", titles[key], names) for key, names in of_one.items()]


def _moving(derived: Derivation) -> list[str]:
    """Return the numbers of the fit that, grown by a tenth, move a time by a ten-thousandth."""
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
    return "".join(f"\\{c}" if c in "&%$#" else c for c in text)
