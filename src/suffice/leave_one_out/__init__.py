"""Judging and choosing models by rows they have not seen: exact leave-one-out without refits."""

from .model import Learned, gaussian_leave_one_out, leave_groups_out, leave_one_out, refits_needed

__all__ = [
    "Learned",
    "gaussian_leave_one_out",
    "leave_groups_out",
    "leave_one_out",
    "refits_needed",
]
