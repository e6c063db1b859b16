"""Judging and choosing models by rows they have not seen: exact leave-one-out without refits."""

from .model import (
    Learned as Learned,
    gaussian_leave_one_out as gaussian_leave_one_out,
    leave_groups_out as leave_groups_out,
    leave_one_out as leave_one_out,
    refits_needed as refits_needed,
)
