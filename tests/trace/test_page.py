"""The page, in a real browser: Chromium without a window, driven by Playwright. `make test-browser` installs both."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from slidewise.cli import main
from slidewise.trace import record
from slidewise.trace.drawing.page import to_html

OPERATIONS = "insert 4 5 3 4 0 4 4 2 6 6 1; evict 3; insert 3 2 2; evict 4; insert 1"
ALGORITHMS = [
    "two-stacks-lite",
    "daba-lite",
    "daba",
    "two-stacks",
    "flat-fat",
    "b-int",
    "amta",
    "fiba",
    "flat-fit",
    "slide-side",
]
LAST = 22
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

Open = Callable[..., Any]


# ---- without a browser ---------------------------------------------------------------------------------------------


def test_the_page_needs_no_other_file_and_no_network() -> None:
    page = to_html(record(["daba-lite", "two-stacks-lite"], OPERATIONS))
    assert "{{" not in page
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)""", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


def test_the_page_holds_the_trace_as_it_was_recorded() -> None:
    trace = record("daba-lite", "insert </script><script>alert(1)</script> &amp x; evict", "concat")
    page = to_html(trace)
    [held] = re.findall(r'<script id="trace" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert json.loads(held) == trace
    assert page.count("</script>") == 2


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.html"
    assert main(["trace", "daba-lite,two-stacks-lite", "--random", "20", "--html", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}\n"
    assert file.read_text().startswith("<!doctype html>")


# ---- in a browser --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed; 'make test-browser' installs it and runs this test"
    )
    with sync_api.sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, NAMES)), None)
        if found is None and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no Chromium is installed; 'make test-browser' installs one and runs this test")
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def trace() -> dict[str, Any]:
    return record(ALGORITHMS, OPERATIONS, ["maxcount", "concat"])


@pytest.fixture
def open_page(browser: Any, trace: dict[str, Any], tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a trace; at the end, nothing may have gone wrong in it and no other file been asked for."""
    faults: list[str] = []
    asked: list[str] = []
    contexts = []

    def opened(address: str = "", shown: dict[str, Any] | None = None, **settings: Any) -> Any:
        file = tmp_path / "trace.html"
        file.write_text(to_html(shown or trace), encoding="utf-8")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri() + address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
    assert all(url.startswith(("file:", "data:")) for url in asked)


def step_of(page: Any) -> int:
    found = re.search(r"(\d+) of", page.inner_text("#where"))
    assert found
    return int(found[1])


def until(holds: Callable[[], bool]) -> None:
    """Wait for the page; it forbids the evaluation of text, which Playwright's own way of waiting needs."""
    for _ in range(300):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("the page did not get there in 15 seconds")


# What the first panel shows in every step: cells, cases, answer.
EVERY_STEP = """() => trace.recordings[0].steps.map((_, step) => {
  go(step);
  const texts = (name) => [...document.querySelectorAll(`.panel:first-child ${name}`)].map((one) => one.textContent);
  return [texts(".cell text"), texts(".case"), texts(".answer")[0]];
})"""


def test_every_step_shows_what_was_recorded(open_page: Open, trace: dict[str, Any]) -> None:
    page = open_page()
    for recording in trace["recordings"]:
        page.select_option("#operator", recording["operator"])
        page.select_option(".panel:first-child .algorithm", recording["algorithm"])
        drawn = page.evaluate(EVERY_STEP)
        assert len(drawn) == len(recording["steps"]) == LAST + 1
        for step, (cells, cases, answer) in zip(recording["steps"], drawn, strict=True):
            shape = step["shape"]
            held = [field for cell in shape.get("cells", []) for field in cell["fields"]]
            for node in shape.get("nodes", []):
                held += [*node.get("cells", []), *([node] if node["text"] else [])]
            expected = [one["text"] or "–" for one in [*held, *shape["extra"]]]
            assert sorted(cells) == sorted(expected), (recording["algorithm"], step["label"])
            assert cases == step["cases"]
            assert answer.startswith(f"answer {step['answer'] or '–'}")


def test_buttons(open_page: Open) -> None:
    page = open_page()
    assert page.is_disabled("#back")
    for button, step in (("forward", 1), ("forward", 2), ("back", 1), ("last", LAST), ("first", 0)):
        page.click(f"#{button}")
        assert step_of(page) == step
        assert page.input_value("#slider") == str(step)
    page.click("#forward")
    until(lambda: page.evaluate("location.hash") == "#step=1")


def test_keys_and_slider(open_page: Open) -> None:
    page = open_page("#step=5")
    assert step_of(page) == 5
    for key, step in (("ArrowRight", 6), ("ArrowRight", 7), ("ArrowLeft", 6), ("End", LAST), ("Home", 0)):
        page.keyboard.press(key)
        assert step_of(page) == step
    page.focus("#slider")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step_of(page) == 2
    page.fill("#slider", "9")
    assert step_of(page) == 9
    assert "(J)" in page.inner_text(".panel:first-child .did")


def test_play_and_pause(open_page: Open) -> None:
    page = open_page()
    page.select_option("#pace", "fast")
    page.click("#play")
    assert page.get_attribute("#play", "aria-label") == "Pause"
    until(lambda: step_of(page) >= 2)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    assert page.get_attribute("#play", "aria-label") == "Play"
    stopped = step_of(page)
    page.wait_for_timeout(900)
    assert step_of(page) == stopped
    page.fill("#slider", str(LAST - 1))
    page.keyboard.press("Escape")
    page.click("#play")
    until(lambda: page.get_attribute("#play", "aria-label") == "Play")
    assert step_of(page) == LAST


def test_side_by_side_shows_the_spike(open_page: Open, trace: dict[str, Any]) -> None:
    page = open_page()
    assert page.locator(".panel h2").all_inner_texts() == ["TwoStacksLite", "DabaLite"]
    captions = page.locator(".bars figcaption").all_inner_texts()
    assert captions == ["TwoStacksLite: at most 10 calls in one step", "DabaLite: at most 3 calls in one step"]
    page.locator(".bars").first.locator(".bar").nth(12).click()
    assert step_of(page) == 12
    assert page.locator(".panel .count").all_inner_texts() == ["10 calls", "0 calls"]
    heights = page.eval_on_selector_all(".bar.now .step", "all => all.map(one => Number(one.getAttribute('height')))")
    assert heights[0] > 60 > heights[1] == 0
    page.select_option(".panel:nth-child(2) .algorithm", "two-stacks")
    assert page.locator(".panel .count").all_inner_texts() == ["10 calls", "10 calls"]
    page.uncheck("#compare")
    assert page.locator(".panel").count() == 1
    assert page.locator("figure.bars").count() == 1
    page.check("#compare")
    assert page.locator(".panel").count() == 2


def test_choosing_an_operator_that_only_some_algorithms_have(open_page: Open) -> None:
    shown = record(["slick-deque", "daba-lite"], "insert 4 5 3; evict", ["max", "maxcount"])
    page = open_page(shown=shown)
    assert page.locator(".panel h2").all_inner_texts() == ["SlickDeque", "DabaLite"]
    page.select_option("#operator", "maxcount")
    assert page.locator(".panel h2").all_inner_texts() == ["DabaLite", "DabaLite"]
    assert page.locator(".panel").first.locator("option").all_inner_texts() == ["daba-lite"]


def test_pointing_at_a_cell_says_what_it_covers(open_page: Open) -> None:
    page = open_page("#step=9")
    panel = page.locator(".panel").nth(1)
    page.select_option("#operator", "concat")
    panel.locator(".cell").first.hover()
    said = panel.locator(".detail").inner_text()
    assert re.match(r"\S+ covers rows 0 to \d \(a b c d", said)
    assert "front, [F, L): holds v_i" in said
    covered = panel.locator(".row.covered text").all_text_contents()
    assert covered[0] == "a"
    assert f"({' '.join(covered)})" in said
    page.mouse.move(2, 2)
    assert panel.locator(".row.covered").count() == 0


def test_cells_by_keyboard(open_page: Open) -> None:
    page = open_page("#step=9")
    page.focus(".panel:nth-child(2) .algorithm")
    page.keyboard.press("Tab")
    # Some browsers stop at an area that scrolls before they go into it.
    if page.evaluate("document.activeElement.matches('.stage')"):
        page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "covers row" in first
    assert page.locator(".panel").nth(1).locator(".detail").inner_text() == first
    page.keyboard.press("ArrowDown")
    second = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert second != first
    page.keyboard.press("ArrowRight")  # steps, and the focus stays on the cell
    assert step_of(page) == 10
    assert page.evaluate("document.activeElement.classList.contains('cell')")


def test_on_a_phone(open_page: Open) -> None:
    page = open_page("#step=12", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for button in ("first", "back", "play", "forward", "last"):
        box = page.locator(f"#{button}").bounding_box()
        assert box["width"] >= 40
        assert box["height"] >= 40
    tops = page.eval_on_selector_all(".panel", "all => all.map(one => one.getBoundingClientRect().top)")
    assert tops[1] > tops[0] + 100, "the panels stand one below the other"
    page.locator(".panel").first.locator(".cell").nth(1).tap()
    assert "covers rows" in page.locator(".panel .detail").first.inner_text()
    page.locator("#forward").tap()
    assert step_of(page) == 13


CONTRAST = """() => {
  const light = (colour) => {
    const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(part);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  const found = {};
  for (const cell of document.querySelectorAll(".cell")) {
    const style = (name, key) => getComputedStyle(cell.querySelector(name))[key];
    found[cell.classList[1]] = ratio(style("rect", "fill"), style("text", "fill"));
  }
  for (const name of [".why", ".detail", ".facts .answer", "#where"]) {
    found[name] = ratio(getComputedStyle(document.querySelector(name)).color, paper);
  }
  found[".pointer"] = ratio(getComputedStyle(document.querySelector(".pointer text")).fill, paper);
  return [light(paper), found];
}"""


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_text_can_be_read_in_light_and_dark(open_page: Open, scheme: str, dark: bool) -> None:
    page = open_page("#step=5", color_scheme=scheme, reduced_motion="reduce")
    page.select_option(".panel:first-child .algorithm", "daba")
    paper, contrasts = page.evaluate(CONTRAST)
    assert (paper < 0.1) is dark
    assert {"F", "B"} <= set(contrasts)
    page.fill("#slider", "8")
    contrasts |= page.evaluate(CONTRAST)[1]
    page.fill("#slider", "13")
    contrasts |= page.evaluate(CONTRAST)[1]
    assert {"F", "L", "R", "A", "B", "none"} <= set(contrasts)
    assert min(contrasts.values()) >= 4.5, contrasts


def test_reduced_motion_is_respected(open_page: Open) -> None:
    moving = "getComputedStyle(document.querySelector('.cell')).transitionDuration"
    assert open_page("#step=3").evaluate(moving) != "0s"
    assert open_page("#step=3", reduced_motion="reduce").evaluate(moving) == "0s"


def test_values_are_shown_as_they_are(open_page: Open) -> None:
    page = open_page("#step=1", shown=record("daba-lite", "insert <b>&lt</b>", "concat"))
    assert page.locator(".row text").text_content() == "<b>&lt</b>"
    assert page.is_disabled("#compare")


def test_pictures_to_look_at(open_page: Open, tmp_path: Path) -> None:
    """Screenshots, kept where SLIDEWISE_SCREENSHOTS says."""
    folder = Path(os.environ.get("SLIDEWISE_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    kinds: dict[str, dict[str, Any]] = {
        "light": {},
        "dark": {"color_scheme": "dark"},
        "phone": {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True},
    }
    for name, settings in kinds.items():
        page = open_page("#step=12", reduced_motion="reduce", **settings)
        page.locator(".panel").nth(1).locator(".cell").nth(2).focus()
        page.screenshot(path=folder / f"{name}.png", full_page=True)
        page.select_option("#operator", "concat")
        page.select_option(".panel:nth-child(1) .algorithm", "fiba")
        page.select_option(".panel:nth-child(2) .algorithm", "flat-fat")
        page.screenshot(path=folder / f"{name}_trees.png", full_page=True)
    assert len(list(folder.glob("*.png"))) >= 6
