"""Sentences of docstrings and of Markdown pages, without their code, tables, formulas and headings.

The splitter is small and errs towards short sentences: a full stop, a question mark or an exclamation mark before white
space ends a sentence, unless an abbreviation stands before it. Code and formulas inside a sentence are no words.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 25  # words of one sentence
RIDDLES = ("What", "Whether", "Where", "How", "Of", "Beside", "That", "Who", "When", "Which")

CODE = re.compile(r"```[^`]*```|``[^`]*``|`[^`]*`|\$\$[^$]*\$\$|\$[^$\n]+\$|<[^>\n]*>|https?://\S+")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
WORD = re.compile(r"(?<![\w^\\.{=])(?:[A-Za-z]+(?:['’-][A-Za-z]+)*)(?![\w(\[=])")
EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
NO_TEXT = re.compile(r"\{#.*?#\}|\{%.*?%\}|<(style|script)\b.*?</\1>", re.DOTALL)
INLINE = re.compile(r"</?(?:a|b|code|em|i|span|strong|var)\b[^<>]*>")
TAG = re.compile(r"<[^<>]*>")
LETTERS = re.compile(r"[A-Za-z]+")
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|vs|et al|resp|approx|Sec|Thm|Prop|Eq|Fig|No|Vol|pp?|[A-Z])\.$")
END = re.compile(r"(?<=[.!?:])[\")”’\]*_]*\s+")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)]|\([a-z0-9]+\))\s+")
RULE = re.compile(r"^\s*[-=~^]{3,}\s*$")
COLUMNS = re.compile(r"\S(?: {3,}|\t)\S")
SQL = re.compile(r"\s*(?:SELECT|CASE|WITH RECURSIVE|BEGIN)\b")


@dataclass(frozen=True)
class Sentence:
    """A sentence and the line it begins on."""

    line: int
    text: str

    @property
    def words(self) -> int:
        """Number of its words; single letters are taken for formulas, but for ``a`` and ``I``."""
        plain = CODE.sub(" ", LINK.sub(r"\1", self.text))
        return sum(len(word) > 1 or word in "aAI" for word in WORD.findall(plain))


def sentences(line: int, paragraph: str) -> Iterator[Sentence]:
    """Sentences of one paragraph that begins on ``line``; a colon ends one too."""
    start, at = 0, line
    hidden = CODE.sub(lambda code: re.sub(r"[^\n]", "x", code.group()), paragraph)
    for end in [*END.finditer(hidden), None]:
        if end is not None and ABBREVIATED.search(hidden[start : end.start()].rstrip("\"')”’]*_")):
            continue
        text = paragraph[start : len(paragraph) if end is None else end.end()]
        if text.strip():
            yield Sentence(at, " ".join(text.split()))
        at += text.count("\n")
        start += len(text)


def paragraphs(line: int, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Paragraphs and items of lists, each with its first line; ``lines`` holds prose or blank lines alone."""
    held: list[str] = []
    begun = line
    for number, text in enumerate([*lines, ""], start=line):
        if held and (not text.strip() or ITEM.match(text)):
            yield begun, "\n".join(held)
            held = []
        if text.strip():
            begun = begun if held else number
            held.append(ITEM.sub("", text))


def docstring_prose(text: str) -> list[str]:
    """Lines of a cleaned docstring, blank where there is code, a table, a heading or a parameter's name."""
    lines = inspect.cleandoc(text).splitlines()
    kept: list[str] = []
    section = block = False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        indented = line.startswith("    ") and not ITEM.match(line)
        before = lines[number - 1].strip() if number else ""
        if RULE.match(following) and line.strip() and not indented:
            section, line = True, ""
        elif section and not line.startswith(" ") and (following.startswith("    ") or " : " in line):
            line = ""
        elif not section and indented:
            block = block or before == "" or before.endswith(("::", ":"))
        elif line.strip():
            block = False
        other = block or RULE.match(line) or COLUMNS.search(line) or line.lstrip().startswith(">>>")
        kept.append("" if other else line)
    return kept


def markdown_prose(text: str) -> list[str]:
    """Lines of a Markdown page, blank where there is code, a table, a heading or a comment."""
    kept: list[str] = []
    fence, maths, blank = "", False, True
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found.group().count("\n"), text, flags=re.DOTALL)
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,}|:{3,})", line)
        code = bool(fence or mark or maths)
        if mark:
            fence = "" if fence and mark.group(1).startswith(fence) else fence or mark.group(1)
        elif not fence and line.strip().startswith("$$"):
            maths = not maths if line.strip().count("$$") == 1 else maths
            code = True
        elif line.startswith("    ") and blank and not ITEM.match(line) and not (kept and kept[-1].strip()):
            code = code or not _in_a_list(kept)
        code = code or line.lstrip().startswith(("#", "|", "<")) or bool(COLUMNS.search(line))
        code = code or line.startswith(":") or bool(RULE.match(line)) or re.match(r"^\(\S+\)=$", line) is not None
        blank = blank and not line.strip() if code else not line.strip()
        blank = True if code else blank
        kept.append("" if code else line.removeprefix("> "))
    return kept


def _in_a_list(kept: list[str]) -> bool:
    """True if the last paragraph before belongs to an item of a list."""
    for line in reversed(kept):
        if ITEM.match(line):
            return True
        if line.strip() and not line.startswith(" "):
            return False
    return False


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree and the statements in it, without their expressions."""
    yield tree
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from statements(node)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every docstring of a module with the line it begins on; those of attributes too."""
    for node in statements(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            last = 1 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
            for statement in node.body[:last]:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield statement.lineno, text


def long_in_docstrings(tree: ast.Module) -> list[str]:
    """Sentences of docstrings with more than 25 words."""
    return [
        f"{s.line}: {s.words} words: {s.text}"
        for line, text in docstrings(tree)
        for begun, paragraph in paragraphs(line, docstring_prose(text))
        if len(LETTERS.findall(paragraph)) > LONGEST
        for s in sentences(begun, paragraph)
        if s.words > LONGEST
    ]


def long_in_markdown(text: str) -> list[str]:
    """Sentences of a page with more than 25 words."""
    return [
        f"{s.line}: {s.words} words: {s.text}"
        for begun, paragraph in paragraphs(1, markdown_prose(text))
        for s in sentences(begun, paragraph)
        if s.words > LONGEST
    ]


def riddles(tree: ast.Module) -> list[str]:
    """Docstrings that begin with a free relative clause or a preposition."""
    return [
        f"{line}: {inspect.cleandoc(text).splitlines()[0]}"
        for line, text in docstrings(tree)
        if re.match(rf"\s*(?:{'|'.join(RIDDLES)})\b", text)
    ]


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every text of a module that is no docstring, with its line; ``{}`` stands for a value, and SQL is left out."""
    inner = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=parts):
                inner |= {id(part) for part in parts}
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
            case ast.Constant(value=str(text)) if id(node) not in inner:
                pass
            case _:
                continue
        if not SQL.match(text):
            yield node.lineno, text


def long_in_messages(tree: ast.Module) -> list[str]:
    """Sentences of more than 25 words in texts that a program prints."""
    return [
        f"{line}: {s.words} words: {s.text}"
        for line, text in messages(tree)
        if len(LETTERS.findall(text)) > LONGEST
        for begun, paragraph in paragraphs(line, docstring_prose(text))
        for s in sentences(begun, paragraph)
        if s.words > LONGEST
    ]


def long_in_template(text: str) -> list[str]:
    """Sentences of more than 25 words in a template of a page; each element but those within a line ends one."""
    plain = TAG.sub("\n\n", INLINE.sub("", EXPRESSION.sub("{}", NO_TEXT.sub("", text))))
    return long_in_markdown("\n".join(line.strip() for line in plain.splitlines()))
