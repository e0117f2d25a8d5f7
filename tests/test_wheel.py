"""The wheel works alone: built, installed in an empty environment, used outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, by a path to this one's packages, what the wheel depends on."""
    home = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    packages = next((home / "lib").glob("python*/site-packages"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", packages, wheel], check=True, capture_output=True)
    # after its own packages: the editable perfmodel of this environment is a .pth file, which is not followed
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return home


def run(environment: Path, folder: Path, *words: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    code = "import sys; from perfmodel.cli import main; sys.argv[0] = 'perfmodel'; main()"
    done = subprocess.run(
        [environment / "bin" / "python", "-c", code, *words],
        cwd=folder,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_its_data_and_claims_no_other_names(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "perfmodel/_data/hardware_specs/accelerators/k80.toml" in names
    assert "perfmodel/calibration.toml" in names
    assert any(name.startswith("perfmodel/_data/validation/") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"perfmodel"}


def test_it_predicts_outside_the_checkout(environment, tmp_path):
    where = run(environment, tmp_path, "predict", "--gpus", "32", "--json")
    answer = json.loads(where)
    assert sum(answer["terms"].values()) == pytest.approx(answer["iteration_time"], rel=1e-9)


def test_the_code_that_ran_was_the_wheels(environment, tmp_path):
    code = "import perfmodel; print(perfmodel.__file__)"
    python = environment / "bin" / "python"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(environment))


@pytest.mark.parametrize("words", ["specs list", "workloads list", "specs check", "scale --gpus 1,2"])
def test_its_other_commands_find_their_data(environment, tmp_path, words):
    assert run(environment, tmp_path, *words.split())
