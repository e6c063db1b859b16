"""A choice that stays as it is: the automatic classifier of a model that holds no rows to choose by.

Members, their settings, the weights of the stack and the joint model's amounts were found where the rows are. Here they
are plain values, which bind to whatever statistics the model has by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._arrays import Array, np
from ..leave_one_out.wishart import WishartMember
from ..schema import Level
from ..stats import PatternStats
from .choose import FLOOR, Automatic, Member
from .columns import INTERVALS, RAW
from .completion import complete_tied
from .joint import ShrunkGaussianFamily, joint_statistics
from .members.levels import LevelMember
from .members.splines import HatMember
from .scorers import GaussianScorer, HatScorer, LevelScorer, Scorer
from .stack import Stack
from .statistics import MemberStats

SETTINGS = {  # of the members that sums serve
    "gaussian": ("strength", "sphere"),
    "tied gaussian": ("strength", "sphere"),
    "hats": ("intervals", "strength"),
    "categories": ("strength",),
}
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
        members = tuple(
            Member(
                own["name"],
                own["setting"],
                own["loss"],
                own["temperature"],
                np.zeros((0, len(classes))),
                _scorer(own["name"], own["setting"], stats, categories),
            )
            for own in self.members
        )
        self._check_columns(stats, categories)
        bias = np.array([self.bias.get(label, 0.0) for label in classes])
        stack = Stack(np.array(self.weight), bias, 0.0, np.zeros((0, len(classes))))
        floor = FLOOR / (float(weight.sum()) + FLOOR)
        none = np.zeros((0, len(classes)))
        return Automatic(stats.columns, weight, members, self.columns, stack, floor, none, none, self.loss, None)

    def _check_columns(self, stats: MemberStats, categories: Sequence[Array]) -> None:
        """Raise ValueError for columns with weights of their own that are none; hats come before categories."""
        there = {own["name"] for own in self.members}
        sizes = {"hat": len(stats.columns.scores) if "hats" in there else 0}
        sizes["cat"] = len(categories) if "categories" in there else 0
        kinds = [kind for kind, _ in self.columns]
        if kinds != sorted(kinds, key=list(sizes).index) or not all(0 <= j < sizes[kind] for kind, j in self.columns):
            raise ValueError("columns with a weight of their own")

    def joint_model(self, stats: MemberStats) -> tuple[ShrunkGaussianFamily, PatternStats] | None:
        """Return the family of the joint model of the numbers, and its statistics; None without one."""
        if self.joint is None or RAW not in stats.gaussian:
            return None
        used = stats.columns.used[RAW]
        return ShrunkGaussianFamily(*self.joint), joint_statistics(
            stats.columns, complete_tied(stats.gaussian[RAW]), used
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
                "setting": {
                    str(name): int(value) if name == "intervals" else float(value)
                    for name, value in own["setting"].items()
                },
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
        if not right or not np.isfinite(found).all() or not all(map(_usable, members)):
            raise ValueError("the choice of members")
        if joint is not None and not (joint[0] > 0.0 and 0.0 <= joint[1] <= 1.0):
            raise ValueError("the joint model of the numbers")
        unit = float(plain["unit"])
        if not 0.0 < unit < np.inf:
            raise ValueError("the unit of weights")
        return cls(members, columns, weight, bias, joint, float(plain["loss"]), unit)


def _usable(member: dict[str, Any]) -> bool:
    """Return whether a member's settings, read from a file, are those of its kind, and in their ranges."""
    kind, setting = member["name"].split(", ")[0], member["setting"]
    right = set(setting) == set(SETTINGS.get(kind, ("none",))) and member["temperature"] >= 0.0
    right = right and setting["strength"] > 0.0 and ("gaussian" in kind or setting["strength"] < np.inf)
    return bool(
        right and setting.get("intervals", INTERVALS[0]) in INTERVALS and 0.0 <= setting.get("sphere", 0) <= 1.0
    )


def _scorer(name: str, setting: dict[str, Any], stats: MemberStats, categories: Sequence[Array]) -> Scorer:
    if name == "hats":
        m = int(setting["intervals"])
        return HatScorer(HatMember(stats.columns.hats[m], stats.hats[m], setting["strength"]))
    if name == "categories":
        return LevelScorer(LevelMember(tuple(categories), setting["strength"]))
    kind = name.split(", ")[1]
    member = WishartMember(complete_tied(stats.gaussian[kind]))
    scorer: Scorer = GaussianScorer.of(stats.columns, kind, member, setting["strength"], setting["sphere"])
    return scorer
