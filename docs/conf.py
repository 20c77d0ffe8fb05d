"""How the documentation is built: `make docs`. Nothing is fetched, and the pages fetch nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import leakscope

project = "Leakscope"
author = "the authors of Leakscope"
copyright = author  # noqa: A001
version = release = leakscope.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "leakscope_docs"]
exclude_patterns = ["_build", "_made/parts", "_ext", "_static"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

default_role = "py:obj"  # a name in single backticks is a link where the name is documented
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "show-inheritance": False}
python_maximum_signature_line_length = 110
add_module_names = False
toc_object_entries = False  # with them the tree of all pages is ten times as large, and drawn on every page
napoleon_google_docstring = False
napoleon_use_rtype = False
# Plain indented blocks are mostly commands and their output.
highlight_language = "none"
myst_all_links_external = False
html_math_renderer = "mathml"

html_theme = "furo"
html_title = "Leakscope"
html_static_path = ["_static"]
html_css_files = ["leakscope.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
