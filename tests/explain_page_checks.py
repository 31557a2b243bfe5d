"""What a page of `tutti explain` must do; each check returns what it found wrong."""

import json
import re
import time

from explain_page_contrast import CONTRASTS
from explain_page_truth import outputs_of


class Page:
    def __init__(self, path, story_paths):
        self.path, self.story_paths = path, story_paths
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.stories = []
        for name in story_paths:
            with open(name, encoding="utf-8") as file:
                self.stories.append(json.load(file))

    @property
    def end(self):
        return max(round(story["end"], 3) for story in self.stories)


# ---- What the page shows ---------------------------------------------------------------------------------------------
SHOWN = """
return [...document.querySelectorAll('.story')].map(story => {
  const rows = [];
  for (const cell of story.querySelectorAll('[data-row]')) {
    const d = cell.dataset, row = (rows[d.row] ??= []);
    row[d.cell] = d.value === '' ? null
      : [Number(d.value), d.ranks, Number(d.index), Number(d.chunk), cell.querySelector('.value').textContent];
  }
  return rows;
});"""


def shown(browser):
    """[story][row][cell]: value, mask of ranks, index, chunk and text, or nothing."""
    return browser.run(SHOWN)


def head(browser):
    return browser.run("return Number(document.getElementById('slider').value)")


def text_of(value):
    return str(int(value)) if value == int(value) else f"{value:.3g}"


def as_shown(cell):
    if cell is None:
        return None
    value, ranks, index, chunk = cell
    return [value, f"{sum(1 << rank for rank in ranks):x}", index, chunk, text_of(value)]


def differences(rows, expected, story, when):
    for number, (row, wanted) in enumerate(zip(rows, expected)):
        for i, (cell, want) in enumerate(zip(row, map(as_shown, wanted))):
            if cell != want:
                where = f"rank {story['rows'][number]['rank']}, {story['rows'][number]['label']}, cell {i}"
                return [f"{story['algorithm']}, {when}: {where} shows {cell}, expected {want}"]
    if len(rows) != len(expected):
        return [f"{story['algorithm']}: {len(rows)} rows, expected {len(expected)}"]
    return []


def step_bounds(stories):
    """Times at which the head stops."""
    stops = {0.0}
    for story in stories:
        latest = 0.0
        for step in story["steps"]:
            ends = [action["end"] for action in step["actions"]] or [step["end"]]
            latest = max(latest, round(min(max(ends), story["end"]), 3))
            stops.add(latest)
        stops.add(round(story["end"], 3))
    return sorted(stops)


def state_at(story, time_):
    """The cells of a story at a time where none moves: after the last step that has ended; None if one is under way."""
    begun = [step for step in story["steps"] if any(round(a["end"], 3) <= time_ for a in step["actions"])]
    if any(round(action["end"], 3) > time_ for step in begun for action in step["actions"]):
        return None
    return begun[-1]["after"] if begun else [row["cells"] for row in story["rows"]]


# ---- Checks ----------------------------------------------------------------------------------------------------------
def steps_there_and_back(browser, page):
    browser.open(page.path)
    problems = []
    before = shown(browser)
    stops = step_bounds(page.stories)
    for button, way in (("#forward", stops[1:]), ("#back", stops[-2::-1])):
        for stop in way:
            browser.run("document.querySelector(arguments[0]).click()", button)
            if abs(head(browser) - stop) > 1e-3:
                return problems + [f"{button}: the head is at {head(browser)}, expected {stop}"]
            for rows, story in zip(shown(browser), page.stories):
                expected = state_at(story, stop)
                if expected is not None:
                    problems += differences(rows, expected, story, f"{stop} ns")
            problems += caption_fits(browser, page, stop)
            if stop == stops[-1]:
                problems += end_is_true(browser, page)
    if shown(browser) != before:
        problems.append("going to the end and back changed the begin")
    return problems


def caption_fits(browser, page, stop):
    """What was done last before a time is said then, and before the call nothing."""
    problems = []
    captions = browser.run("return [...document.querySelectorAll('.caption')].map(e => e.textContent)")
    for caption, story in zip(captions, page.stories):
        latest = [action["text"] for step in story["steps"] for action in step["actions"] if round(action["end"], 3) == stop]
        wanted = ["Before the call"] if stop == 0 else [text.replace(" -> ", " → ") for text in latest]
        problems += [f"at {stop} ns the caption lacks '{text}'" for text in wanted if text not in caption]
    return problems


def end_is_true(browser, page):
    """The last state, against the definition of the collective."""
    problems = []
    for rows, story in zip(shown(browser), page.stories):
        texts = {}
        for row, cells in zip(story["rows"], rows):
            texts[row["rank"], row["label"]] = [cell and cell[4] for cell in cells]
        for (rank, label), values in outputs_of(story).items():
            wanted = [text_of(value) for value in values]
            if texts[rank, label] != wanted:
                problems.append(f"{story['algorithm']}: rank {rank} ends with {texts[rank, label]}, expected {wanted}")
    return problems


def says_what_it_is(browser, page):
    browser.open(page.path)
    said = browser.run("return document.body.innerText")
    story = page.stories[0]
    wanted = [f"{story['ranks']} ranks", story["machine"], "virtual", "predicted", "not measured", story["file"],
              story["kernel"], str(story["counted"][0]), "as its formula says", "right on every rank"]
    return [f"the page does not say '{text}'" for text in wanted if text not in said]


def drags(browser, page):
    problems = []
    browser.open(page.path)
    for selector in ("#slider", ".bars"):
        browser.run("document.getElementById('first').click()")
        browser.drag(selector, 0.3, 0.6)
        at = head(browser)
        if not 0.5 < at / page.end < 0.7:
            problems.append(f"dragging {selector} put the head at {at} of {page.end}")
        cursor = browser.run("""
            const bars = document.querySelector('.bars').getBoundingClientRect();
            const grip = document.querySelector('.grip').getBoundingClientRect();
            return (grip.x + grip.width / 2 - bars.x) / bars.width""")
        if selector == ".bars" and abs(cursor - 0.6) > 0.02:
            problems.append(f"the timeline's cursor is at {cursor} of its width, expected 0.6")
    # In the midst of a step something is on its way.
    moving = next(action for step in page.stories[0]["steps"] for action in step["actions"])
    middle = (moving["begin"] + moving["end"]) / 2
    browser.run("const s = document.getElementById('slider'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
                middle)
    if browser.run("return document.querySelectorAll('.token.flies').length") == 0:
        problems.append(f"nothing is on its way at {middle} ns")
    if not browser.run("return [...document.querySelectorAll('.coming')].some(e => Number(e.getAttribute('width')) > 0)"):
        problems.append(f"no cell fills at {middle} ns")
    if moving["text"].replace(" -> ", " → ") not in browser.run("return document.querySelector('li.now')?.textContent ?? ''"):
        problems.append(f"the caption does not say at {middle} ns: {moving['text']}")
    return problems


def keys(browser, page):
    from selenium.webdriver.common.keys import Keys

    browser.open(page.path)
    stops = step_bounds(page.stories)
    problems = []
    for key, expected in ((Keys.ARROW_RIGHT, stops[1]), (Keys.ARROW_RIGHT, stops[2]), (Keys.ARROW_LEFT, stops[1]),
                          (Keys.END, stops[-1]), (Keys.HOME, 0)):
        browser.press(key)
        if abs(head(browser) - expected) > 1e-3:
            problems.append(f"after {key!r} the head is at {head(browser)}, expected {expected}")
    browser.run("document.getElementById('slider').focus()")
    browser.press(Keys.ARROW_RIGHT)
    if abs(head(browser) - stops[1]) > 1e-3:
        problems.append("an arrow on the slider is not a step")
    browser.run("document.activeElement.blur()")
    browser.press(Keys.SPACE)
    playing = browser.run("return document.getElementById('play').getAttribute('aria-label')")
    browser.press(Keys.SPACE)
    paused = browser.run("return document.getElementById('play').getAttribute('aria-label')")
    if (playing, paused) != ("Pause", "Play"):
        problems.append(f"the space bar twice: the button says {playing}, then {paused}")
    browser.press("t")
    if browser.run("return document.documentElement.dataset.theme") != "dark":
        problems.append("t does not make the page dark")
    browser.press(Keys.TAB)
    if browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "none":
        problems.append("the focus cannot be seen")
    return problems


def tells_of_bars(browser, page):
    browser.open(page.path)
    spans = page.stories[0]["spans"]
    longest = max(range(len(spans)), key=lambda i: spans[i]["end"] - spans[i]["begin"])
    browser.run("document.querySelectorAll('.bars .bar')[arguments[0]].id = 'longest'", longest)
    browser.hover("#longest")
    for _ in range(20):  # the browser hears of the pointer with its next frame
        said = browser.run("return document.querySelector('.tell').textContent")
        if spans[longest]["text"] in said:
            return []
        time.sleep(0.05)
    return [f"pointing at '{spans[longest]['text']}' tells: {said}"]


def plays_to_the_end(browser, page):
    browser.open(page.path)
    browser.run("const s = document.getElementById('speed'); s.value = '4'; s.dispatchEvent(new Event('change'))")
    browser.click("#play")
    heads = []
    for _ in range(400):
        heads.append(head(browser))
        if heads[-1] >= page.end - 1e-3:
            return end_is_true(browser, page) if len(set(heads)) > 2 else [f"it jumped: {heads}"]
        time.sleep(0.05)
    return [f"the head still is at {heads[-1]} of {page.end}"]


def plays_calmly(browser, page):
    """With reduced motion the head goes from step to step."""
    browser.open(page.path, motion="reduce")
    browser.run("const s = document.getElementById('speed'); s.value = '4'; s.dispatchEvent(new Event('change'))")
    browser.click("#play")
    stops = step_bounds(page.stories)
    for _ in range(400):
        at = head(browser)
        if min(abs(at - stop) for stop in stops) > 1e-3:
            return [f"the head rests at {at}, between steps"]
        if at >= page.end - 1e-3:
            return []
        time.sleep(0.05)
    return ["it does not reach the end"]


def side_by_side(browser, page):
    browser.open(page.path, width=1500)
    place = "return [...document.querySelectorAll('.story')].map(s => { const b = s.getBoundingClientRect(); return [b.x, b.y]; })"
    (ax, ay), (bx, by) = browser.run(place)
    problems = [] if ay == by and ax < bx else [f"the stories are at {ax},{ay} and {bx},{by}"]
    browser.run("document.getElementById('last').click(); document.getElementById('back').click();")
    ended = browser.run("return [...document.querySelectorAll('.story')].map(s => s.classList.contains('ended'))")
    if ended != [round(story["end"], 3) <= head(browser) for story in page.stories] or ended[0] == ended[1]:
        problems.append(f"one step before the end, ended are {ended}")
    cursors = browser.run("""return [...document.querySelectorAll('.story')].map(s =>
        s.querySelector('.grip').getBoundingClientRect().x - s.querySelector('.bars').getBoundingClientRect().x)""")
    if abs(cursors[0] - cursors[1]) > 0.5:
        problems.append(f"one time, but the cursors are at {cursors}")
    browser.open(page.path, width=360, height=740)
    (ax, ay), (bx, by) = browser.run(place)
    return problems if ax == bx and ay < by else problems + ["on a phone they are not one above the other"]


def phone(browser, page):
    browser.open(page.path, width=360, height=740)
    problems = []
    wide = browser.run("return document.documentElement.scrollWidth")
    if wide > 360:
        problems.append(f"the page is {wide} wide on a phone of 360")
    small = browser.run("""return [...document.querySelectorAll('button, select')].map(e => [e.id, e.getBoundingClientRect()])
        .filter(([, b]) => b.width < 32 || b.height < 32 || b.right > 360).map(([id]) => id)""")
    problems += [f"{name} is too small, or off the screen" for name in small]
    for selector in ("#slider", ".bars"):
        browser.swipe(selector, 0.3, 0.7)
        if not 0.5 < head(browser) / page.end < 0.8:
            problems.append(f"a finger on {selector} put the head at {head(browser)} of {page.end}")
    return problems


def names_for_all_controls(browser, page):
    browser.open(page.path)
    nameless = browser.run("""
        return [...document.querySelectorAll('button, input, select, [role=slider], [role=region], [role=img]')].filter(e =>
          !(e.getAttribute('aria-label') || e.labels?.length || document.getElementById(e.getAttribute('aria-labelledby'))))
          .map(e => e.outerHTML.slice(0, 80))""")
    return [f"no name: {element}" for element in nameless]


def needs_no_network(browser, page):
    browser.open(page.path)
    problems = [f"loads {found}" for found in re.findall(
        r"(?i)(?:src|href|action|srcset|poster)\s*=\s*[\"']?\s*(?:[a-z]+:)?//[^\"'\s>]*|url\([^)]*\)|@import[^;]*", page.text)]
    loaded = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    return problems + [f"loads {name}" for name in loaded if not name.startswith(("file:", "data:"))]


def contrast(browser, page):
    problems = []
    for scheme in ("light", "dark"):
        browser.open(page.path, scheme=scheme)
        for place in ("first", "forward", "forward", "last"):
            browser.run("document.getElementById(arguments[0]).click()", place)
            measured = browser.run(CONTRASTS)
            if len(measured) < 40:
                problems.append(f"only {len(measured)} texts were found")
            problems += [f"{scheme}: '{text}' ({name}) on {back} has contrast {ratio:.2f}"
                         for ratio, text, name, back in measured if ratio < 4.5][:5]
    return problems


CHECKS = {name.__name__.replace("_", " "): name
          for name in (steps_there_and_back, says_what_it_is, drags, keys, tells_of_bars, plays_to_the_end, plays_calmly,
                       side_by_side, phone, names_for_all_controls, needs_no_network, contrast)}
