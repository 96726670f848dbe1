"""Actions of tests on a page in a browser: find, read, click and wait."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from processes import PATIENCE_S


def look(browser: WebDriver, width: int, scheme: str = "light", motion: str = "reduce") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
    named = [{"name": name, "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})


def until(holds: Callable[[], Any]) -> None:
    """Waits until the condition holds. A part that the page just takes away or has not drawn yet is waited for, too."""
    end = time.monotonic() + PATIENCE_S
    while not now(holds):
        assert time.monotonic() < end, "it will never be"
        time.sleep(0.02)


def now(holds: Callable[[], Any]) -> bool:
    try:
        return bool(holds())
    except (StaleElementReferenceException, NoSuchElementException):
        return False


def tasks_s(browser: WebDriver) -> float:
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))


def find(page: WebDriver | WebElement, selector: str) -> WebElement:
    return page.find_element(By.CSS_SELECTOR, selector)


def texts(page: WebDriver, selector: str) -> list[str]:
    return [str(text) for text in run(page, f"return $$({json.dumps(selector)}).map((one) => one.textContent.trim())")]


def run(page: WebDriver, script: str, *arguments: Any) -> Any:
    return page.execute_script(script, *arguments)


def complaints(page: WebDriver) -> list[Any]:
    """New messages of the console."""
    said: list[Any] = page.get_log("browser")  # type: ignore[no-untyped-call]
    return said


def messages(page: WebDriver) -> list[Any]:
    """New events of the browser."""
    entries = page.get_log("performance")  # type: ignore[no-untyped-call]
    return [json.loads(entry["message"])["message"] for entry in entries]


def click(page: WebDriver, element: WebElement | str) -> None:
    """Clicks on the element's visible place, however the page is scrolled."""
    target = find(page, element) if isinstance(element, str) else element
    run(page, "arguments[0].scrollIntoView({ block: 'center' })", target)
    target.click()


def paste(page: WebDriver, field: WebElement, text: str) -> None:
    """Replaces what is in a field at once: the page works once, and not for each letter."""
    change = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    run(page, change, field, text)


def figure(page: WebDriver, title: str) -> WebElement:
    found: WebElement = run(page, "return $$('figure').find((one) => $('h3', one).textContent === arguments[0])", title)
    run(page, "arguments[0].scrollIntoView({ block: 'center' })", found)
    until(lambda: found.find_elements(By.CSS_SELECTOR, ".plot > svg"))
    return found


def rows_of(page: WebDriver, drawn: WebElement) -> list[list[str]]:
    """The rows of a figure's data table."""
    rows = "[...arguments[0].querySelectorAll('tbody tr')]"
    cells = f"{rows}.map((row) => [...row.cells].map((one) => one.textContent))"
    found: list[list[str]] = run(page, f"return {cells}", drawn)
    return found


def column(page: WebDriver, place: int) -> list[str]:
    return texts(page, f"#runs-table tbody tr > :nth-child({place})")


def number(text: str) -> float:
    return float(text.replace(",", "").split("\N{NO-BREAK SPACE}")[0])
