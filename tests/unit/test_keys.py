"""Key files: private to their owner, never overwritten, and refused in words."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

from reticent.certificate.keys import load_private, load_public, make_keys, small_order
from reticent.errors import CheckError, SpecError


def test_a_pair_belongs_together_and_the_private_file_to_its_owner(tmp_path: Path) -> None:
    private, public = make_keys(tmp_path / "officer")
    assert (private.name, public.name) == ("officer.key", "officer.pub")
    assert private.stat().st_mode & 0o777 == 0o600
    assert load_private(private).public_key().public_bytes_raw() == load_public(public)
    assert private.read_text().startswith("-----BEGIN PRIVATE KEY-----")


def test_two_pairs_differ(tmp_path: Path) -> None:
    assert load_public(make_keys(tmp_path / "a.key")[1]) != load_public(make_keys(tmp_path / "b.key")[1])


@pytest.mark.parametrize("existing", ["officer.key", "officer.pub"])
def test_nothing_is_overwritten(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    with pytest.raises(SpecError, match="not overwritten"):
        make_keys(tmp_path / "officer")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_places_that_cannot_hold_a_key_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        make_keys(tmp_path / "absent" / "officer")
    with pytest.raises(SpecError):
        make_keys(tmp_path / "officer.pub")


def test_files_that_hold_no_key_are_refused_in_words(tmp_path: Path) -> None:
    private, public = make_keys(tmp_path / "officer")
    text = tmp_path / "text.pem"
    text.write_text("hello")
    for file in (text, public, tmp_path, tmp_path / "absent"):
        with pytest.raises(SpecError):
            load_private(file)
    for file in (text, private, tmp_path, tmp_path / "absent"):
        with pytest.raises(CheckError):
            load_public(file)


def test_keys_of_another_kind_or_under_a_passphrase_are_refused_in_words(tmp_path: Path) -> None:
    other = generate_private_key(65537, 2048)
    pem, pkcs8 = form.Encoding.PEM, form.PrivateFormat.PKCS8
    rsa, rsa_public, locked = (tmp_path / name for name in ("rsa.key", "rsa.pub", "locked.key"))
    rsa.write_bytes(other.private_bytes(pem, pkcs8, form.NoEncryption()))
    rsa_public.write_bytes(other.public_key().public_bytes(pem, form.PublicFormat.SubjectPublicKeyInfo))
    mine = load_private(make_keys(tmp_path / "mine")[0])
    locked.write_bytes(mine.private_bytes(pem, pkcs8, form.BestAvailableEncryption(b"secret")))
    with pytest.raises(SpecError, match="another kind"):
        load_private(rsa)
    with pytest.raises(CheckError, match="another kind"):
        load_public(rsa_public)
    with pytest.raises(SpecError, match="passphrase"):
        load_private(locked)


# The points of order 1, 2, 4 and 8 (RFC 8032, section 5.1.7), and y = 0 and 1 written above the prime.
WEAK = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)


@pytest.mark.parametrize("text", WEAK)
def test_a_key_of_small_order_is_refused(tmp_path: Path, text: str) -> None:
    assert small_order(bytes.fromhex(text))
    der = bytes.fromhex("302a300506032b6570032100" + text)
    pem = b"-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(der) + b"\n-----END PUBLIC KEY-----\n"
    (tmp_path / "weak.pub").write_bytes(pem)
    with pytest.raises(CheckError, match="weak key"):
        load_public(tmp_path / "weak.pub")


def test_keys_that_are_made_are_not_weak(tmp_path: Path) -> None:
    assert not any(small_order(load_public(make_keys(tmp_path / f"{place}")[1])) for place in range(20))
