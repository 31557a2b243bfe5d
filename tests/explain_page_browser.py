"""Headless Chromium for tests of pages: opens files, moves the pointer, presses keys, and hears errors and requests.

Needs Debian's chromium, chromium-driver and python3-selenium; without them `start` ends the test as skipped (77).
"""

import json
import os
import shutil
import sys

SKIPPED = 77


def start():
    """A Browser, or the end of the test."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        print("skipped: there is no chromium, or no chromedriver (chromium and chromium-driver)")
        sys.exit(SKIPPED)
    try:
        import selenium  # noqa: F401
    except ImportError:
        # Debian's package serves Debian's Python, which need not be the first.
        system = "/usr/bin/python3"
        if os.path.exists(system) and not os.environ.get("TUTTI_SYSTEM_PYTHON"):
            os.environ["TUTTI_SYSTEM_PYTHON"] = "1"
            os.execv(system, [system, "-B", *sys.argv])
        print("skipped: Python has no selenium (python3-selenium)")
        sys.exit(SKIPPED)
    return Browser(browser, driver)


class Browser:
    def __init__(self, browser, driver):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = browser
        # A container often is root, without a sandbox, with little shared memory and no network.
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                         "--disable-background-networking", "--no-first-run", "--force-device-scale-factor=1"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_script_timeout(30)

    def close(self):
        self.driver.quit()

    def open(self, path, width=1400, height=1000, scheme="light", motion="no-preference"):
        """Opens a file in a window so large; a narrow one is a phone, which is touched."""
        phone = width < 500
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone})
        self.driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": phone})
        features = [{"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": motion}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.get("file://" + os.path.abspath(path))

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector):
        self.find(selector).click()

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def drag(self, selector, begin, end):
        """With the mouse, from one share of the element's width to another."""
        x, y, width, height = self.box(selector)
        self._mouse("mousePressed", x + begin * width, y + height / 2, 1)
        for part in (0.5, 1):
            self._mouse("mouseMoved", x + (begin + (end - begin) * part) * width, y + height / 2, 1)
        self._mouse("mouseReleased", x + end * width, y + height / 2, 0)

    def hover(self, selector):
        x, y, width, height = self.box(selector)
        self._mouse("mouseMoved", x + width / 2, y + height / 2, 0)

    def swipe(self, selector, begin, end):
        """The same as drag, with a finger."""
        x, y, width, height = self.box(selector)
        touch = "Input.dispatchTouchEvent"
        at = lambda share: [{"x": x + share * width, "y": y + height / 2}]
        self.driver.execute_cdp_cmd(touch, {"type": "touchStart", "touchPoints": at(begin)})
        for part in (0.25, 0.5, 0.75, 1):
            self.driver.execute_cdp_cmd(touch, {"type": "touchMove", "touchPoints": at(begin + (end - begin) * part)})
        self.driver.execute_cdp_cmd(touch, {"type": "touchEnd", "touchPoints": []})

    def box(self, selector):
        """Left, top, width and height in the window, into whose middle the element is scrolled."""
        return self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'center'});"
            "const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]", selector)

    def _mouse(self, kind, x, y, buttons):
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": kind, "x": x, "y": y, "button": "left" if buttons or kind == "mouseReleased" else "none",
            "buttons": buttons, "clickCount": 1})

    def complaints(self):
        """Errors since the last time it was asked, and what was requested other than files."""
        said = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "data:")):
                    said.append(f"a request for {url}")
        return said
