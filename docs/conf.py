"""Sphinx settings. Nothing here reaches for the network: no intersphinx, no hosted fonts or scripts."""

from __future__ import annotations

from importlib.metadata import version as installed

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
autodoc_default_options = {
    "members": True,
    # What scikit-learn gives every estimator is documented there.
    "inherited-members": "BaseEstimator, ClassifierMixin, TransformerMixin, ClassNamePrefixFeaturesOutMixin",
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, set_predict_proba_request, "
    "set_predict_log_proba_request, set_score_request, set_decision_function_request",
}
numpydoc_show_class_members = False

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
}
html_sidebars = {"**": []}
