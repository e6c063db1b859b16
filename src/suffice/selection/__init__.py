"""Judging and choosing models by rows they have not seen: exact leave-one-out without refits."""

from .gaussian import gaussian_leave_one_out

__all__ = ["gaussian_leave_one_out"]
