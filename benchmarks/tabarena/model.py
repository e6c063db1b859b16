"""`GenerativeClassifier` as a model of AutoGluon, in the form that TabArena asks for."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from autogluon.core.models import AbstractModel
from autogluon.core.utils.exceptions import TimeLimitExceeded
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    import pandas as pd

HEADROOM = 0.95  # of the time given, so that what comes after the fit has some too


class SufficeModel(AbstractModel):
    """The automatic classifier of suffice: generative models and trees, pooled by leave-one-out, with no settings.

    Two pools are fitted, one after the other: that of densities alone, then that with boosted trees. Of validation rows
    that are given nothing is learned; they say which of the two is kept. Where the time is over before the second is
    done, the first is kept.

    Codebase and documentation: suffice. License: BSD-3-Clause.
    """

    ag_key = "TA-SUFFICE"
    ag_name = "TA-suffice"
    ag_priority = 65
    seed_name = None  # no random number is drawn
    _supported_problem_types: ClassVar[list[str]] = ["binary", "multiclass"]

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        X_val: pd.DataFrame | None = None,
        y_val: pd.Series | None = None,
        time_limit: float | None = None,
        num_cpus: int = 1,
        **kwargs: Any,
    ) -> None:
        """Fit both pools in the time and the threads that are given, and keep the better."""
        end = None if time_limit is None else time.monotonic() + HEADROOM * time_limit
        from suffice import GenerativeClassifier
        from suffice.progress import listen

        self._threads = num_cpus
        X, y = self.preprocess(X, y=y), y.to_numpy()
        params = self._get_model_params()
        pools = [params] if "members" in params else [params | {"members": name} for name in ("generative", "all")]

        def stop(stage: str) -> None:
            if end is not None and time.monotonic() > end:
                raise TimeLimitExceeded(f"no time is left before {stage!r}")

        least = np.inf
        for pool in pools:
            try:
                with threads(num_cpus), listen(stop):
                    stop("a fit")
                    model = GenerativeClassifier(**pool).fit(X, y)
            except TimeLimitExceeded:
                if self.model is None:
                    raise
                return
            loss = -np.inf if X_val is None or len(pools) == 1 else self._loss(model, X_val, y_val.to_numpy())
            if loss <= least:
                self.model, least = model, loss

    def _loss(self, model: Any, X: pd.DataFrame, y: np.ndarray) -> float:
        """Return the mean log-loss of a model on other rows; of a class it does not know the probability is 0."""
        with threads(self._threads):
            p = model.predict_proba(self.preprocess(X))
        column = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
        own = np.where(model.classes_[column] == y, p[np.arange(len(y)), column], 0.0)
        return float(-np.log(own.clip(1e-15)).mean())

    def _predict_proba(self, X: pd.DataFrame, **kwargs: Any) -> np.ndarray:
        with threads(self._threads):
            return super()._predict_proba(X, **kwargs)

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Let suffice and the libraries below it take so many threads, and as many as before after that."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before
