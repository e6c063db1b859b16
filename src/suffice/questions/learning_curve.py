"""How the log-loss of a kind of model falls with the rows it learns from, and what more rows would bring."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from .._arrays import Array, Codes, is_whole
from ..errors import SettingError
from ..fitted import NOTHING, Fitted
from ..stats.batch import Batch
from ..stats.units import deal_groups, group_numbers
from ..table import Table
from ..tasks.learning_curve import LearningCurve, learning_curve


def curve_of(
    begun: Fitted, table: Table, y: object, sample_weight: object, draws: int, seed: int, groups: object = None
) -> LearningCurve:
    """Return the learning curve of models with the settings of a value, which may have learned something or nothing."""
    for name, value, least in (("draws", draws, 1), ("random_state", seed, 0)):
        if not is_whole(value, least):
            raise SettingError(f"{name}={value!r} must be a whole number, {least} or more. Next: {name}={least + 1}.")
    begun = replace(begun, statistics=NOTHING, chosen=None)
    batch = begun.batch(table, begun.align(table), y, sample_weight, "em", groups)
    known = batch if batch.is_labelled else batch.split()[0]
    judge = partial(_judged, begun, known)
    group = None if known.group is None else group_numbers(known.group)
    groups_dealt = None if group is None else (group, deal_groups)
    return learning_curve(known.codes, known.classes, known.weight, judge, draws=draws, seed=seed, groups=groups_dealt)


def _judged(begun: Fitted, batch: Batch, learn: Codes, rest: Codes) -> Array:
    """Return log posteriors (n, k) of the rows `rest` by a model of the rows `learn`."""
    found = begun.with_statistics(begun.summarize(batch.take(learn)))
    return found.log_posterior(found.recoded(batch.take(rest).rows))
