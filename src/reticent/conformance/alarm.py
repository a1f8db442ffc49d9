"""Refutations, told as they are found, and whether to stop at the first.

alarm = Alarm(tell, first=True)
kept = tuple(alarm.watch(lines, wrong))     told one by one; ends early where one is enough
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Alarm:
    """Tells every refutation as it is found.

    Attributes
    ----------
    tell : callable
        Called with the words of each.
    first : bool
        One is enough: what is watched ends there.
    rung : list of str
        What was told.
    """

    tell: Callable[[str], None]
    first: bool = False
    rung: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """True if nothing more is to be run."""
        return self.first and bool(self.rung)

    def ring(self, words: str) -> None:
        self.rung.append(words)
        self.tell(words)

    def watch(self, found: Iterable[T], wrong: Callable[[T], str]) -> Iterator[T]:
        """The same items; ``wrong`` gives the words of one that refutes something, empty for any other."""
        for item in () if self.over else found:
            words = wrong(item)
            if words:
                self.ring(words)
            yield item
            if self.first and self.rung:  # here, or by what was watched within
                return


__all__ = ["Alarm"]
