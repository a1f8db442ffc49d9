"""The certificate: what was let out, at what price, by which proof, signed, and checkable by a stranger.

Of a release the answers, of a model its numbers, of a session its transcript.

    document --of--> Certificate --sign--> Certificate --to_json--> file --read_certificate--> Certificate --verify

Nothing in a file is believed because it says so: the form is checked when it is read, the losses are derived again from
the leaves of the proof when it is verified. ``Certificate`` is its ``CertificateRecord`` with the verbs of an officer
and no field of its own (decision 13).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from reticent.certificate import schema
from reticent.certificate.record import CertificateRecord
from reticent.errors import CheckError, PublicParameterError, restored
from reticent.ledger import Ledger
from reticent.privacy.loss import words

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from matplotlib.figure import Figure

    from reticent.certificate.verify import Verification
    from reticent.statistics.extensions import Extension


@restored
@dataclass(frozen=True, slots=True, repr=False)
class Certificate(CertificateRecord):
    """A certificate, version 1 or 2. Make one with ``Certificate.of`` or ``read_certificate``."""

    @classmethod
    def of(cls, document: dict[str, object]) -> Certificate:
        """The certificate with this content.

        Raises
        ------
        CheckError
            When a field is missing, has another form, or holds NaN or an infinity.
        """
        try:
            text = schema.canonical(document).decode()
            del document  # it is large, and read anew from the text
            return cls(text)
        except (TypeError, ValueError, RecursionError):
            raise CheckError("This certificate is malformed: it holds something that is not JSON.") from None

    # writing

    def sign(self, private: Ed25519PrivateKey) -> Certificate:
        """The same certificate with an Ed25519 signature; an earlier signature is replaced, the digest is the same."""
        signature = {
            "algorithm": "Ed25519",
            "public_key": private.public_key().public_bytes_raw().hex(),
            "value": private.sign(self.canonical).hex(),
        }
        return Certificate.of({**self.document, "signature": signature})

    def to_json(self) -> str:
        """The file: indented, in the order a person reads; answers of 100 cells or more are written by columns."""
        from reticent.certificate.cell_columns import written

        return written(schema.ordered(self.document))

    def save(self, path: str | Path) -> Path:
        """Write it to ``path``: the certificate itself where that ends in .json, its page where it ends in .html.

        Raises
        ------
        PublicParameterError
            For another ending.
        """
        file = Path(path)
        if file.suffix not in (".json", ".html"):
            raise PublicParameterError(f"a certificate is saved as .json or .html, not as '{file.suffix}'")
        from reticent.atomic_file import replace
        from reticent.certificate.render.page import page

        replace(file, (self.to_json() if file.suffix == ".json" else page(self)).encode())
        return file

    # reading

    def verify(
        self,
        ledger: Ledger | str | Path | None = None,
        key: bytes | str | Path | None = None,
        *,
        allow_unsigned: bool = False,
        extensions: Sequence[ModuleType | Extension] = (),
    ) -> Verification:
        """Check the signature, the ledger's entry, the chain, and derive every loss again.

        An audit that is stated is compared with itself and with the answers; it is not run again.

        Parameters
        ----------
        ledger : Ledger or path, optional
            The ledger that was charged. Without it the entry is not looked up, and the words say so.
        key : 32 bytes or path, optional
            The officer's public key. Without it a signature proves nothing about who signed: that counts as unsigned.
        allow_unsigned : bool
            Accept a certificate that is unsigned, or whose signer is not checked. A wrong signature always fails.
        extensions : sequence of modules, optional
            Those of third parties that the certificate names. None is imported by a name that the certificate states.

        Returns
        -------
        Verification
            Verdict with the checks that were made, each with its words.

        Raises
        ------
        CheckError, LedgerError
            When the key file or the ledger file cannot be read at all.
        """
        from reticent.certificate.verify import verify
        from reticent.statistics.extensions import read_extensions

        opened = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger.open(ledger)
        return verify(self, opened, key, allow_unsigned, read_extensions(extensions))

    def explain(self, prior: float = 0.1) -> str:
        """Meaning of the release for one person, in odds, for someone who believed with probability ``prior``."""
        from reticent.certificate import summary

        return summary.meaning(self, prior)

    def proof(self) -> str:
        """The outline of the proof: each part, its loss, its theorem and the source."""
        from reticent.privacy import explain

        return explain.outline(self.guarantee)

    def checklist(self) -> str:
        """The officer's questions in the order of NIST SP 800-226, with what this certificate can and cannot answer."""
        from reticent.certificate import officer

        return officer.checklist(self)

    def to_registry(self, tier: int = 3) -> dict[str, object]:
        """An entry for a registry of deployments, by tier 1 to 3; what the certificate does not know is null."""
        from reticent.certificate import officer

        return officer.registry(self, tier)

    def odds_plot(self, path: str | Path | None = None) -> Figure:
        """Plot of beliefs: the belief before on x, the least and greatest belief afterwards on y.

        One band for this release, one for everything released so far, one for the whole budget. With ``path`` the
        figure is saved too, in the format of its ending: .svg, .png or .pdf.
        """
        from reticent.certificate.render import odds

        bands = odds.of(self)
        if path is not None:
            bands.save(path)
        return bands.plot()

    def __repr__(self) -> str:
        state = "signed" if self.signed else "unsigned"
        return f"<Certificate {self.heading['release']}, {words(self.charged)}, {state}>"


def read_certificate(source: str | Path) -> Certificate:
    """The certificate in a file, or in JSON text that begins with ``{``.

    Raises
    ------
    CheckError
        When it cannot be read, is larger than 64 MiB, or is not a certificate of this version.
    """
    from reticent.certificate.cell_columns import expanded

    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        try:
            with Path(source).open("rb") as opened:
                text = opened.read(schema.LARGEST + 1).decode("utf-8")
        except UnicodeDecodeError:
            raise CheckError(f"This is not a certificate: it is not UTF-8 text.{_beside(Path(source))}") from None
        except FileNotFoundError:
            raise CheckError(f"There is no certificate {source}. A release writes one: STEM.json.") from None
        except (OSError, ValueError):
            raise CheckError(f"The certificate {source} cannot be read.") from None
    if len(text) > schema.LARGEST:
        raise CheckError("This is not a certificate: it is larger than 64 MiB.")
    try:
        return Certificate.of(expanded(schema.parsed(text)))
    except CheckError as refused:
        if text is not source:
            refused.args = (f"{str(refused).removesuffix('.')}.{_beside(Path(source))}",)
        raise


def _beside(file: Path) -> str:
    """The certificate that another file of the same release means, by its name."""
    if file.suffix.lower() not in (".html", ".svg", ".csv", ".pdf", ".xlsx"):
        return ""
    return f" The certificate of a release is its .json file: {file.with_suffix('.json').name}"
