"""How Sphinx builds the pages; ``docs.site.build`` calls it."""

from __future__ import annotations

from typing import Any

from perfmodel import __version__

project = "perfmodel"
author = "the perfmodel authors"
copyright = author
version = release = __version__

extensions = ["myst_parser", "docs.site.mathml"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # a printed line that begins with "%" looks like a prompt
# types in signatures, such as those of numpy, have pages elsewhere
nitpick_ignore_regex = [("py:.*", ".*")]
exclude_patterns = ["templates"]

html_theme = "furo"
html_title = f"perfmodel {__version__}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
smartquotes = False  # they make a dash of the two before an option
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Any) -> None:
    """Have the sidebar of a page unfold its own branch alone."""
    app.connect("html-page-context", _unfold_its_branch, priority=400)


def _unfold_its_branch(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """The tree of all pages, which furo asks for, took more than half of the time of a build."""
    if whole := context.get("toctree"):
        context["toctree"] = lambda **options: whole(**options | {"collapse": True})
