"""Puts the pages together and has Sphinx make a site of them."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from docs.site import (
    command_pages,
    dependencies,
    equation_pages,
    hardware_pages,
    python_pages,
    schema_pages,
    usage,
)
from docs.site.links import problems
from docs.site.written_pages import ROOT, assets, relinked, written

SITE = Path(__file__).parent


def generated() -> dict[str, str]:
    """Return every generated page by its path in the site."""
    users = equation_pages.Users(usage.users(), usage.modules(), usage.NO_COMMAND)
    unsaid = usage.unsaid(users.commands)
    if unsaid:
        raise RuntimeError("\n".join(unsaid))
    result = equation_pages.pages(users) | hardware_pages.pages()
    return result | command_pages.pages() | python_pages.pages() | schema_pages.pages() | dependencies.pages()


def put_together(folder: Path) -> None:
    """Write all pages, those by hand and those generated, into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, path in assets().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
    texts = {name: relinked(path.read_text("utf-8"), name, path) for name, path in written().items()}
    for name, text in (texts | generated()).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")


def build(target: Path, pages: Path) -> int:
    """Build the site; warnings and links to nothing are errors.

    Parameters
    ----------
    target : folder of the site
    pages : folder for the pages it is made of

    Returns
    -------
    exit code, 0 where all is well
    """
    from sphinx.cmd.build import build_main

    start = time.perf_counter()
    put_together(pages)
    shutil.rmtree(target, ignore_errors=True)
    made = time.perf_counter()
    doctrees = str(pages.with_name(f"{pages.name}-doctrees"))
    options = ["-q", "-W", "--keep-going", "-n", "-E", "-j", "2", "-c", str(SITE), "-d", doctrees]
    code = build_main([*options, str(pages), str(target)])
    wrong = problems(target)
    print("\n".join(wrong), end="\n" if wrong else "")
    count = sum(1 for _ in target.rglob("*.html"))
    end = time.perf_counter()
    print(f"{count} pages in {target}: {made - start:.0f} s to write, {end - made:.0f} s to build")
    return code or (1 if wrong else 0)


def main(target: str | None = None) -> int:
    """Build into a folder, ``build/docs`` where none is named."""
    built = ROOT / "build"
    return build(Path(target) if target else built / "docs", built / "docs-pages")
