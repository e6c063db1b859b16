"""The web page of a model: facts as plain values first, a template second; one script, nothing from the network."""

from .explorer import collect_explorer
from .facts import collect_answers, collect_facts
from .page import render_page, write_page
from .profile import collect_profile, profile_table
from .summary import Summary, summarize, summarize_at_hand

__all__ = [
    "Summary",
    "collect_answers",
    "collect_explorer",
    "collect_facts",
    "collect_profile",
    "profile_table",
    "render_page",
    "summarize",
    "summarize_at_hand",
    "write_page",
]
