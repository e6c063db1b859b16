"""Turn a fitted model into a `Program`."""

from __future__ import annotations

from typing import Any

from .._arrays import np
from ..joint import JointModel
from ..schema import Schema
from .program import Program
from .stack import lower_stack
from .terms import Lowering


def lower(model: Any) -> Program:
    """Return the program of a fitted estimator; ExportError where it has a density that no program can express.

    Posteriors are those of `predict_proba` with the model's own priors, log p(x) that of `score_samples`.
    """
    joint: JointModel = model.model_  # estimated, or an error that the model is not fitted
    schema: Schema = model._schema
    positions = [block.positions for block in model._blocks]
    job = Lowering(schema)
    terms = job.product(joint.density, positions[: len(joint.density.blocks)])
    pooled = len(positions) > len(joint.density.blocks)  # one block more, which the members are made of
    stack = lower_stack(job, model) if pooled else None
    return Program(
        estimator=type(model).__name__,
        classes=tuple(joint.classes),
        columns=job.columns(),
        named=schema.named,
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(job.terms),
        log_prior=np.asarray(joint.log_prior, dtype=np.float64),
        joint=terms,
        constants=job.constants,
        stack=stack,
    )
