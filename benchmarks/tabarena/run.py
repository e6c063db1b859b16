"""Try the model through AutoGluon's own interface, on tables at hand: python benchmarks/tabarena/run.py

Needs autogluon.tabular in the environment. First AutoGluon's own checks of a model (fit, bagging, refit, one row beside
many), then scikit-learn's tables and the penguins: a fit with validation rows, a time limit and one thread.
"""

from __future__ import annotations

import contextlib
import tempfile
import time

import numpy as np
import pandas as pd
from autogluon.core.utils.exceptions import TimeLimitExceeded
from autogluon.tabular.testing import FitHelper
from model import SufficeModel
from sklearn import datasets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from suffice import GenerativeClassifier
from suffice.datasets import penguins_path


def tables() -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    """Return tables by name, classes numbered as AutoGluon does."""
    penguins = pd.read_csv(penguins_path())
    found = {"penguins": (penguins.drop(columns="species"), penguins["species"])}
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found[name] = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    return {
        name: (X.apply(lambda c: c if c.dtype.kind in "fi" else c.astype("category")), pd.Series(pd.factorize(y)[0]))
        for name, (X, y) in found.items()
    }


def main() -> None:
    folder = tempfile.mkdtemp(prefix="suffice-tabarena-")
    FitHelper.verify_model(SufficeModel, model_hyperparameters={})
    print("AutoGluon's checks of a model: passed\n")
    print("table            log-loss   alone   seconds   kept, and in half the time")
    for name, (X, y) in tables().items():
        known, new, y_known, y_new = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        learned, held, y_learned, y_held = train_test_split(known, y_known, test_size=0.2, random_state=0)
        settings = {"problem_type": "binary" if y.nunique() == 2 else "multiclass", "eval_metric": "log_loss"}
        began = time.perf_counter()
        model = SufficeModel(name=name, path=folder, **settings)
        model.fit(X=learned, y=y_learned, X_val=held, y_val=y_held, time_limit=60, num_cpus=1, num_gpus=0)
        took = time.perf_counter() - began
        alone = GenerativeClassifier().fit(learned, y_learned).predict_proba(new)
        p = np.asarray(model.predict_proba(new), dtype=float)
        p = p if p.ndim == 1 else p / p.sum(axis=1, keepdims=True)  # AutoGluon hands out 32 bits
        short = SufficeModel(name=name, path=folder, **settings)
        with contextlib.suppress(TimeLimitExceeded):
            short.fit(X=learned, y=y_learned, time_limit=took / 2, num_cpus=1, num_gpus=0)
        kept = short.model.members if short.model else "none"
        losses = f"{log_loss(y_new, p):10.4f}{log_loss(y_new, alone):8.4f}"
        print(f"{name:<15}{losses}{took:10.2f}   {model.model.members}, {kept}")


if __name__ == "__main__":
    main()
