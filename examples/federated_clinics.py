"""Three clinics learn one model together, and no patient's row leaves its clinic.

Each clinic fits on its own table and sends a model file without rows (`keep_rows=0`): means, scatters and counts.
Merged, these are the model of all patients, to rounding. Then one clinic withdraws.

    python examples/federated_clinics.py

The same from a shell:

    suffice fit north.csv --target diagnosis --model shared --keep-rows 0 -o north.suffice     (in each clinic)
    suffice merge north.suffice valley.suffice harbour.suffice -o all.suffice
    suffice forget all.suffice harbour.csv --target diagnosis                                  (where a clinic leaves)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from suffice import GaussianDiscriminant, load

CLINICS = ("North", "Valley", "Harbour")


def clinics() -> tuple[dict[str, tuple[pd.DataFrame, pd.Series]], tuple[pd.DataFrame, pd.Series]]:
    """Return the table of each clinic, and new patients; North sees the hard cases, Harbour leaves cells empty."""
    table = load_breast_cancer(as_frame=True)
    rows = table.data.filter(like="mean ").rename(columns=lambda name: name.removeprefix("mean "))
    rows = np.log(rows + 0.001 * rows.mean())  # sizes and shapes are skewed; a few are 0
    labels = table.target.map({0: "malignant", 1: "benign"})
    order = np.random.default_rng(0).permutation(len(rows))
    new, known = order[:409], order[409:]
    larger = table.data["mean radius"].to_numpy()[known] + np.random.default_rng(0).normal(0, 3, len(known))
    places = np.digitize(larger, np.quantile(larger, [0.5, 0.75]))  # sizes of tumours differ between clinics
    found = {}
    for place, name in enumerate(("Valley", "Harbour", "North")):
        here = known[places == place]
        found[name] = (rows.iloc[here], labels.iloc[here])
    gaps = np.random.default_rng(1).random(found["Harbour"][0].shape) < 0.1
    found["Harbour"] = (found["Harbour"][0].mask(gaps), found["Harbour"][1])
    return {name: found[name] for name in CLINICS}, (rows.iloc[new], labels.iloc[new])


def model() -> GaussianDiscriminant:
    """Return the unfitted model that the clinics agreed on."""
    return GaussianDiscriminant(shared=True, keep_rows=0)


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    tables, (X_new, y_new) = clinics()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        post = Path(name)  # what travels between clinics lies here, and nothing else
        for clinic, (X, y) in tables.items():
            model().fit(X, y).save(post / f"{clinic}.suffice")
        print(f"clinic     patients   malignant   file sent   log-loss on {len(X_new)} new patients, alone")
        for clinic, (X, y) in tables.items():
            alone = load(post / f"{clinic}.suffice")
            found[clinic] = log_loss(y_new, alone.predict_proba(X_new))
            size = (post / f"{clinic}.suffice").stat().st_size
            print(f"{clinic:10}{len(X):9}{np.mean(y == 'malignant'):12.0%}{size / 1024:9.0f} KB{found[clinic]:12.3f}")

        # --- merge the files ----------------------------------------------------------------------------------------
        together = load(post / "North.suffice")
        for clinic in CLINICS[1:]:
            together.merge(load(post / f"{clinic}.suffice"))
        found["together"] = log_loss(y_new, together.predict_proba(X_new))
        print(f"\nTogether: {found['together']:.3f}, the log-loss of {together.statistics_.rows} patients' model.")

    pooled = model().fit(pd.concat([X for X, _ in tables.values()]), pd.concat([y for _, y in tables.values()]))
    found["difference"] = float(np.abs(together.predict_proba(X_new) - pooled.predict_proba(X_new)).max())
    print(f"Had all rows been in one table, no posterior would differ by more than {found['difference']:.0e}.")

    # Averaging is what is done where models do not merge: each clinic's answer, weighted by its patients.
    weights = [len(X) for X, _ in tables.values()]
    answers = [model().fit(X, y).predict_proba(X_new) for X, y in tables.values()]
    found["averaged"] = log_loss(y_new, np.average(answers, axis=0, weights=weights))
    print(f"The average of the three clinics' answers has a log-loss of {found['averaged']:.3f}.\n")

    # --- a clinic withdraws: it takes its rows out of the merged model, where they are ------------------------------
    together.forget(*tables["Harbour"])
    stay = [tables[clinic] for clinic in ("North", "Valley")]
    never = model().fit(pd.concat([X for X, _ in stay]), pd.concat([y for _, y in stay]))
    found["withdrawn"] = float(np.abs(together.predict_proba(X_new) - never.predict_proba(X_new)).max())
    print(f"Harbour withdraws. The model is now that of {together.statistics_.rows} patients, as if Harbour had never")
    print(f"taken part: posteriors equal those of a fit without it to {found['withdrawn']:.0e}.\n")
    print("A file without rows is not anonymous: a class or a pattern of missing cells that one patient alone has")
    print("is that patient's row. Look at the counts before sending.")
    return found


if __name__ == "__main__":
    main()
