"""Turn a fitted model into a `Program`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .._arrays import np
from .._files import MISSING_TOKENS
from ..fitted import Fitted
from ..forest import ForestDensity
from .program import Column, Program
from .terms import Lowering

ROUNDING = 1e-9  # of sums of weights; one row in so many is none that a release of sums could tell


def lower(fitted: Fitted) -> Program:
    """Return the program of a fitted model; ExportError where its posteriors are of a density that none can express.

    Posteriors are those of `predict_proba` with the model's own priors, log p(x) that of `score_samples`: a model whose
    posteriors are those of a pool, and whose joint density is a forest's, has a program without log p(x).
    """
    joint, job = fitted.joint, Lowering(fitted.schema)
    pool, given = fitted.pool, None if fitted.priors is None else fitted.log_prior
    terms = None
    if pool is None or not any(isinstance(block, ForestDensity) for block in joint.density.blocks):
        terms = job.product(joint.density, [block.positions for block in fitted.joint_value.blocks])
    stack = None if pool is None else pool.lower(job, fitted.blocks[-1].positions, given)
    return Program(
        estimator=fitted.who,
        classes=tuple(joint.classes),
        columns=tuple(_with_blanks(fitted, job.columns())),
        named=fitted.schema.named,
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(job.terms),
        log_prior=np.asarray(joint.log_prior, dtype=np.float64),
        joint=terms,
        constants=job.constants,
        stack=stack,
        blank=() if fitted.past.dialect is None else (*MISSING_TOKENS, *fitted.past.dialect.blank),
        trimmed=fitted.past.dialect is not None and fitted.dialect.trimmed is True,
    )


def _with_blanks(fitted: Fitted, columns: tuple[Column, ...]) -> Iterator[Column]:
    """Yield the columns with whether the empty text is a level of theirs and no cell was missing."""
    for j, column in enumerate(columns):
        weights = fitted.known_levels.get(j, {})
        full = "" in column.levels and sum(weights.values()) >= fitted.statistics.total * (1.0 - ROUNDING)
        yield replace(column, blank_is_level=full)
