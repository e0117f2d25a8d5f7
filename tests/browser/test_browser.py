"""The app in a real chromium: drawn, driven, reopened, downloaded from; nothing leaves loopback."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app.looks import labelled
from app.menu import PAGES
from perfmodel.core.sentences import sentences_in
from perfmodel.core.units import show
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.browser.crowd import sessions
from tests.browser.test_accessibility import ERRORS
from tests.test_traces import trace

pytestmark = pytest.mark.any_version
ITERATION = ".answer-figures > div:has-text('Iteration') > .answer-value"
TRACES = Path(__file__).parents[3] / "shared" / "traces"
REAL = "ddp_resnet50_a100_ws2_rank0.json.gz"


def test_the_menu_leads_to_pages_that_are_drawn(window):
    page = window.open()
    page.get_by_text("25 or 100 Gbit/s for 4 DGX-1 (32 V100s)?").click()  # one click to a useful picture
    page.wait_for_selector(".st-key-answer-card:has-text('100 Gbit/s Ethernet with RDMA')")
    window.settled()
    assert "b-inter-link=ethernet-100g-tcp" in page.url
    for name, title in PAGES[::3]:
        window.entry(title).click()
        page.wait_for_url(f"**/{name}**")
        page.wait_for_selector("[data-testid=stPlotlyChart] .main-svg")
        window.settled()
        assert page.locator(ERRORS).count() == 0, name


def test_the_first_page_leads_on_and_back_leads_back(window):
    page = window.open("?train=resnet50&on=my_own_machines&machine=dgx-1v&of-gpus=8")
    page.get_by_role("button", name="Predict an iteration").click()
    page.wait_for_url("**/predict?**")
    page.wait_for_selector("h3:has-text('How fast is ResNet-50 on 8 V100s?')")
    window.settled()
    page.go_back()
    page.wait_for_selector("h3:has-text('What do you want to know?')")
    window.settled()
    assert "on=my_own_machines" in page.url
    window.entry("Predict").click()  # whose address is not that of the first page
    page.wait_for_selector(ITERATION)
    window.settled()
    assert page.locator(ERRORS).count() == 0


def test_one_click_leads_on_after_kinds_of_price_were_chosen(window):
    page = window.open("?train=llama-3-8b&on=machines_to_rent&on-tokens=10B&within=30d")
    for kind in ("on demand", "spot", "reserved for 1 year"):  # on demand is lit: a click unlights it
        page.get_by_role("button", name=kind).click()
        window.settled()
    page.get_by_role("button", name="Find machines").click()
    page.wait_for_url("**/plan?**pricing=spot%2Creserved-1y**")
    window.settled()


def test_gpus_with_a_usual_machine_are_offered_first(window):
    page = window.open("?train=resnet50&on=my_own_machines")
    page.locator(".st-key-option-start-machine input").press_sequentially("V100")
    page.get_by_role("option", name="V100 PCIe 16 GB").wait_for()
    assert page.get_by_role("option").first.inner_text() == "V100 SXM2 16 GB"
    page.keyboard.press("Escape")


def test_machines_are_added_from_the_first_page_as_by_the_command(window, invoke):
    page = window.open("?train=resnet50&on=machines_to_add&present=dgx-1v&present-number=2")
    page.get_by_role("button", name="Say what they bring").click()
    page.wait_for_url("**/fleets?**machines=2**")
    field = page.get_by_role("textbox", name="How many to add")
    field.wait_for()
    window.settled()
    field.fill("4")
    field.press("Enter")
    page.wait_for_url("**how-many=4**")
    command = ["plan", "--have", "2 x dgx-1v", "--buy", "4 x dgx-1v", "--buy", "4 x dgx-a100-40gb"]
    card = json.loads(invoke(*command, "--buy", "4 x dgx-h100", "--workload", "resnet50", "--json").stdout)[
        "card"
    ]
    page.wait_for_selector(f"strong:has-text('{card['advice'][:20]}')")
    main = window.settled().locator("[data-testid=stMain]").inner_text()
    said = " ".join(main.split())  # units keep to their numbers
    assert all(said.count(each) == 1 for each in sentences_in(labelled(card["advice"])))
    machines = page.get_by_role("combobox", name="Machines you have").bounding_box()
    assert machines["y"] < page.locator(".js-plotly-plot").first.bounding_box()["y"]


def test_changing_gpus_gives_what_the_command_line_prints(window, invoke):
    page = window.open("?gpus=32")
    for gpus in (8, 64):
        field = page.get_by_label("GPUs", exact=True)
        field.fill(str(gpus))
        field.press("Enter")
        answer = json.loads(invoke("predict", "--gpus", gpus, "--json").stdout)
        page.wait_for_selector(f"{ITERATION}:has-text('{show(answer['iteration_time'], 's')}')")
        page.wait_for_url(f"**/predict?gpus={gpus}")
    field.focus()
    page.keyboard.press("ArrowUp")  # keys alone will do
    page.keyboard.press("Enter")
    page.wait_for_selector("h3:has-text('65 V100s')")
    for _ in range(10):  # faster than answers come
        page.get_by_test_id("stNumberInputStepUp").first.click()
    page.wait_for_selector("h3:has-text('75 V100s')")
    page.wait_for_url("**/predict?gpus=75")


def test_one_click_copies_the_answer(window, address):
    page = window.open("predict?gpus=8")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    page.get_by_role("button", name="Copy answer").click()
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(page.get_by_test_id("stCode").first.inner_text()[:80])
    assert "$ perfmodel predict --gpus 8" in copied


def test_a_url_reopened_restores_the_state(window, other):
    page = window.open("?workload=vgg16&gpus=16")
    page.get_by_label("GPUs", exact=True).fill("24")
    page.get_by_label("GPUs", exact=True).press("Enter")
    page.wait_for_url("**gpus=24**")
    answer = predict(Scenario(workload="vgg16", world_size=24))
    again = other.open(page.url.removeprefix(other.address + "/"))
    for each in (page, again):
        expect(each.locator("h3").first).to_have_text("How fast is VGG-16 on 24 V100s?")
        expect(each.locator(ITERATION)).to_have_text(show(answer.iteration_time, "s"))
    page.go_back()
    page.wait_for_selector("h3:has-text('16 V100s')")


def test_back_and_forward_restore_every_state_one_entry_a_change(window):
    page = window.open("?gpus=16")  # an address of the time when Predict was at the root
    page.wait_for_url("**/predict?gpus=16")
    window.settled()
    assert page.locator("[role=dialog]").count() == 0
    before = page.evaluate("history.length")
    page.get_by_role("button", name="25 or 100 Gbit/s?", exact=True).click()
    page.wait_for_url("**/compare?**c-inter-link**")
    window.settled()
    window.entry("Scale").click()
    page.wait_for_url("**/scale?**gpus=1**")
    window.settled()
    assert page.evaluate("history.length") == before + 2
    places = []
    for step in (page.go_back, page.go_back, page.go_forward, page.go_forward):
        step()
        window.settled()
        page.wait_for_timeout(300)  # what would be written afterwards would be seen
        places.append((page.url.removeprefix(window.address), page.locator("h3").first.inner_text()))
        assert page.locator(ERRORS).count() == 0
    paths = [address.partition("?")[0] for address, _ in places]
    assert paths == ["/compare", "/predict", "/compare", "/scale"]
    assert places[1] == ("/predict?gpus=16", "How fast is ResNet-50 on 16 V100s?")
    assert places[0] == places[2]
    assert page.evaluate("history.length") == before + 2


def test_nonsense_in_a_url_is_reported(window):
    page = window.open("scale?gpus=-1&workload=%3Cscript%3Ealert(1)%3C/script%3E&nonsense=1")
    shown = "\n".join(page.locator(ERRORS).all_inner_texts())
    assert all(name in shown for name in ("GPUs", "Workload", "nonsense"))
    assert page.locator("[data-testid=stPlotlyChart]").count() == 0
    page.get_by_text("Go on without it").click()
    page.wait_for_selector("[data-testid=stPlotlyChart] .main-svg")
    window.settled()
    assert page.locator(ERRORS).count() == 0


def test_downloads_arrive_and_parse(window, tmp_path):
    page = window.open("?gpus=8&workload=alexnet")
    answer = predict(Scenario(workload="alexnet", world_size=8))
    for kind in ("CSV", "JSON"):
        with page.expect_download() as arriving:
            page.get_by_text(f"Download {kind}").click()
        arriving.value.save_as(tmp_path / kind)
    assert json.loads((tmp_path / "JSON").read_text())["iteration_time"] == answer.iteration_time
    (row,) = csv.DictReader((tmp_path / "CSV").open())  # what the command prints
    assert {name: float(row[f"terms.{name}"]) for name in answer.terms} == answer.terms


@pytest.mark.parametrize(
    ("path", "option"),
    [
        ("?gpus=8&workload=alexnet", "--workload alexnet"),
        ("compare?gpus=8&b-inter-link=ethernet-25g-tcp", "--set inter-link=ethernet-25g-tcp"),
        ("plan?epochs=1&max-gpus=8&node=aws-p3.16xlarge", "--epochs 1"),
    ],
)
def test_a_page_to_hand_on_arrives_with_its_command(window, tmp_path, path, option):
    page = window.open(path)
    with page.expect_download() as arriving:
        page.get_by_text("Download report").click()
    arriving.value.save_as(tmp_path / "report.html")
    command = re.search(r"<pre>perfmodel (.*)</pre>", (tmp_path / "report.html").read_text())
    assert command is not None
    assert option in command[1]


def test_fifty_megabytes_of_junk_are_refused(window, tmp_path):
    junk = tmp_path / "junk.json"
    junk.write_bytes(bytes(range(1, 251)) * 200_000)
    page = window.open("trace?gpus=2")
    page.set_input_files("input[type=file]", junk)
    page.wait_for_selector(f"{ERRORS}:has-text('junk.json')")
    window.settled()
    assert page.get_by_text("Calibrate on this trace").count() == 0
    page.get_by_test_id("stFileChipDeleteBtn").click()
    page.wait_for_selector("h3:has-text('Where does a step spend its time?')")


@pytest.mark.parametrize("name", ["step.json.gz", *([REAL] if (TRACES / REAL).is_file() else [])])
def test_a_trace_is_seen_and_calibrated_on(window, tmp_path, name):
    """One written here by hand, always; a real profiler's too, where it lies beside the checkout."""
    real = name == REAL
    file = TRACES / name if real else trace(tmp_path / name, packed=True)
    accelerator = "a100-sxm4-40gb" if real else "v100-sxm2-32gb"
    job = "workload=resnet50&precision=fp32&local-batch-size=32"
    page = window.open(f"trace?accelerator={accelerator}&gpus=2&{job}")
    page.set_input_files("input[type=file]", file)
    page.wait_for_selector(f".st-key-answer-card:has-text('{name}')")
    page.get_by_text("Calibrate on this trace").click()
    page.wait_for_selector("text=In use on every page that predicts")
    page.get_by_text("See it in Predict").click()
    page.wait_for_selector(ITERATION)
    page.wait_for_selector("text=Use the profile of my trace")


def test_a_point_of_a_plan_leads_to_its_prediction(window):
    page = window.open("plan?epochs=1&max-gpus=8&accelerators=v100-sxm2-16gb")
    window.drawn()
    points = page.locator("[data-testid=stPlotlyChart] .scatterlayer .trace:nth-child(3) .points path")
    points.last.click(force=True)
    page.wait_for_selector(ITERATION)
    window.settled()
    assert "accelerator=v100-sxm2-16gb" in page.url
    assert "local-batch-size=" in page.url


def test_ten_sessions_at_once_answer_each_its_own_question(address):
    result = sessions(address, seconds=4)
    assert result.wrong == []
    assert result.answers >= 10


def test_a_slider_moves_by_the_keyboard_and_the_address_with_it(window):
    page = window.open("stragglers?workers=16&k=8")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**k=9**")


@pytest.mark.parametrize("query", ["", "?node=gcp-a4x-highgpu-4g&ranks=512", "?node=dgx-h100&ranks=64"])
def test_collectives_fit_a_phone(window, query):
    window.page.set_viewport_size({"width": 375, "height": 812})
    page = window.open(f"communication{query}")
    window.drawn()
    assert page.locator("[data-testid=stPlotlyChart] .legend").count() > 0
    beyond = page.evaluate(
        "[...document.querySelectorAll('[data-testid=stPlotlyChart] .legendtext, .xtick, .ytick')]"
        ".filter(text => text.getBoundingClientRect().right > 375 || text.getBoundingClientRect().left < 0)"
        ".map(text => text.textContent)"
    )
    assert beyond == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
