"""A choice that stays as it is: the automatic classifier of a model that holds no rows to choose by.

Members, their settings, the weights of the stack and the joint model's amounts were found where the rows are. Here they
are plain values, which bind to whatever statistics the model has by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, np
from ..schema import Level
from ..stats import PatternStats
from .choose import FLOOR
from .columns import RAW
from .joint import ShrunkGaussianFamily, joint_statistics
from .member import Known, Member
from .members import member_called
from .members.gaussian import GaussianPart
from .pool import Automatic, JudgedMember
from .stack import Stack
from .statistics import MemberStats

LOSSES = ("loss", "temperature")


@dataclass(frozen=True)
class Choice:
    """What was chosen: `members` (name, setting, loss, temperature), single `columns`, and the stack.

    `weight` (members + columns,) are the stack's, `bias` by class label; `joint` (strength, sphere) those of the joint
    model of the numbers, None without one. `loss` is the mean leave-one-out log-loss where it was chosen, and `unit`
    how many rows a weight of 1 counts as.
    """

    members: tuple[dict[str, Any], ...]
    columns: tuple[tuple[str, int], ...]
    weight: tuple[float, ...]
    bias: dict[Level, float]
    joint: tuple[float, float] | None
    loss: float
    unit: float = 1.0

    @classmethod
    def of(
        cls, automatic: Automatic, classes: Sequence[Level], joint: ShrunkGaussianFamily | None, unit: float
    ) -> Choice:
        """Return the choice behind an automatic classifier; its members must be of the kinds that sums serve."""
        members = tuple(
            {
                "name": member.name,
                "setting": dict(member.setting),
                "loss": float(member.loss),
                "temperature": float(member.temperature),
            }
            for member in automatic.members
        )
        bias = {label: float(b) for label, b in zip(classes, automatic.stack.bias, strict=True)}
        amounts = None if joint is None else (float(joint.strength), float(joint.sphere))
        weight = tuple(float(w) for w in automatic.stack.weight)
        return cls(members, automatic.columns, weight, bias, amounts, float(automatic.loss), unit)

    def automatic(
        self, stats: MemberStats, categories: Sequence[Array], weight: Array, classes: Sequence[Level]
    ) -> Automatic:
        """Return the automatic classifier of these statistics under this choice; a class it never met has no bias."""
        stats, weight = stats.scale(self.unit), weight * self.unit
        categories = [counts * self.unit for counts in categories]
        known = stats.known(categories, weight)
        none = np.zeros((0, len(classes)))
        members = tuple(
            JudgedMember(_bound(own["name"], own["setting"], known), own["loss"], own["temperature"], none)
            for own in self.members
        )
        self._check_columns([own.member for own in members])
        bias = np.array([self.bias.get(label, 0.0) for label in classes])
        stack = Stack(np.array(self.weight), bias, 0.0, none)
        floor = FLOOR / (float(weight.sum()) + FLOOR)
        return Automatic(stats.columns, weight, members, self.columns, stack, floor, none, none, self.loss, None)

    def _check_columns(self, members: Sequence[Member]) -> None:
        """Raise ValueError for columns with weights of their own that are none; they come in the members' order."""
        sizes = {member.column_kind: member.width for member in members if member.width}
        order, kinds = list(sizes), [kind for kind, _ in self.columns]
        if kinds != sorted(kinds, key=order.index) or not all(0 <= j < sizes[kind] for kind, j in self.columns):
            raise ValueError("columns with a weight of their own")

    def joint_model(self, stats: MemberStats) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
        """Return the family of the joint model of the numbers, and its statistics; None without one."""
        if self.joint is None or RAW not in stats.gaussian:
            return None
        used = stats.columns.used[RAW]
        return ShrunkGaussianFamily(*self.joint), joint_statistics(
            stats.columns, stats.part(GaussianPart).completed(RAW), used
        )

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "members": self.members,
            "columns": self.columns,
            "weight": self.weight,
            "bias": dict(self.bias),
            "joint": self.joint,
            "loss": self.loss,
            "unit": self.unit,
        }

    @classmethod
    def of_plain(cls, plain: Any) -> Choice:
        """Return what `plain` wrote; ValueError if it cannot be that."""
        members: tuple[dict[str, Any], ...] = tuple(
            {
                "name": str(own["name"]),
                "setting": _setting_of(str(own["name"]), own["setting"]),
                "loss": float(own["loss"]),
                "temperature": float(own["temperature"]),
            }
            for own in plain["members"]
        )
        columns = tuple((str(kind), int(j)) for kind, j in plain["columns"])
        weight = tuple(float(w) for w in plain["weight"])
        bias = {label: float(b) for label, b in plain["bias"].items()}
        joint = None if plain["joint"] is None else (float(plain["joint"][0]), float(plain["joint"][1]))
        found = [*weight, *bias.values(), float(plain["loss"]), *(own[what] for own in members for what in LOSSES)]
        right = len(weight) == len(members) + len(columns) and len(set(columns)) == len(columns)
        if not right or not np.isfinite(found).all() or any(own["temperature"] < 0.0 for own in members):
            raise ValueError("the choice of members")
        if joint is not None and not (joint[0] > 0.0 and 0.0 <= joint[1] <= 1.0):
            raise ValueError("the joint model of the numbers")
        unit = float(plain["unit"])
        if not 0.0 < unit < np.inf:
            raise ValueError("the unit of weights")
        return cls(members, columns, weight, bias, joint, float(plain["loss"]), unit)


def _kind_of(name: str) -> tuple[type[Member], str, str]:
    """Return the class of a member of this name, its kind, and what follows that in the name."""
    kind, _, detail = name.partition(", ")
    return member_called(kind), kind, detail


def _setting_of(name: str, setting: Mapping[str, Any]) -> dict[str, float]:
    """Return a member's setting, read from a file; ValueError unless it is one of its kind, and in its ranges."""
    member = _kind_of(name)[0]
    if set(setting) != set(member.settings) or not member.settings:
        raise ValueError("the choice of members")
    found = {str(what): member.settings[what](value) for what, value in setting.items()}
    if not member.allows(found):
        raise ValueError("the choice of members")
    return found


def _bound(name: str, setting: Mapping[str, float], known: Known) -> Member:
    member, kind, detail = _kind_of(name)
    return member.bind(kind, detail, setting, known)
