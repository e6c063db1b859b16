"""Judging and choosing models by rows they have not seen: exact leave-one-out without refits."""

from .leave_one_out import Learned, leave_one_out

__all__ = ["Learned", "leave_one_out"]
