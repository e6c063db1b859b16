"""How the page looks and reads: two widths, light and dark, print, contrast, headings, labels, and its size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from suffice import GaussianDiscriminant, GenerativeClassifier, MixtureDiscriminant
from suffice.report import render_page

# The least contrast of text with what is behind it (WCAG 2.2, 1.4.3), over all elements that show text of their own.
CONTRAST = """() => {
  const parse = (text) => {  // rgb(…) counts to 255, a mixture of colours, color(srgb …), to 1
    const [r, g, b, a] = text.match(/[\\d.]+(e-?\\d+)?/g).map(Number), full = text.startsWith("color(") ? 255 : 1;
    return [full * r, full * g, full * b, a ?? 1]; };
  const light = (c) => {
    const [r, g, b] = c.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg") || !element.checkVisibility()) continue;
    if (![...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    let at = element, back = [0, 0, 0, 0];
    while (at && (back = parse(getComputedStyle(at).backgroundColor))[3] === 0) at = at.parentElement;
    const one = light(parse(getComputedStyle(element).color).slice(0, 3)), two = light(back.slice(0, 3));
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 200)];
  }
  return worst; }"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_screens(visit, html, tmp_path, scheme, width):
    page = visit(html, width, color_scheme=scheme)
    page.get_by_label("Start from a typical").select_option("Chinstrap")
    page.get_by_label("bill_depth_mm", exact=True).fill("")
    page.get_by_label("body_mass_g", exact=True).fill("")
    page.wait_for_timeout(600)
    page.screenshot(path=tmp_path / f"{scheme}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(22, 22, 24)")
    ratio, where = page.evaluate(CONTRAST)
    assert ratio >= 4.5, where


def test_print(visit, html, tmp_path):
    page = visit(html)
    page.get_by_label("Start from a typical").select_option("Chinstrap")
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator("nav").is_visible()
    assert not page.locator("#forget").is_visible()
    assert page.locator("#posterior").is_visible()
    assert page.locator("#cell0").input_value()
    page.pdf(path=tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").stat().st_size > 10_000


def test_reads_in_order(visit, html):
    page = visit(html)
    for landmark in ("banner", "main", "navigation"):
        assert page.get_by_role(landmark).count() == 1
    levels = [
        int(level) for level in page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => h.tagName[1])")
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.evaluate("[...document.querySelectorAll('input,select')].every(e => e.labels.length === 1)")
    assert page.evaluate(
        "[...document.querySelectorAll('table')].every(t => t.caption && t.caption.textContent.trim())"
    )
    assert page.evaluate("[...document.querySelectorAll('.picture')].every(e => e.ariaLabel)")
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_policy_lets_nothing_in_or_out(chromium, tmp_path, html):
    """Even a script that someone smuggled in could not run, load or send."""
    path = tmp_path / "page.html"
    path.write_text(html.replace("</main>", "</main><script>smuggled = 1</script><p onclick='smuggled = 1'>x</p>"))
    context = chromium.new_context(offline=False)
    page = context.new_page()
    done, refused = [], []
    page.on("requestfinished", lambda request: done.append(request.url))
    page.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    page.goto(path.as_uri())
    page.locator("p", has_text="x").last.click()
    assert page.evaluate("typeof smuggled") == "undefined"
    for attempt in (
        "fetch('data:,x').then(() => 'open', () => 'shut')",
        "new Promise(done => { const i = new Image(); i.onerror = () => done('shut'); i.src = 'http://a.example/'; })",
        "new Promise(done => setTimeout(() => { try { done(eval('\"open\"')); } catch { done('shut'); } }))",
    ):
        assert page.evaluate(attempt) == "shut"
    context.close()
    assert done == [path.as_uri()]
    assert refused == [("http://a.example/", "csp")]  # by the policy, not for want of a network


def test_sizes():
    """Trees of 178 rows and ten columns stay under 1.2 MB, of 569 and thirty under 1.6; what is drawn is bounded."""
    wine = load_wine(as_frame=True)
    for model in (GenerativeClassifier(), MixtureDiscriminant(2, random_state=0)):
        assert len(render_page(model.fit(wine.data.iloc[:, :10], wine.target)).encode()) < 1_200_000
    X, y = load_breast_cancer(return_X_y=True)
    assert len(render_page(GenerativeClassifier().fit(X, y)).encode()) < 1_600_000


def test_page_of_a_model_of_one_class(visit):
    page = visit(render_page(GaussianDiscriminant().fit(np.arange(12.0).reshape(6, 2) ** 1.5, ["a"] * 6)))
    page.locator("#cell0").fill("3")
    page.wait_for_selector("#reasons tr >> nth=1")
    assert page.locator("#posterior .amount").all_inner_texts() == ["100\u00a0%"]
