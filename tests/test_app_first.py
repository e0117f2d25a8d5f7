"""The first page asks, and leads to the page that answers with what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import samples, searches
from app.menu import FIRST, PAGES
from app.start_examples import EXAMPLES, ONE_CARD
from tests.test_app import button, errors, opened, sound, typed, words

pytestmark = pytest.mark.any_version
MINE = {"on": "my_own_machines", "machine": "dgx-h100", "of-gpus": "64"}
LEADS = [
    ({}, "Find machines", {"workload": "llama-3-70b", "deadline": "60d"}),
    ({"train": "resnet50", "for": "5000"}, "Find machines", {"workload": "resnet50", "budget": "5000"}),
    (
        {**MINE, "of-gpus": "16", "batch": "64", "train": "llama-3-8b"},
        "Find the fastest layout",
        {"workload": "llama-3-8b", "gpus": "16", "global-batch-size": "64", "node": "dgx-h100"},
    ),
    ({**MINE, "train": "resnet50"}, "Predict an iteration", {"workload": "resnet50", "gpus": "64"}),
    (
        {"on": "machines_to_add", "train": "bert-large", "present": "dgx-a100-80gb", "present-number": "2"}
        | {"to-add": "4", "takes": "18h", "batch": "960"},
        "Say what they bring",
        {"workload": "bert-large", "machine": "dgx-a100-80gb", "machines": "2", "how-many": "4"}
        | {"run-time": "18h", "global-batch-size": "960"},
    ),
    (
        {**MINE, "train": "resnet50"},
        "Which network?",
        {"inter-link": "ethernet-100g-rdma", "b-inter-link": "ethernet-400g-rdma", "node": "dgx-h100"},
    ),
    (
        {**MINE, "machine": "dgx-1v", "of-gpus": "32", "train": "resnet50"},
        "Which network?",
        {"inter-link": "ethernet-25g-tcp", "c-inter-link": "ethernet-100g-rdma", "gpus": "32"},
    ),
    (
        {"on": "a_quote", "train": "llama-3-70b", "machine": "dgx-h100", "value": "400000"},
        "Check the quote",
        {"workload": "llama-3-70b", "quantity": "tokens_per_second", "value": "400000"},
    ),
    (
        {"on": "a_quote", "train": "resnet50", "machine": "rtx 4090", "value": "40000"},
        "Check the quote",
        {"quantity": "images_per_second", "accelerator": "rtx-4090"},
    ),
    (
        {
            "on": "my_own_machines",
            "how": "QLoRA",
            "train": "llama-2-70b",
            "machine": "rtx-4090",
            "of-gpus": "2",
            "tokens-a-sample": "1024",
        },
        "Will it fit?",
        {"accelerator": "rtx-4090", "gpus": "2", "lora": "16", "frozen-weights": "nf4"}
        | {"sequence-length": "1024"},
    ),
    (
        {**MINE, "on": "a_run_I_measured", "train": "resnet50", "batch-per-gpu": "64", "took": "0.4 s"},
        "Say whether that is normal",
        {"node": "dgx-h100", "local-batch-size": "64", "measured": "0.4 s"},
    ),
]


@pytest.fixture
def among_few(monkeypatch):
    """Plans among machines of one kind: what is tried is the way to the page."""
    work = searches.work
    monkeypatch.setattr(
        searches,
        "work",
        lambda goal, *more: work(goal.model_copy(update={"instances": ("p5.48xlarge",)}), *more),
    )


@pytest.mark.usefixtures("among_few")
@pytest.mark.parametrize(("said", "label", "query"), LEADS)
def test_a_question_leads_to_the_page_that_answers_it(said, label, query):
    test = opened(FIRST[0], **said)
    sound(button(test, label).click().run())
    assert not test.error
    assert test.query_params.items() >= query.items()
    for name in ("tokens", "global-batch-size"):
        assert test.query_params.get(name) == query.get(name)


@pytest.mark.parametrize("how", ["all_weights", "LoRA"])
def test_the_length_of_samples_is_asked_of_a_fine_tuning_alone(how):
    test = opened(FIRST[0], **MINE, train="llama-3-8b", how=how)
    asks = "Tokens of a sample" in [field.label for field in test.number_input]
    assert asks == (how == "LoRA")


@pytest.mark.parametrize(
    "said",
    [{"machine": "dgx-1v", "of-gpus": "8"}, {"machine": "aws-p3.16xlarge", "of-gpus": "32"}, {"machine": ""}],
)
def test_one_machine_and_rented_ones_are_not_asked_which_network(said):
    given = {name: value for name, value in {**MINE, **said}.items() if value}
    test = opened(FIRST[0], **given, train="resnet50")
    assert not [each for each in test.button if each.label == "Which network?"]


LACKING = [
    ({**MINE, "machine": ""}, "Choose a machine or a GPU first."),
    ({"on": "machines_to_add", "to-add": "4"}, "Choose the machines you have first."),
    ({**MINE, "on": "a_quote"}, "Say how much is promised."),
    ({**MINE, "on": "a_run_I_measured"}, "Say how fast it was, or give its log, listing or trace."),
    ({"how": "LoRA"}, "Say on how many tokens."),
]


@pytest.mark.parametrize(("said", "wanted"), LACKING)
def test_a_question_that_lacks_something_says_so_and_opens_no_page(said, wanted):
    given = {name: value for name, value in said.items() if value}
    test = opened(FIRST[0], train="llama-3-70b", **given)
    assert wanted in [each.value for each in test.caption]
    (first, *_) = [each.key for each in test.button if str(each.key).startswith("to-")]
    asked = dict(test.query_params)
    sound(test.button(key=first).click().run())
    assert [each.value for each in test.warning] == [wanted]
    assert asked.items() <= dict(test.query_params).items()  # of this page


def test_a_listing_can_be_pasted_where_a_run_is_asked_about():
    test = opened(FIRST[0], **{**MINE, "on": "a_run_I_measured", "of-gpus": "16"}, train="resnet50")
    sound(test.text_area[0].set_value(samples.LISTING).run())
    sound(button(test, "Say whether that is normal").click().run())
    assert test.query_params.keys() == {"node", "gpus", "own-measured"}
    assert not test.error
    captions = [each.value for each in test.caption]
    assert any("in the pasted listing" in each for each in captions)
    assert any("save it under that name" in each for each in captions)
    assert "Precision" not in [field.label for field in test.selectbox]


def test_resnet_is_one_click_away():
    test = opened(FIRST[0])
    sound(button(test, "ResNet-50 instead").click().run())
    assert test.query_params["train"] == "resnet50"
    assert "On how many tokens" not in [field.label for field in test.text_input]
    assert "within" not in test.query_params  # 60 days were of the example
    mine = opened(FIRST[0])
    sound(mine.text_input(key="option-start-within").set_value("30d").run())
    sound(button(mine, "ResNet-50 instead").click().run())
    assert mine.query_params["within"] == "30d"


def test_kinds_of_price_are_called_as_in_the_answer():
    test = opened(FIRST[0], **{"on-tokens": "10B"})
    (kinds,) = (each for each in test.pills if each.key == "option-start-prices")
    assert list(kinds.options[:3]) == ["on demand", "spot", "reserved for 1 year"]
    assert kinds.value == ["on-demand"]  # lit, as it is what counts unless another is chosen
    sound(kinds.set_value(["spot", "reserved-1y"]).run())
    assert test.query_params["prices"] == "spot,reserved-1y"
    sound(kinds.set_value([]).run())
    assert "prices" not in test.query_params


PCIE = {"workload": "llama-3-8b", "gpus": "8", "global-batch-size": "64", "accelerator": "a100-pcie-80gb"}


def test_a_gpu_without_a_usual_machine_gets_one_by_a_click():
    test = opened(FIRST[0], train="resnet50", on="a_run_I_measured", machine="v100-pcie-16gb", took="400ms")
    sound(test.number_input(key="option-start-of-gpus").set_value(16).run())
    sound(button(test, "Say whether that is normal").click().run())
    said = "V100 PCIe 16 GB has no usual machine"
    assert said in errors(test)
    assert "give “Machine”, e.g. pcie-workstation-8gpu (Workstation with 8 PCIe cards)" in errors(test)
    assert "usual_node" not in errors(test)
    sound(button(test, "Take Workstation with 8 PCIe cards").click().run())
    assert test.query_params["node"] == "pcie-workstation-8gpu"
    assert "normal for ResNet-50" in words(test)
    test = opened("predict", accelerator="h100-nvl-94gb", gpus="64", workload="llama-3-8b")
    sound(button(test, "Take H100 SXM5 80 GB").click().run())
    assert test.query_params["accelerator"] == "h100-sxm5-80gb"
    assert not errors(test)
    test = opened("transformers", **PCIE)
    sound(button(test, "Take Workstation with 8 PCIe cards").click().run())
    assert test.query_params["node"] == "pcie-workstation-8gpu"


def test_what_a_file_states_is_not_asked():
    """A listing has no network, and this one its GPUs; a quote's file states everything."""
    test = uploaded(opened(FIRST[0], **MEASURED), "nccl.txt", OF_A100)
    shown = {each.key for each in (*test.selectbox, *test.number_input)}
    assert {"option-start-machine"} == shown & {
        "option-start-train",
        "option-start-machine",
        "option-start-of-gpus",
    }
    assert "What you train does not count for a listing of collectives" in words(test)
    test = opened(FIRST[0], **{**MINE, "on": "a_quote"}, train="llama-3-70b")
    uploaded(test, "offer.toml", OFFER, "quote-file")
    assert not [each for each in test.selectbox if each.key == "option-start-train"]
    assert "The quote in use is offer.toml." in words(test)
    sound(button(test, "Check the quote").click().run())
    assert set(test.query_params) == {"own-quote"}
    assert not test.error


def test_an_address_of_the_time_when_predict_was_at_the_root_opens_it():
    test = opened(FIRST[0], gpus="16", workload="vgg16")
    assert test.subheader[0].value == "How fast is VGG-16 on 16 V100s?"
    assert "What is this?" in errors(opened(FIRST[0], train="What is this?"))


def test_the_readme_and_the_examples_take_the_same_machine_of_one_card():
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    assert " ".join(f"--{name} {id}" for name, id in ONE_CARD.items()) in readme
    queries = [query for some in EXAMPLES.values() for _, query in some.values()]
    assert any(query.items() >= ONE_CARD.items() for query in queries)


def test_examples_are_in_the_order_of_the_menu():
    menu = [name for name, _ in PAGES]
    places = [menu.index(page) for some in EXAMPLES.values() for page, _ in some.values()]
    assert places == sorted(places)


def test_the_most_common_of_machines_with_one_name_comes_first():
    test = opened("plan")
    nodes = next(each for each in test.multiselect if each.label == "Machines").options
    of_dgx = [name for name in nodes if name.startswith("DGX-1,")]
    assert of_dgx[0] == "DGX-1, 8 x V100 SXM2 16 GB"
    assert len(of_dgx) == 3


def test_the_pages_examples_have_answers():
    test = opened(FIRST[0])
    keys = [each.key for each in test.button if str(each.key).startswith("preset-")]
    assert keys
    for key in keys:
        test = opened(FIRST[0])
        sound(test.button(key=key).click().run())
        assert not test.error
        assert "**" in words(test)


OF_A100 = (
    "# nThread 1 nGpus 1\n"
    + "".join(
        f"# Rank {rank} Group 0 Pid 9 on node{rank // 8} device {rank % 8} [0x07] NVIDIA A100-SXM4-80GB\n"
        for rank in range(16)
    )
    + "# Collective test starting: all_reduce_perf\n"
    "  1073741824  268435456  float  sum  -1  22962.0  46.76  87.68\n"
    "  8589934592  2147483648  float  sum  -1  182770.9  47.00  88.12\n"
)
OFFER = """title = "An offer"
[scenario]
workload = "resnet50"
accelerator = "v100-sxm2-16gb"
world_size = 8
[[claims]]
quantity = "images_per_second"
value = 2800
"""
MEASURED = {"on": "a_run_I_measured", "train": "resnet50", "of-gpus": "16"}


def uploaded(test, name, text, start="measured-file"):
    """A page after a file was put into its upload field."""
    field = next(each for each in test.get("file_uploader") if each.key.startswith(start))
    field.upload(name, text.encode(), "text/plain")
    return sound(test.run())


def test_the_last_of_a_typed_speed_and_a_file_counts():
    test = uploaded(opened(FIRST[0], **MEASURED, took="400ms"), "nccl.txt", OF_A100)
    field = "option-start-took"
    assert not test.text_input(key=field).value
    assert "took" not in test.query_params
    sound(test.text_input(key=field).set_value("0.4 s").run())
    assert "own-measured" not in test.query_params
    sound(test.selectbox(key="option-start-machine").set_value("dgx-1v").run())
    sound(button(test, "Say whether that is normal").click().run())
    assert "own-measured" not in test.query_params
    assert "400 ms normal for ResNet-50" in words(test)
    uploaded(test, "nccl.txt", OF_A100)
    assert "measured" not in test.query_params
    assert "88.1 GB/s normal between 16 A100s" in words(test)
    sound(test.text_input(key="option-diagnose-measured").set_value("0.2 s").run())
    assert test.query_params["measured"] == "0.2 s"
    assert "own-measured" not in test.query_params


def test_a_listing_names_its_machines_unless_somebody_chose_others():
    test = uploaded(opened(FIRST[0], **MEASURED), "nccl.txt", OF_A100)
    machine = test.selectbox(key="option-start-machine")
    assert machine.value is None  # the page had filled in DGX H100
    assert machine.placeholder == "as the listing says"
    assert "The measurement in use, on NVIDIA A100-SXM4-80GB, is in nccl.txt." in words(test)
    sound(button(test, "Say whether that is normal").click().run())
    assert "node" not in test.query_params
    assert test.selectbox(key="option-accelerator").placeholder == "as the listing says"
    assert "Taken as “Machine” dgx-a100-80gb" in words(test)
    sound(test.selectbox(key="option-accelerator").set_value("v100-sxm2-16gb").run())
    assert "not of V100 SXM2 16 GB as given: leave out “Accelerator”" in words(test).replace("**", "")
    sound(test.selectbox(key="option-accelerator").set_value("rtx-4090").run())  # has no usual machine
    assert "not of RTX 4090 as given: leave out “Accelerator”" in errors(test)
    sound(button(test, "Take what the listing names").click().run())
    assert "accelerator" not in test.query_params
    assert "Taken as “Machine” dgx-a100-80gb" in words(test)


def test_a_machine_that_somebody_chose_stays_beside_a_listing():
    test = opened(FIRST[0], **MEASURED)
    sound(test.selectbox(key="option-start-machine").set_value("dgx-h200").run())
    uploaded(test, "nccl.txt", OF_A100)
    assert test.selectbox(key="option-start-machine").value == "dgx-h200"
    sound(button(test, "Say whether that is normal").click().run())
    assert "not of H200" in words(test)
    assert "Take what the listing names" in [each.label for each in test.button]


def test_a_table_of_runs_is_handed_to_the_page_that_learns_from_it():
    test = uploaded(opened(FIRST[0], **MEASURED), "mine.csv", samples.RUNS)
    assert "a table of measured runs" in errors(test)
    sound(button(test, "Learn from these runs").click().run())
    assert test.subheader[0].value == "What mine.csv teaches"


def test_an_example_of_diagnose_brings_its_machines_and_its_file():
    test = opened("diagnose", gpus="32", measured="400ms")
    sound(test.button(key="preset-All-reduces between two DGX H100").click().run())
    assert {"node": "dgx-h100", "gpus": "16"}.items() <= test.query_params.items()
    assert typed(test.subheader[0].value) == "Is 25.7 GB/s normal between 16 H100s?"


def test_adapters_that_a_listing_leaves_open_are_set_by_a_button():
    """The button fills the field next to the listing; then nothing is assumed of the adapters."""
    test = uploaded(opened(FIRST[0], **MEASURED), "nccl.txt", OF_A100)
    sound(button(test, "Say whether that is normal").click().run())
    assert test.number_input(key="option-nics").value is None
    assert "With 8 network adapters a machine (assumed), slow" in words(test).replace("**", "")
    other = test.button(key="other-adapters")
    (count,) = (word for word in other.label.split() if word.isdigit())
    sound(other.click().run())
    assert test.query_params["nics"] == count
    assert "(assumed)" not in words(test)
    assert "other-adapters" not in {each.key for each in test.button}
