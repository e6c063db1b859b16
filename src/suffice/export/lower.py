"""Turn a fitted model into a `Program`."""

from __future__ import annotations

from typing import Any

from .._arrays import np
from .program import Program
from .stack import lower_stack
from .terms import Lowering


def lower(model: Any) -> Program:
    """Return the program of a fitted estimator; ExportError where it has a density that no program can express.

    Posteriors are those of `predict_proba` with the model's own priors, log p(x) that of `score_samples`.
    """
    joint = model.model_  # estimated, or an error that the model is not fitted
    job = Lowering(model._schema)
    blocks = getattr(model, "_joint_blocks", None)
    blocks = model._blocks if blocks is None else [block for block, _ in blocks]
    terms = job.product(joint.density, [block.positions for block in blocks])
    stack = lower_stack(job, model) if hasattr(model, "_automatic") else None
    return Program(
        estimator=type(model).__name__,
        classes=tuple(joint.classes),
        columns=job.columns(),
        named=model._schema.named,
        codes=tuple(job.codes),
        readings=tuple(job.readings),
        terms=tuple(job.terms),
        log_prior=np.asarray(joint.log_prior, dtype=np.float64),
        joint=terms,
        stack=stack,
    )
