"""Ed25519 key pairs in PEM files: the officer keeps the private one, everyone may have the public one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from reticent.atomic_file import create
from reticent.errors import CheckError, SpecError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LONGEST: Final = 65_536  # bytes of a key file; real ones have about 120
PRIME: Final = 2**255 - 19  # of the field of Ed25519 (RFC 8032, section 5.1)
CURVE: Final = -121665 * pow(121666, -1, PRIME) % PRIME  # d in -x^2 + y^2 = 1 + d x^2 y^2


def make_keys(path: str | Path) -> tuple[Path, Path]:
    """Write a new key pair: ``officer`` or ``officer.key`` gives ``officer.key`` (mode 600) and ``officer.pub``.

    Returns
    -------
    (Path, Path)
        The private and the public file.

    Raises
    ------
    SpecError
        When one of the files exists or cannot be written. Nothing is ever overwritten.
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Path(path) if Path(path).suffix else Path(path).with_suffix(".key")
    public = private.with_suffix(".pub")
    if private == public:
        raise SpecError(f"{private} would be the name of the public key. Name the private one: {private.stem}.key")
    for file in (private, public):
        if file.is_symlink() or file.exists():
            raise SpecError(f"{file} exists and is not overwritten: signatures made with it could not be checked.")
    key = Ed25519PrivateKey.generate()
    _write(private, key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()), 0o600)
    _write(public, key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo), 0o644)
    return private, public


def load_private(path: str | Path) -> Ed25519PrivateKey:
    """The private key in a PEM file.

    Raises
    ------
    SpecError
        When there is no such file, or it holds no Ed25519 private key that can be used without a passphrase.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text = _text(Path(path))
    if text is None:
        raise SpecError(f"The key file {path} cannot be read. Nothing was read or charged.")
    try:
        key = load_pem_private_key(text, password=None)
    except TypeError:
        raise SpecError(f"{path} is protected by a passphrase. Give a key without one, kept in mode 600.") from None
    except (ValueError, UnsupportedAlgorithm):
        raise SpecError(f"{path} holds no private key in PEM. Make one with: reticent init --key {path}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SpecError(f"{path} holds a private key of another kind; certificates are signed with Ed25519.")
    return key


def load_public(path: str | Path) -> bytes:
    """The 32 bytes of the public key in a PEM file.

    Raises
    ------
    CheckError
        When there is no such file, or it holds no Ed25519 public key.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    text = _text(Path(path))
    if text is None:
        raise CheckError(f"The key file {path} cannot be read.")
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm):
        raise CheckError(f"{path} holds no public key in PEM. The public file of a pair ends in .pub.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise CheckError(f"{path} holds a public key of another kind; certificates are signed with Ed25519.")
    found = key.public_bytes_raw()
    if small_order(found):
        raise CheckError(f"{path} holds a weak key: signatures under it fit every text. Make a new pair.")
    return found


def small_order(public: bytes) -> bool:
    """Tell if a public key lies in the subgroup of order 8, for which one signature fits every text.

    A point of order 1 or 2 has y = 1 or -1, one of order 4 has y = 0. One of order 8 doubles to a point with y = 0, so
    x^2 = -y^2, and the equation of the curve leaves d y^4 + 2 y^2 - 1 = 0. The sign of x, in the top bit, is no matter.
    """
    y = (int.from_bytes(public, "little") & (2**255 - 1)) % PRIME
    return y * (y * y - 1) * (CURVE * y**4 + 2 * y * y - 1) % PRIME == 0


def _write(file: Path, text: bytes, mode: int) -> None:
    try:
        create(file, text, mode=mode)
    except OSError:
        raise SpecError(f"{file} cannot be written: check that its folder exists and is yours.") from None


def _text(file: Path) -> bytes | None:
    try:
        with file.open("rb") as opened:
            return opened.read(LONGEST)
    except (OSError, ValueError):
        return None
