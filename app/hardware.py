"""Tables of the catalogue, and a user's own specs, checked as spec files are."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, NamedTuple

from app import session_hardware
from app.file_marks import Mark, in_use, use
from app.hardware_numbers import in_columns, in_words, number_of
from app.names import called
from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder as data_folder
from perfmodel.core.units import parse, three_digits
from perfmodel.evidence.spec_quality import report
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import Kind
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import FORMATS, OPTIMIZERS
from perfmodel.hardware.provenance import Quantity

LARGEST = 100_000
"""Most characters of an uploaded spec file."""
FIELDS = {
    "memory_bytes": ("Memory", "B", "32GiB"),
    "memory_bandwidth": ("Memory bandwidth", "B/s", "1.5TB/s"),
    "tdp": ("Power", "W", "350W"),
}
"""Field of the form for an accelerator -> label, unit, example."""


def overview(catalogue: Catalogue, kind: Kind) -> list[dict[str, Any]]:
    """Return a row for each spec of a kind: its numbers as ``Number``, then its other properties."""
    numbers: list[dict[str, Any]] = []
    facts: list[dict[str, Any]] = []
    for id in catalogue.ids(kind):
        result = catalogue.spec(kind, id)
        numbers.append({"id": id, "name": result.name})
        facts.append({})
        for name, value in vars(result).items():
            if isinstance(value, Quantity):
                numbers[-1][name] = number_of(name, value.value)
            elif isinstance(value, dict) and name == "peak_flops":
                numbers[-1] |= {f"{key} peak": number_of(name, peak.value) for key, peak in value.items()}
            elif isinstance(value, str | int) and name not in ("id", "name", "note"):
                facts[-1][name] = value
    every = (*numbers, *facts)  # numbers are the first columns
    blank = {name: "" if isinstance(value, str) else None for row in every for name, value in row.items()}
    return [
        {in_words(name): (stated | others).get(name, empty) for name, empty in blank.items()}
        for stated, others in zip(numbers, facts, strict=True)
    ]


ANY_ACCELERATOR = "any accelerator"
"""Group of machines that take any."""


class Origin(NamedTuple):
    """Group and year by which a list of specs is arranged."""

    group: str
    """Vendor; of a link its kind."""
    year: int | None


def origin(catalogue: Catalogue, kind: Kind, id: str) -> Origin:
    """Return vendor and year of an accelerator, or of a machine's accelerator; of a link its kind."""
    result: Any = catalogue.spec(kind, id)
    if kind == "nodes":
        if result.accelerator is None:
            return Origin(ANY_ACCELERATOR, None)
        result = catalogue.accelerator(result.accelerator)
    if kind in ("accelerators", "nodes"):
        return Origin(result.vendor, result.year)
    return Origin(result.kind if kind == "links" else "", None)


FIRST = (
    *("name", "fp16 peak", "memory", "memory bandwidth", "bf16 peak", "fp8 peak", "fp32 peak"),
    *("rated power", "year", "vendor", "bandwidth", "hop latency", "accelerators", "accelerator"),
    *("inter link", "nics", "network bandwidth"),
)
"""First columns of a list: what a planner asks for."""


def listed(catalogue: Catalogue, kind: Kind) -> list[dict[str, Any]]:
    """Return the rows of ``overview``, the newest first: what a planner asks for, the rest, last the id.

    A column names the unit of its numbers.
    """
    rows = []
    for row in overview(catalogue, kind):
        group, year = origin(catalogue, kind, row["id"])
        more = {"name": called(row["id"], catalogue)} if kind == "accelerators" else {}
        more |= {"vendor": group} if kind == "nodes" else {}
        rows.append({**row, **more, "year": year})
    rows.sort(key=lambda row: (-(row["year"] or 0), row["id"]))
    rows = _without_empty(rows)
    names = [*(name for name in FIRST if name in rows[0]), *rows[0]]
    order = [name for name in dict.fromkeys(names) if name != "id"]
    return in_columns([{name: row[name] for name in (*order, "id")} for row in rows])


RANKED: Mapping[Kind, Mapping[str, Callable[[Any], float]]] = {
    "accelerators": {
        "peak rate": lambda spec: float(spec.usual_peak),
        "memory bandwidth": lambda spec: float(spec.memory_bandwidth.value),
    },
    "links": {"bandwidth": lambda spec: float(spec.bandwidth.value)},
}
"""Kind -> numbers by which a spec of it is ranked among all of its kind."""


def standing(catalogue: Catalogue, kind: Kind, spec: Any) -> str:
    """Return what an accelerator holds, where a spec stands among its kind, and how far newer ones are.

    A sentence; empty of a kind that is not ranked.
    """
    every: list[Any] = [catalogue.spec(kind, id) for id in catalogue.ids(kind)]
    ranks = [
        f"{ordinal(1 + sum(value(one) > value(spec) for one in every))} by {name}"
        for name, value in RANKED.get(kind, {}).items()
    ]
    if not ranks:
        return ""
    words = f"{_holds(spec) if kind == 'accelerators' else ''}{' and '.join(ranks)} of {len(every)} {kind}"
    newer = [one for one in every if kind == "accelerators" and (one.year or 0) > (spec.year or math.inf)]
    if newer:
        best = max(newer, key=lambda one: one.usual_peak)
        times = three_digits(best.usual_peak / spec.usual_peak)
        words += (
            f"; {len(newer)} are newer than {spec.year}, with up to {times} x its peak rate "
            f"({called(best.id, catalogue)})"
        )
    return f"{words}."


def _holds(accelerator: Accelerator) -> str:
    """Return how many parameters an accelerator may train alone, as the beginning of a sentence."""
    form, states = FORMATS["amp"], OPTIMIZERS["adam"]
    held = form.weight_copy_bytes + states.weight_bytes + states.gradient_bytes + states.moment_bytes
    count = accelerator.memory_capacity / held
    amount = f"{three_digits(count / 1e9)} billion" if count >= 1e9 else f"{count / 1e6:.0f} million"
    return f"One holds at most {amount} parameters in training (Adam, amp; activations come on top); it is "


def ordinal(number: int) -> str:
    """Return a place in an order.

    >>> [ordinal(each) for each in (1, 2, 3, 11, 12, 23, 111)]
    ['1st', '2nd', '3rd', '11th', '12th', '23rd', '111th']
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _without_empty(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the columns in which no row has a value."""
    used = {name for row in rows for name, value in row.items() if value not in ("", None, False)}
    return [{name: value for name, value in row.items() if name in used} for row in rows]


def groups(catalogue: Catalogue, kind: Kind) -> list[str]:
    """Return the vendors of specs, or the kinds of links, the one with the most first."""
    every = [origin(catalogue, kind, id).group for id in catalogue.ids(kind)]
    return sorted(set(every), key=lambda group: (-every.count(group), group))


def text_of(catalogue: Catalogue, id: str) -> str:
    """Return the text of a spec's file; "" if it has none."""
    own = [file for file in session_hardware.specs() if file.stem == id]
    for file in (*own, data_folder("hardware_specs") / catalogue.find(id)[0] / f"{id}.toml"):
        if file.is_file():
            return file.read_text("utf-8")
    return ""


class StoredSpec(NamedTuple):
    """A user's spec file, stored in the session."""

    id: str
    mark: Mark
    """Mark of the file, which is named by the id, as ``--specs`` needs it."""
    findings: list[str]
    """Findings of ``perfmodel specs check`` about it."""


def use_spec(text: str) -> StoredSpec:
    """Store the text of a spec file and use it on all pages, in place of one with the same id.

    Raises
    ------
    InputError : as of ``store_spec``
    """
    result = store_spec(text)
    others = [mark for mark in in_use("specs") if mark.name != result.mark.name]
    use("specs", [*others, result.mark])
    return result


def store_spec(text: str) -> StoredSpec:
    """Check the text of a spec file as strictly as the package's own, and store it in the session.

    Raises
    ------
    InputError : too long, not TOML, no id, an unknown key, or an invalid value
    """
    if len(text) > LARGEST:
        raise InputError(f"{len(text):,} characters; expected at most {LARGEST:,}")
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not TOML: {error}") from None
    id = table.get("id")
    if not isinstance(id, str) or not id.replace("-", "").replace(".", "").replace("_", "").isalnum():
        raise InputError("id: expected the name of the spec, letters, digits, dot, dash and underscore")
    mark = session_hardware.keep("specs", f"{id[:100]}.toml", text.encode())
    file = session_hardware.place("specs", mark)
    others = [path for path in session_hardware.specs() if path.name != file.name]
    try:
        catalogue = Catalogue([*others, file])
        kind, _ = catalogue.find(id)
        findings = [f for f in report(catalogue, date.today(), own=True) if f.id == f"{kind}/{id}"]
    except InputError:
        file.unlink()
        raise
    return StoredSpec(id, mark, [f"{finding.kind}: {finding.message}" for finding in findings])


def accelerator_toml(like: str, id: str, numbers: Mapping[str, str], peaks: Mapping[str, str]) -> str:
    """Return the text of a spec file for an accelerator, a copy of another with some numbers replaced.

    Parameters
    ----------
    like : id of the accelerator to copy
    id : of the new one
    numbers, peaks : field or number format -> number with its unit, as a person typed it

    Raises
    ------
    InputError : an unreadable number, or an id that exists

    Examples
    --------
    >>> text = accelerator_toml("v100-sxm2-16gb", "mine", {"tdp": "350W"}, {"fp32": "20TFLOP/s"})
    >>> table = tomllib.loads(text)
    >>> table["tdp"]["value"], table["tdp"]["basis"], table["peak_flops"]["fp32"]["value"]
    (350.0, 'assumed', 20000000000000.0)
    """
    if id in session_hardware.catalogue().ids("accelerators"):
        raise InputError(f"{id} is taken; give yours a name of its own")
    base = session_hardware.catalogue().accelerator(like).model_dump(mode="python", exclude_defaults=True)
    table = {**base, "id": id, "name": id, "accepted": []}
    for name, text in numbers.items():
        table[name] = _assumed(text, FIELDS[name][1])
    table["peak_flops"] = base["peak_flops"] | {key: _assumed(text, "FLOP/s") for key, text in peaks.items()}
    table.pop("usable_memory_bytes", None)
    table.pop("achieved_flops", None)
    table.pop("achieved_memory_bandwidth", None)
    return "\n".join(_toml({key: value for key, value in table.items() if value not in ([], None)})) + "\n"


def _assumed(text: str, unit: str) -> dict[str, Any]:
    return {"value": parse(text, unit), "basis": "assumed", "note": "given in the app"}


def _toml(table: Mapping[str, Any], path: str = "") -> list[str]:
    """Return the lines of a table as TOML: values first, then inner tables."""
    lines = [f"[{path}]"] if path else []
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines += [f"{key} = {_value(value)}" for key, value in plain.items() if value is not None]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += ["", *_toml(value, f"{path}.{key}" if path else key)]
    return lines


def _value(value: Any) -> str:
    import json

    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return repr(value)
