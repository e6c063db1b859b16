"""Sphinx settings. Nothing here reaches for the network: no intersphinx, no hosted fonts or scripts."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

os.environ["MPLBACKEND"] = "Agg"  # pictures are drawn into files
sys.path.insert(0, str(Path(__file__).parent))

from small_svg import shrink

project = "suffice"
author = "the suffice developers"
copyright = "2026, the suffice developers"
release = version = installed("suffice")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
default_role = "code"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "suffice"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
}
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_css_files = ["suffice.css"]
html_search_scorer = str(Path(__file__).with_name("_static") / "search.js")
html_sidebars = {"index": [], "start": [], "search": [], "genindex": [], "**": ["sidebar-nav-bs"]}


def skip_inherited_from_others(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn and Python give every class: it is documented there."""
    home = getattr(getattr(member, "fget", member), "__module__", None) or ""
    return None if home.split(".")[0] == project else True


def read_as_plain_text(app: Any, what: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Let docstrings be read in a terminal: `classes_` is no link, and `ValueError`s needs no escape."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`+[^`]*`+)", line)
        parts[::2] = [re.sub(r"(?<![\w\\*|])([A-Za-z]\w*_)(?![\w*|])", r"`\1`", part) for part in parts[::2]]
        parts[::2] = [re.sub(r"\|(?=\S)", r"\\|", part) for part in parts[::2]]  # |Σ| is no substitution
        lines[number] = re.sub(r"(?<=[\w_)]`)(?=[a-z])", r"\\ ", "".join(parts))


def draw_pictures(app: Any) -> None:
    """Run the examples of every page that saves pictures; they go where the pages look for them, docs/plots."""
    folder = Path(app.srcdir) / "plots"
    folder.mkdir(exist_ok=True)
    for page in sorted(Path(app.srcdir).rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "](plots/" not in text.replace("](../", "](") or "_build" in page.parts:
            continue
        names: dict[str, Any] = {}
        with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            for example in doctest.DocTestParser().get_examples(text):
                with contextlib.suppress(*([Exception] if example.exc_msg else [])):
                    exec(compile(example.source, str(page), "single"), names)
    for picture in folder.glob("*.svg"):
        shrink(picture)


def close_examples(app: Any, name: str, source: list[str]) -> None:
    """Leave out the blank line that ends an example in the files, where it ends what is expected."""
    source[0] = re.sub(r"\n\n```(?=\n)", "\n```", source[0])


def setup(app: Any) -> None:
    """Connect the functions above; docstrings are read after numpydoc has shaped them."""
    app.connect("source-read", close_examples)
    app.connect("builder-inited", draw_pictures)
    app.connect("autodoc-skip-member", skip_inherited_from_others)
    app.connect("autodoc-process-docstring", read_as_plain_text, priority=900)
