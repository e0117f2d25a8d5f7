"""The walls of the house stand: imports run one way, files have one reason to exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_version
PACKAGE = Path(__file__).parents[1] / "perfmodel"
LONGEST = {"builder.py": 620, "from_onnx.py": 485, "vocabulary.py": 540}
"""Lines of modules that are one long row of layers, operators or quantities, each a few lines of its own."""


def test_imports_run_one_way():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, wherever the import stands: lazy, or for types alone."""
    paths = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    result: dict[str, set[str]] = {}
    for name, path in paths.items():
        named = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not node.level, f"{path.name}: write imports in full"
                named |= {
                    whole if (whole := f"{node.module}.{each.name}") in paths else node.module
                    for each in node.names
                }
            elif isinstance(node, ast.Import):
                named |= {each.name for each in node.names}
        result[name] = (named & paths.keys()) - {name}
    return result


def test_no_imports_run_in_a_circle():
    left = imports()
    assert len(left) > 500
    while ends := [name for name, named in left.items() if not named & left.keys()]:
        for name in ends:
            del left[name]
    assert not left, "each imports one of the others"


def test_there_are_eight_packages():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == {
        "core",
        "decide",
        "equations",
        "evidence",
        "hardware",
        "interfaces",
        "model",
        "workloads",
    }
    assert len([path for path in PACKAGE.iterdir() if path.name != "__pycache__"]) <= 15


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


def test_a_profile_is_read_where_a_scenario_is_settled_and_nowhere_on_the_way_to_its_time():
    folders = ("model/step", "model/prediction", "decide/sensitivity")
    readers = {
        path.relative_to(PACKAGE).as_posix()
        for folder in folders
        for path in (PACKAGE / folder).rglob("*.py")
        if "read_profile" in path.read_text("utf-8")
    }
    assert readers == {"model/prediction/assemble.py"}


VAGUE = {"told", "found", "doubts", "buying", "feeding"}
"""They say how something came about, not what it is."""


def test_names_say_what_a_thing_is():
    vague = [
        f"{path.name}: {name}"
        for folder in (PACKAGE, PACKAGE.parent / "app")
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (getattr(node, "id", ""), getattr(node, "name", ""), getattr(node, "arg", ""))
        if VAGUE & {*str(name).lower().split("_")}
    ]
    assert not vague


def test_each_function_that_makes_a_scenario_has_its_own_name():
    homes: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("scenario_of"):
                homes.setdefault(node.name, set()).add(path.name)
    assert all(len(paths) == 1 for paths in homes.values())
