"""Axe, which knows the rules for pages that are read aloud, has no finding on the running laboratory or on a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver

import coflash
from coflash.report import Subject, lab, write_report
from pages import find, look, run, until
from sweeps import SMALL

AXE = Path(__file__).parents[2] / ".venv/node/node_modules/axe-core/axe.min.js"
SCREENS = [(1280, "light"), (1280, "dark"), (390, "light")]
FINDINGS = """
const [done] = arguments;
axe.run().then(({ violations }) => done(violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])));
"""


def findings(browser: WebDriver) -> list[Any]:
    if not AXE.is_file():
        pytest.skip("axe is not installed: make node-packages installs it")
    browser.execute_script(f"{AXE.read_text('utf-8')}; window.axe = axe;")
    found: list[Any] = browser.execute_async_script(FINDINGS)
    return found


def opened(browser: WebDriver, width: int, scheme: str, address: str) -> None:
    """The laboratory at an address, for a reader who has nothing against motion."""
    if not lab.BUILT.is_file():
        pytest.skip("the laboratory is not built: make lab")
    look(browser, width, scheme, motion="no-preference")
    browser.get(f"{lab.BUILT.as_uri()}{address}")
    until(lambda: run(browser, "return document.body.dataset.ready"))


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_the_laboratory_has_no_finding_while_it_runs(browser: WebDriver, width: int, scheme: str) -> None:
    opened(browser, width, scheme, "")
    assert findings(browser) == []
    served = "return Number(document.querySelector('#requests').textContent.replaceAll(',', ''))"
    begun = run(browser, served)
    until(lambda: run(browser, served) > begun + 50)
    assert findings(browser) == []
    opened(browser, width, scheme, "#requests=6000")
    until(lambda: find(browser, "#right .bars").is_displayed())
    assert findings(browser) == []


@pytest.mark.parametrize("story", ["removable", "shadow", "less"])
def test_a_story_has_no_finding_whether_its_figures_have_begun_or_not(browser: WebDriver, story: str) -> None:
    opened(browser, 1280, "light", f"#story={story}&step=0&requests=6000")
    run(browser, "document.querySelector(arguments[0]).scrollIntoView({ block: 'start' })", f"#{story}-3")
    running = f"return document.querySelector('#{story}-3 [data-part=requests]').textContent !== '0'"
    until(lambda: run(browser, running))
    assert findings(browser) == []


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_a_report_has_no_finding(browser: WebDriver, tmp_path: Path, width: int, scheme: str) -> None:
    runs = [coflash.run(SMALL.with_({"cooperation.name": name})) for name in ("none", "cdm")]
    write_report(Subject(runs), tmp_path / "report.html")
    look(browser, width, scheme)
    browser.get((tmp_path / "report.html").as_uri())
    until(lambda: run(browser, "return document.documentElement.dataset.ready"))
    assert findings(browser) == []
