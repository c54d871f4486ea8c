"""Writes docs/pictures/report.png: the page of the demo's last night, as Chromium shows it.

Run: .venv/bin/python -m scripts.report_picture   (runs the demo; needs Debian's package chromium)
"""

import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PROJECT = Path(__file__).resolve().parent.parent
PICTURE = PROJECT / "docs" / "pictures" / "report.png"
CHROMIUM = "/usr/bin/chromium"
WIDTH, HEIGHT = 1100, 1300


def take(page: Path, picture: Path) -> None:
    """Writes a picture of the top of a page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(page.as_uri())
        shown.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Runs the demo and takes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        subprocess.run([PROJECT / "spark-submit.sh", "demo", "--out", out], check=True)
        (page,) = (page for page in (out / "reports").glob("*/*.html") if page.stem != "latest")
        take(page, PICTURE)


if __name__ == "__main__":
    main()
