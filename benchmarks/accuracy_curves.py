"""The learning curves of the accuracy benchmark: log-loss by rows learned, as a picture and as a table."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from measures import OURS
from runs import RESULTS, Line

CURVES = ("phoneme", "satimage", "credit_data", "wa_churn", "magic", "diamonds")
TRACED = (OURS, "LightGBM", "CatBoost")
LOOKS = {OURS: ("#0b6e4f", "o"), "LightGBM": ("#c1666b", "s"), "CatBoost": ("#4a6fa5", "^")}
PICTURE = RESULTS.parent / "learning-curves.svg"

Curves = dict[str, dict[str, dict[int, float]]]  # log-losses by table, model and rows learned


def curves(found: list[Line]) -> Curves:
    """Return the log-losses of the tables that have been measured with all rows and with some."""
    traced: Curves = {}
    for line in sorted(found, key=lambda line: line["learned"]):
        if line["part"] in ("large", "curves") and line["model"] in TRACED and "loss" in line:
            points = traced.setdefault(line["table"], {}).setdefault(line["model"], {})
            points[line["learned"]] = line["loss"]
    begun = {line["table"] for line in found if line["part"] == "curves"}
    return {name: traced[name] for name in CURVES if name in begun and name in traced}


def draw_curves(found: list[Line], path: Path = PICTURE) -> Path | None:
    """Return where the picture was written, or None if there is nothing to draw."""
    traced = curves(found)
    if not traced:
        return None
    across = min(3, len(traced))
    down = -(-len(traced) // across)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "suffice", "font.size": 9}):
        figure = Figure(figsize=(3.1 * across, 2.4 * down + 0.4), layout="tight")
        axes = figure.subplots(down, across, squeeze=False)
        for ax, (name, models) in zip(axes.flat, traced.items(), strict=False):
            trace(ax, name, models)
        for ax in axes.flat[len(traced) :]:
            ax.axis("off")
        for ax in axes[:, 0]:
            ax.set_ylabel("log-loss, nats")
        axes[0, 0].legend(frameon=False)
        figure.savefig(path, metadata={"Date": None}, facecolor="white")
    return path


def trace(ax: Axes, name: str, models: dict[str, dict[int, float]]) -> None:
    for model, points in models.items():
        color, marker = LOOKS[model]
        ax.plot(list(points), list(points.values()), color=color, marker=marker, markersize=4, label=model)
    ticks = sorted({size for points in models.values() for size in points})
    ax.set(title=name, xscale="log")
    ax.set_xticks(ticks, [f"{size:,}" for size in ticks], rotation=30)
    ax.minorticks_off()
    ax.grid(alpha=0.3)


def curve_rows(found: list[Line]) -> list[str]:
    """Return the numbers of the picture as a Markdown table, the least of each row in bold."""
    rows = [f"| table | rows learned | {' | '.join(TRACED)} |", "|---" * (2 + len(TRACED)) + "|"]
    for name, models in curves(found).items():
        for size in sorted({size for points in models.values() for size in points}):
            losses = [models.get(model, {}).get(size) for model in TRACED]
            least = min(loss for loss in losses if loss is not None)
            cells = ["" if v is None else f"**{v:.3f}**" if v == least else f"{v:.3f}" for v in losses]
            rows.append(f"| {name} | {size:,} | {' | '.join(cells)} |")
    return rows
