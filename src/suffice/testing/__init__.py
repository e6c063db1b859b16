"""The laws that statistics, families and models keep, as checks for people who add one."""

from .families import check_family
from .laws import Sample, assert_same_statistics, check_statistics
from .members import check_member
from .models import check_model

__all__ = ["Sample", "assert_same_statistics", "check_family", "check_member", "check_model", "check_statistics"]
