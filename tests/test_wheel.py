"""The wheel works alone: built, installed in an empty environment, used outside the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import warnings
import zipfile
from pathlib import Path

import pytest

import perfmodel

pytestmark = pytest.mark.any_version
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
    """An empty environment into which pip has installed the wheel and what it depends on.

    Where pip finds no package index, the dependencies are those of the environment the tests run in, and a
    warning says so: then nothing has shown that the wheel names all of them.
    """
    home = tmp_path_factory.mktemp("empty")
    try:
        install(home, "--retries", "0", "--timeout", "10", wheel, longest=25)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        warnings.warn(f"the wheel borrows its dependencies from {sys.prefix}: {error}", stacklevel=1)
        home = tmp_path_factory.mktemp("borrowing")
        install(home, "--no-deps", "--no-index", wheel)
        packages = next((home / "lib").glob("python*/site-packages"))
        # after its own packages; an editable perfmodel there is a .pth file, which is not followed
        (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    return home


def install(home: Path, *words: str | Path, longest: float = 300) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    pip = [sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--quiet"]
    subprocess.run([*pip, "--no-compile", *words], check=True, capture_output=True, timeout=longest)


def run(environment: Path, folder: Path, *words: str) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [environment / "bin" / "perfmodel", *words],
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
    assert "perfmodel/workloads/architectures/llama-3.toml" in names
    assert "perfmodel/templates/report.md.j2" in names
    assert "perfmodel/_data/app/main.py" in names
    assert "perfmodel/_data/validation/measured/training_runs.csv" in names
    assert "perfmodel/_data/validation/out_of_sample.csv" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"perfmodel"}


def test_it_predicts_outside_the_checkout(environment, tmp_path):
    answer = json.loads(run(environment, tmp_path, "predict", "--gpus", "32", "--json"))
    assert sum(answer["terms"].values()) == pytest.approx(answer["iteration_time"], rel=1e-9)
    assert not list(tmp_path.iterdir())


def test_the_code_that_ran_was_the_wheels(environment, tmp_path):
    code = (
        "import perfmodel, perfmodel.resources as r; print(perfmodel.__file__); print(r.folder('validation'))"
    )
    python = environment / "bin" / "python"
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert all(line.startswith(str(environment)) for line in done.stdout.splitlines())


def test_it_installs_its_manual_page(environment):
    page = (environment / "share" / "man" / "man1" / "perfmodel.1").read_text("utf-8")
    assert f'"perfmodel {perfmodel.__version__}"' in page


def test_its_other_commands_find_their_data(environment, tmp_path):
    assert "k80" in run(environment, tmp_path, "specs", "list")
    assert "resnet50" in run(environment, tmp_path, "workloads", "list")
    assert "suspicious" not in run(environment, tmp_path, "specs", "check")
    assert json.loads(run(environment, tmp_path, "scale", "--gpus", "1,2", "--json"))["rows"]
    assert json.loads(run(environment, tmp_path, "validate", "--json"))["rows"]
    assert "horovod-512-gpus" in run(environment, tmp_path, "check-quote", "--examples")
    assert json.loads(run(environment, tmp_path, "check-quote", "imagenet-one-hour", "--json"))["claims"]
    assert run(environment, tmp_path, "--version").split()[-1] == perfmodel.__version__
