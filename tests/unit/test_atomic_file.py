"""Atomic files: whole or not there, and a link of that name leads nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reticent.atomic_file import create, replace


def test_a_name_that_is_taken_stays(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "there").write_text("old")
    for name in ("there", "dangling"):
        with pytest.raises(FileExistsError):
            create(tmp_path / name, b"new")
    assert (tmp_path / "there").read_text() == "old"
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("theirs")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    replace(tmp_path / "link", b"ours")
    assert (tmp_path / "target").read_text() == "theirs"
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_text() == "ours"


@pytest.mark.parametrize("put", [create, replace])
def test_a_disk_that_fails_leaves_nothing_behind(put: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        put(tmp_path / "a", b"x" * 1000)  # type: ignore[operator]  # one of two functions
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_hard_links_still_creates_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    create(tmp_path / "a", b"1", mode=0o600)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        create(tmp_path / "a", b"2")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
