"""The pooled posterior of the automatic classifier as terms of a program and a stack of them."""

from __future__ import annotations

from typing import Any

from ..estimate import class_log_prior
from .program import Stack
from .terms import Lowering


def lower_stack(job: Lowering, model: Any) -> Stack:
    """Enter the terms of the pool that a model answers from, under the priors it was given, and return the pool."""
    log_prior = None
    if model.priors is not None:
        classes = model.statistics_.classes
        log_prior = class_log_prior(model.statistics_.weight, model._class_priors(model.priors, classes))
    stack: Stack = model._automatic.lower(job, model._blocks[-1].positions, log_prior)
    return stack
