"""The table itself, as plain values: its columns, holes, repeated rows and columns, some rows, and what to look at."""

from .collect import collect_profile, profile_table, profile_view
from .columns import nats

__all__ = ["collect_profile", "nats", "profile_table", "profile_view"]
