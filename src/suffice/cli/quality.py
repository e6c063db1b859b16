"""The sentences in which every command states how good a model is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import SufficeError, one_line
from .output import Common, Facts, progress

if TYPE_CHECKING:
    from ..estimators.base import GenerativeEstimator
    from ..questions.quality import Quality


def quality_of(estimator: GenerativeEstimator) -> Quality | str:
    """Return how good a model is on rows it had not seen, or why it cannot say."""
    try:
        return estimator.quality()
    except SufficeError as error:
        return one_line(error)


def judge_anew(estimator: GenerativeEstimator, common: Common) -> Quality | str:
    """Return the same of a model that was just learned and written, under a bar; Ctrl-C ends only the judging."""
    try:
        with progress(common, "Judging it on rows left out"):
            return quality_of(estimator)
    except KeyboardInterrupt:
        return "judging was stopped; the model is written"


def plain(found: Quality | str) -> Facts:
    """Return what JSON has of it."""
    return {"why_not": found} if isinstance(found, str) else found.to_dict()


def in_a_sentence(found: Quality | str) -> str:
    """Return the one sentence that ends a fit."""
    return f"How good it is, it cannot say: {found.rstrip('.')}." if isinstance(found, str) else str(found)
