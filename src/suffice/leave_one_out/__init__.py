"""Judging and choosing models by rows they have not seen: exact leave-one-out without refits."""

from .gaussian import gaussian_leave_one_out
from .model import Learned, leave_one_out, refits_needed
from .rda import Judges, choice_note, choose_rda

__all__ = ["Judges", "Learned", "choice_note", "choose_rda", "gaussian_leave_one_out", "leave_one_out", "refits_needed"]
