"""Checks for people who add a family of columns, a member of the automatic classifier, or an estimator.

Each raises AssertionError naming the law that is broken.
"""

from .families import check_family
from .members import check_member
from .models import check_model

__all__ = ["check_family", "check_member", "check_model"]
