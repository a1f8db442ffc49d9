"""A real headless browser, driven by Playwright, and everything that a page in it could let out."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, CDPSession, Download, Page

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE: Final = 60_000.0  # milliseconds for one answer of the browser; a busy machine is slow to start it
FLAGS: Final = ("--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync")


def found() -> str | None:
    """The path of an installed browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def excused() -> bool:
    """The browser's tests may be left out: none is installed, and this is not CI or CI says so by ``CI_WITHOUT``."""
    return found() is None and ("CI" not in os.environ or "browser" in os.environ.get("CI_WITHOUT", "").split(","))


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, ended when done."""
    from playwright.sync_api import sync_playwright

    program = found()
    assert program is not None, "no browser is installed (Debian: chromium); CI_WITHOUT=browser leaves its tests out"
    with sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=program, args=list(FLAGS), timeout=PATIENCE)
        try:
            yield made
        finally:
            made.close()


@dataclass(slots=True)
class Tab:
    """One page in a context of its own: no cookies, storage or cache are shared with another."""

    context: BrowserContext
    page: Page
    protocol: CDPSession
    events: list[tuple[str, Any]] = field(default_factory=list)
    downloads: list[Download] = field(default_factory=list)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """One command of the DevTools protocol, and its result."""
        return dict(self.protocol.send(method, params))

    def run(self, program: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=program, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, f"{program[:200]}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def go(self, address: str) -> None:
        """Load a page and wait until it is there, whatever its status."""
        self.page.goto(address)

    def back(self) -> None:
        """Go one page back and wait until that page is there."""
        self.page.go_back()

    def until(self, condition: str) -> None:
        """Wait for a condition; asked by the protocol, since the page's own policy forbids programs as text."""
        end = time.monotonic() + PATIENCE / 1000
        while not self.run(condition):
            assert time.monotonic() < end, f"never came: {condition}"
            self.page.wait_for_timeout(20)

    def key(self, name: str) -> None:
        """One press of a key, as a keyboard sends it."""
        self.page.keyboard.press(name)

    def before(self, program: str) -> None:
        """Run this in every page before its own scripts."""
        self.page.add_init_script(program)


@contextmanager
def tab(driven: Browser, downloads: Path | None = None) -> Iterator[Tab]:
    """A new page, watched from its first moment."""
    context = driven.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    made = Tab(context, page, context.new_cdp_session(page))
    for method in (method for methods in KINDS.values() for method in methods):
        made.protocol.on(method, lambda params, method=method: made.events.append((method, params)))
    page.on("download", lambda download: made.downloads.append(download))
    for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
        made.call(f"{domain}.enable")
    try:
        yield made
        for download in made.downloads if downloads is not None else []:
            download.save_as(Path(str(downloads)) / download.suggested_filename)
    finally:
        context.close()


KINDS: Final = {
    "requests": ("Network.requestWillBeSent", "Network.webSocketCreated", "Network.webTransportCreated"),
    "console": ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"),
    "windows": ("Page.windowOpen", "Page.frameRequestedNavigation", "Page.navigatedWithinDocument"),
}
STORES: Final = """(async () => ({
    local: {...localStorage}, session: {...sessionStorage}, cookie: document.cookie,
    databases: (await indexedDB.databases()).map((d) => d.name),
    caches: window.caches ? await caches.keys() : [],
    workers: await (navigator.serviceWorker?.getRegistrations() ?? Promise.reject()).then((all) => all.length, () => 0),
}))()"""
PLACE: Final = """({address: location.href, title: document.title, name: window.name, history: history.length,
    state: JSON.stringify(history.state), fragment: location.hash, referrer: document.referrer})"""
MARKUP: Final = "new XMLSerializer().serializeToString(document)"
CONTROLS: Final = """[...document.querySelectorAll('input, select, textarea, option, button')].map((c) =>
    [c.tagName, c.id, c.name, c.value, c.checked, c.selected, c.selectedIndex, c.disabled].join('|'))"""
GLOBALS: Final = """Object.getOwnPropertyNames(window).filter((name) => !window.__before.includes(name)).map((name) => {
    let value = window[name];
    try { value = typeof value === 'function' ? value.toString() : JSON.stringify(value); } catch { value = 'odd'; }
    return [name, value];
})"""
BASELINE: Final = "window.__before = [...Object.getOwnPropertyNames(window), '__before'];"
PEOPLE_SEE: Final = "document.body.innerText"
IGNORED: Final = {"guid", "requestId", "timestamp", "wallTime", "loaderId", "frameId", "executionContextId", "scriptId"}


def let_out(page: Tab, *, server: list[str] | None = None) -> dict[str, str]:
    """Everything that leaves a page or stays in it, by the channel, each as text that can be searched and compared."""
    said = {
        "storage": page.run(STORES),
        "place": page.run(PLACE),
        "markup": page.run(MARKUP),
        "seen": page.run(PEOPLE_SEE),
        "controls": page.run(CONTROLS),
        "globals": page.run(GLOBALS),
        "cookies": page.call("Network.getCookies")["cookies"],
    }
    page.run("new Promise((done) => setTimeout(done, 60))")  # what was started and has not come yet
    page.call("Runtime.evaluate", expression="0")
    for name, methods in KINDS.items():
        said[name] = [_plain(params) for method, params in page.events if method in methods]
    said["downloads"] = [download.suggested_filename for download in page.downloads]
    said["server"] = server or []
    return {name: json.dumps(what, sort_keys=True, ensure_ascii=False) for name, what in said.items()}


def _plain(what: Any) -> Any:
    """An event without the numbers that differ from run to run."""
    match what:
        case dict():
            return {name: _plain(value) for name, value in what.items() if name not in IGNORED}
        case list():
            return [_plain(value) for value in what]
        case str():
            return re.sub("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "(a name of the browser's own)", what)
        case _:
            return what
