"""The hardware catalogue: every built-in file, every way a user's file can be wrong, the quality report."""

import csv
import json
import subprocess
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perfmodel.core.errors import InputError
from perfmodel.evidence.spec_quality import report
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue import spec_file
from perfmodel.hardware.catalogue.left_out import LeftOutFile
from perfmodel.hardware.catalogue.spec_file import built, check
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.dataset import DataSetFile
from perfmodel.hardware.decoder import DecoderFile
from perfmodel.hardware.instance import InstanceFile
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.software import Software
from perfmodel.hardware.storage import StorageFile

BUILT_IN = Path(__file__).parents[1] / "hardware_specs"
SHARED = Path(__file__).parents[1].parent / "shared"
CATALOGUE = Catalogue.built_in()
K80 = (BUILT_IN / "accelerators" / "k80.toml").read_text(encoding="utf-8")
TODAY = date(2026, 11, 28)

NAMES = json.loads((Path(__file__).parent / "data" / "hardware_names.json").read_text())
"""What published training runs name, by kind, and cards that people own."""


def one_or_two_lines(error: pytest.ExceptionInfo[InputError]) -> str:
    message = str(error.value)
    assert len(message.splitlines()) <= 2
    return message


# the built-in files


@pytest.mark.parametrize("id", CATALOGUE.ids("accelerators"))
def test_accelerator(id):
    spec = CATALOGUE.accelerator(id)
    assert spec.id == id
    assert 1e11 < max(peak.value for peak in spec.peak_flops.values()) < 5e16
    assert 2**32 <= spec.memory_bytes.value <= 2**39
    assert 1e11 < spec.memory_bandwidth.value < 3e13
    assert 0.85 < spec.memory_capacity / spec.memory_bytes.value <= 1
    assert CATALOGUE.link(spec.host_link).kind == "pcie"
    for link in (spec.peer_link, spec.bridge_link):
        assert link is None or CATALOGUE.link(link).scope == "intra"
    for clock in (spec.base_clock, spec.boost_clock):
        assert clock is None or 4e8 < clock.value < 3e9
    assert spec.tdp is None or 50 <= spec.tdp.value <= 2000


@pytest.mark.parametrize("id", CATALOGUE.ids("links"))
def test_link(id):
    spec = CATALOGUE.link(id)
    assert spec.id == id
    assert 1e8 < spec.bandwidth.value < 2e12
    assert 1e-7 < spec.hop_latency.value < 1e-3
    assert spec.bulk_hop_latency is None or spec.hop_latency.value < spec.bulk_hop_latency.value < 1e-3
    # peers reach little of what joins processors: it is made for their caches
    least = 0.25 if spec.scope == "socket" else 0.5
    assert spec.achieved_fraction is None or least < spec.achieved_fraction.value <= 1


@pytest.mark.parametrize("id", CATALOGUE.ids("nodes"))
def test_node(id):
    spec = CATALOGUE.node(id)
    assert spec.id == id
    assert 1 <= spec.accelerators <= 256
    assert spec.accelerator is None or CATALOGUE.accelerator(spec.accelerator)
    assert spec.intra_link is None or CATALOGUE.link(spec.intra_link).scope == "intra"
    assert spec.inter_link is None or CATALOGUE.link(spec.inter_link).scope == "inter"
    assert spec.socket_link is None or CATALOGUE.link(spec.socket_link).scope == "socket"
    assert spec.host_link is None or CATALOGUE.link(spec.host_link).kind == "pcie"
    assert spec.network_bandwidth is None or 1e8 < spec.network_bandwidth.value < 2e12
    assert spec.storage_bandwidth is None or 5e7 < spec.storage_bandwidth.value < 1e11


def test_instances():
    offers = CATALOGUE.instances()
    assert len(offers) == len({(offer.provider, offer.instance, offer.region) for offer in offers}) >= 67
    for offer in offers:
        node = CATALOGUE.node(offer.node)
        if offer.price_usd_per_hour is not None:
            assert 0.05 < offer.price_usd_per_hour / node.accelerators < 60
            assert offer.region
            assert date(2025, 1, 1) < offer.price_date <= TODAY
    prices = {offer.instance: offer.price_usd_per_hour for offer in offers}
    assert prices["p3.16xlarge"] == 24.48
    assert prices["p5e.48xlarge"] is None


def test_every_file_is_in_the_catalogue():
    for kind in ("accelerators", "links", "nodes"):
        files = sorted(path.stem for path in (BUILT_IN / kind).iterdir())
        assert files == CATALOGUE.ids(kind)


def test_what_was_measured_and_what_people_own_is_there():
    assert {*NAMES["accelerators"], *NAMES["cards_people_own"]} <= set(CATALOGUE.ids("accelerators"))
    assert {*NAMES["nodes"], "aws-p2.xlarge", "aws-p2.16xlarge"} <= set(CATALOGUE.ids("nodes"))
    assert set(NAMES["links"]) <= set(CATALOGUE.ids("links"))


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected tables are not here")
def test_the_collected_tables_name_nothing_unknown():
    kinds = {"accelerator": "accelerators", "node": "nodes", "intra_link": "links", "inter_link": "links"}
    known = {column: {"", "unknown", *CATALOGUE.ids(kind)} for column, kind in kinds.items()}
    known["inter_link"].add("dcn")  # bandwidth not published
    known["intra_link"].add("tpu-v3-ici")  # the same
    # machines of runs with model parallelism, which no kind of validation reads yet
    known["node"] |= {"dgx-gb200-tray", "dgx-gb300-tray", "hgx-h200", "hgx-h200-4gpu", "hgx-b200"}
    known["node"].add("tpu-v3-slice")
    # of Ascend nobody publishes all that a spec needs: hardware_specs/README.md, "What is left out"
    known["accelerator"] |= {"ascend-910-32gb", "ascend-910b-64gb"}
    known["node"].add("atlas-900-a2-podc")
    for table in ("training_runs.csv", "transformer_runs.csv", "collectives.csv"):
        with (SHARED / "measured" / table).open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert not [row[name] for name in kinds if name in row and row[name] not in known[name]]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the collected tables are not here")
def test_accelerators_agree_with_the_collected_table():
    columns = {"fp32": "fp32_flops", "fp16": "fp16_flops", "bf16": "bf16_flops", "tf32": "tf32_flops"}
    with (SHARED / "specs" / "accelerators.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            spec = CATALOGUE.accelerator(row["accelerator"])
            part = 0.5 if spec.id == "mi250x" else 1  # a row of the whole package, a file of one die
            for precision, column in columns.items():
                peak = spec.peak_flops.get(precision)
                assert (peak.value if peak else None) == (float(row[column]) * part if row[column] else None)
            assert spec.memory_bytes.value == float(row["memory_bytes"]) * part
            assert spec.memory_bandwidth.value == float(row["memory_bandwidth"]) * part


@pytest.mark.parametrize(
    ("id", "fp32"),
    # NVIDIA's own figures, to the digits it prints
    [
        ("gtx-1080", 8.9e12),
        ("gtx-1080-ti", 11.3e12),
        ("titan-xp", 12.15e12),
        ("titan-rtx", 16.3e12),
        ("rtx-3080", 29.8e12),
        ("rtx-a6000", 38.7e12),
        ("rtx-4080", 48.7e12),
        ("rtx-6000-ada", 91.1e12),
    ],
)
def test_peaks_derived_from_clocks_meet_the_printed_ones(id, fp32):
    assert CATALOGUE.accelerator(id).peak_flops["fp32"].value == pytest.approx(fp32, rel=0.005)


# what the classes compute


@pytest.mark.parametrize(
    ("id", "precision", "peak", "format"),
    [
        ("v100-sxm2-16gb", "fp32", 15.7e12, "fp32"),
        ("v100-sxm2-16gb", "amp", 125e12, "fp16"),
        ("v100-sxm2-16gb", "fp16", 125e12, "fp16"),
        ("p100-sxm2-16gb", "amp", 21.2e12, "fp16-vector"),
        ("k80", "fp16", 2.8e12, "fp32"),
        ("titan-xp", "fp16", 12.15e12, "fp32"),
        ("gtx-1080-ti", "amp", 11.34e12, "fp32"),
        ("a100-sxm4-80gb", "tf32", 156e12, "tf32"),
        ("a100-sxm4-80gb", "bf16", 312e12, "bf16"),
        ("h100-sxm5-80gb", "fp8", 1978.9e12, "fp8"),
        ("tpu-v4", "amp", 275e12, "bf16"),
        ("p40", "amp", 11.76e12, "fp32"),
        # half of what is printed with 2:4 sparsity: 362.1, 1979, 1671, 4614, 1000 TFLOP/s
        ("l40", "amp", 181.05e12, "fp16"),
        ("h800-sxm5-80gb", "bf16", 989.4e12, "bf16"),
        ("h200-nvl-141gb", "bf16", 835.5e12, "bf16"),
        ("mi350x", "bf16", 2306.9e12, "bf16"),
        ("rtx-pro-6000-blackwell-server", "bf16", 480e12, "bf16"),
    ],
)
def test_training_peak(id, precision, peak, format):
    assert CATALOGUE.accelerator(id).training_peak(precision) == (peak, format)


@pytest.mark.parametrize(
    ("id", "precision", "has"),
    [
        ("v100-sxm2-16gb", "tf32", "fp32"),
        ("v100-sxm2-16gb", "bf16", "fp16"),
        ("k80", "bf16", "fp32"),
        ("tpu-v4", "fp32", "bf16"),
    ],
)
def test_training_peak_refuses_what_the_device_lacks(id, precision, has):
    with pytest.raises(InputError, match=rf"{id} has no peak for {precision}; it has .*{has}"):
        CATALOGUE.accelerator(id).training_peak(precision)


@pytest.mark.parametrize(
    ("id", "bandwidth"),
    # one direction: half of the 400 and 900 GB/s that data sheets print
    [("h800-sxm5-80gb", 200e9), ("h200-nvl-141gb", 450e9)],
)
def test_export_and_bridged_parts_of_hopper(id, bandwidth):
    spec = CATALOGUE.accelerator(id)
    assert CATALOGUE.link(spec.peer_link or spec.bridge_link).bandwidth.value == bandwidth


def test_half_a_board_is_a_device():
    for id in ("k80", "m60", "mi250x"):
        assert CATALOGUE.accelerator(id).board_devices == 2
    assert CATALOGUE.node("aws-p2.8xlarge").accelerators == 8
    assert CATALOGUE.accelerator("mi250x").memory_bytes.value == 64 * 2**30


@pytest.mark.parametrize(
    ("id", "links"), [("dgx-1p", 4), ("dgx-1v", 6), ("aws-p3.16xlarge", 6), ("jean-zay-v100", 6)]
)
def test_every_accelerator_of_a_mesh_uses_all_its_links(id, links):
    node = CATALOGUE.node(id)
    degrees = [sum(n for *pair, n in node.peer_graph if rank in pair) for rank in range(node.accelerators)]
    assert degrees == [links] * node.accelerators


@pytest.mark.published("vTrain, all-reduce on 2 to 8 V100 of a DGX-1V")
def test_ring_bandwidth_of_the_cube_mesh():
    ring = CATALOGUE.link("nvlink2-cube-mesh").ring_bandwidth_by_group_size
    assert ring == {2: 22.6e9, 3: 45.2e9, 4: 85.8e9, 5: 37.1e9, 6: 45.9e9, 7: 87.6e9, 8: 136.1e9}


# a user's own files


def put(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("layout", ["accelerators/", ""])
def test_a_folder_extends_and_overrides(tmp_path, layout):
    put(tmp_path, f"{layout}k80.toml", K80.replace("value = 2.8e12", "value = 4.37e12"))
    put(tmp_path, f"{layout}my-card.toml", K80.replace('id = "k80"', 'id = "my-card"'))
    mine = Catalogue([tmp_path])
    assert mine.accelerator("k80").peak_flops["fp32"].value == 4.37e12
    assert mine.accelerator("my-card").id == "my-card"
    assert mine.accelerator("m60") == CATALOGUE.accelerator("m60")
    assert set(mine.ids("accelerators")) == {*CATALOGUE.ids("accelerators"), "my-card"}
    assert mine.ids("links") == CATALOGUE.ids("links")
    assert CATALOGUE.accelerator("k80").peak_flops["fp32"].value == 2.8e12


def test_a_single_file_and_the_last_folder_wins(tmp_path):
    one = put(tmp_path / "one", "k80.toml", K80.replace("value = 2.8e12", "value = 3e12"))
    put(tmp_path / "two", "k80.toml", K80.replace("value = 2.8e12", "value = 4e12"))
    assert Catalogue([one]).accelerator("k80").peak_flops["fp32"].value == 3e12
    assert Catalogue([tmp_path / "two", one]).accelerator("k80").peak_flops["fp32"].value == 3e12
    assert Catalogue([one, tmp_path / "two"]).accelerator("k80").peak_flops["fp32"].value == 4e12


def test_a_flat_folder_sorts_its_files_by_their_keys(tmp_path):
    put(
        tmp_path,
        "pcie3-x16.toml",
        (BUILT_IN / "links" / "pcie4-x16.toml").read_text().replace("pcie4", "pcie3"),
    )
    put(tmp_path, "box.toml", 'id = "box"\nname = "Box"\naccelerator = "k80"\naccelerators = 2\n')
    mine = Catalogue([tmp_path])
    assert mine.link("pcie3-x16").bandwidth.value == 31.5e9
    assert mine.node("box").accelerators == 2
    with pytest.raises(InputError, match="unknown accelerator 'box'"):
        mine.accelerator("box")


def test_own_prices_replace_and_extend(tmp_path):
    put(
        tmp_path,
        "instances.toml",
        """
        sources.bill = { title = "our bill", read_on = 2026-10-01 }
        [[instances]]
        provider = "AWS"
        instance = "p3.16xlarge"
        node = "aws-p3.16xlarge"
        region = "us-east-1"
        price_usd_per_hour = 20
        price_date = 2026-10-01
        source = "bill"
        [[instances]]
        provider = "us"
        instance = "closet"
        node = "dgx-1v"
        """,
    )
    offers = {(offer.provider, offer.instance): offer for offer in Catalogue([tmp_path]).instances()}
    assert offers["AWS", "p3.16xlarge"].price_usd_per_hour == 20
    assert len(offers) == len(CATALOGUE.instances()) + 1


BAD_K80 = {
    "negative": (("value = 2.8e12", "value = -2.8e12"), ["peak_flops.fp32.value", "-2.8", "greater than 0"]),
    "zero": (("value = 2.8e12", "value = 0"), ["peak_flops.fp32.value", "greater than 0"]),
    "nan": (("value = 2.8e12", "value = nan"), ["peak_flops.fp32.value", "nan", "finite"]),
    "inf": (("value = 2.8e12", "value = inf"), ["peak_flops.fp32.value", "inf", "finite"]),
    "text": (("value = 2.8e12", 'value = "2.8e12"'), ["peak_flops.fp32.value", "expected a number"]),
    "boolean": (("value = 2.8e12", "value = true"), ["peak_flops.fp32.value", "True", "expected a number"]),
    "no value": (("value = 2.8e12\n", ""), ["peak_flops.fp32.value", "missing"]),
    "unknown key": (
        ("board_devices", "board_device"),
        ["unknown key 'board_device'; nearest: board_devices"],
    ),
    "unknown format": (
        ("peak_flops.fp32", "peak_flops.fp33"),
        ["peak_flops: unknown key 'fp33'; nearest: ", "fp32"],
    ),
    "no name": (('name = "NVIDIA Tesla K80"\n', ""), ["name", "missing"]),
    "other id": (('id = "k80"', 'id = "k81"'), ["'k81'", "expected 'k80'"]),
    "basis": (('basis = "datasheet"', 'basis = "hearsay"'), ["basis", "unknown basis 'hearsay'", "measured"]),
    "source": (
        ('source = "datasheet"', 'source = "x"'),
        ["k80: 5.6e+08 is datasheet but names no known source"],
    ),
    "no source": (('source = "datasheet"\n', ""), ["k80: 5.6e+08 is datasheet but names no known source"]),
    "date": (("2026-11-20", '"yesterday"'), ["read_on", "yesterday", "2026-11-20"]),
    "no date": (("read_on = 2026-11-20", ""), ["sources.datasheet.read_on", "missing"]),
    "syntax": (("value = 2.8e12", "value = 2,8e12"), ["not TOML", "line"]),
    "path": (('host_link = "pcie3-x16"', 'host_link = "../x"'), ["host_link", "'../x'"]),
    "table": (("[tdp]\nvalue = 150", "[tdp]\nvalue = [150]"), ["tdp.value", "[150]", "expected a number"]),
}


@pytest.mark.parametrize(("change", "words"), BAD_K80.values(), ids=BAD_K80)
def test_a_bad_file_is_refused_with_file_key_value_and_what_is_expected(tmp_path, change, words):
    assert change[0] in K80
    file = put(tmp_path, "accelerators/k80.toml", K80.replace(*change, 1))
    with pytest.raises(InputError) as error:
        Catalogue([tmp_path]).accelerator("k80")
    message = one_or_two_lines(error)
    assert str(file) in message
    assert not [word for word in words if word not in message], message


def test_other_bad_files(tmp_path):
    link = (BUILT_IN / "links" / "nvlink2-cube-mesh.toml").read_text()
    put(tmp_path, "links/nvlink2-cube-mesh.toml", link.replace("value = 0.896", "value = 1.2"))
    put(
        tmp_path,
        "links/one.toml",
        link.replace('id = "nvlink2-cube-mesh"', 'id = "one"').replace("{ 2 =", "{ 1 ="),
    )
    node = 'id = "{}"\nname = "n"\naccelerators = 2\npeer_graph = {}\n'
    put(tmp_path, "nodes/far.toml", node.format("far", "[[0, 2, 1]]"))
    put(tmp_path, "nodes/twice.toml", node.format("twice", "[[0, 1, 1], [1, 0, 1]]"))
    put(
        tmp_path,
        "instances.toml",
        '[[instances]]\nprovider="a"\ninstance="b"\nnode="c"\nprice_usd_per_hour=1\n[sources]',
    )
    (tmp_path / "accelerators").mkdir()
    (tmp_path / "accelerators" / "latin.toml").write_bytes(b'name = "\xe9"')
    mine = Catalogue([tmp_path])
    for call, words in {
        lambda: mine.link("nvlink2-cube-mesh"): "achieved_fraction.value is 1.2; expected at most 1",
        lambda: mine.link("one"): "ring_bandwidth.by_group_size",
        lambda: mine.node("far"): "expected pairs of two of 0..1",
        lambda: mine.node("twice"): "expected each pair once",
        mine.instances: "b: a price needs region, price_date and source",
        lambda: mine.accelerator("latin"): "cannot be read",
    }.items():
        with pytest.raises(InputError) as error:
            call()
        assert words in one_or_two_lines(error)


def test_missing_folders_and_empty_ones(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        Catalogue([tmp_path / "nowhere"])
    with pytest.raises(InputError, match=r"no \.toml file"):
        Catalogue([tmp_path])


@pytest.mark.parametrize(
    "id", ["../links/pcie3-x16", "/etc/passwd", "..", "", "k80\x00", "a" * 500, "k80\n", "k80.toml"]
)
def test_an_id_reaches_no_other_file(id):
    with pytest.raises(InputError, match="unknown accelerator"):
        CATALOGUE.accelerator(id)


def test_an_unknown_id_names_the_nearest():
    with pytest.raises(InputError, match="unknown link 'nvlink2-cubes'; nearest: nvlink2-cube-mesh"):
        CATALOGUE.link("nvlink2-cubes")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_loads_or_is_refused_in_two_lines(tmp_path, data):
    start = data.draw(st.integers(0, len(K80)))
    length = data.draw(st.integers(0, 30))
    noise = data.draw(
        st.text(max_size=12) | st.sampled_from(["nan", "inf", "-1", "[x]", '"', "=", "[[tdp]]\n"])
    )
    text = K80[:start] + noise + K80[start + length :]
    file = put(tmp_path, "accelerators/k80.toml", text.encode("utf-8", "replace").decode("utf-8"))
    message = refusal(lambda: Catalogue([tmp_path]).accelerator("k80"))
    assert len(message.splitlines()) <= 2
    assert not message or str(file) in message


def refusal(load):
    """What an InputError says; nothing where there is none; any other exception is a failure."""
    try:
        load()
    except InputError as error:
        return str(error)
    return ""


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)


def test_a_key_that_no_terminal_shows_is_written_out():
    table = tomllib.loads(K80)
    table["sources"] = {"\x1e": 0}
    assert refusal(lambda: check(table, Accelerator, Path("k80.toml"))).startswith(
        "k80.toml: sources.\\x1e = 0"
    )


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_value_under_any_key_is_taken_or_refused(data):
    table = tomllib.loads(K80)
    key = data.draw(st.sampled_from(sorted(table)))
    target = table
    if isinstance(table[key], dict) and data.draw(st.booleans()):
        target, key = table[key], data.draw(st.sampled_from(sorted(table[key])))
    target[key] = data.draw(_VALUES)
    message = refusal(lambda: check(table, Accelerator, Path("k80.toml")))
    assert len(message.splitlines()) <= 1
    if message:
        assert message.startswith("k80.toml: ")
    elif target[key] is not None:  # TOML has no such value
        assert built(table, Accelerator) == Accelerator.model_validate(table)


def test_only_the_file_asked_for_is_read(monkeypatch):
    read = []
    toml = spec_file.read_toml
    monkeypatch.setattr(spec_file, "read_toml", lambda file: read.append(file.name) or toml(file))
    fresh = Catalogue()
    fresh.accelerator("k80")
    fresh.accelerator("k80")
    fresh.link("pcie3-x16")
    assert read == ["k80.toml", "pcie3-x16.toml"]


def test_the_catalogue_imports_nothing_heavy():
    code = (
        "import sys; from perfmodel.hardware.catalogue.store import Catalogue; import perfmodel.core.units;"
        "Catalogue.built_in().accelerator('k80');"
        "print([name for name in ('numpy', 'rich', 'sympy', 'scipy', 'click') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


# the quality report


def found(tmp_path: Path, text: str, today: date = TODAY) -> dict[str, str]:
    put(tmp_path, "accelerators/k80.toml", text)
    return {f.code: f.kind for f in report(Catalogue([tmp_path]), today) if f.id == "accelerators/k80"}


def test_the_built_in_files_hold_nothing_suspicious():
    findings = report(CATALOGUE, TODAY)
    assert not [finding for finding in findings if finding.kind in ("suspicious", "accepted")]
    stale = [finding.code for finding in findings if finding.kind == "stale"]
    assert all(code.startswith("GCP ") and "reserved" in code for code in stale), stale  # no newer source
    assert {finding.kind for finding in findings} - {"stale"} == {"assumed", "missing"}


@pytest.mark.any_version
def test_report_finds_what_is_doubtful(tmp_path):
    assert found(tmp_path, K80) == {}
    assert found(tmp_path, K80.replace("value = 2.8e12", "value = 8.74e12")) == {"fp32 peak": "suspicious"}
    assert found(tmp_path, K80.replace("2026-11-20", "2024-01-01")) == {"stale datasheet": "stale"}
    assert found(tmp_path, K80.replace("2026-11-20", "2027-01-01")) == {"future datasheet": "suspicious"}
    for key in ("compute_units = 13", "compute_capability = 3.7"):
        assert found(tmp_path, K80.replace(f"{key}\n", "")) == {"unreadable": "suspicious"}
    assert found(tmp_path, K80.replace("value = 935e9", "value = 9.35e12")) == {"fp64/fp32": "suspicious"}
    assumed = '[tdp]\nvalue = 150\nbasis = "assumed"\n'
    real = '[tdp]\nvalue = 150\nbasis = "datasheet"\nsource = "datasheet"\n'
    assert found(tmp_path, K80.replace(real, assumed)) == {"assumed": "assumed"}
    unused = K80 + '\n[sources.other]\ntitle = "t"\nread_on = 2026-11-20\n'
    assert found(tmp_path, unused) == {"unused other": "suspicious"}
    assert found(tmp_path, K80.replace("2.8e12", "x")) == {"unreadable": "suspicious"}


def test_what_is_accepted_is_not_asked_again(tmp_path):
    wrong = K80.replace("value = 2.8e12", "value = 8.74e12")
    accepted = 'accepted = ["fp32 peak"]\n'
    assert found(tmp_path, accepted + wrong) == {}
    assert found(tmp_path, accepted + K80) == {"fp32 peak": "accepted"}


def test_report_of_links_nodes_and_prices(tmp_path):
    link = (BUILT_IN / "links" / "ib-edr-100g.toml").read_text().replace("12.5e9", "25e9")
    put(tmp_path, "links/ib-edr-100g.toml", link)
    put(
        tmp_path,
        "nodes/box.toml",
        'id = "box"\nname = "b"\naccelerators = 2\nintra_link = "ib-edr-100g"\ninter_link = "nowhere-1g"\n',
    )
    put(
        tmp_path,
        "nodes/dgx-1v.toml",
        (BUILT_IN / "nodes" / "dgx-1v.toml").read_text().replace("[0, 1, 1]", "[0, 1, 2]"),
    )
    codes = {(f.id, f.code) for f in report(Catalogue([tmp_path]), TODAY)}
    assert ("links/ib-edr-100g", "port speed") in codes
    assert ("nodes/box", "unreadable") in codes
    assert ("nodes/dgx-1v", "peer_graph") in codes
    later = report(CATALOGUE, TODAY + timedelta(days=400))
    assert ("instances", "stale", "AWS p3.16xlarge") in {(each.id, each.kind, each.code) for each in later}


SHIPPED = {
    "accelerators": Accelerator,
    "nodes": Node,
    "links": Link,
    "software": Software,
    "instances.toml": InstanceFile,
    "storage.toml": StorageFile,
    "datasets.toml": DataSetFile,
    "decoders.toml": DecoderFile,
    "left_out.toml": LeftOutFile,
}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ["predict", "--accelerator", "ascend-910-32gb"],
            "accelerator ascend-910-32gb has no spec, as Huawei",
        ),
        (
            ["predict", "--accelerator", "ascend-910b-64gb"],
            "accelerator ascend-910b-64gb has no spec, as the Asc",
        ),
        (["predict", "--node", "atlas-900-a2-podc"], "node atlas-900-a2-podc has no spec, as no data sheet"),
        (["specs", "show", "ascend-910b-64gb"], "accelerator ascend-910b-64gb has no spec"),
    ],
    ids=str,
)
def test_hardware_without_a_spec_is_refused_with_the_reason(words, why, invoke):
    answer = invoke(*words)
    assert answer.exit_code == 2
    assert why in answer.output
    assert "a spec of your own would do" in answer.output


def test_what_is_left_out_has_no_spec():
    for kind in ("accelerators", "nodes", "links"):
        left_out = tomllib.loads((BUILT_IN / "left_out.toml").read_text("utf-8"))[kind]
        assert not set(left_out) & set(CATALOGUE.ids(kind))


def test_no_shipped_file_is_left_out():
    assert {path.name for path in BUILT_IN.iterdir() if path.suffix in ("", ".toml")} == SHIPPED.keys()


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_file_passes_the_check_that_loading_it_leaves_out(name):
    model, files = SHIPPED[name], sorted((BUILT_IN / name).glob("*.toml")) or [BUILT_IN / name]
    assert len(files) > 30 or name.endswith(".toml")
    for file in files:
        table = tomllib.loads(file.read_text("utf-8"))
        assert model.model_validate(table) == spec_file.load(file, model) == built(table, model), file
