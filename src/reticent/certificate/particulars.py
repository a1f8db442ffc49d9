"""Particulars of a release: the words and the key that its ledger entry and its certificate keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from reticent.data.format import check_title, exact
from reticent.errors import PublicParameterError, made_as

LONGEST_ID: Final = 200  # characters of a request id


@made_as('rt.Record(name="table 1")')
@dataclass(frozen=True, slots=True)
class Record:
    """Words that a ledger entry and a certificate keep of a release or a session, and the key that signs it.

    Attributes
    ----------
    name : str
        Of the release.
    who : str
        The person who releases.
    key : path, optional
        An Ed25519 private key: the certificate is signed.
    override : str
        The reason for an epsilon above 10; printed in the certificate.
    try_anyway : bool
        Go on where an answer would most likely be no reply by public facts; without it such a release is refused.
    audit : "quick" or int, optional
        Run the compiled plan on made-up neighbours before the charge, that many pairs or 50 ("quick", about a second).
        The certificate keeps what was found; a finding refuses the release.
    request_id : str, optional
        A name for this request, of whoever asks. The same name gives the stored answer again, with no second charge;
        for another question it is refused.
    """

    name: str = ""
    who: str = "curator"
    key: str | Path | None = None
    override: str = ""
    try_anyway: bool = False
    audit: int | Literal["quick"] | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        for field in ("name", "who", "override"):
            check_text(getattr(self, field), field)
            object.__setattr__(self, field, exact(getattr(self, field)))
        check_title(self.name, "The name of a release")
        check_title(self.who, "The name of who releases")
        if not isinstance(self.try_anyway, bool):
            raise PublicParameterError(f"try_anyway is True or False, got {self.try_anyway!r}")
        if self.key is not None and not isinstance(self.key, str | Path):
            raise PublicParameterError(f"key is the path of a private key, got {type(self.key).__name__}")
        pairs = self.audit if isinstance(self.audit, int) and not isinstance(self.audit, bool) else 0
        if self.audit is not None and self.audit != "quick" and pairs < 1:
            raise PublicParameterError(f'audit is "quick" or a number of pairs >= 1, got {self.audit!r}')
        asked = self.request_id
        if asked is not None and not (isinstance(asked, str) and 0 < len(asked) <= LONGEST_ID):
            raise PublicParameterError(f"request_id is text of 1 to {LONGEST_ID} characters")


def record_of(record: Record | None, name: str = "") -> Record:
    """The record of a caller; ``name`` where it names nothing.

    Raises
    ------
    PublicParameterError
        For a value of another type.
    """
    found = Record() if record is None else record
    if not isinstance(found, Record):
        raise PublicParameterError(
            "record is rt.Record(name=…, who=…, key=…, override=…, try_anyway=…, audit=…, request_id=…)"
        )
    return found if found.name else replace(found, name=name)


def check_text(text: object, name: str) -> None:
    """Refuse what a ledger or a certificate cannot hold: it is kept as it is given.

    Raises
    ------
    PublicParameterError
        For no text, or one that cannot be written.
    """
    if not isinstance(text, str):
        raise PublicParameterError(f"{name} must be text, got {type(text).__name__}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise PublicParameterError(f"{name} must be text that can be written: it has half a character") from None
