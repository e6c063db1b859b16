"""The web page of a model: facts as plain values first, a template second; no script, nothing from the network."""

from .facts import collect_facts
from .page import render_page, write_page

__all__ = ["collect_facts", "render_page", "write_page"]
