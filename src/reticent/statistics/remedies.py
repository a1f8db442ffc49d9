"""Remedies for a no reply, from public facts alone: ``bounds known without the file, fewer groups, more people``."""

from __future__ import annotations

from collections.abc import Sequence


def remedies_of(
    *, unbounded: Sequence[str] | bool, grouped: bool, extreme: bool = False, questions: int = 1, rows: int = 1
) -> list[str]:
    """Remedies beside a larger epsilon, in words.

    Parameters
    ----------
    unbounded : sequence of str, or bool
        Columns whose bounds nobody declared; or True where some column has none.
    grouped : bool
        True where a question has groups.
    extreme : bool
        True for a level other than one half.
    questions : int
        Number of questions that share the epsilon.
    rows : int
        Most rows kept of a person.

    Returns
    -------
    list of str
    """
    bounds = f" (for {', '.join(unbounded)}: rt.real(low, high))" if isinstance(unbounded, Sequence) else ""
    told = {
        "fewer groups": grouped,
        f"bounds known without the file{bounds}": bool(unbounded),
        "a level nearer the middle": extreme,
        "fewer questions for the same ε": questions > 1,
        "a smaller cap on rows": rows > 1,
        "more people": True,
    }
    return [words for words, holds in told.items() if holds]
