"""Write a gallery of the laboratory's states into a site: a picture of each, which links to it.

    .venv/bin/python scripts/gallery.py target/site https://example.org/coflash

The pictures are the page itself, as Chromium draws it for a reader who wants no motion. The first one is what others
show of a link to the laboratory.
"""

from __future__ import annotations

import argparse
import os
from html import escape
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

STATES = {
    "victim": ("", "A block is cleaned, with and without cooperation"),
    "reads": ("#workload=reads&scheme=cdm&cache=10&requests=40000", "Where most requests read, it pays to ask"),
    "shadows": ("#workload=hot-cold&scheme=sgc&cache=10&requests=10000", "Shadows in two write buffers"),
    "less": ("#workload=hot-cold&scheme=op-fcl&cache=5&requests=30000", "A flash cache that caches less"),
    "database": ("#workload=database&scheme=cdm&cache=10&requests=40000", "The recorded requests of a database"),
}
"""The states: their names, addresses and titles."""
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-prefers-reduced-motion")
_PATIENCE_S = 120


def main() -> None:
    """Draw the states, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("address", help="where the site will be, without a slash at the end")
    given = parser.parse_args()
    lab = given.site / "lab.html"
    if not lab.is_file():
        parser.error(f"{lab} is needed; make lab docs builds the site")
    os.environ.setdefault("SE_AVOID_STATS", "true")  # else Selenium tells its makers
    options = webdriver.ChromeOptions()
    for option in (*_OPTIONS, "--window-size=1280,720"):
        options.add_argument(option)
    with webdriver.Chrome(options) as browser:
        for name, (state, _) in STATES.items():
            browser.get("about:blank")
            browser.get(f"{lab.resolve().as_uri()}{state}")
            WebDriverWait(browser, _PATIENCE_S).until(
                lambda page: page.execute_script("return document.body.dataset.ready")
            )
            browser.save_screenshot(str(given.site / f"lab-{name}.png"))
    image = f'<meta property="og:image" content="{escape(given.address)}/lab-victim.png">'
    lab.write_text(lab.read_text("utf-8").replace("</head>", f"{image}\n</head>", 1), "utf-8")
    figures = "".join(
        f'<figure><a href="lab.html{escape(state)}">'
        f'<img src="lab-{name}.png" width="640" height="360" alt=""><br>{title}</a></figure>'
        for name, (state, title) in STATES.items()
    )
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>coflash lab: a gallery of states</title>'
    page = f"{head}<body><h1>States of the laboratory</h1>{figures}</body></html>\n"
    (given.site / "gallery.html").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
