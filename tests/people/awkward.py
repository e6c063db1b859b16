"""Ten tables in the forms in which people have them, none of them seen while the commands were written.

`TABLES` has for each a maker: it writes a file to learn from and one of new rows into a folder, and returns what
`suffice fit` needs to be told. Beside each stands the table as it is meant: numbers as numbers, labels without spaces.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from openpyxl import Workbook

LEARNED, NEW = 160, 40


@dataclass(frozen=True)
class Awkward:
    """A table as a file, and what it means: `meant` has all rows, those to learn from first, the target among them.

    `says` are texts that `suffice fit` must say of it, `options` what it is given.
    """

    learn: Path
    new: Path
    target: str
    meant: pd.DataFrame
    options: tuple[str, ...] = ()
    says: tuple[str, ...] = ()
    classes: tuple[str, ...] = field(default=())


def classes(rng: np.random.Generator, names: tuple[str, ...], shares: tuple[float, ...] | None = None) -> np.ndarray:
    return rng.choice(len(names), LEARNED + NEW, p=shares)


def written(folder: Path, name: str, lines: list[str], encoding: str = "utf-8", head: int = 1) -> tuple[Path, Path]:
    """Write the lines of a table as two files, the first `head` lines to both."""
    learn, new = folder / f"{name}", folder / f"new-{name}"
    for path, own in ((learn, lines[: head + LEARNED]), (new, lines[:head] + lines[head + LEARNED :])):
        data = ("\n".join(own) + "\n").encode(encoding)
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return learn, new


def loans(folder: Path) -> Awkward:
    """Dollars, percentages, labels with spaces behind, and the same label in two spellings."""
    rng = np.random.default_rng(1)
    y = classes(rng, ("paid", "default"), (0.7, 0.3))
    amount = np.round(np.exp(9 + 0.8 * y + 0.5 * rng.normal(size=len(y))))
    rate = np.round(6 + 4 * y + 2 * rng.normal(size=len(y)), 1)
    status = np.array(["paid", "default"])[y]
    spaced = [f"{own} " if i % 7 == 0 else own for i, own in enumerate(status)]
    lines = ["Amount , rate,status"]
    lines += [f'"${a:,.0f}",{r:.1f}%,{s}' for a, r, s in zip(amount, rate, spaced, strict=True)]
    learn, new = written(folder, "loans.csv", lines)
    meant = pd.DataFrame({"Amount": amount, "rate": np.round(rate / 100, 3), "status": status})
    return Awkward(learn, new, "status", meant, says=("spaces",), classes=("default", "paid"))


def sales(folder: Path) -> Awkward:
    """German amounts in cp1252, semicolons, ISO dates that say nothing, umlauts."""
    rng = np.random.default_rng(2)
    names = ("Köln", "München", "Bremen")
    y = classes(rng, names)
    price = np.round(900 + 500 * y + 300 * rng.normal(size=len(y)), 2).clip(1)
    pieces = rng.poisson(3 + 4 * (y == 1))
    towns = np.array(names)[y]

    def german(x: float) -> str:
        return f"{x:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".")

    lines = ["Preis;Stück;Filiale"]
    lines += [f"{german(p)};{n};{t}" for p, n, t in zip(price, pieces, towns, strict=True)]
    learn, new = written(folder, "verkauf.csv", lines, encoding="cp1252")
    meant = pd.DataFrame({"Preis": price, "Stück": pieces.astype(float), "Filiale": towns})
    return Awkward(learn, new, "Filiale", meant, classes=tuple(sorted(names)))


def patients(folder: Path) -> Awkward:
    """A workbook: title lines, a sheet of remarks first, an empty column, whole numbers, truth values."""
    rng = np.random.default_rng(3)
    y = classes(rng, ("well", "ill"), (0.6, 0.4))
    age = rng.integers(20, 90, len(y))
    pressure = np.round(120 + 20 * y + 12 * rng.normal(size=len(y)))
    fever = rng.random(len(y)) < 0.15 + 0.6 * y
    group = np.array(["well", "ill"])[y]
    paths = folder / "patients.xlsx", folder / "new-patients.xlsx"
    for path, own in zip(paths, (slice(None, LEARNED), slice(LEARNED, None)), strict=True):
        book = Workbook()
        book.active.title = "read me"
        book.active.append(["Collected by the ward"])
        sheet = book.create_sheet("data")
        sheet.append(["Ward 7, all patients"])
        sheet.append([])
        sheet.append(["age", "pressure", "fever", "group"])
        for row in zip(age[own], pressure[own], fever[own], group[own], strict=True):
            sheet.append([int(row[0]), float(row[1]), bool(row[2]), str(row[3])])
        book.save(path)
    meant = pd.DataFrame({"age": age.astype(float), "pressure": pressure, "fever": fever, "group": group})
    return Awkward(*paths, "group", meant, ("--sheet", "data"), classes=("ill", "well"))


def churn(folder: Path) -> Awkward:
    """Tabs and gzip, a customer number, names, days of joining; `--auto-drop`."""
    rng = np.random.default_rng(4)
    y = classes(rng, ("stays", "leaves"), (0.65, 0.35))
    calls = rng.poisson(1 + 3 * y)
    minutes = np.round(200 - 60 * y + 40 * rng.normal(size=len(y)), 1)
    plan = np.where(rng.random(len(y)) < 0.3 + 0.4 * y, "prepaid", "contract")
    label = np.array(["stays", "leaves"])[y]
    lines = ["customer_id\tname\tcalls\tminutes\tplan\tchurn"]
    for i, row in enumerate(zip(calls, minutes, plan, label, strict=True)):
        lines.append(f"C-{100_000 + 7 * i}\tPerson {i}\t" + "\t".join(map(str, row)))
    learn, new = written(folder, "churn.tsv.gz", lines)
    meant = pd.DataFrame({"calls": calls.astype(float), "minutes": minutes, "plan": plan, "churn": label})
    return Awkward(
        learn, new, "churn", meant, ("--auto-drop",), says=("customer_id", "name"), classes=("leaves", "stays")
    )


def survey(folder: Path) -> Awkward:
    """Ordered answers, blanks and 'n/a' for no answer."""
    rng = np.random.default_rng(5)
    y = classes(rng, ("no", "yes"))
    levels = np.array(["Low", "Medium", "High"])
    risk = levels[(rng.random(len(y)) * 2 + y * rng.random(len(y))).astype(int).clip(0, 2)]
    years = np.round(np.abs(5 + 3 * y + 2 * rng.normal(size=len(y))), 1)
    again = np.array(["no", "yes"])[y]
    empty = rng.random(len(y)) < 0.1
    lines = ["risk,years,again"]
    lines += [
        f"{'n/a' if e else r},{'' if e and i % 2 else v},{a}"
        for i, (r, v, a, e) in enumerate(zip(risk, years, again, empty, strict=True))
    ]
    learn, new = written(folder, "survey.csv", lines)
    years = np.where(empty & (np.arange(len(y)) % 2 == 1), np.nan, years)
    meant = pd.DataFrame({"risk": np.where(empty, None, risk), "years": years, "again": again})
    options = ("--ordered", "risk=Low,Medium,High", "--missing-text", "n/a")
    return Awkward(learn, new, "again", meant, options, classes=("no", "yes"))


def events(folder: Path) -> Awkward:
    """JSON lines, keys that come and go."""
    rng = np.random.default_rng(6)
    y = classes(rng, ("ok", "slow", "down"))
    load = np.round(0.3 * y + 0.2 * rng.random(len(y)), 3)
    host = np.array(["a", "b", "c"])[(y + (rng.random(len(y)) < 0.3)) % 3]
    state = np.array(["ok", "slow", "down"])[y]
    gone = rng.random(len(y)) < 0.15
    rows = [
        {"state": s, **({} if g else {"load": float(own)}), "host": h}
        for own, h, s, g in zip(load, host, state, gone, strict=True)
    ]
    learn, new = written(folder, "events.jsonl", [json.dumps(row) for row in rows], head=0)
    meant = pd.DataFrame({"load": np.where(gone, np.nan, load), "host": host, "state": state})
    return Awkward(learn, new, "state", meant, classes=("down", "ok", "slow"))


def wide(folder: Path) -> Awkward:
    """Forty columns, most of them noise, in one of them the answer; a column that never varies."""
    rng = np.random.default_rng(8)
    y = classes(rng, ("A", "B"))
    X = np.round(rng.normal(size=(len(y), 40)), 3)
    X[:, 17] = np.round(X[:, 17] + 2.5 * y, 3)
    X[:, 3] = 1.0
    names = [f"gene {j}" for j in range(40)]
    label = np.array(["A", "B"])[y]
    lines = [",".join([*names, "type"])]
    lines += [",".join([*map(str, row), own]) for row, own in zip(X.tolist(), label, strict=True)]
    learn, new = written(folder, "genes.csv", lines)
    meant = pd.DataFrame(X, columns=names).assign(type=label)
    return Awkward(learn, new, "type", meant, classes=("A", "B"))


def words(folder: Path) -> Awkward:
    """A column of text with many different values, quoted commas and line ends within."""
    rng = np.random.default_rng(9)
    y = classes(rng, ("bug", "wish"))
    length = rng.poisson(60 + 40 * y)
    topic = np.array(["crash, again", "login\npage", "export", "colour"])[(2 * y + rng.integers(0, 3, len(y))) % 4]
    title = [f"ticket {i % 97}" for i in range(len(y))]
    label = np.array(["bug", "wish"])[y]
    lines = ["title,topic,length,kind"]
    lines += [f'{t},"{o}",{n},{k}' for t, o, n, k in zip(title, topic, length, label, strict=True)]
    learn, new = written(folder, "tickets.csv", lines)
    meant = pd.DataFrame({"title": title, "topic": topic, "length": length.astype(float), "kind": label})
    return Awkward(learn, new, "kind", meant, classes=("bug", "wish"))


def ledger(folder: Path) -> Awkward:
    """A .txt file with tabs and title lines, negative amounts in parentheses."""
    rng = np.random.default_rng(10)
    y = classes(rng, ("income", "cost"))
    amount = np.round(
        np.where(y == 0, 1, -1) * np.exp(4 + 0.3 * rng.normal(size=len(y))) + 30 * rng.normal(size=len(y))
    )
    share = np.round(rng.random(len(y)), 2)
    label = np.array(["income", "cost"])[y]
    lines = ["Ledger of the year", "", "amount\tshare\tside"]
    lines += [
        f"{f'({-a:.0f})' if a < 0 else f'{a:.0f}'}\t{s}\t{own}" for a, s, own in zip(amount, share, label, strict=True)
    ]
    learn, new = written(folder, "ledger.txt", lines, head=3)
    meant = pd.DataFrame({"amount": amount, "share": share, "side": label})
    return Awkward(learn, new, "side", meant, classes=("cost", "income"))


def shelves(folder: Path) -> Awkward:
    """Twenty classes of which each has ten rows, and whose names are numbers."""
    rng = np.random.default_rng(12)
    y = np.arange(LEARNED + NEW) % 20
    X = np.round(np.column_stack([y % 6, y // 6]) + 0.15 * rng.normal(size=(len(y), 2)), 3)
    lines = ["x,y,shelf", *(f"{a},{b},{c + 100}" for (a, b), c in zip(X, y, strict=True))]
    learn, new = written(folder, "shelves.csv", lines)
    meant = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "shelf": (y + 100).astype(str)})
    return Awkward(learn, new, "shelf", meant, classes=tuple(str(c + 100) for c in range(20)))


TABLES: dict[str, Callable[[Path], Awkward]] = {
    own.__name__: own for own in (loans, sales, patients, churn, survey, events, wide, words, ledger, shelves)
}
