"""Check of the extensions that a certificate names: modules of third parties, which whoever verifies must pass.

A certificate names a module and a version, and its answers or its proof rest on their code. It is never imported by
that name. Whoever verifies passes the module, and the check compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from reticent.certificate.record import CertificateRecord
from reticent.errors import Refusal
from reticent.statistics.extensions import Extension, kinds_of
from reticent.statistics.grammar import parse

WHERE = "in Python verify(extensions=[module]). Take it from its author, not from whoever sent the certificate"


def named(certificate: CertificateRecord) -> list[dict[str, Any]]:
    """Extensions that a certificate names; none in most."""
    return list(certificate.heading.get("extensions", ()))


def problems(certificate: CertificateRecord, extensions: Sequence[Extension]) -> Iterator[tuple[bool, str]]:
    """One check for each extension that a certificate names: true if it was given as it was, and words."""
    given = {one.name: one for one in extensions}
    for stated in named(certificate):
        name, version = stated["module"], stated["version"]
        if name not in given:
            yield False, f"extension {name} {version} needed: give it with --with {name}, {WHERE}"
        elif given[name].version != version:
            yield False, f"extension {name} is needed in version {version}, and {given[name].version} was given"
        else:
            lacking = _lacking(stated, given[name]) or _unread(certificate, stated, given[name])
            yield not lacking, f"extension {name} {version} {lacking or 'given'}"


def _lacking(stated: dict[str, Any], given: Extension) -> str:
    """A statistic or a theorem that the module given does not have, in words."""
    has = {*(kind.verb for kind in given.statistics), *(theorem.name for theorem, _ in given.axioms)}
    lacks = [word for word in (*stated["statistics"], *stated["theorems"]) if word not in has]
    return f"has no {lacks[0]}: it is another module of that name" if lacks else ""


def _unread(certificate: CertificateRecord, stated: dict[str, Any], given: Extension) -> str:
    """An answer of the extension whose name it does not read back, in words."""
    kinds = kinds_of((given,))
    for name in (answer.name for answer in certificate.answers):
        if name.partition("(")[0].partition(" ")[0] in stated["statistics"]:
            try:
                same = parse(name, kinds).name == name
            except Refusal:
                same = False
            if not same:
                return f"does not read {name}: it is another module of that name"
    return ""


def used(certificate: CertificateRecord, extensions: Sequence[Extension]) -> tuple[Extension, ...]:
    """The extensions given whose theorems count for a certificate: those that it names, in that version."""
    stated = {(one["module"], one["version"]) for one in named(certificate)}
    return tuple(one for one in extensions if (one.name, one.version) in stated)


__all__ = ["named", "problems", "used"]
