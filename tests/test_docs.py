"""The documentation's own code: generated pages say everything, links lead somewhere.

`make docs` builds the site.
"""

from __future__ import annotations

import doctest
import json
import re
import tomllib
from importlib import import_module

import pytest

import perfmodel
from docs.site import (
    command_pages,
    equation_pages,
    hardware_pages,
    package_pages,
    python_pages,
    quote_format,
    rst,
    schema_pages,
    usage,
)
from docs.site.commands import commands
from docs.site.docstring import read
from docs.site.equation_lines import lines
from docs.site.equation_pages import Users
from docs.site.fields import fields
from docs.site.links import problems
from docs.site.usage import command_lines, modules
from docs.site.written_pages import ELSEWHERE, FENCE, GENERATED, LINK, ROOT, relinked, written
from perfmodel.decide.quote.file import KINDS as QUANTITIES
from perfmodel.decide.quote.file import SYNONYMS, Claim, Quote, quote_of, scenario_of_claim
from perfmodel.equations.interleaved_pipeline import interleaved_bubble_time
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.hardware.catalogue.kinds import KINDS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.provenance import Source
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.model.prediction.result import Interval
from tests.doors import formulas

pytestmark = pytest.mark.any_version


@pytest.fixture(scope="module")
def equations():
    return equation_pages.pages(Users({"compute.update_time": ["perfmodel predict --gpus 32"]}, modules()))


def test_every_formula_has_its_place_on_a_page(equations):
    for module, function in formulas():
        assert f".. _{module}.{function}:" in equations[f"equations/{module}.rst"]


def test_every_page_of_formulas_says_where_they_hold(equations):
    for module in equation_pages.by_module():
        assert len(read(import_module(f"{equation_pages.PACKAGE}.{module}")).text("Validity")) > 60, module
        assert "\nValidity\n--------\n" in equations[f"equations/{module}.rst"]


def test_a_formula_shows_equation_symbols_source_example_and_commands(equations):
    page = equations["equations/ring_all_reduce.rst"]
    assert r".. math:: T = 2(n-1)\,\alpha + \frac{n-1}{n}" in page
    assert ":math:`\\alpha`\n     - ``hop_latency``\n     - s\n" in page
    assert "infinite where adding is free" in page
    assert "<https://doi.org/10.1016/j.jpdc.2008.09.002>" in page
    assert ">>> round(ring_all_reduce_time(4, 1e9, 0, 8e9), 9)\n0.1875" in page
    assert "   perfmodel predict --gpus 32\n" in equations["equations/compute.rst"]
    assert "**Source** of this model: no publication" in equations["equations/measured_steps.rst"]
    assert "Pairwise all-to-all time\n------------------------\n" in equations["equations/shuffles.rst"]
    assert (
        "``perfmodel.model.step.tables``"
        in equations["equations/shuffles.rst"].partition("**Reached from** ")[2]
    )


def test_a_long_equation_takes_several_lines_and_loses_nothing():
    def bare(latex: str) -> str:
        return re.sub(r"\\\\|&|,?\s*\\q?quad|\s", "", latex)

    broken = 0
    for each in equation_pages.by_module().values():
        for name, entry in each:
            whole = read(entry.function).latex
            assert bare(lines(whole)) == bare(whole), name
            broken += lines(whole) != whole
    assert 20 < broken < 100
    pipeline = read(interleaved_bubble_time).latex
    assert lines(pipeline).count(r" \\ ") == 10


def failed_examples(*texts):
    """What the examples of some texts print otherwise than they show, each text in a session of its own."""
    failed: list[str] = []
    for text in texts:
        test = doctest.DocTestParser().get_doctest(text, {}, "example", None, None)
        assert test.examples
        doctest.DocTestRunner().run(test, out=failed.append)
    return failed


def test_the_example_of_every_formula_runs_as_it_stands(equations):
    examples = [
        part.partition("**Source**")[0]
        for page in equations.values()
        for part in page.split("**Example**")[1:]
    ]
    assert len(examples) == len(list(formulas()))
    assert not failed_examples(*examples)


def test_short_command_lines_are_watched_first():
    lines = command_lines()
    assert len(lines) > 50
    assert lines == sorted(lines, key=lambda line: (len(line), line))
    assert not [
        line
        for line in lines
        if ".csv" in line or line.startswith(("perfmodel plan --w", "perfmodel serve "))
    ]


def test_a_formula_is_noted_with_the_command_that_ran_it(monkeypatch):
    lines = ["perfmodel collective --ranks 8 --size 1MB --link pcie3-x16", "perfmodel predict --gpus 3"]
    monkeypatch.setattr(usage, "command_lines", lambda: lines)
    monkeypatch.setattr(usage, "shown_with_files", lambda: ({}, []))
    ran = usage.users()
    assert ran["compute.update_time"] == lines[1:]
    assert ran["collective_times.ramped_time"] == lines


def test_a_command_line_that_is_refused_stops_the_build(monkeypatch):
    monkeypatch.setattr(usage, "command_lines", lambda: ["perfmodel predict --gpus 0"])
    monkeypatch.setattr(usage, "shown_with_files", lambda: ({}, []))
    with pytest.raises(RuntimeError, match="perfmodel predict --gpus 0: "):
        usage.users()


def test_a_formula_that_no_command_runs_says_what_it_is_for():
    every = {f"{module}.{name}" for module, name in formulas()}
    assert usage.NO_COMMAND.keys() < every
    ran = {name: ["perfmodel predict"] for name in every - usage.NO_COMMAND.keys()}
    assert usage.unsaid(ran) == []
    (left,) = usage.unsaid({name: ran[name] for name in ran if name != "compute.update_time"})
    assert left.startswith("compute.update_time: no command line")
    (wrong,) = usage.unsaid(ran | {"crossover.crossover_bytes": ["perfmodel predict --gpus 2"]})
    assert wrong == "crossover.crossover_bytes: 'perfmodel predict --gpus 2' runs it"
    page = equation_pages.pages(Users(ran, modules(), usage.NO_COMMAND))["equations/crossover.rst"]
    assert "**Used** on the page Communication of ``perfmodel app``" in page


def test_command_lines_of_pages_run_beside_the_files_that_those_show():
    files, lines = usage.shown_with_files()
    assert {"my.toml", "all_reduce_perf.txt"} <= files.keys()
    assert "perfmodel predict --profile my.toml --gpus 8 --input real" in lines


def test_every_number_of_the_hardware_has_its_place_with_source_and_day():
    made = hardware_pages.pages()
    catalogue = Catalogue.built_in()
    for kind in KINDS:
        assert all(f".. _hardware-{id}:" in "".join(made.values()) for id in catalogue.ids(kind)[:5])
    hopper = made["hardware/accelerators-hopper.rst"]
    numbers = sum(
        len(list(catalogue.accelerator(id).statements()))
        for id in catalogue.ids("accelerators")
        if catalogue.accelerator(id).architecture == "Hopper"
    )
    assert hopper.count("   * - ") >= numbers > 50
    assert "989 TFLOP/s" in hopper
    assert ", read 20" in hopper
    assert "p3.16xlarge" in made["hardware/prices.rst"]
    assert "imagenet samples" in made["hardware/datasets.rst"]


def test_what_has_a_basis_but_no_value_has_its_place():
    decoders = hardware_pages.pages()["hardware/decoders.rst"]
    assert "   * - jpeg engines\n     - GA100, GH100" in decoders
    assert "6000\n     - measured" in decoders


def test_facts_without_a_basis_of_their_own_stand_beside_their_sources():
    made = hardware_pages.pages()["hardware/nodes-aws.rst"]
    entry = made[made.index(".. _hardware-aws-p3.16xlarge:") :].partition(".. list-table")[0]
    assert "vcpus: 64" in entry
    assert "Sources: `aws/karpenter-provider-aws" in entry


@pytest.fixture(scope="module")
def beginnings(equations):
    """What each page says first, below its heading."""
    made = equations | hardware_pages.pages() | command_pages.pages() | python_pages.pages()
    made |= {name: text for name, text in schema_pages.pages().items() if name.endswith(".rst")}
    below = re.compile(r"^(?:\.\. _.*\n+)?.+\n=+\n+(.*?)(?:\n\n|\Z)", re.DOTALL)
    result = {name: below.match(text)[1] for name, text in made.items()}
    for name, path in written().items():
        result[name] = re.search(r"^# .*\n+((?:.+\n)*)", path.read_text("utf-8"), re.MULTILINE)[1]
    return result


def test_every_page_says_first_what_it_is_for(beginnings):
    assert len(beginnings) > 200
    other = ("``", "..", "```", "- ", "|", "<!--", "#", "import ")
    assert not {name: text for name, text in beginnings.items() if len(text) < 25 or text.startswith(other)}


def test_every_command_and_option_has_its_place():
    made = command_pages.pages()
    predict = made["reference/commands/predict.rst"]
    assert "   perfmodel predict --gpus 32\n" in predict
    assert "``--gpus`` : integer\n   Accelerators in the job" in predict
    for command in commands():
        page = made[f"reference/commands/{'-'.join(command.path)}.rst"]
        options = [each for each in command.command.params if each.param_type_name == "option"]
        shown = [each.opts for each in options if not each.hidden]
        assert not [names for names in shown if not any(name in page for name in names)]
        assert all(f"   {example}\n" in page for example in command.examples())


def test_every_public_name_has_its_page_with_what_it_answers():
    made = python_pages.pages()
    assert {f"reference/python/{name}.rst" for name in perfmodel.__all__} < set(made)
    collective = made["reference/python/collective.rst"]
    assert "] = 'all-reduce',\n       *,\n       ranks: int,\n" in collective
    assert "``lower_bound`` : ``float``\n   Lower bound of the time" in collective
    assert "model_validate" not in collective


def test_the_examples_of_the_python_reference_run_as_they_stand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = python_pages.pages()
    for name in ("collective", "compression", "model_parallel", "predict", "stragglers", "write_report"):
        assert not failed_examples(made[f"reference/python/{name}.rst"]), name
    assert "**Answers** :doc:`Prediction <Prediction>`\n" in made["reference/python/predict.rst"]
    assert not [
        name
        for name, text in made.items()
        if "**Examples**" in text and ">>> from perfmodel import" not in text
    ]


def test_every_field_of_the_python_reference_says_what_it_is():
    made = python_pages.pages()
    bare = re.compile(r"^(``\w+`` : ``.*``)\n   \\\n", re.MULTILINE)
    assert not {name: bare.findall(text) for name, text in made.items() if bare.search(text)}
    assert (
        "``tokens_per_second`` : ``float | None``\n   Tokens per second, if samples are sequences [1/s]."
        in (made["reference/python/Prediction.rst"])
    )


def test_the_fields_of_a_class_have_the_words_beside_them():
    by_name = {field.name: field for field in fields(Interval)}
    assert by_name["low_80"].type == "float"
    assert by_name["clipped_at"].words


def test_each_command_of_the_service_has_its_schema():
    made = schema_pages.pages()
    for name in COMMANDS:
        file = f"reference/http/{name.replace('/', '-')}"
        assert f":download:`{name.replace('/', '-')}.json" in made[f"{file}.rst"]
        assert json.loads(made[f"{file}.json"])["command"] == name
    predict = made["reference/http/predict.rst"]
    assert '``workload`` : string, else ``"resnet50"``\n   Network' in predict
    assert "``iteration_time`` : number\n   Wall-clock time of one optimizer update" in predict
    assert "The answer:\n" in predict
    assert '    "iteration_time": 0.' in predict
    assert "Of each list and table the first" in made["reference/http/explain.rst"]
    assert len(json.loads(made["reference/http/openapi.json"])["paths"]) >= len(COMMANDS)


def test_a_docstring_is_taken_apart():
    words = read(ring_all_reduce_time)
    assert words.summary == "Time of a ring all-reduce: a reduce-scatter, then an all-gather."
    assert words.body.startswith("Each half takes n-1 steps")
    assert [line.unit for line in words.entries()] == ["1", "B", "s", "B/s", "B/s"]
    assert words.entries()[0].note == "at least 1"
    assert words.text("Returns") == "communication_time [s]"


def test_words_hold_no_markup():
    assert rst.text("|V| * P_ but ``a * b``") == r"\|V\| \* P\_ but ``a * b``"


def test_documents_of_the_repository_are_in_the_site():
    assert all((ROOT / name).is_file() for name in ELSEWHERE)
    assert all((ROOT / name).exists() for name in GENERATED)
    assert {"index.md", "systems.md", "tutorials/start.md"} <= set(written())


def test_links_lead_to_where_the_site_has_what_they_name():
    home = ROOT / "docs" / "systems.md"
    text = "[`a.b`](../perfmodel/equations/compute.py) [r](../validation/report.md#in-short) [x](../Makefile)"
    assert relinked(text, "systems.md", home) == (
        "[`a.b`](equations/compute.rst) [r](accuracy/report.md#in-short) x"
    )
    shown = "[e](../perfmodel/equations/) [p](../hardware_specs/instances.toml) [h](../hardware_specs/)"
    assert relinked(shown, "systems.md", home) == (
        "[e](equations/index.rst) [p](hardware/prices.rst) [h](hardware/index.rst)"
    )
    assert relinked("[x](gone.md)", "systems.md", home) == "[x](gone.md)"
    fenced = "```\n[x](../Makefile)\n```\n"
    assert relinked(fenced, "systems.md", home) == fenced


def relative_links(text):
    prose = "".join(FENCE.split(text)[::2])
    addresses = [match[3].partition("#")[0] for match in LINK.finditer(prose)]
    return [each for each in addresses if each and not re.match(r"[a-z]+:", each)]


def test_relative_links_of_all_markdown_lead_to_files():
    assert relative_links("[a](b.md#c) [d](https://e.org) [f](#g)\n```\n[h](i.md)\n```\n") == ["b.md"]
    folders = [
        ROOT / name for name in ("docs", "examples", "hardware_specs", "perfmodel", "tests", "validation")
    ]
    pages = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]
    links = [(page, address) for page in pages for address in relative_links(page.read_text("utf-8"))]
    assert len(links) > 100
    assert not [
        f"{page.relative_to(ROOT)}: {address}"
        for page, address in links
        if not (page.parent / address).exists()
    ]


def test_links_to_nothing_and_files_from_elsewhere_are_problems(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="b.html#gone">b</a><a href="c.html">c</a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#here">a</a><a href="https://example.org">elsewhere</a>'
        '<script src="https://example.org/x.js"></script><link rel="canonical" href="https://example.org">'
    )
    (tmp_path / "c.css").write_text("p { background: url(//example.org/p.png) }")
    assert problems(tmp_path) == [
        "a.html: b.html#gone: no such place on that page",
        "a.html: c.html is not there",
        "b.html: loads https://example.org/x.js",
        "c.css: loads //example.org/p.png",
    ]


@pytest.mark.any_version
def test_every_package_has_its_page():
    shown = {file: file.read_text("utf-8") for file in package_pages.FOLDER.glob("*.md")}
    assert shown == package_pages.pages(), "make man"


def test_the_page_of_quotes_says_what_the_classes_that_read_them_do():
    page = quote_format.page()
    assert quote_format.PAGE.read_text("utf-8") == f"{page}\n", "make man"
    every = (*Quote.model_fields, *Claim.model_fields, *Source.model_fields, *QUANTITIES, *SYNONYMS)
    assert [name for name in every if f"| `{name}` |" not in page] == []


def test_the_quote_and_the_figures_of_the_page_of_quotes_are_read():
    quote = quote_of(tomllib.loads(quote_format.EXAMPLE))
    first, _ = quote.claims
    assert (first.number, first.token_count) == (35 * 86400, 1e12)
    assert [scenario_of_claim(quote, claim).world_size for claim in quote.claims] == [512, 1024]
    for name, (bare, with_unit) in quote_format.FIGURES.items():
        per = {"per": "job"} if name == "flops" else {}
        known, said = (Claim(quantity=name, value=figure, **per).number for figure in (bare, with_unit))
        assert said == pytest.approx(known, rel=2e-3)
