"""The generation benchmark in words: its section of RESULTS.md, its part of docs/results.md and its line in README."""

from __future__ import annotations

import pandas as pd
from drawn_rows import PARTS, TREES
from generators import ABSENT, REAL
from runs import Line, machine

OURS = "GenerativeClassifier"
CHANCE = 0.5  # an AUC below is as good as this one
SCORES = {
    "auc": "AUC",
    "auc_boosted": "AUC by boosted trees",
    "auc_complete": "AUC of rows without holes",
    "ks": "numbers: KS distance",
    "tv": "categories: total variation",
    "holes": "missing numbers: difference of shares",
    "whole": "whole columns whose draws are whole",
    "within": "within the range learned",
    "copies": "copies of rows learned",
}
HEAD = ("drawn from", "tables", *SCORES.values(), "fit, s (median)", "draw, s (median)")

TEMPLATE = """## Drawn rows

Made by `make generation` (`benchmarks/generation.py`): a model learns half of at most {rows:,} rows of a public table,
classes included; as many rows as the other half has are drawn from it and compared with that half. AUC: how well a
random forest ({trees} trees, {parts}-fold cross-validated; categories as codes, a missing cell as a value of its own,
the class as a column) tells drawn rows from real ones: .5 not at all, 1 always. So do boosted trees (scikit-learn's
HistGradientBoostingClassifier), which see more. Where real rows have holes there is an
AUC of the complete ones, too, for models that draw no holes. Distances are means over columns: the largest difference
of distribution functions (Kolmogorov-Smirnov) of numbers, total variation of categories (missing ones and the class
included). "{real}" draws from the rows learned themselves: what chance alone does, and copies all.

The adversarial forest is arfpy's, the Gaussian copula the copulas package's, with their defaults. They know no missing
cells: a column of numbers with holes is filled with known values at random, and a category says which were holes; what
they draw gets holes by that. For the copula a level of a category is an interval of [0, 1] as long as its share.

Machine: {machine}. Seconds beside other work.{absent}{remark}

Means over the tables that a model can learn; only models of as many tables compare:

{summary}

AUC by table, the least of the models in bold:

{by_table}

{against}

### Every score

{every}

### Failed

{failed}"""


def report(found: list[Line], remark: str = "") -> str:
    """Return the section for RESULTS.md."""
    frame = framed(found)
    return TEMPLATE.format(
        rows=max(line["rows"] for line in found),
        trees=TREES,
        parts=PARTS,
        real=REAL,
        machine=machine("suffice", "arfpy", "copulas", "scikit-learn", "numpy", "pandas"),
        absent=f" Not in this version of suffice: {', '.join(ABSENT)}." if ABSENT else "",
        remark=f" {remark}" if remark else "",
        summary="\n".join(summary(frame)),
        by_table="\n".join(by_table(found, frame)),
        against="\n\n".join(against(frame)),
        every="\n\n".join(every(frame)),
        failed="\n".join(failures(found)) or "None.",
    )


def framed(found: list[Line]) -> pd.DataFrame:
    """Return the lines with all fields; scores of what failed are missing."""
    return pd.DataFrame(found, columns=["table", "model", *SCORES, "seconds", "draw_seconds"])


def models(frame: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(frame["model"]))


def cells(scores: pd.Series) -> list[str]:
    """Return scores and seconds as text, those that are missing as nothing."""
    shown = [("" if pd.isna(scores[what]) else f"{scores[what]:.3f}") for what in SCORES]
    return [*shown, *("" if pd.isna(scores[what]) else f"{scores[what]:.2f}" for what in ("seconds", "draw_seconds"))]


def summary(frame: pd.DataFrame) -> list[str]:
    """Return a row for each model: means of its scores, medians of its seconds."""
    rows = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for model in models(frame):
        own = frame[(frame["model"] == model) & frame["auc"].notna()]
        middle = pd.concat([own[list(SCORES)].mean(), own[["seconds", "draw_seconds"]].median()])
        rows.append(f"| {model} | {len(own)} | {' | '.join(cells(middle))} |")
    return rows


def by_table(found: list[Line], frame: pd.DataFrame) -> list[str]:
    """Return a row for each table: the AUC of each model."""
    auc = frame.pivot(index="table", columns="model", values="auc")
    shapes = {line["table"]: line["shape"] for line in found}
    measured = {(line["table"], line["model"]) for line in found}
    least = auc.drop(columns=REAL, errors="ignore").clip(lower=CHANCE).min(axis=1)
    names = models(frame)
    rows = [f"| table | n / numbers+categories / k | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for table, shape in shapes.items():
        texts = []
        for name in names:
            value = auc.loc[table, name]
            text = f"{value:.3f}" if pd.notna(value) else "failed" if (table, name) in measured else "not measured"
            texts.append(f"**{text}**" if name != REAL and max(value, CHANCE) == least[table] else text)
        rows.append(f"| {table} | {shape} | {' | '.join(texts)} |")
    return rows


def against(frame: pd.DataFrame) -> list[str]:
    """Return in words on which tables the rows of ours are told apart more easily, by how much, and less."""
    auc = frame.pivot(index="table", columns="model", values="auc").clip(lower=CHANCE)
    if OURS not in auc:
        return []
    told = []
    for model in models(frame):
        if model in (OURS, REAL):
            continue
        gap = (auc[OURS] - auc[model]).dropna().sort_values(ascending=False)
        worse = [f"{name} +{value:.3f}" for name, value in gap.items() if value > 0]
        better = [f"{name} −{-value:.3f}" for name, value in gap.items() if value < 0]
        told.append(
            f"Against {model}: {OURS} is told apart more easily on {', '.join(worse) or 'none'}; less easily on "
            f"{', '.join(better) or 'none'}."
        )
    return told


def every(frame: pd.DataFrame) -> list[str]:
    """Return one Markdown table for each table: every score of every model."""
    head = ("drawn from", *HEAD[2:-2], "fit, s", "draw, s")
    parts = []
    for table, own in frame.groupby("table", sort=False):
        rows = [f"**{table}**\n", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        for _, line in own.iterrows():
            shown = "failed" + " |" * (len(head) - 2) if pd.isna(line["auc"]) else " | ".join(cells(line))
            rows.append(f"| {line['model']} | {shown} |")
        parts.append("\n".join(rows))
    return parts


def failures(found: list[Line]) -> list[str]:
    """Return who failed on what, and why."""
    return [f"- {line['model']} on {line['table']}: {line['failed']}" for line in found if "failed" in line]


def page(found: list[Line]) -> str:
    """Return the part of docs/results.md."""
    frame = framed(found)
    return (
        "`make generation` draws rows from models, and a random forest tells them from real ones that no model saw "
        "(AUC .5:\nit cannot; classes are a column). `benchmarks/RESULTS.md` has distances, ranges and times too.\n\n"
        + "\n".join(by_table(found, frame))
    )


def short(found: list[Line]) -> str:
    """Return the line of README: whose rows are hardest to tell from real ones, and on how many tables."""
    auc = framed(found).pivot(index="table", columns="model", values="auc").drop(columns=REAL, errors="ignore")
    hardest = auc.clip(lower=CHANCE).idxmin(axis=1).value_counts()
    told = ", ".join(f"{name} on {number}" for name, number in hardest.items())
    return (
        f"**Drawn rows.** Of {len(auc)} tables a random forest tells real rows least easily from those of {told}\n"
        "(`make generation`; [by table](docs/results.md#drawn-rows))."
    )
