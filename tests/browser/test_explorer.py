"""What the page computes equals what Python computes, for every estimator, family and structure."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from compare import has_density
from evaluate import evaluate
from fitted_models import CASES, case
from made_trees import made

from suffice import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from suffice.datasets import penguins_path
from suffice.export.lower import lower
from suffice.report import render_page
from suffice.report.explorer import page_cells

pytestmark = pytest.mark.usefixtures("without_pictures")
PARAMETERS = re.compile(r'<script type="application/json" id="parameters">(.*?)</script>', re.DOTALL)


def parameters(html):
    return json.loads(PARAMETERS.search(html)[1])["program"]


def ask(page, cells):
    """Return the page's answers; infinities come as text, since JSON has none."""
    plain = "(_, x) => Math.abs(x) === Infinity ? String(x) : x"
    return json.loads(page.evaluate(f"rows => JSON.stringify(rows.map(row => suffice.ask(row)), {plain})", cells))


def numbers(nested):
    return np.array(nested, dtype=object).astype(str).astype(float)  # "-Infinity" is read as well


# Their answers are made of the terms that other automatic classifiers have.
TERMS_AGAIN = ("automatic: few", "automatic: few numbers", "automatic: joint forest, priors")


def partial(name):
    """Return a model and 50 partial rows; 16 where reasons or gains take long."""
    model, rows = case(name)
    if name.startswith("automatic") or re.search("full.*prior|rda", name):
        return model, rows[:16]
    rng = np.random.default_rng(50)
    more = rows.iloc[rng.integers(0, len(rows), 10)].copy()
    if name != "naive: words":
        for column in more:
            more.loc[rng.random(len(more)) < 0.3, column] = None if more[column].dtype == object else pd.NA
    return model, pd.concat([rows, more.astype(rows.dtypes)], ignore_index=True)


@pytest.mark.parametrize("name", [name for name in CASES if name not in TERMS_AGAIN])
def test_answers_equal_python(visit, name, monkeypatch):
    for place in ("facts", "profile"):  # what columns are worth orders them, and may take long
        monkeypatch.setattr(f"suffice.report.{place}.costs", lambda view: None)
    model, rows = partial(name)
    program = lower(model._fitted)
    cells = page_cells(program, rows)
    html = render_page(model)
    answers = ask(visit(html), cells)
    assert len(answers) == len(rows)

    posterior = numbers([own["posterior"] for own in answers])
    np.testing.assert_allclose(posterior, model.predict_proba(rows), atol=1e-9, rtol=0)
    if has_density(model):
        density = numbers([own["logDensity"] for own in answers])
        np.testing.assert_allclose(density, model.score_samples(rows), rtol=1e-9, atol=1e-9)
    else:
        assert {own["logDensity"] for own in answers} == {None}
        check_beside(model, rows, parameters(html)["drawn"], answers)

    check_gains(model, rows, answers)
    if parameters(html)["sets"] is not None:
        expected = model.predict_set(rows, allow_empty=False)
        assert [own["set"] for own in answers] == [np.flatnonzero(own).tolist() for own in expected]

    # exact reasons to rounding; where one side or both averaged over some orders, within ten standard errors
    expected, spread = model.explain(rows, return_error=True)
    found = numbers([own["reasons"]["score"] for own in answers])
    error = numbers([own["reasons"]["error"] for own in answers])
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(finite, np.isfinite(found))
    size = np.where(finite, np.abs(expected), 0.0).max(axis=(1, 2), keepdims=True)
    # covariances of more columns than rows have condition numbers up to 1e8, and are factored in another way
    exact = (1e-6 if "than rows" in name else 1e-9) * np.maximum(size, 1.0)
    far = np.abs(np.where(finite, found - np.where(finite, expected, 0.0), 0.0))
    drawn = np.hypot(spread, error)  # of a member that is nearly a sum, orders may differ by much less than it is off
    assert (far <= exact + 10.0 * drawn + np.where(drawn > 0.0, 1e-5 * np.maximum(size, 1.0), 0.0)).all()
    if not re.search("more columns|mixed|priors|penguins|trees", name):
        assert not error.any()
        assert not spread.any()

    if not has_density(model):
        assert all(
            (cell is None) == (known is not None)
            for row, own in zip(cells, answers, strict=True)
            for known, cell in zip(row, own["expected"], strict=True)
        )
    elif name != "naive: words":  # counts that share out a total cannot be filled
        filled = page_cells(program, model.impute(rows, as_recorded=False))
        check_expected(cells, filled, answers)


def check_beside(model, rows, drawn, answers):
    """Beside a forest a row is compared with rows drawn from it by the density of Gaussians and categories."""
    program, beside = lower(model._fitted), lower(model._fitted.gaussians_beside)
    table = pd.DataFrame(
        {
            column.name: [
                None
                if row[j] is None or (column.kind == "category" and row[j] >= len(column.levels))
                else column.levels[int(row[j])]
                if column.kind == "category"
                else row[j]
                for row in drawn
            ]
            for j, column in enumerate(program.columns)
        }
    )
    for i in range(0, len(rows), 7):
        seen = rows.iloc[i].notna().to_numpy()
        if not seen.any():
            assert answers[i]["unusual"]["share"] == 1
            continue
        hidden = table.astype(object).where(np.tile(seen, (len(table), 1)), None)
        hidden = hidden.astype(
            {name: float for name, column in zip(hidden, program.columns, strict=False) if column.kind == "number"}
        )
        below = (evaluate(beside, hidden)[1] <= evaluate(beside, rows.iloc[[i]])[1]).sum()
        assert abs(answers[i]["unusual"]["share"] - (1 + below) / (1 + len(drawn))) <= 1.5 / (1 + len(drawn))


def check_gains(model, rows, answers):
    """The page computes what each unknown cell tells by the nodes and sums of Python."""
    expected = model.information_gain(rows)
    for own, row in zip(answers, expected, strict=True):
        for found, gain in zip(own["gain"], row, strict=True):
            if has_density(model):
                assert found == pytest.approx(gain, abs=1e-7)
            else:  # of a forest the page knows what a column holds in each class, and no more
                assert found is None or found >= 0


def test_sums_over_leaves(visit, monkeypatch):
    """The posterior of a pool of nothing but trees, and its reasons: Shapley values of them, and the rest by size."""
    model, program, trees, rows = made()
    stack, own = program.stack, len(trees)
    stack = replace(stack, terms=stack.terms[-own:], weight=stack.weight[:, -own:])
    program = replace(program, stack=stack)
    monkeypatch.setattr("suffice.report.explorer.lower", lambda fitted: program)
    answers = ask(visit(render_page(model)), page_cells(program, rows))
    goal = evaluate(program, rows)[0]
    posterior = numbers([own["posterior"] for own in answers])
    np.testing.assert_allclose(posterior, np.exp(goal), atol=1e-12, rtol=0)

    read, positions = model._fitted.rows(rows)[-1], list(model._fitted.blocks[-1].positions)
    frozen = model._fitted.pool.frozen.read(read.numbers, read.coded)
    pairs = zip(frozen.levels, frozen.columns.vocabulary, strict=True)
    levels = [(codes >= 0) & (codes < len(known)) for codes, known in pairs]
    seen = np.column_stack([~np.isnan(read.numbers), *levels])
    expected = np.zeros((len(rows), len(positions), 3))
    by_known = stack.by_known[np.minimum(seen.sum(axis=1), len(stack.by_known) - 1)]
    for (scores, columns), weight in zip(trees, stack.weight.T, strict=True):
        expected += (by_known @ weight)[:, None, None] * scores.contributions(
            columns.read(read.numbers, read.coded).cells
        )
    expected = np.where(seen[:, :, None], expected - expected.mean(axis=2, keepdims=True), 0.0)
    centred = goal - goal.mean(axis=1, keepdims=True) - (program.log_prior - program.log_prior.mean())
    sizes = np.abs(expected).sum(axis=2)
    alike = np.where(sizes.sum(axis=1, keepdims=True) > 1e-12, sizes, seen)
    share = alike / np.maximum(alike.sum(axis=1, keepdims=True), 1e-300)
    expected += share[:, :, None] * (centred - expected.sum(axis=1))[:, None]
    found = numbers([own["reasons"]["score"] for own in answers])
    np.testing.assert_allclose(found[:, positions], expected, atol=1e-10, rtol=0)


def test_reasons_where_no_column_tells(visit):
    """What the pool adds by itself is shared among the known cells."""
    X = pd.DataFrame({"a": [0.0] * 5, "b": [1.0, None, 1.0, 1.0, None]})
    model = GenerativeClassifier().fit(X, ["a", "a", "b", "c", "b"])
    answers = ask(visit(render_page(model)), page_cells(lower(model._fitted), X))
    assert np.abs(model.explain(X)).max() > 1e-3
    np.testing.assert_allclose(numbers([own["reasons"]["score"] for own in answers]), model.explain(X), atol=1e-9)


def check_expected(cells, filled, answers):
    for row, whole, own in zip(cells, filled, answers, strict=True):
        for j, cell in enumerate(row):
            guess = own["expected"][j]
            if cell is not None:
                assert guess is None
            elif guess is None:
                assert whole[j] is None  # a column without any level
            elif "levels" in guess:
                best = max(guess["levels"])
                assert guess["levels"][int(whole[j])] == pytest.approx(best, rel=1e-12)  # ties may go either way
            else:
                assert guess["mean"] == pytest.approx(whole[j], rel=3e-8 if len(row) > 12 else 1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["gaussian: full, own, prior", "naive: all families", "mixture: two components"])
def test_intervals_hold_nine_tenths(visit, name):
    """The mass between the ends is the integral of p(x_j | the other cells), from the log densities of Python."""
    model, rows = case(name)
    rows = rows.iloc[8:20]
    program = lower(model._fitted)
    cells = page_cells(program, rows)
    answers = ask(visit(render_page(model)), cells)
    looked = 0
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            guess = answers[i]["expected"][j]
            if cell is not None or guess is None or program.columns[j].kind != "number":
                continue
            counts = program.columns[j].name == "visits"
            grid = (
                np.arange(guess["low"], guess["high"] + 1) if counts else np.linspace(guess["low"], guess["high"], 2001)
            )
            table = pd.concat([rows.iloc[[i]]] * len(grid), ignore_index=True).astype({rows.columns[j]: float})
            table[rows.columns[j]] = grid
            p = np.exp(model.score_samples(table) - model.score_samples(rows.iloc[[i]]))
            mass = p.sum() if counts else np.trapezoid(p, grid)
            assert mass >= 0.9 - 1e-9 if counts else mass == pytest.approx(0.9, abs=1e-5)
            looked += 1
    assert looked > 3


def test_probabilities_of_levels_are_ratios_of_densities(visit):
    model, rows = case("naive: all families")
    rows = rows.iloc[8:30].assign(town=None)
    program = lower(model._fitted)
    j = [column.name for column in program.columns].index("town")
    answers = ask(visit(render_page(model)), page_cells(program, rows))
    for level, text in enumerate(program.columns[j].levels):
        p = np.exp(model.score_samples(rows.assign(town=text)) - model.score_samples(rows))
        np.testing.assert_allclose([own["expected"][j]["levels"][level] for own in answers], p, rtol=1e-9)


@pytest.mark.parametrize("name", ["gaussian: full, own", "mixture: two components", "automatic: few numbers"])
def test_unusual_is_a_share_of_drawn_rows(visit, name):
    model, rows = case(name)
    html = render_page(model)
    drawn = np.array(parameters(html)["drawn"])
    assert len(drawn) == 500
    answers = ask(visit(html), page_cells(lower(model._fitted), rows))
    for i, own in enumerate(answers):
        seen = rows.iloc[i].notna().to_numpy()
        if not seen.any():
            assert own["unusual"]["share"] == 1
            continue
        table = pd.DataFrame(np.where(seen, drawn, np.nan), columns=rows.columns)
        below = (model.score_samples(table) <= model.score_samples(rows.iloc[[i]])).sum()
        assert abs(own["unusual"]["share"] - (1 + below) / 501) <= 1.5 / 501  # a tie may be broken by rounding


def test_drawn_rows_are_not_those_learned():
    model, _ = case("gaussian: full, own")
    drawn = np.array(parameters(render_page(model))["drawn"])
    kept = model.statistics_.sample.rows[0]
    assert not any((np.abs(row - kept) < 1e-5 * np.abs(kept)).all(axis=1).any() for row in drawn)


# --- the form --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def penguins():
    table = pd.read_csv(penguins_path()).iloc[::4]  # too few rows for a forest to be the joint model
    X, y = table.drop(columns=["species", "year"]), table["species"]
    return GenerativeClassifier().fit(X, y), X


def expect(locator):
    from playwright.sync_api import expect as told

    return told(locator)


def percent(p):
    if 0 < p < 0.001:
        return "< 0.1\u00a0%"
    if 0.999 < p < 1:
        return "> 99.9\u00a0%"
    return f"{100 * p:.{0 if 0.1 < p < 0.9 or p in (0.0, 1.0) else 1}f}\u00a0%"


def expect_posterior(page, model, **cells):
    row = pd.DataFrame([{name: cells.get(name) for name in model.feature_names_in_}])
    row = row.astype({name: float for name in row if name not in ("island", "sex")})
    bars = page.locator("#posterior .amount")
    expect(bars).to_have_text([percent(p) for p in model.predict_proba(row)[0]])  # waits while the page is at it


def test_typing_updates_and_unknown_works(visit, penguins):
    model, X = penguins
    page = visit(render_page(model))
    box = {name: page.get_by_label(name, exact=True) for name in X.columns}
    expect_posterior(page, model)
    box["bill_length_mm"].press_sequentially("49.1")
    expect_posterior(page, model, bill_length_mm=49.1)
    box["island"].select_option("Biscoe")
    expect_posterior(page, model, bill_length_mm=49.1, island="Biscoe")
    box["island"].select_option("any other")
    expect_posterior(page, model, bill_length_mm=49.1, island="Atlantis")
    hint = page.locator(f"#hint{list(X.columns).index('flipper_length_mm')}")
    expect(hint).to_have_text(re.compile(r"^about \d+\.?\d*; 90 %: \d+\.?\d* to \d+\.?\d*$"))
    box["flipper_length_mm"].press_sequentially("1e")  # not a number yet
    expect(hint).to_contain_text("taken as unknown")
    box["flipper_length_mm"].press_sequentially("3")
    expect_posterior(page, model, bill_length_mm=49.1, island="Atlantis", flipper_length_mm=1000)
    expect(page.locator("#unusual")).to_contain_text("Very")
    box["flipper_length_mm"].fill("")
    box["island"].select_option("unknown")
    expect_posterior(page, model, bill_length_mm=49.1)
    page.get_by_role("button", name="Forget all cells").click()
    expect_posterior(page, model)
    page.get_by_label("Start from a typical").select_option("Gentoo")
    expect(page.locator("#said")).to_have_text("Gentoo, > 99.9\u00a0%; 6 of 6 cells known")
    page.get_by_label("Why", exact=True).select_option("Adelie")
    expect(page.locator("#reasons-of")).to_have_text("Adelie")
    expect(page.locator("#reasons tr")).to_have_count(7)
    expect(page.locator("#reasons tr").first).to_contain_text("before looking")


def test_without_a_joint_density_the_form_has_posteriors_and_reasons(visit):
    """Beside a forest simpler densities say what cells may hold and how unusual a row is; the page says so."""
    model, rows = case("automatic: joint forest")
    page = visit(render_page(model))
    page.get_by_label("town", exact=True).select_option("Bonn")
    page.get_by_label("rooms", exact=True).fill("3")
    expect(page.locator("#said")).to_contain_text("2 of 4 cells known")
    row = rows.iloc[[0]].assign(town="Bonn", rooms=3.0)
    expected = [percent(p) for p in model.predict_proba(row)[0]]
    expect(page.locator("#posterior .amount")).to_have_text(expected)
    expect(page.locator("#reasons tr")).to_have_count(3)
    assert sum(text != "" for text in page.locator(".hint").all_text_contents()) == 2
    assert "a simpler one, of Gaussians and categories" in page.locator(".how").text_content()
    page.get_by_role("button", name="Forget all cells").click()
    expect(page.locator("#said")).to_contain_text("0 of 4 cells known")


def test_the_form_says_what_to_ask_next(visit):
    """Beside unknown cells stand what they tell; typing the best one in takes its mark away."""
    data = pd.read_csv(penguins_path())
    columns = ["island", "bill_length_mm", "bill_depth_mm", "body_mass_g"]
    model = NaiveBayes({tuple(columns[1:]): "gaussian"}).fit(data[columns], data["species"])
    page = visit(render_page(model))
    row = pd.DataFrame([{"island": "Dream"}], columns=columns).astype(dict.fromkeys(columns[1:], float))
    page.select_option("#cell0", label="Dream")
    gain = model.information_gain(row)[0]
    for j in (1, 2, 3):
        mark = "ask next: " if gain[j] == gain.max() else ""
        expect(page.locator(f"#tells{j}")).to_have_text(f"{mark}tells {gain[j]:.2f}")
    expect(page.locator("#tells0")).to_be_hidden()
    page.fill(f"#cell{gain.argmax()}", "45")
    expect(page.locator(f"#tells{gain.argmax()}")).to_be_hidden()
    expect(page.locator(".tells.next")).to_have_count(1)


def test_what_a_forest_beside_the_pool_holds_in_each_class(visit):
    """Of a row without a known cell that is all there is to know, so that the page says what Python does."""
    model, rows = case("automatic: joint forest")
    width = len(model._fitted.schema)
    (answer,) = ask(visit(render_page(model)), [[None] * width])
    nothing = rows[:1].astype(object).where(rows[:1].isna(), None)
    expected = model.information_gain(nothing)[0]
    np.testing.assert_allclose(answer["gain"], expected, atol=0.01)


def test_keyboard_alone(visit, penguins):
    model, X = penguins
    page = visit(render_page(model))
    worth = [X.columns[j] for j in model.importance().order]
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        name = page.evaluate("document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
        seen.append(name)
        if name == "bill_length_mm":
            page.keyboard.type("49.1")
        if name == "island":
            page.keyboard.type("Bis")
        if name == worth[-1]:
            break
    assert seen[-len(X.columns) - 2 :] == ["Start from a typical", "Forget all cells", *worth]
    expect_posterior(page, model, bill_length_mm=49.1, island="Biscoe")
    page.locator("#why-class").focus()
    page.keyboard.type("Ch")
    expect(page.locator("#reasons-of")).to_have_text("Chinstrap")


def test_hostile_names_are_text(visit, rng):
    n = 60
    column, level, label = (
        "<img src=x onerror=hacked=1>",
        "</script><script>hacked=1</script>",
        "<b onclick=hacked=1>\u2028&amp;",
    )
    X = pd.DataFrame({column: rng.normal(size=n), "__proto__": rng.choice([level, "constructor", "'\"]]>"], n)})
    y = np.repeat([label, "</style><script>hacked=1</script>", "toString"], n // 3)
    for model in (NaiveBayes(), GenerativeClassifier()):
        html = render_page(model.fit(X, y), X, y, name="<script>hacked=1</script>")
        page = visit(html)
        page.get_by_label(column, exact=True).fill("0.5")
        page.get_by_label("__proto__", exact=True).select_option(level)
        expect(page.locator("#said")).to_contain_text("2 of 2")
        expect(page.locator("#reasons tr")).to_have_count(3)
        assert page.evaluate("typeof hacked") == "undefined"
        assert page.locator("img, b[onclick]").count() == 0
        assert page.locator("script").count() == 2
        assert label in page.locator("#posterior").text_content()
        assert level in page.locator("#reasons").text_content()
        np.testing.assert_allclose(
            ask(page, page_cells(lower(model._fitted), X.head(1)))[0]["posterior"],
            model.predict_proba(X.head(1))[0],
            atol=1e-9,
        )


def test_of_many_columns_the_form_asks_those_that_tell_most(visit, rng):
    """Its answers are those of the model of all columns, where the others are unknown; the page says so."""
    y = np.repeat([0, 1], 40)
    X = pd.DataFrame(rng.normal(size=(80, 120)) + np.where(np.arange(120) % 9 == 0, y[:, None], 0)).add_prefix("x")
    model = GaussianDiscriminant(shared=True).fit(X, y)
    html = render_page(model)
    page = visit(html)
    assert "the other 100 are unknown in every row" in page.locator("main").inner_text()
    shown = page.locator(".field label").all_inner_texts()
    assert len(shown) == 20
    columns = parameters(html)["columns"]
    assert set(shown) < set(columns) == set(X)
    rows = X[:5].where(np.tile(X.columns.isin(shown), (5, 1)))
    rows.iloc[1, [X.columns.get_loc(shown[0]), X.columns.get_loc(shown[5])]] = np.nan
    cells = rows[columns].astype(object).where(rows[columns].notna(), None).to_numpy().tolist()
    answers = ask(page, cells)
    np.testing.assert_allclose(numbers([own["posterior"] for own in answers]), model.predict_proba(rows), atol=1e-9)
    np.testing.assert_allclose(numbers([own["logDensity"] for own in answers]), model.score_samples(rows), rtol=1e-9)


def test_decimal_commas_are_understood_or_refused(visit, penguins):
    model, _ = penguins
    page = visit(render_page(model))
    box = page.get_by_label("bill_length_mm", exact=True)
    hint = page.locator(f"#{box.get_attribute('id').replace('cell', 'hint')}")
    for typed, value in {
        "43,5": 43.5,
        "43.5": 43.5,
        " 43,5 ": 43.5,
        "+43,5": 43.5,
        "0,435e2": 43.5,
        "1.234,5": 1234.5,
        "1,234.5": 1234.5,
        "1 234,5": 1234.5,
        "1\u202f234": 1234,
        "1,234,567": 1234567,
        "1.234.567": 1234567,
        "1'234": 1234,
        "0,125": 0.125,
        "1.234": 1.234,
        "\u22121,5": -1.5,
        ",5": 0.5,
    }.items():
        box.fill(typed)
        expect_posterior(page, model, bill_length_mm=value)
        assert box.get_attribute("aria-invalid") == "false"
    box.fill("43,5")
    expect(hint).to_have_text("Read as 43.5.")
    for typed in (
        "1,234",
        "4,3,5",
        "1.2.3",
        "43,5 mm",
        "1,23.4",
        "--3",
        "1e999",
        "NaN",
        "Infinity",
        "0x10",
        "12,345.678,9",
    ):
        box.fill(typed)
        expect(hint).to_contain_text("aken as unknown")
        assert box.get_attribute("aria-invalid") == "true"
        expect_posterior(page, model)
    box.fill("1,234")
    expect(hint).to_contain_text("may be 1.234 or 1234")


def test_arrows_step_as_the_column_is_recorded(visit, penguins):
    model, _ = penguins
    page = visit(render_page(model))
    box = page.get_by_label("flipper_length_mm", exact=True)
    box.fill("190")
    box.press("ArrowUp")
    assert box.input_value() == "191"
    box.press("ArrowDown")
    box.press("ArrowDown")
    assert box.input_value() == "189"
    bill = page.get_by_label("bill_length_mm", exact=True)
    bill.fill("43,5")
    bill.press("ArrowUp")
    assert bill.input_value() == "43.6"


@pytest.mark.parametrize("which", ["forest beside", "gaussian"])
def test_the_answer_to_a_row_like_nothing_seen_is_greyed_out(visit, which):
    """A flipper of 1,950 mm is no Chinstrap for sure."""
    table = pd.read_csv(penguins_path())
    X, y = table.drop(columns=["species"]), table["species"]
    if which == "gaussian":
        X = X[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    model = (GenerativeClassifier() if which == "forest beside" else GaussianDiscriminant()).fit(X, y)
    page = visit(render_page(model))
    box = page.get_by_label("flipper_length_mm", exact=True)
    note, answers = page.locator("#strange"), page.locator("#answer")
    page.get_by_label("Start from a typical").select_option("Chinstrap")
    expect(page.locator("#said")).to_contain_text("Chinstrap")
    expect(note).to_be_hidden()
    box.fill("1950")
    expect(note).to_contain_text("like nothing the model has seen")
    expect(note).to_contain_text("flipper_length_mm is 1950, and it expects")
    expect(answers).to_have_class(re.compile("strange"))
    expect(page.locator("#said")).to_contain_text("Like nothing seen")
    box.fill("195,0")
    expect(note).to_be_hidden()
    expect(answers).not_to_have_class(re.compile("strange"))


def test_dates_are_typed_and_told(visit):
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    seen = pd.Timestamp("2024-03-01") + pd.to_timedelta((rng.normal(0, 40, 80) + 60 * y).round(), unit="D")
    X = pd.DataFrame({"seen": seen, "x": rng.normal(size=80)})
    model = NaiveBayes().fit(X, y)
    page = visit(render_page(model))
    box = page.get_by_label("seen", exact=True)
    hint = page.locator(f"#{box.get_attribute('id').replace('cell', 'hint')}")
    told = re.findall(r"\d{4}-\d\d-\d\d", hint.inner_text())
    best = model.impute(pd.DataFrame({"seen": [pd.NaT], "x": [np.nan]}))["seen"][0]
    assert told[0] == str(best.date())
    for typed in ("2024-04-03", "2024-4-3", "2024-04-03T00:00"):
        box.fill(typed)
        expected = model.predict_proba(pd.DataFrame({"seen": [pd.Timestamp("2024-04-03")], "x": [np.nan]}))[0]
        cells = [pd.Timestamp("2024-04-03").timestamp(), None]
        assert box.get_attribute("aria-invalid") == "false"
        np.testing.assert_allclose(ask(page, [cells])[0]["posterior"], expected, rtol=1e-9)
        expect(page.locator("#reasons")).to_contain_text("seen = 2024-04-03")
    box.press("ArrowUp")
    assert box.input_value() == "2024-04-04"
    for typed in ("1712102400", "2024-02-30", "soon"):
        box.fill(typed)
        expect(hint).to_contain_text("aken as unknown")
