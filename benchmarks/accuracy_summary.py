"""Scores of the accuracy benchmark by table, and what they say of suffice against each other classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from measures import CLIP, OURS
from runs import Line
from scipy.stats import rankdata, wilcoxon

SMALL, LEAST_LARGE = 300, 4000  # rows of a small table at most, of a large one at least
TIE = 0.0005  # nats: losses that differ by less are as good as each other
FLOOR = 0.001  # nats: lesser losses count as this in ratios, which would else be made by tables without a doubtful row
HEAD = (
    *("classifier", "best on", "mean rank", "log-loss", "ratio to suffice", "error", "calibration error"),
    *("fit, s (median)", "predict, s (median)", "suffice better / as good / worse", "p"),
)


@dataclass(frozen=True)
class Judged:
    """Mean scores by table (rows) and classifier (columns), not a number where it failed in a fold."""

    loss: pd.DataFrame
    others: dict[str, pd.DataFrame]  # error, calibration, seconds, predict_seconds, held_out

    def of(self, names: list[str]) -> Judged:
        return Judged(self.loss.loc[names], {what: frame.loc[names] for what, frame in self.others.items()})


def judged(found: list[Line]) -> Judged:
    what = ("error", "calibration", "seconds", "predict_seconds", "held_out")
    return Judged(means(found, "loss"), {name: means(found, name) for name in what})


def means(found: list[Line], what: str) -> pd.DataFrame:
    """Return the mean of one score, tables × classifiers; where a classifier failed in a fold, not a number."""
    frame = pd.DataFrame(found)
    if what not in frame:
        frame[what] = np.nan
    mean = frame.groupby(["table", "model"])[what].agg(lambda v: v.mean(skipna=False)).unstack()
    return mean[list(dict.fromkeys(frame["model"]))].reindex(dict.fromkeys(frame["table"]))


def complete(found: list[Line]) -> tuple[list[Line], list[str]]:
    """Return the lines of the tables that every classifier was measured on in all folds begun, and the other names."""
    models = len({OURS, *(line["model"] for line in found)})
    count: dict[str, int] = {}
    cells: dict[str, set[tuple[int, int]]] = {}
    for line in found:
        count[line["table"]] = count.get(line["table"], 0) + 1
        cells.setdefault(line["table"], set()).add((line["repeat"], line["fold"]))
    whole = {name for name in count if count[name] == len(cells[name]) * models}
    return [line for line in found if line["table"] in whole], [name for name in count if name not in whole]


# --- suffice against the others ----------------------------------------------------------------------------------


def duel(loss: pd.DataFrame, model: str) -> tuple[int, int, int]:
    """Return on how many tables suffice is better than the model, as good, and worse.

    Where the model failed nothing is won; where suffice alone did, it is worse.
    """
    done = loss[loss[model].notna()]
    ahead = done[model] - done[OURS].fillna(np.inf)
    better, worse = int((ahead >= TIE).sum()), int((ahead <= -TIE).sum())
    return better, len(done) - better - worse, worse


def ratio(loss: pd.DataFrame, model: str) -> float:
    """Return the geometric mean of the model's loss over that of suffice, of the tables where neither failed."""
    return float(np.exp((np.log(loss[model].clip(lower=FLOOR)) - np.log(loss[OURS].clip(lower=FLOOR))).mean()))


def shown(value: float, digits: int) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def mean_loss(loss: pd.DataFrame, model: str) -> str:
    """Return the mean of the model's losses as text, with how often it failed."""
    failed = int(loss[model].isna().sum())
    if failed == len(loss):
        return "failed"
    return f"{loss[model].mean():.3f}" + (f" ({failed} failed)" if failed else "")


def against_each(found: Judged) -> list[str]:
    """Return the summary's rows: one for each classifier, over all tables."""
    loss = found.loss
    filled = loss.fillna(np.inf)
    rank = pd.DataFrame(rankdata(filled, axis=1), index=loss.index, columns=loss.columns)
    rows = [f"| {' | '.join(HEAD)} |", f"{'|---' * len(HEAD)}|"]
    for model in loss.columns:
        theirs = model != OURS
        done = loss[model].notna()
        pair = np.minimum([filled[OURS][done], loss[model][done]], -np.log(CLIP))
        times = ratio(loss, model)
        cells = [
            model,
            str(int((filled[model] == filled.min(axis=1)).sum())),
            f"{rank[model].mean():.2f}",
            mean_loss(loss, model),
            shown(times, 2),
            *(shown(found.others[what][model].mean(), 3) for what in ("error", "calibration")),
            *(shown(found.others[what][model].median(), 2) for what in ("seconds", "predict_seconds")),
            " / ".join(map(str, duel(loss, model))) if theirs else "",
            f"{wilcoxon(*pair).pvalue:.2g}" if theirs and np.any(pair[0] != pair[1]) else "",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def losses(loss: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the tables that suffice loses, with the best classifier and its loss as a divisor of ours, worst first;
    and the tables on which the best other one is as good.
    """
    others = loss.drop(columns=OURS)
    if others.empty:
        return [], []
    best, who = others.min(axis=1), others.fillna(np.inf).idxmin(axis=1)
    ours = loss[OURS].fillna(np.inf)
    times = (ours.clip(lower=FLOOR) / best.clip(lower=FLOOR)).sort_values(ascending=False)
    lost = [f"{name} {times[name]:.2f} ({who[name]})" for name in times.index if ours[name] - best[name] >= TIE]
    return lost, [str(name) for name in loss.index if abs(ours[name] - best[name]) < TIE]


def losses_to_each(loss: pd.DataFrame) -> list[str]:
    """Return a row for each other classifier: the tables that suffice loses to it, with the ratio, worst first."""
    rows = ["| classifier | suffice loses to it on (suffice's log-loss as a multiple of its) |", "|---|---|"]
    for model in loss.columns.drop(OURS):
        lost, _ = losses(loss[[OURS, model]])
        rows.append(f"| {model} | {', '.join(cell.split(' (')[0] for cell in lost) or '–'} |")
    return rows


def failures(found: list[Line]) -> list[str]:
    """Return who failed on what, and why."""
    told: dict[tuple[str, str], list[str]] = {}
    for line in found:
        if "failed" in line:
            told.setdefault((line["model"], line["table"]), []).append(line["failed"])
    return [f"{model} on {name} ({len(why)}×): {why[0]}" for (model, name), why in told.items()]
