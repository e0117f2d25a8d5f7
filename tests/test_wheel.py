"""The wheel works alone: built, installed in an empty environment, used outside the checkout."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
import warnings
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import perfmodel
from docs.site.dependencies import dependencies
from tests import container
from tests.container import copy_sources

pytestmark = pytest.mark.any_version


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of what the Dockerfile copies."""
    folder, sources = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("source")
    copy_sources(sources)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, sources],
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
        home = borrowing(tmp_path_factory.mktemp("borrowing"), wheel)
    return home


def borrowing(home: Path, wheel: Path) -> Path:
    """Install the wheel alone; all it needs is what the tests run with."""
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
    assert "perfmodel/model/fitted/calibration.toml" in names
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
        "import perfmodel; print(perfmodel.__file__); import perfmodel.core.files.resources as r;"
        " print(r.folder('validation'))"
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


@pytest.mark.parametrize("stage", ["app", "service"])
def test_a_container_starts_and_says_that_it_is_well(stage, wheel, tmp_path):
    """What the Dockerfile runs, without Docker: in an environment of the wheel, on a free port."""
    pytest.importorskip({"app": "streamlit", "service": "uvicorn"}[stage])
    home = borrowing(tmp_path / "environment", wheel)
    token = tmp_path / "tokens"
    token.write_text("a-token-of-sixteen-characters\n")
    token.chmod(0o400)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    exposed = container.stages()[stage].last("EXPOSE")
    words = [port if word == exposed else word for word in container.command(stage)]
    health = [word.replace(f":{exposed}/", f":{port}/") for word in container.health_check(stage)]
    assert port in words
    assert f":{port}/" in health[-1]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if stage == "service":
        setting, _, path = container.stages()[stage].last("ENV").partition("=")
        assert path == "/run/secrets/tokens"
        clean[setting] = str(token)
    binaries = home / "bin"
    with subprocess.Popen(
        [binaries / words[0], *words[1:]],
        cwd=tmp_path,
        env=clean | {"HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while subprocess.run([binaries / health[0], *health[1:]], capture_output=True).returncode:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.2)
        finally:
            process.terminate()
        assert process.wait(60) == 0


def test_a_container_runs_as_nobody_in_particular():
    stages = container.stages()
    assert [*stages] == ["wheel", "installed", "app", "service"]
    assert stages["app"].base == stages["service"].base == "installed"
    assert not [
        word for stage in ("app", "service") for word, _ in stages[stage].instructions if word == "USER"
    ]
    assert int(stages["installed"].last("USER")) > 1000
    assert all((container.ROOT / name).exists() for name in container.copied())
    ignored = (container.ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == {
        name.removesuffix("/") for name in container.copied() if name != "./"
    }


def test_every_extra_that_a_container_installs_is_offered():
    (installed,) = [rest for word, rest in container.stages()["installed"].instructions if "whl" in rest]
    extras = installed.rpartition("[")[2].partition("]")[0].split(",")
    assert {*extras} <= {*(metadata.metadata("perfmodel").get_all("Provides-Extra") or [])}


def test_every_dependency_has_a_licence():
    rows = dependencies()
    by_name = {row.name: row for row in rows}
    assert by_name["click"].extras == by_name["mdurl"].extras == "always"  # rich needs mdurl
    assert "serve" in by_name["starlette"].extras.split(", ")
    assert "pytest" not in by_name
    assert not [row for row in rows if row.licence == "not stated"]
