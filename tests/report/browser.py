"""A headless Chromium for the tests of pages; skips, with the reason, where there is none."""

import atexit
import shutil
import tempfile

import pytest


def start(width=1200, height=900, dark=False):
    """A driver whose window is so large; the caller quits it."""
    selenium = pytest.importorskip("selenium", reason="selenium is not installed (extra dev)")
    browser, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.skip("no Chromium with its driver (apt-get install chromium chromium-driver)")
    assert selenium
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    profile = tempfile.mkdtemp(prefix="smem-lint-browser-")
    atexit.register(shutil.rmtree, profile, ignore_errors=True)
    options = Options()
    options.binary_location = browser
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", f"--window-size={width},{height}",
        f"--user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(service=Service(driver), options=options)
    found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    found.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    return found
