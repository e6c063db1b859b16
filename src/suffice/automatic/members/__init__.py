"""The members of the automatic classifier: to add one, write its file here and enter it in `MEMBERS`."""

from __future__ import annotations

from ..member import Member
from ..part import Part
from .dependence import DependenceMember
from .gaussian import GaussianMember
from .levels import LevelMember
from .splines import SplineMember
from .subclasses import SubclassMember

# In the order in which they are judged, pooled and listed.
MEMBERS: tuple[type[Member], ...] = (GaussianMember, SplineMember, LevelMember, DependenceMember, SubclassMember)

# Statistics, each once however many members it serves.
PARTS: tuple[type[Part], ...] = tuple(dict.fromkeys(m.statistic for m in MEMBERS if m.statistic is not None))


def member_called(kind: str) -> type[Member]:
    """Return the class of the members called so; ValueError where there is none."""
    for member in MEMBERS:
        if kind in member.kinds:
            return member
    raise ValueError(f"{kind!r} is no member")
