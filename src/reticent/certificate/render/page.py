"""The public page of a release, a model or a session: one HTML file without scripts or anything to load.

Caveats stand above the table, since a number that is read first is quoted first. Then the table, the figure, the
privacy label in seven lines, and the outline of the proof. Every word that someone typed is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from reticent.certificate.record import NOT_DURABLE, Record
from reticent.certificate.render.figure import alternative, bar, svg
from reticent.certificate.render.tables import label_words, plain, shown
from reticent.certificate.summary import found, methods, parameters, subject
from reticent.certificate.verify import audit_words, source_of
from reticent.outcome import NoReply, Reply
from reticent.privacy.adjacency import Adjacency
from reticent.privacy.explain import outline, sentence
from reticent.privacy.loss import words
from reticent.statistics.answer import Answer, Cell

NO_REPLY_WORDS: Final = (
    "The method first checks, in a way that protects everyone, whether a safe answer can be given. Here it could not "
    "be sure. That is itself a protected answer, and it was charged. It does not say which value or person is the "
    "cause. What may help: bounds that are known without the file, more people, or a larger ε or δ. Asking again is a "
    "new release and is charged again."
)

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #ffffff; --quiet: #57606a; --line: #d0d7de; --grey: #eef0f2;
  --note: #fff6dd; --edge: #b7791f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #14181d; --quiet: #a3adb8; --line: #3a424c;
  --grey: #23292f; --note: #2f2a1a; --edge: #d9a441; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem; max-width: 54rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .4rem 0 .2rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p.about { color: var(--quiet); margin: 0 0 1rem; }
.caveats { background: var(--note); border-left: .3rem solid var(--edge); padding: .6rem 1rem; margin: 1rem 0; }
.caveats h2 { margin: 0 0 .2rem; font-size: 1rem; } .caveats ul { margin: 0; padding-left: 1.2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .7rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
thead th { border-bottom-width: 2px; } tbody th { font-weight: 600; } td.n, th.n { text-align: right; }
td.n { white-space: nowrap; } tbody th.sub { font-weight: 400; padding-left: 1.2rem; }
.estimand { font-weight: 400; font-size: .85rem; color: var(--quiet); }
a { color: inherit; } tr.silent td, tr.silent th { background: var(--grey); color: var(--quiet); }
p.silent { background: var(--grey); color: var(--quiet); padding: .6rem 1rem; }
figure { margin: 1.5rem 0; padding: .6rem; background: #ffffff; border: 1px solid var(--line); overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 30rem; height: auto; }
.label { border: 2px solid var(--ink); padding: .2rem 1rem .6rem; margin: 2rem 0; } .label h2 { margin: .5rem 0; }
dl { display: grid; grid-template-columns: 12rem 1fr; gap: .3rem 1rem; margin: 0; } dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
summary { cursor: pointer; } pre { overflow-x: auto; font-size: .8rem; line-height: 1.35; }
footer { color: var(--quiet); font-size: .85rem; margin-top: 2rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) { table { font-size: .82rem; } th, td { padding-right: .45rem; } td.n { white-space: normal; }
  tbody th.sub { padding-left: .5rem; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
@media print { body { max-width: none; padding: 0; font-size: 10pt; } tr, figure, .label { break-inside: avoid; }
  .wide, pre, figure { overflow: visible; } pre { white-space: pre-wrap; } figure svg { min-width: 0; } }
""".strip()


def page(certificate: Record) -> str:
    """The release as one self-contained HTML file."""
    document = certificate.document
    study = document["study"]
    title = document["name"] or study["title"] or document["release"]
    parts = ("" if study["title"] == title else study["title"], document["release"], document["when"][:10])
    about = " · ".join(part for part in parts if part)
    purpose = f'<p class="about">{_safe(document["purpose"])}</p>\n' if document["purpose"] else ""
    proof = _lines(outline(certificate.guarantee))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_safe(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{_safe(title)}</h1>\n<p class="about">{_safe(about)}</p>\n{purpose}'
        f"{_caveats(certificate)}{_let_out(certificate)}{_figure(certificate)}{_label(certificate)}{_audit(certificate)}"
        f"<details>\n<summary>Outline of the proof</summary>\n<pre>{proof}</pre>\n</details>\n"
        f"</main>\n<footer>Certificate digest (SHA-256) {certificate.digest}. "
        f"{_software(document['software'])}</footer>\n</body>\n</html>\n"
    )


def fragment(certificate: Record) -> str:
    """The table for a notebook: a bar for every interval, the caveats above, one line of guarantee below."""
    guarantee = certificate.guarantee
    rows = "".join(_bar_rows(answer) for answer in certificate.answers)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("answer", "value", "95 % interval", "noise (thick bar)"))
    if not all(f"{level:g}" == "0.95" for level in _levels(certificate)):
        head = head.replace("95 % interval", "interval")
    return (
        f"<div>{_caveats(certificate)}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>{_safe(sentence(guarantee.loss, guarantee.adjacency))}</p></div>"
    )


def _safe(text: object) -> str:
    return html.escape(plain(str(text)), quote=True)


def _lines(text: str) -> str:
    return "\n".join(_safe(line) for line in text.split("\n"))


def _caveats(certificate: Record) -> str:
    document = certificate.document
    found = [*certificate.caveats]
    if document.get("override"):
        found.append(f"The limit on the loss of one release was lifted, with this reason: {document['override']}")
    if not certificate.durable:
        found.append(NOT_DURABLE)
    if not found:
        return ""
    items = "".join(f"<li>{_safe(text)}</li>" for text in found)
    head = '<section class="caveats" aria-label="Caveats">\n<h2>Before you use these numbers</h2>'
    return f"{head}\n<ul>{items}</ul>\n</section>\n"


def _levels(certificate: Record) -> list[float]:
    cells = [cell.outcome for answer in certificate.answers for cell in answer]
    return sorted({outcome.value.level for outcome in cells if isinstance(outcome, Reply)}) or [0.95]


def _let_out(certificate: Record) -> str:
    """The answers of a release; the numbers of a model or the transcript of a session, with its parameters."""
    of = subject(certificate)
    if not of:
        return _table(certificate)
    rows = "".join(
        f'<tr><th scope="row">{_safe(name)}</th><td>{_safe(text)}</td></tr>\n' for name, text in found(certificate)
    )
    heads = ("question", "answer") if certificate.kind == "session" else ("what", "value")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    agreed = ", ".join(
        f"{name} {value}" for name, value in (parameters(certificate) or {}).items() if value is not None
    )
    return (
        f'<h2 id="answers">What was let out</h2>\n<p class="about">{_safe(of[0].upper() + of[1:])}. '
        f"Every digit is in the certificate.</p>\n"
        '<div class="wide" role="region" aria-labelledby="answers" tabindex="0">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        f'<p class="about">Public parameters: {_safe(agreed)}</p>\n'
    )


def _table(certificate: Record) -> str:
    levels = _levels(certificate)
    level = f"{100 * levels[0]:g} % interval" if len(levels) == 1 else "interval"
    heads = (("answer", ""), ("value", "n"), (level, "n"), ("noise ±", "n"), ("sampling ±", "n"))
    head = "".join(f'<th scope="col"{_class(kind)}>{name}</th>' for name, kind in heads)
    rows = "".join(row for answer in certificate.answers for row in _answer_rows(answer))
    silent = any(isinstance(cell.outcome, NoReply) for answer in certificate.answers for cell in answer)
    meaning = f'<p class="silent" id="no-reply"><strong>What no reply means.</strong> {_safe(NO_REPLY_WORDS)}</p>\n'
    return (
        '<h2 id="answers">Answers</h2>\n<p class="about">Noise protects people; sampling is what another sample of '
        "people would change. A dash under sampling: the number is about this table, not about a population.</p>\n"
        '<div class="wide" role="region" aria-labelledby="answers" tabindex="0">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        f"{meaning if silent else ''}"
    )


def _answer_rows(answer: Answer) -> Iterator[str]:
    name = _safe(answer.name)
    if answer.estimand:
        name += f'<br><span class="estimand">{_safe(answer.estimand)}</span>'
    if len(answer.cells) == 1 and not answer.cells[0].label:
        yield _row(name, "", answer.shown[0], bare=answer.bare)
        return
    yield f'<tr><th scope="rowgroup" colspan="5">{name}</th></tr>\n'
    for cell in answer.shown:
        yield _row(html.escape(label_words(cell)) or _safe(answer.name), "sub", cell, bare=answer.bare)


def _row(name: str, kind: str, cell: Cell, *, bare: bool) -> str:
    match cell.outcome:
        case Reply(estimate):
            s = shown(estimate)
            cells = [s.value, "–" if bare or cell.as_it_is else f"{s.low} to {s.high}", s.noise, s.sampling]
            numbers = "".join(f'<td class="n">{text}</td>' for text in cells)
            return f'<tr><th scope="row"{_class(kind)}>{name}</th>{numbers}</tr>\n'
        case NoReply():
            return (
                f'<tr class="silent"><th scope="row"{_class(kind)}>{name}</th><td colspan="4">no reply '
                '(<a href="#no-reply">what that means</a>)</td></tr>\n'
            )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _bar_rows(answer: Answer) -> str:
    replies = [cell.outcome.value for cell in answer.shown if isinstance(cell.outcome, Reply)]
    if answer.name.startswith("test("):
        replies = replies[:1]
    span = (min(e.low for e in replies), max(e.high for e in replies)) if replies else None
    return "".join(_bar_row(answer, cell, span) for cell in answer.shown)


def _bar_row(answer: Answer, cell: Cell, span: tuple[float, float] | None) -> str:
    where = label_words(cell)
    name = _safe(answer.name) + (f" · {html.escape(where)}" if where else "")
    match cell.outcome:
        case Reply(estimate):
            s = shown(estimate)
            between = "–" if answer.bare or cell.as_it_is else f"{s.low} to {s.high}"
            rest = f"<td>{s.value}</td><td>{between}</td><td>{_drawn(cell, span)}</td>"
        case NoReply():
            rest = '<td colspan="3">no reply</td>'
    return f'<tr><th scope="row" style="text-align:left">{name}</th>{rest}</tr>'


def _drawn(cell: Cell, span: tuple[float, float] | None) -> str:
    """The bar of a cell; of a test only the effect has one, as its parts share no scale."""
    part = [key for name, key in cell.label if name == "test"]
    return "" if part and part[0] in ("statistic", "p-value") else bar(cell, span)


def _figure(certificate: Record) -> str:
    if not certificate.answers:
        return ""
    drawn = svg(certificate).replace("<svg ", f'<svg role="img" aria-label="{alternative(certificate)}" ', 1)
    return f"<figure>\n{drawn}</figure>\n"


def _label(certificate: Record) -> str:
    document, tree = certificate.document, certificate.guarantee
    spent, approved = certificate.spent, certificate.approved
    signature = document["signature"]
    lines = (
        ("Who is protected", _protected(tree.adjacency)),
        ("Neighbours", f"{tree.adjacency.words()}: {_hidden(tree.adjacency)}"),
        ("Loss of this release", words(tree.loss)),
        (
            "Loss of everything so far",
            f"{words(spent)} of {words(approved)}{_approval(document['study'])}",
        ),
        ("Odds", sentence(tree.loss, tree.adjacency)),
        ("Methods", methods(tree)),
        (
            "Signed by",
            f"Ed25519 key {signature['public_key']}. Check it: reticent verify, with the officer's public key"
            if signature
            else "nobody: this certificate is unsigned",
        ),
    )
    items = "".join(f"<dt>{name}</dt><dd>{_safe(text)}</dd>\n" for name, text in lines)
    return (
        f'<section class="label" aria-label="Privacy label">\n<h2>Privacy label</h2>\n<dl>\n{items}</dl>\n</section>\n'
    )


def _audit(certificate: Record) -> str:
    """Finding of the audit before the release, empty if there was none."""
    stated = certificate.document["audit"]
    if stated is None:
        return ""
    found = (
        "nothing published differed, and no exact number moved further than its noise was made for"
        if stated["verdict"] == "passed"
        else "an error was found, and these answers should not be used"
    )
    source = f" The source of the program has the SHA-256 {source_of(stated)}." if source_of(stated) else ""
    text = (
        f"Before the release its program was run on made-up rows ({audit_words(stated)}): {found}. Such an audit can "
        f"refute a release. It proves nothing; the proof is below.{source}"
    )
    return f'<p class="about">{_safe(text)}</p>\n'


def _protected(adjacency: Adjacency) -> str:
    if adjacency.unit == "row":
        return "one row"
    return "one person, " + ("with one row" if adjacency.rows == 1 else f"with at most {adjacency.rows} rows")


def _hidden(adjacency: Adjacency) -> str:
    match adjacency.kind:
        case "add_remove":
            return "whether someone is in the file at all is protected"
        case "substitute":
            return "what someone's record says is protected; how many people there are is public"
        case "local":
            return "each answer was protected before it was sent"


def _approval(study: dict[str, str | None]) -> str:
    """``, approved: Ethics board, minute 7, until 2027-12-31``."""
    approved = f", approved: {study['approved']}" if study["approved"] else ""
    return approved + (f", until {study['ends']}" if study["ends"] else "")


def _software(software: dict[str, str]) -> str:
    return _safe("Made with " + ", ".join(f"{name} {version}" for name, version in software.items()) + ".")
