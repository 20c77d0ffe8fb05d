"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

#: What docutils does not read, in words that it does.
SPELLINGS = {"…": r"\ldots ", r"\dots ": r"\ldots ", r"\Big/": "/", r"\tfrac12": r"\tfrac{1}{2}"}

log = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_formula(node.astext(), node, as_block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    formula = _formula(node.astext(), node, as_block=True)
    translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def _formula(tex: str, node: nodes.Node, *, as_block: bool) -> str:
    if as_block and ("\\\\" in tex or "&" in tex) and "\\begin" not in tex:
        tex = f"\\begin{{aligned}}{tex}\\end{{aligned}}"
    for printed, known in SPELLINGS.items():
        tex = tex.replace(printed, known)
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        log.warning("this formula can't be drawn: %s: %s", error, tex, location=node)
        return ""
