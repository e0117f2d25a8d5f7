"""A Sphinx extension: equations as MathML, made when the site is built.

Browsers draw MathML themselves, so a page needs no script and no network.  The converter is that of docutils,
on which Sphinx stands; what it cannot read is a warning, and warnings stop the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
_SAME = {r"\dots": r"\ldots"}
"""What the converter does not know, by what it does."""


def mathml(latex: str, as_block: bool) -> str:
    r"""Return an equation as MathML.

    Raises
    ------
    docutils.utils.math.MathError : LaTeX that the converter does not know

    >>> mathml("a", False)
    '<math xmlns="http://www.w3.org/1998/Math/MathML">\n  <mi>a</mi>\n</math>'
    """
    for command, known in _SAME.items():
        latex = latex.replace(command, known)
    return str(tex2mathml(latex, as_block=as_block))


def _visit(translator: Any, node: nodes.math | nodes.math_block) -> None:
    block = isinstance(node, nodes.math_block)
    try:
        drawn = mathml(node.astext(), block)
    except MathError as error:
        LOGGER.warning("equation %r: %s", node.astext(), error, location=node)
        raise nodes.SkipNode from error
    translator.body.append(f'<div class="equation">{drawn}</div>\n' if block else drawn)
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_visit, None), (_visit, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
