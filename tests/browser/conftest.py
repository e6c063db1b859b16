"""Tests in a real browser: `make browser` installs what they need and sets SUFFICE_BROWSER, without which they skip."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suffice import GenerativeClassifier
from suffice.report import render_page

OFF = "gpu quic background-networking component-update sync"
ARGUMENTS = ["--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in OFF.split())]


def pytest_collection_modifyitems(items):
    if not os.environ.get("SUFFICE_BROWSER"):
        for item in items:
            if "browser" in Path(item.path).parts:
                item.add_marker(pytest.mark.skip(reason="needs Chromium: make browser"))


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert path, "there is no Chromium. Next: install it (Debian, Ubuntu: apt-get install chromium)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, tmp_path) -> Callable:
    """Return a function that opens a page of HTML, offline; none may ask for anything, or complain."""
    opened, asked, complaints = [], [], []

    def open_page(html, width=1280, **options):
        path = tmp_path / f"{len(opened)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(offline=True, viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        opened.append((context, path.as_uri()))
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context, _ in opened:
        context.close()
    assert [url.split("#")[0] for url in asked] == [url for _, url in opened]
    assert complaints == []


@pytest.fixture(scope="session")
def html(penguins):
    """The page of an automatic classifier of half of the penguins, and of its answers to the other half."""
    X, y = penguins
    return render_page(GenerativeClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2], name="penguins.csv")


@pytest.fixture
def without_pictures(monkeypatch):
    """Pages that are quick to make, as quality is judged elsewhere."""
    monkeypatch.setattr("suffice.report.page.draw", lambda estimator: {})
    monkeypatch.setattr("suffice.report.page.draw_answers", lambda *told: [])
    monkeypatch.setattr("suffice.report.facts._quality", lambda *told: {"why_not": "it is not asked for"})
