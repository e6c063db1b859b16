"""A medical table with missing cells: fill them, predict without them, ask why, and find what looks wrong.

The breast cancer table that scikit-learn ships (569 biopsies, 10 measurements) with three in ten cells taken out, so
that what is filled in can be compared with what was there.

    python examples/medical_holes.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from suffice import GaussianDiscriminant, GenerativeClassifier


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    table = load_breast_cancer(as_frame=True)
    whole = table.data.filter(like="mean ").rename(columns=lambda name: name.removeprefix("mean "))
    diagnosis = table.target.map({0: "malignant", 1: "benign"})
    holes = np.random.default_rng(0).random(whole.shape) < 0.3
    cells = whole.mask(holes)
    X, X_new, y, y_new, truth, _ = train_test_split(cells, diagnosis, whole, random_state=0, stratify=diagnosis)
    complete = X.notna().all(axis=1).mean()
    print(f"{len(whole)} biopsies, {whole.shape[1]} measurements; {holes.mean():.0%} of the cells are missing.")
    print(f"Only {complete:.1%} of the rows are complete, so leaving rows out is no option.\n")

    # --- predict: nothing is filled in, the missing cells are integrated out ----------------------------------------
    models = {
        "suffice, automatic": GenerativeClassifier(),
        "suffice, Gaussians": GaussianDiscriminant(),
        "mean imputation + logistic": make_pipeline(
            SimpleImputer(add_indicator=True), StandardScaler(), LogisticRegression(max_iter=1000)
        ),
    }
    found: dict[str, float] = {}
    print(f"{len(X_new)} new biopsies             right   log-loss")
    for name, model in models.items():
        posterior = model.fit(X, y).predict_proba(X_new)
        found[name] = log_loss(y_new, posterior)
        right = np.mean(model.classes_[posterior.argmax(axis=1)] == y_new)
        print(f"  {name:28}{right:7.1%}{found[name]:10.3f}")

    # --- impute: each hole from the cells that the row does have ---------------------------------------------------
    model = models["suffice, Gaussians"]
    filled, gaps = model.impute(X), X.isna().to_numpy()
    spread = truth.std().to_numpy()

    def error(guess: pd.DataFrame | np.ndarray) -> float:
        away = (np.asarray(guess) - truth.to_numpy()) / spread
        return float(np.sqrt(np.mean(away[gaps] ** 2)))

    found["imputed"], found["mean imputed"] = error(filled), error(X.fillna(X.mean()))
    print("\nError of a filled cell, in standard deviations of its column:")
    print(f"  suffice {found['imputed']:.2f}, column means {found['mean imputed']:.2f}")

    # Several tables, each drawn: how far they disagree is how uncertain a filled cell is. A further draw lies between
    # the smallest and the largest of 19 with probability 18 / 20, and so should the truth.
    draws = np.stack([np.asarray(draw) for draw in model.impute(X, draws=19, random_state=0)])
    low, high = draws.min(axis=0), draws.max(axis=0)
    inside = (truth.to_numpy() >= low) & (truth.to_numpy() <= high)
    found["coverage"] = float(inside[gaps].mean())
    print(f"  the range of 19 drawn tables should hold 90% of the true values, and holds {found['coverage']:.0%}\n")

    # --- explain: one biopsy -----------------------------------------------------------------------------------
    row = X_new[X_new.isna().sum(axis=1) == 3].iloc[[0]]
    odds = model.explain(row)[0]
    pull = odds[:, list(model.classes_).index("malignant")] - odds[:, list(model.classes_).index("benign")]
    p = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))["malignant"]
    print(f"One biopsy, 3 of 10 cells missing: malignant with probability {p:.1%}. What speaks for it (+) or not (-):")
    for j in np.argsort(-np.abs(pull))[:4]:
        print(f"  {row.columns[j]} = {row.iloc[0, j]:g}: {pull[j]:+.1f}")
    missing = row.isna().to_numpy()[0]
    found["missing says"] = float(np.abs(pull[missing]).max())
    print(f"  missing cells ({', '.join(row.columns[missing])}): {found['missing says']:.1f}\n")

    # --- outliers: someone typed an area in the wrong unit ------------------------------------------------------------
    typed = whole.loc[X_new.index].copy()
    wrong = typed.index[:5]
    typed.loc[wrong, "area"] /= 100  # cm² in a column of mm²
    p_values = pd.Series(model.outlier_pvalues(typed), index=typed.index)
    found["caught"], found["false alarms"] = (p_values[wrong] < 0.005).mean(), (p_values.drop(wrong) < 0.005).mean()
    print(f"Five areas written in the wrong unit: {found['caught']:.0%} have an outlier p-value below 0.005,")
    print(f"of the other new biopsies {found['false alarms']:.1%}: real measurements have longer tails than Gaussians.")
    return found


if __name__ == "__main__":
    main()
