"""An answer as one page: HTML that opens alone or Markdown, which says what the answer says."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.files.templating import COLOURS
from perfmodel.core.units import show
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.front import evenly_spaced
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.quote.listing import value_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.reports.page import Shares, Span, Spans
from perfmodel.interfaces.reports.planned import MOST, page_of_plan

FILES = Path(__file__).parent / "frozen" / "files"
COMMANDS = {
    "predict": "predict --gpus 32 --node aws-p3.16xlarge --cost --epochs 90",
    "predict of a layout": "predict --workload llama-3-8b --node dgx-h100 --gpus 16 --tensor-parallel 4 "
    "--global-batch-size 64",
    "compare": "compare --gpus 32 --set inter_link=ethernet-100g-tcp",
    "layouts": "layouts --workload llama-3-8b --node dgx-h100 --gpus 16 --global-batch-size 64 --top 3",
    "scale": "scale --workload vgg16 --gpus 1-20",
    "sensitivity": "sensitivity --gpus 16 --node aws-p3.16xlarge",
    "diagnose": "diagnose --gpus 32 --measured 400ms",
    "diagnose of a listing": f"diagnose --node dgx-1v --measured {FILES / 'all_reduce_perf.txt'}",
    "fits": "fits --workload llama-3-8b --accelerator h100-sxm5-80gb --gpus 8",
    "collective": "collective --ranks 16 --size 1KB..1GB --node dgx-a100-40gb",
    "calibrate": f"calibrate --data {FILES / 'mine.csv'}",
    "plan": "plan --epochs 90 --deadline 24h --budget 500 --node aws-p3.16xlarge,aws-p4d.24xlarge "
    "--max-gpus 16",
}
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """The text of a page; every tag must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def text_of(page: str) -> str:
    reader = Reader()
    reader.feed(page)
    assert not reader.open
    return re.sub(r"\s+", " ", " ".join(reader.texts))


def run(line: str):
    return CliRunner().invoke(main, shlex.split(line))


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_page_opens_alone_and_its_command_repeats_the_answer(command, tmp_path):
    page, plain = tmp_path / "page.html", tmp_path / "page.md"
    result = run(f"{command} --json --report {page}")
    assert result.exit_code == command.startswith("fits "), result.output  # that job does not fit
    html = page.read_text()
    for outside in ("http", "src=", "href=", "url(", "@import", "//"):
        assert outside not in html
    repeated = re.search(r"<pre>(.*?)</pre>", html, re.S)
    assert repeated is not None
    line = repeated[1].replace("&#39;", "'").removeprefix("perfmodel ")
    assert run(line).output == result.output
    assert run(f"{command} --report={plain}").exit_code == result.exit_code
    words = text_of(html)
    for heading in ("What it stands on", "To repeat it"):
        assert heading in words
        assert f"## {heading}" in plain.read_text()


def test_the_page_of_a_prediction_says_what_it_says(tmp_path):
    answer = perfmodel.predict(gpus=32)
    perfmodel.write_report(answer, tmp_path / "a.html")
    words = text_of((tmp_path / "a.html").read_text())
    assert answer.interval is not None
    figures = [
        show(time, "s")
        for time in (answer.iteration_time, answer.interval.low_80, *answer.terms.values())
        if time
    ]
    for said in (*figures, answer.headline, answer.verdict, *answer.defaults, *answer.warnings):
        assert re.sub(r"\s+", " ", said) in words
    assert "To repeat it" not in words


def test_the_page_of_a_comparison_draws_ratios_with_their_intervals(tmp_path):
    answer = perfmodel.compare({"gpus": 8}, {"gpus": 16}, names=["<b>eight</b>", "six|teen"])
    perfmodel.write_report(answer, tmp_path / "a.html", command="by hand")
    page = (tmp_path / "a.html").read_text()
    assert "<b>" not in page
    ratio = answer.cases[1].ratio
    assert ratio is not None
    assert ratio.words in text_of(page)
    perfmodel.write_report(answer, tmp_path / "a.md")
    assert "six\\|teen" in (tmp_path / "a.md").read_text()


def test_the_page_of_a_plan_names_the_plan_and_its_rivals(tmp_path):
    answer = perfmodel.plan(
        epochs=90, deadline="24h", nodes=["aws-p3.16xlarge", "aws-p4d.24xlarge"], max_gpus=16
    )
    perfmodel.write_report(answer, tmp_path / "a.html")
    words = text_of((tmp_path / "a.html").read_text())
    assert answer.verdict[0] in words
    assert all(each.why in words for each in answer.rejected)
    assert (
        "options: --epochs 90, --deadline 24 h, --node aws-p3.16xlarge,aws-p4d.24xlarge, --max-gpus 16"
        in words
    )


def test_the_page_of_a_plan_has_its_plans_in_order_machines_without_a_price_and_intervals_of_ratios():
    goal = {"epochs": 90, "nodes": ("aws-p3.16xlarge", "aws-p4d.24xlarge", "dgx-1v"), "max_gpus": 512}
    front = search(Goal(**goal)).front
    between = next(i for i in range(1, len(front)) if i not in evenly_spaced(len(front), MOST))
    result = search(Goal(deadline=front[between]["run_time"] * (1 + 1e-9), confidence=0.5, **goal))
    page = page_of_plan(result, None, Catalogue.built_in())
    tables = {re.split(r" \(|,", table.heading)[0]: table for table in page.tables}
    front = tables["None is both faster and cheaper than these"].rows
    names = [row["machines"] for row in result.front]
    shown = [names.index(row[0]) for row in front]
    assert shown == sorted(shown)
    assert names.index(result.chosen["machines"]) in shown
    assert len(front) == MOST + 1  # the one chosen is not among those evenly spaced
    ratio = result.rejected[0]["ratio"]
    assert tables["Why not others"].rows[0][-1] == f"{ratio['low_80']:.3g} to {ratio['high_80']:.3g}"
    priceless = tables["Price unknown"].rows
    assert [row[0] for row in priceless] == [row["machine"] for row in result.unpriced][:MOST]
    assert priceless[0][-1] == "-"  # too slow for the deadline at any price
    relaxed = search(Goal(**goal))
    worth = relaxed.unpriced[0]["worth_usd_per_hour"]
    (table,) = (
        table
        for table in page_of_plan(relaxed, None, Catalogue.built_in()).tables
        if table.heading == "Price unknown"
    )
    assert table.rows[0][-1] == f"{worth:,.4g}"


def test_the_page_of_a_quote_is_checked_with_ones_own_calibration(tmp_path):
    job = {"accelerator": "v100-sxm2-16gb", "workload": "resnet50", "local_batch_size": 64}
    rows = [(*job, "iteration_time"), (*job.values(), "0.6s")]
    (tmp_path / "mine.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    perfmodel.calibrate(data=tmp_path / "mine.csv").write(tmp_path / "mine.json")
    claim = Claim(quantity="images_per_second", value=200.0)
    quote = Quote(title="slow", scenario=job, claims=(claim,))
    perfmodel.write_report(quote, tmp_path / "a.md", calibration=tmp_path / "mine.json")
    page = (tmp_path / "a.md").read_text()
    own = check_quote(quote, calibration=tmp_path / "mine.json")[0]
    assert value_words(own, own.expected) in page
    plain = check_quote(quote)[0]
    assert value_words(plain, plain.expected) not in page
    with pytest.raises(InputError, match="of a quote alone"):
        perfmodel.write_report(perfmodel.predict(gpus=8), tmp_path / "b.md", calibration="mine.json")


@pytest.mark.parametrize("name", ["page.pdf", "page", "missing/page.html"])
def test_a_file_that_no_page_can_be_written_to_is_refused_before_any_work(name, tmp_path):
    result = run(f"predict --gpus 8 --report {tmp_path / name}")
    assert result.exit_code == 2
    assert "FILE.html" in result.stderr or "no such folder" in result.stderr
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


def test_bars_keep_their_shares_and_their_order():
    bar = Shares("b", [(f"part {index}", 0.1, "10 %") for index in range(10)])
    assert [colour for colour, *_ in bar.drawn] == [*COLOURS, COLOURS[-1], COLOURS[-1]]
    assert all(line.count("█") == 4 for line in bar.lines)


@pytest.mark.parametrize("logarithmic", [False, True])
def test_an_axis_holds_all_it_draws_in_order(logarithmic):
    chart = Spans(
        "s",
        [Span("a", 2.0, 1.0, 4.0, "two"), Span("b", 30.0, None, None, "thirty", 8.0)],
        "",
        16.0,
        logarithmic,
    )
    places = [chart.at(value) for value in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)]
    assert places == sorted(places)
    assert places[0] > 0
    assert places[-1] < 100
    steps = [b - a for a, b in itertools.pairwise(places[:5])]
    assert (max(steps) / min(steps) == pytest.approx(1)) == logarithmic
    first, second = chart.lines
    assert first.index("●") < first.index("│")
    assert second.index("◆") < second.index("│") < second.index("●")


def test_the_page_of_a_quote_has_the_sentences_for_a_mail(tmp_path):
    quote, _ = perfmodel.read_quote("dgx-a100-petaflops")
    perfmodel.write_report(quote, tmp_path / "a.html")
    words = text_of((tmp_path / "a.html").read_text())
    assert "http" not in words
    for claim in perfmodel.check_quote(quote):
        assert re.sub(r"\s+", " ", claim.sentence) in words
    assert run(f"check-quote dgx-a100-petaflops --report {tmp_path / 'b.md'}").exit_code == 1
    assert "impossible" in (tmp_path / "b.md").read_text()


def test_the_page_of_a_quote_keeps_no_address_of_its_text(tmp_path):
    address = "https://example.com/a?b=c"
    claim = Claim(quantity="mfu", value=0.3, text=f"30 % ({address})", reading=f"see {address}")
    quote = Quote(title=f"what {address} says", note=address, scenario={"gpus": 8}, claims=(claim,))
    for name in ("a.html", "a.md"):
        perfmodel.write_report(quote, tmp_path / name)
        page = (tmp_path / name).read_text()
        assert "example.com" not in page
        assert "http" not in page


def test_json_of_a_command_is_what_it_is_without_a_page(tmp_path):
    bare = json.loads(run("predict --gpus 8 --json").output)
    assert json.loads(run(f"predict --gpus 8 --json --report {tmp_path / 'a.md'}").output) == bare
