"""Release a model: no rows, and no number from which one could be read.

What is rounded, filled and grouped for that is no sum of known rows any more. It stays so when rows join later: such a
model no longer counts as released, and still does not forget, leave out, or claim an exact law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from .._arrays import cumcount, is_whole, np
from ..conformal import MeanScores, Scores
from ..densities import Density
from ..disclosure import Given, Kept, MinCount, Terms, release_block
from ..disclosure.gaussian import UNREMEMBERED
from ..errors import DataError, SettingError, a_model, either, quoted, setting
from ..estimate import Block, Shrinkage
from ..fitted import Fitted
from ..notes import Kind, Note
from ..released import FEWEST, Provenance, Release, RowsHeld
from ..stats import ByClass, GaussianStats, Reservoir, Statistic
from ..stats.by_class import Batch
from ..stats.reservoir import ALL
from ..stats.rows import take_blocks
from ..stats.scatter import LowRankScatter
from .sets import held_out_scores

FOLDS = 5
WHY = "no number may sum over fewer than {least} rows"
F = TypeVar("F", bound=Fitted)


def rows_held(fitted: Fitted) -> RowsHeld:
    """Return how many rows a model, and a file of it, holds as they were, and whether it was released."""
    sample, released = fitted.statistics.sample, fitted.past.released
    kept = 0 if sample is None else int(sample.copies.sum())
    thin = [_thin_rows(stats) for stats in fitted.statistics.blocks]
    least = None if released is None or released.joined else released.least
    return RowsHeld(max([kept, *thin, fitted.rows_beside]), least)


def release(fitted: F, least: int, like: F | None) -> F:
    """Return the model that is passed on; DataError where it would tell of fewer than `least` rows."""
    _check_release(fitted, least, like)
    heaviest = fitted.statistics.max_row_weight
    if heaviest is None:
        raise DataError(
            "How much the heaviest row of this model weighs is not known, so that its weights do not tell how many "
            "rows they are of. Next: fit it again with this version, without weights that a database sums."
        )
    limit = MinCount(int(least), heaviest)
    small = [
        f"{label!r} (at least {int(weight / heaviest + 1e-9)})"
        for label, weight in zip(fitted.statistics.classes, fitted.statistics.weight, strict=True)
        if weight < limit.size * (1.0 - 1e-9)
    ]
    if small:
        raise DataError(
            f"These classes may have fewer than {least} rows, which a released model must not tell of: "
            f"{', '.join(small)}. Next: {either('rename_classes', '`suffice rename-class`')} joins one to another, "
            f"and {either('drop_class', '`suffice drop-class`')} leaves it out."
        )
    found, notes = anonymize(fitted, limit, like)
    scores = _held_out(fitted, limit, found if like is None else like)
    unit = 1.0 if fitted.statistics.sample is None else fitted.reservoir.rows_per_weight
    now = Release(int(least), tuple(notes), sets=_sets(found, scores, limit.size * unit))
    if fitted.past.released is not None:  # rows have joined: what was given up before stays so
        now = replace(now, notes=fitted.past.released.merge(now).notes)
    return found.with_past(released=now)


def _check_release(fitted: Fitted, least: object, like: Fitted | None) -> None:
    if not is_whole(least, FEWEST):
        raise SettingError(
            f"{setting('least', least)} must be a whole number of at least {FEWEST}: a sum of one row is that row. "
            "Next: 5."
        )
    other = None if like is None else like.past.released
    if like is not None and (like.who != fitted.who or other is None or other.joined):
        raise SettingError(
            f"{setting('like')} must be {a_model(fitted.who)} that was released. Next: release the other model first."
        )
    own = fitted.past.released
    if own is not None and not own.joined and own.least >= least:
        raise DataError(
            f"This model was released with {setting('least', own.least)} already. Next: pass it on as it is."
        )
    if own is not None and not own.joined:
        raise DataError.released("be released again", "release the model it was made from")


def anonymize(fitted: F, limit: MinCount, like: F | None) -> tuple[F, list[Note]]:
    """Return the released model and what was given up."""
    whole = fitted.release_whole(limit, like)
    if whole is not None:
        return _passed_on(whole[0]), [
            note for block, given in whole[1] for note in _given_up(fitted, given, block, limit)
        ]
    statistics, notes, found = fitted.statistics, list[Note](), list[Statistic]()
    for number, (block, stats) in enumerate(zip(fitted.blocks, statistics.blocks, strict=True)):
        given = Given()
        kept = None if statistics.sample is None else _kept(statistics, statistics.sample, number)
        told, density = fitted.block_settings(block), partial(_density, fitted, number)
        found.append(release_block(block, stats, Terms(statistics.weight, kept, limit, given), told, density))
        notes += _given_up(fitted, given, block, limit)
    settings = replace(fitted.told, keep_rows=0, by_loo=False)
    if settings.shrinkage.rule == "ledoit-wolf":
        settings = replace(settings, shrinkage=Shrinkage(None))
    released = replace(statistics, blocks=tuple(found), sample=None, heaviest=limit.told, unlabelled=None)
    return _passed_on(fitted.with_statistics(released, settings=settings)), notes


def settings_to_pass_on(before: Fitted, released: Fitted) -> dict[str, object]:
    """Return by name the settings of a released model that are not those it was made with."""
    own, now = before.settings, released.settings
    found: dict[str, object] = {} if now.keep_rows == own.keep_rows else {"keep_rows": now.keep_rows}
    if now.shrinkage != own.shrinkage or own.by_loo:
        found["shrinkage"] = now.shrinkage.setting
    return found if now.prior == own.prior else found | {"prior": now.prior}


def _passed_on(fitted: F) -> F:
    """Return a value of which no more is told than has to be."""
    past, own = fitted.past, fitted.past.dialect
    dialect = None if own is None else replace(own, missing={}, blank=())  # no text of a cell
    told = Provenance(object_labels=past.object_labels, joined=past.joined, dialect=dialect, target=past.target)
    return replace(fitted, past=told)


def _density(fitted: Fitted, number: int) -> Density:
    return fitted.joint.density.blocks[number]


def _given_up(fitted: Fitted, given: Given, block: Block, limit: MinCount) -> list[Note]:
    names, classes = fitted.schema.names, fitted.statistics.classes
    why, notes = WHY.format(least=limit.rows), []
    for what, columns in given.columns.items():
        own = tuple(names[block.positions[j]] for j in sorted(columns))
        met = sorted(given.classes[what])
        text = what + (f" (classes {quoted([classes[c] for c in met])})" if met else "")
        columns_told = own if len(own) < len(block.positions) else ()
        kind = Kind.POOLED if what == UNREMEMBERED else Kind.GIVEN_UP
        notes.append(Note(text, why, columns=columns_told, kind=kind))
    return notes


def _sets(released: Fitted, scores: Sequence[Scores], least: float) -> MeanScores | None:
    """Return what sets of classes are made by, as means of scores of rows that the models of others have not seen."""
    if not scores:
        return None
    classes, columns = released.statistics.classes, len(released.schema)
    return MeanScores.of(Scores.together(scores), classes, np.exp(released.log_prior), columns, least)


def _held_out(fitted: F, limit: MinCount, like: F) -> list[Scores]:
    """Return scores of the rows kept, each by a released model of other folds; none where nobody can know.

    What these models choose is what `like` chose: leaving a row out of a model leaves its choices as well.
    """
    sample = fitted.judges
    if sample is None or fitted.past.joined:
        return []
    batch = Batch(fitted.statistics.classes, sample.codes, fitted.sampled_rows(), sample.weight)
    fold = cumcount(batch.codes) % FOLDS
    scores = list[Scores]()
    for number in range(FOLDS):
        there, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        known = np.unique(batch.codes[there])
        out = out[np.isin(batch.codes[out], known)]
        if not len(out) or not len(there):
            continue
        statistics = fitted.summarize(batch.take(there).of_present_classes())
        model, _ = anonymize(fitted.with_statistics(statistics, past=Provenance()), limit, like)
        place = np.arange(len(out)), np.searchsorted(known, batch.codes[out])
        scores += held_out_scores(fitted, model, out, take_blocks(batch.rows, out), place, number)
    return scores


def _kept(statistics: ByClass, sample: Reservoir, number: int) -> Kept:
    held = np.bincount(sample.codes, weights=sample.weight, minlength=len(statistics.weight))
    whole = bool((sample.limit == ALL).all() and np.allclose(held, statistics.weight, rtol=1e-9, atol=0.0))
    return Kept(sample.rows[number], sample.codes, sample.copies, sample.weight, whole)


def _thin_rows(stats: Statistic) -> int:
    """Return how many rows a table wider than long keeps beside the sample."""
    found = [part.scatter for part in stats.parts() if isinstance(part, GaussianStats)]
    return sum(len(own.owner) for own in found if isinstance(own, LowRankScatter))
