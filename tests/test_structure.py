"""The walls of the house stand: imports run one way, files have one reason to exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "perfmodel"
LONGEST = {"builder.py": 620, "from_onnx.py": 485}
"""Lines of modules that are one long row of layers or operators, each a few lines of its own."""


def test_imports_run_one_way():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_is_a_drawer_for_odds_and_ends():
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 50
    assert not {path.stem for path in modules} & {"utils", "util", "common", "base", "helpers", "misc"}


def test_modules_stay_readable():
    long = {
        path.name: count
        for path in PACKAGE.rglob("*.py")
        if (count := len(path.read_text().splitlines())) > LONGEST.get(path.name, 400)
    }
    assert not long


def test_every_module_says_what_it_is_for():
    silent = [path for path in PACKAGE.rglob("*.py") if not path.read_text().startswith(('"""', 'r"""'))]
    assert not silent


def test_any_package_can_be_imported_first():
    """Two packages that need each other must not depend on which of them a command happens to need first."""
    script = """
import importlib, pkgutil, sys
import perfmodel
found = list(pkgutil.walk_packages(perfmodel.__path__, "perfmodel."))
assert len(found) > 100
for name in [m.name for m in found if m.ispkg or m.name.startswith("perfmodel.step.")]:
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == "perfmodel"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not done.stdout
