"""Three clinics learn one model together, and no patient's row leaves its clinic.

Each clinic fits on its own table and releases the model: the file that travels holds no row, and no number that sums
over fewer than five. Merged, these are the model of all patients. Then one clinic withdraws.

    python examples/federated_clinics.py

The same from a shell:

    suffice fit north.csv --target diagnosis --model shared -o north.suffice                   (in each clinic)
    suffice release north.suffice --least 5 -o north.released.suffice                          (this file travels)
    suffice merge north.released.suffice valley.released.suffice harbour.released.suffice -o all.suffice
    suffice merge north.released.suffice valley.released.suffice -o all.suffice                (where a clinic leaves)
"""

from __future__ import annotations

import tempfile
import zipfile
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
    columns = ["mean texture", "mean area", "mean smoothness", "mean concave points"]
    rows = table.data[columns].rename(columns=lambda name: name.removeprefix("mean "))
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
    gaps = np.random.default_rng(1).random(found["Harbour"][0].shape) < 0.3
    found["Harbour"] = (found["Harbour"][0].mask(gaps), found["Harbour"][1])
    return {name: found[name] for name in CLINICS}, (rows.iloc[new], labels.iloc[new])


def model() -> GaussianDiscriminant:
    """Return the unfitted model that the clinics agreed on."""
    return GaussianDiscriminant(shared=True)


def rows_in_sight(file: Path, rows: np.ndarray) -> int:
    """Return how many of these rows can be read off a model file: their known cells stand in it side by side."""
    with zipfile.ZipFile(file) as archive:
        arrays = [np.load(archive.open(name)) for name in archive.namelist() if name.endswith("mean.npy")]
    told = {tuple(np.round(row, 9)) for means in arrays for row in means}
    return sum(tuple(np.round(row[~np.isnan(row)], 9)) in told for row in rows)


def main() -> dict[str, float]:
    """Tell the story; return its numbers."""
    tables, (X_new, y_new) = clinics()
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        post = Path(name)  # what travels between clinics lies here, and nothing else
        harbour = tables["Harbour"]
        unsafe = model().set_params(keep_rows=0).fit(*harbour)
        unsafe.save(post / "unsafe.suffice")
        found["read before"] = rows_in_sight(post / "unsafe.suffice", harbour[0].to_numpy())
        (post / "unsafe.suffice").unlink()
        for clinic, (X, y) in tables.items():
            model().fit(X, y).release(least=5).save(post / f"{clinic}.suffice")
        found["read"] = rows_in_sight(post / "Harbour.suffice", harbour[0].to_numpy())
        found["held"] = sum(load(post / f"{clinic}.suffice").rows_held_.kept for clinic in CLINICS)
        print(f"Harbour leaves cells empty. Without rows kept, its model's file shows {found['read before']} of its")
        print(f"{len(harbour[0])} patients' rows: means of patterns that one patient has. Released: {found['read']}.\n")
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
    print(f"Had all rows been in one table, no posterior would differ by more than {found['difference']:.1e}, since")
    print("Harbour's empty cells were filled from Harbour's own patients.")

    # Averaging is what is done where models do not merge: each clinic's answer, weighted by its patients.
    weights = [len(X) for X, _ in tables.values()]
    answers = [model().fit(X, y).predict_proba(X_new) for X, y in tables.values()]
    found["averaged"] = log_loss(y_new, np.average(answers, axis=0, weights=weights))
    print(f"The average of the three clinics' answers has a log-loss of {found['averaged']:.3f}.\n")

    # --- a clinic withdraws: the files of those that stay are merged anew -----------------------------------------
    stay = [tables[clinic] for clinic in ("North", "Valley")]
    north, valley = (model().fit(X, y).release(least=5) for X, y in stay)
    never = model().fit(pd.concat([X for X, _ in stay]), pd.concat([y for _, y in stay]))
    without = north.merge(valley)
    found["withdrawn"] = float(np.abs(without.predict_proba(X_new) - never.predict_proba(X_new)).max())
    print(f"Harbour withdraws. The model is now that of {without.statistics_.rows} patients, as if Harbour had never")
    print(f"taken part: posteriors equal those of a fit without it to {found['withdrawn']:.0e}.\n")
    print("A released file tells of no single row. The difference of two of them does, if one clinic's file was")
    print("released before and after a patient came: agree on when files are sent, and see docs/editing.md.")
    return found


if __name__ == "__main__":
    main()
