"""A real headless browser, driven through a pair of pipes, and everything that a page in it could let out.

No driver is installed: the browser reads commands from its file descriptor 3 and answers on 4 (the DevTools protocol,
messages ended by a zero byte).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE: Final = 60.0  # seconds for one answer of the browser; a busy machine is slow to start it
START: Final = (
    "import os, sys\n"
    "os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4)\n"
    "os.set_inheritable(3, True); os.set_inheritable(4, True)\n"
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def found() -> str | None:
    """The path of a browser that speaks the protocol, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass(slots=True)
class Browser:
    """A running browser: commands out, answers and events in."""

    process: subprocess.Popen[bytes]
    out: int
    into: int
    serial: int = 0
    rest: bytes = b""
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """One command, and its result; events that come in between are kept."""
        self.serial += 1
        asked = {"id": self.serial, "method": method, "params": params}
        os.write(self.out, json.dumps(asked if session is None else {**asked, "sessionId": session}).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            said = self.read(until)
            if said.get("id") == self.serial:
                assert "error" not in said, f"{method}: {said['error']}"
                return dict(said["result"])
            self.events.append(said)

    def read(self, until: float) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.into], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.into, 1 << 20) if ready else b""
            assert piece, "the browser did not answer"
            self.rest += piece
        one, _, self.rest = self.rest.partition(b"\0")
        return dict(json.loads(one))


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """A browser with a profile of its own in ``folder``, ended when done."""
    program = found()
    assert program is not None
    ours_in, theirs_out = os.pipe()
    theirs_in, ours_out = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-sync"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
    own = ["--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}", "about:blank"]
    process = subprocess.Popen(
        [sys.executable, "-c", START, *map(str, high), program, *flags, *quiet, *own],
        pass_fds=high,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    for end in (theirs_in, theirs_out, *high):
        os.close(end)
    try:
        yield Browser(process, ours_out, ours_in)
    finally:
        os.close(ours_out)
        os.close(ours_in)
        os.killpg(process.pid, signal.SIGKILL)  # its own group: the browser and its children, nothing else
        process.wait()


@dataclass(slots=True)
class Tab:
    """One page in a context of its own: no cookies, storage or cache are shared with another."""

    browser: Browser
    context: str
    target: str
    session: str

    def call(self, method: str, **params: object) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def run(self, program: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=program, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, f"{program[:200]}: {done['exceptionDetails']}"
        return done["result"].get("value")

    def go(self, address: str) -> None:
        """Load a page and wait until it is there."""
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def until(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < end, f"never came: {condition}"
            time.sleep(0.02)

    def key(self, name: str, code: int, text: str = "") -> None:
        """One press of a key, as a keyboard sends it."""
        down = "keyDown" if text else "rawKeyDown"
        for kind in (down, "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more)

    def before(self, program: str) -> None:
        """Run this in every page before its own scripts."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=program)

    def picture(self, file: Path, width: int, height: int, *, mobile: bool = False) -> None:
        """The whole page as a PNG."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)


@contextmanager
def tab(driven: Browser, downloads: Path | None = None) -> Iterator[Tab]:
    """A new page, watched from its first moment."""
    driven.events.clear()
    context = driven.call("Target.createBrowserContext")["browserContextId"]
    driven.call("Target.setDiscoverTargets", discover=True)
    target = driven.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = driven.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    made = Tab(driven, context, target, session)
    for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
        made.call(f"{domain}.enable")
    if downloads is not None:
        driven.call(
            "Browser.setDownloadBehavior", behavior="allow", browserContextId=context, downloadPath=str(downloads)
        )
    try:
        yield made
    finally:
        made.close()


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
    kinds = {
        "requests": ("Network.requestWillBeSent", "Network.webSocketCreated", "Network.webTransportCreated"),
        "console": ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"),
        "windows": ("Page.windowOpen", "Page.frameRequestedNavigation", "Page.navigatedWithinDocument"),
        "downloads": ("Page.downloadWillBegin", "Browser.downloadWillBegin"),
    }
    for name, methods in kinds.items():
        said[name] = [_plain(event["params"]) for event in page.browser.events if event.get("method") in methods]
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
