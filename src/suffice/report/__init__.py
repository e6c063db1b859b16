"""The web page of a model: facts as plain values first, a template second; one script, nothing from the network."""

from .explorer import collect_explorer
from .facts import collect_facts
from .judged import collect_answers
from .page import render_page, write_page

__all__ = ["collect_answers", "collect_explorer", "collect_facts", "render_page", "write_page"]
