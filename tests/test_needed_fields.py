"""Keys of hardware files whose absence would change predictions in silence are required."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.hardware.accelerator import NEEDED
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

BUILT_IN = Catalogue.built_in()
OF_VENDOR = {"NVIDIA": "h800-sxm5-80gb", "AMD": "mi300x", "Google": "tpu-v3"}


def without(text: str, key: str) -> str:
    """Return the text of a spec file without a key, or a table of that name."""
    table = re.compile(rf"^\[{key}\]\n(?:[^\[\n].*\n)*\n?", re.M)
    return re.sub(rf"^{key} = .*\n", "", table.sub("", text), count=1, flags=re.M)


def own(tmp_path: Path, kind: str, id: str, key: str) -> Catalogue:
    text = (folder("hardware_specs") / kind / f"{id}.toml").read_text("utf-8")
    changed = without(text, key)
    assert changed != text
    (tmp_path / f"{id}.toml").write_text(changed, "utf-8")
    return Catalogue([tmp_path])


@pytest.mark.parametrize(("vendor", "key"), [(v, key) for v, keys in NEEDED.items() for key in keys])
def test_what_predictions_of_a_vendor_read_is_required_in_its_files(vendor, key, tmp_path):
    id = OF_VENDOR[vendor]
    catalogue = own(tmp_path, "accelerators", id, key)
    with pytest.raises(InputError) as refused:
        catalogue.accelerator(id)
    said = str(refused.value)
    assert f"{id}.toml: {key}: the key is missing; {vendor} needs {NEEDED[vendor][key]}" in said
    with pytest.raises(InputError, match=key):
        predict(Scenario(accelerator=id), catalogue)


def test_every_accelerator_of_the_catalogue_has_what_its_vendor_needs():
    for id in BUILT_IN.ids("accelerators"):
        spec = BUILT_IN.accelerator(id)
        missing = [key for key in NEEDED.get(spec.vendor, {}) if getattr(spec, key) is None]
        assert not missing, (id, missing)
    assert {BUILT_IN.accelerator(id).vendor for id in OF_VENDOR.values()} == NEEDED.keys()


@pytest.mark.parametrize(
    ("kind", "id", "key", "said"),
    [
        ("accelerators", "k80", "compute_units", "compute_units: the key is missing"),
        ("links", "nvlink4-nvswitch", "generation", "generation: the key is missing; NVLink needs it"),
        ("nodes", "dgx-h100", "nics", "nics: the key is missing; expected how many ib-ndr-400g"),
    ],
)
def test_what_predictions_of_a_kind_read_is_required(kind, id, key, said, tmp_path):
    with pytest.raises(InputError, match=re.escape(f"{id}.toml")) as refused:
        own(tmp_path, kind, id, key).spec(kind, id)
    assert said in str(refused.value)


def test_a_vendor_in_another_spelling_is_refused(tmp_path):
    text = (folder("hardware_specs") / "accelerators" / "k80.toml").read_text("utf-8")
    (tmp_path / "k80.toml").write_text(text.replace('"NVIDIA"', '"Nvidia"'), "utf-8")
    with pytest.raises(InputError, match=r"k80\.toml.*vendor = 'Nvidia'.*expected 'NVIDIA'"):
        Catalogue([tmp_path]).accelerator("k80")


def test_peaks_at_the_base_clock_come_with_both_clocks(tmp_path):
    with pytest.raises(InputError, match="base_clock"):
        own(tmp_path, "accelerators", "k40", "boost_clock").accelerator("k40")


@pytest.mark.parametrize("id", ["h800-sxm5-80gb", "h200-nvl-141gb"])
def test_hopper_for_export_and_in_slots_has_the_attention_of_hopper(id):
    """As if there were no FlashAttention, 8 of them needed 5,337 GiB and took three times as long."""
    job = {"workload": "llama-3-8b", "gpus": 8, "sequence_length": 32768, "framework": "nemo@2023"}
    known, one = (predict(Scenario(accelerator=each, **job)) for each in ("h100-sxm5-80gb", id))
    assert one.memory.bytes == known.memory.bytes
    assert one.iteration_time < 2 * known.iteration_time


def test_an_unknown_power_limit_is_noted():
    noted = {id for id in BUILT_IN.ids("accelerators") if BUILT_IN.accelerator(id).tdp is None}
    assert {BUILT_IN.accelerator(id).vendor for id in noted} == {"Amazon", "Google"}
    for id in noted:
        prediction = predict(Scenario(accelerator=id, precision="bf16"))
        assert any("power limit" in words and "250 W" in words for words in prediction.warnings)
