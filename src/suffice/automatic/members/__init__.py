"""The members of the automatic classifier: to add one, write its file here and enter it in `MEMBERS`."""

from __future__ import annotations

from ..member import Member, Part
from .boosted import BoostedMember
from .dependence import AodeMember
from .forest import ForestMember, LeafSums
from .gaussian import GaussianMember
from .independent import IndependentMember
from .joined import SemiSupervisedGaussian
from .levels import LevelMember
from .missing import MissingMember
from .splines import SplineMember
from .subclasses import SubclassMember
from .texts import TextBayes, TextRule

# In the order in which they are judged, pooled and listed.
MEMBERS: tuple[type[Member], ...] = (
    GaussianMember,
    IndependentMember,
    SplineMember,
    LevelMember,
    MissingMember,
    AodeMember,
    SubclassMember,
    TextBayes,
    TextRule,
    ForestMember,
    BoostedMember,
)

# Those that rows without a label join, tried beside the others where there are such rows.
UNLABELLED_MEMBERS: tuple[type[Member], ...] = (SemiSupervisedGaussian,)

# Statistics, each once however many members it serves.
PARTS: tuple[type[Part], ...] = (
    *dict.fromkeys(member.statistic for member in MEMBERS if member.statistic is not None),
    LeafSums,  # of the joint model
)


def member_called(kind: str) -> type[Member]:
    """Return the class of the members called so; ValueError where there is none."""
    for member in (*MEMBERS, *UNLABELLED_MEMBERS):
        if kind in member.kinds:
            return member
    raise ValueError(f"{kind!r} is no member")
