"""Pages in headless Chromium: nothing of linted code runs, filters and keys work, light, dark and narrow look as meant.

With ``SMEM_LINT_SCREENSHOTS=DIR`` the pictures that were looked at are written there.
"""

import json
import os
from pathlib import Path

import browser
import hostile
import pytest

from smem_lint.cli import main
from smem_lint.report.html import render_explanation, render_page


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "check.html").write_text(render_page(hostile.report(), "1.0"), "utf8")
    (folder / "explain.html").write_text(render_explanation(hostile.explanation(), hostile.LINES, "1.0", [hostile.explanation()]), "utf8")
    return folder


@pytest.fixture(scope="module")
def chromium():
    driver = browser.start()
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium, pages):
    chromium.get((pages / "check.html").as_uri())
    return chromium


def shown(driver):
    return driver.execute_script("return [...document.querySelectorAll('details.finding:not([hidden])')].map(one => one.dataset.rule)")


def keep(driver, name):
    folder = os.environ.get("SMEM_LINT_SCREENSHOTS")
    if folder:
        driver.save_screenshot(str(Path(folder) / f"{name}.png"))


@pytest.mark.parametrize("name", ["check", "explain"])
def test_nothing_of_linted_code_runs_and_nothing_is_fetched(chromium, pages, name):
    chromium.get_log("browser"), chromium.get_log("performance")
    chromium.get((pages / f"{name}.html").as_uri())
    chromium.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert chromium.title.startswith("smem-lint: ") and "owned" not in chromium.title.split("<script>")[0]
    assert chromium.execute_script("return [document.scripts.length, document.images.length]") == [1, 0]
    assert chromium.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith("file:")] == [] and len(asked) == 1
    keep(chromium, f"hostile-{name}")


def test_findings_are_sorted_and_filtered(page):
    assert shown(page) == ["SMEM001", "SMEM008", "SMEM010"]
    page.find_element("id", "sort").send_keys("bytes")
    assert shown(page) == ["SMEM008", "SMEM001", "SMEM010"]
    page.find_element("css selector", "input[value=info]").click()
    assert shown(page) == ["SMEM008", "SMEM001"]
    page.find_element("id", "search").send_keys("CALM near")
    assert shown(page) == ["SMEM008"]
    assert page.find_element("id", "shown").text == "1 of 3 shown"
    assert page.execute_script("return document.querySelectorAll('section.kernel:not([hidden])').length") == 1
    page.find_element("id", "search").send_keys("\ue00c")
    page.find_element("id", "target").send_keys("sm_120")
    assert shown(page) == ["SMEM001"]


def test_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        page.switch_to.active_element.send_keys(*keys)

    press(Keys.TAB)
    assert page.switch_to.active_element.get_attribute("id") == "search"
    page.execute_script("document.activeElement.blur()")
    press("/")
    assert page.switch_to.active_element.get_attribute("id") == "search"
    press("overflow", Keys.ESCAPE)
    press("j")
    press(Keys.ENTER)
    assert page.execute_script("return [...document.querySelectorAll('details[open]')].map(one => one.dataset.rule)") == ["SMEM001"]
    assert page.find_element("css selector", "details[open] svg.timeline").is_displayed()
    press("j")
    press("k")
    press(Keys.ENTER)
    assert page.execute_script("return document.querySelectorAll('details[open]').length") == 0


CONTRAST = """
const level = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map(Number).map((c) => { c /= 255;
  return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (one) => { for (; one; one = one.parentElement) { const c = getComputedStyle(one).backgroundColor;
  if (!/rgba\\(.*, 0(\\.\\d+)?\\)/.test(c)) return c; } return "rgb(255, 255, 255)"; };
return [...document.querySelectorAll(arguments[0])].map((one) => { const svg = one instanceof SVGElement;
  const a = level(getComputedStyle(one)[svg ? "fill" : "color"]);
  const inside = svg && one.classList.contains("inside");
  const b = level(inside ? getComputedStyle(one).stroke : ground(one));
  return [one.className.baseVal ?? one.className, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; });
"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["check", "explain"])
def test_light_and_dark_can_be_read(pages, name, dark):
    driver = browser.start(dark=dark)
    try:
        driver.get((pages / f"{name}.html").as_uri())
        driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
        paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(21, 24, 29)" if dark else "rgb(255, 255, 255)")
        looked_at = "h1, dd, dt, td, caption, footer, .badge, .message, p.lead, .gutter, .key"
        found = driver.execute_script(CONTRAST, f"{looked_at}, .axis, .inside, .outside, .limit-text, text.value")
        assert len(found) > 20 and [(what, ratio) for what, ratio in found if ratio < 4.5] == []
        keep(driver, f"{name}-{'dark' if dark else 'light'}")
    finally:
        driver.quit()


SIDEWAYS = """
return [...document.querySelectorAll(".scroll, .picture, svg, td, th")].filter((one) => one.getClientRects().length
  && (one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== "inline"
      || one.getBoundingClientRect().right > window.innerWidth)).map((one) => one.outerHTML.slice(0, 90));
"""
OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll(".picture svg")) {
  if (!svg.getClientRects().length) continue;
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
  texts.forEach(([told, box], index) => {
    if (box.left < frame.left || box.right > frame.right || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
      found.push([told, "cut"]);
    for (const [other, its] of texts.slice(index + 1))
      if (box.left < its.right - 1 && its.left < box.right - 1 && box.top < its.bottom - 4 && its.top < box.bottom - 4)
        found.push([told, other]);
  });
}
return [document.querySelectorAll(".picture svg text").length, found];
"""
KERNELS = Path(__file__).parents[2] / "fixtures" / "kernels"
REAL = {
    "mla": (f"{KERNELS / 'mla_decode.py'}::_mla_decode_split", "--target", "sm_120,sm_90"),
    "swept": (
        f"{KERNELS / 'fused_moe.py'}::fused_moe_kernel", "a_ptr,b_ptr=*fp8e4nv,*bf16", "BLOCK_SIZE_N=256,128", "--target", "sm_120,sm_90",
    ),
    "stages": (f"{KERNELS / 'mla_decode.py'}::_mla_decode_split", f"num_stages={','.join(map(str, range(1, 65)))}"),
    "backward": (f"{KERNELS / 'flash_attention_backward.py'}::_bwd_dkdv", "--target", "sm_120,sm_90,sm_80"),
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_no_text_of_a_picture_covers_another(tmp_path, capsys, name):
    page = tmp_path / "page.html"
    assert main(["explain", *REAL[name], "--html", str(page)]) in (0, 1)
    capsys.readouterr()
    for width in (390, 1200):
        nothing_covers(page, name, width)


def nothing_covers(page, name, width):
    driver = browser.start(width=width)
    try:
        driver.get(page.as_uri())
        texts, found = driver.execute_script(OVERLAPS)
        assert texts > 40 and found == []
        if width == 390:
            assert driver.execute_script(SIDEWAYS) == []
            alive = driver.find_element("css selector", "td[data-name=alive]")
            assert alive.is_displayed() and alive.rect["x"] + alive.rect["width"] <= 390
        keep(driver, f"{name}-{width}")
    finally:
        driver.quit()


@pytest.mark.parametrize("name", ["check", "explain"])
def test_a_narrow_window_does_not_scroll_sideways(pages, name):
    driver = browser.start(width=390, height=800)
    try:
        driver.get((pages / f"{name}.html").as_uri())
        driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
        width, window = driver.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        assert window == 390 and width <= window
        assert driver.execute_script(SIDEWAYS) == []
        keep(driver, f"{name}-narrow")
    finally:
        driver.quit()
