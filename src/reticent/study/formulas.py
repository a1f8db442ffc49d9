"""Questions as they are understood: each expression becomes a computed column, whose name is the expression's text.

    understand(questions, …)    questions of text or values, each resolved
    resolved(asked, schema)     a question whose expressions are in canonical text and whose groups are public keys
    extended(schema, asked)     the schema with the columns that questions compute; a name that is declared is itself
    keys_of(schema, groups)     the public keys of groups: of one column, or the product of several

``by ward, month(admitted)`` is one computed column, ``cross(ward, month(admitted))``, so that the reach of a person is
counted over the whole product.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import attrs

from reticent.data import formula
from reticent.data.expression_tree import (
    MOST_CELLS,
    Application,
    ColumnName,
    Tree,
    column_text,
    divided,
    refusal,
    renamed,
)
from reticent.data.format import section
from reticent.data.query import Keys
from reticent.data.schema import Category, Integer, Key, Schema, odd_in_call, words_of_instead
from reticent.errors import PublicParameterError, QuestionError, Refusal
from reticent.statistics.grammar import parse
from reticent.statistics.statistic import UNWEIGHTED, Ask, Statistic, ask, ours

if TYPE_CHECKING:
    from reticent.statistics.extensions import Extension
    from reticent.study.key_files import KeyFolder

Question: TypeAlias = Statistic | Ask | str
Questions: TypeAlias = Question | Sequence[Question]  # one, or a list
CROSS = "cross"
MOST_SHOWN = 20  # keys of a list that a refusal repeats


def understand(
    questions: Questions,
    schema: Schema,
    groups: Keys | None = None,
    extensions: Sequence[Extension] = (),
    folder: Callable[[], KeyFolder] | None = None,
) -> tuple[Ask, ...]:
    """Questions with their groups as public keys; text is read by the grammar of the study file.

    Parameters
    ----------
    questions : statistic, text, or sequence of them
    schema : Schema
    groups : Keys, optional
        Groups of every question that names none.
    extensions : sequence of Extension
        Statistics of third parties that a text may name.
    folder : function, optional
        Gives the folder of the study, where files of keys lie.

    Returns
    -------
    tuple of Ask

    Raises
    ------
    QuestionError
        No question, or a question that is asked twice.
    """
    listed = [questions] if isinstance(questions, str | Statistic | Ask) else questions
    if not isinstance(listed, Iterable):
        raise QuestionError('Ask a list of questions: [rt.count()], or ["count", "mean(x)"].')
    listed, found = list(listed), []
    for question in listed:
        try:
            found.append(_understood(question, schema, groups, extensions, folder))
        except (QuestionError, PublicParameterError) as refused:
            if len(listed) > 1 and isinstance(question, str | Statistic | Ask):
                refused.args = (of_question(str(question), str(refused)), *refused.args[1:])
            raise
    if not found:
        raise QuestionError("Nothing was asked. For example: [rt.count()].")
    names = [asked.name for asked in found]
    for name in names:
        if names.count(name) > 1:
            raise QuestionError(f"{name} is asked twice. Ask once: the answer may be used as often as you like.")
    return tuple(found)


def of_question(question: str, said: str) -> str:
    """The words of a refusal, behind the question that it is about unless they have it already."""
    return said if question in said else f"{question}: {said}"


def _understood(
    question: Question,
    schema: Schema,
    groups: Keys | None,
    extensions: Sequence[Extension],
    folder: Callable[[], KeyFolder] | None,
) -> Ask:
    if not isinstance(question, str | Statistic | Ask):
        raise QuestionError(f'{question!r} is no question. Ask rt.count(), rt.mean("x"), or their text "mean(x)".')
    if extensions or not (isinstance(question, str) or ours(question)):
        from reticent.statistics.extensions import check_known, kinds_of

        asked = parse(question, kinds_of(extensions)) if isinstance(question, str) else ask(question)
        check_known(asked.statistic, extensions)
    else:
        asked = parse(question) if isinstance(question, str) else ask(question)
    if isinstance(asked.groups, str) and groups is not None:
        raise QuestionError("this study is grouped already: ask without 'by'")
    return resolved(attrs.evolve(asked, groups=asked.groups or groups), schema, folder)


def resolved(asked: Ask, schema: Schema, folder: Callable[[], KeyFolder] | None = None) -> Ask:
    """The question with canonical names, over public keys that the schema or a file in the study's folder knows.

    Parameters
    ----------
    asked : Ask
    schema : Schema
    folder : function, optional
        Gives the folder of the study.

    Returns
    -------
    Ask

    Raises
    ------
    QuestionError
        Persons of a unit of several people; what ``keys_of`` and a file of keys refuse.
    """
    if (
        schema.person.unit
        and schema.person.household is None
        and (asked.statistic.verb == "persons" or asked.unit == "person")
    ):
        raise QuestionError(
            f"[person] column names a {schema.person.unit}, of several people: how many people there are, and what "
            "each has on average, is not known here. Ask by row, or let column name the person, beside household and "
            "per_household. Nothing was charged."
        )
    statistic = asked.statistic.renamed(lambda name: name_of(name, schema))
    source, groups = asked.source, _groups(asked, schema, folder)
    if isinstance(groups, Keys):
        source = None  # the keys say so themselves
    weights = _weights(asked, schema)
    condition = asked.condition
    if condition is not None:
        from reticent.data.transformations import bound

        bound(condition, schema)  # refused here, where the columns that questions compute are not among the declared
        condition = renamed(condition, schema.canonical) if schema.tables else condition
    told = attrs.evolve(asked, statistic=statistic, groups=groups, condition=condition, weights=weights, source=source)
    return _settled(told, schema)


def _settled(asked: Ask, schema: Schema) -> Ask:
    """The question with the options written out that the declarations of its columns settle."""
    if all(getattr(asked.statistic, name) is not None for name in asked.statistic.settles):
        return asked
    seen = extended(schema, [attrs.evolve(asked, weights=None)])
    return attrs.evolve(asked, statistic=asked.statistic.settled(seen), as_asked=asked.as_asked or asked.statistic)


def _groups(asked: Ask, schema: Schema, folder: Callable[[], KeyFolder] | None) -> Keys | str | None:
    """The public keys of a question's groups; the columns of those that its release is to find."""
    if asked.keys is not None:  # whoever made them: the schema says which groups there are
        return _again(asked.keys, schema)
    if not isinstance(asked.groups, str):
        return None
    source = asked.source
    if source is None:
        return keys_of(schema, asked.groups)
    if source.is_found:
        names = (schema.canonical(part) for part in divided(asked.groups))
        return ", ".join(name if name in schema.texts else name_of(name, schema) for name in names)
    if not source.file:
        return replace(keys_of(schema, asked.groups, None, source.groups), told=str(source))
    if folder is None:
        raise QuestionError(f"{asked.name}: a file of keys is for questions of a study. Nothing was charged.")
    columns = [schema.canonical(part) for part in divided(asked.groups)]
    cells, file = folder().listed(source.file, columns, schema)
    seen = schema
    for place, name in enumerate(columns):
        seen = _with_texts(seen, name, tuple(dict.fromkeys(cell[place] for cell in cells)))
    chosen: Sequence[Key | tuple[Key, ...]] = cells if len(columns) > 1 else [cell[0] for cell in cells]
    return replace(keys_of(seen, asked.groups, chosen, source.groups), told=str(source), file=file)


def _again(keys: Keys, schema: Schema) -> Keys:
    """Keys that were made before, as the schema has them; of texts, those that a file listed."""
    listed = dict(keys.parts) or {keys.column: keys.among}
    if keys.file is not None:
        for name in keys.columns:
            schema = _with_texts(schema, name, listed[name])
    chosen = keys.cells or (None if keys.parts else keys.among)
    return replace(keys_of(schema, keys.column, chosen, keys.touch), told=keys.told, file=keys.file)


def _with_texts(schema: Schema, name: str, keys: Sequence[Key]) -> Schema:
    """The schema in which a column of texts is a category of public keys; other columns are as they were.

    Raises
    ------
    QuestionError
        Another list of keys for a column that has one already.
    """
    if name not in schema.texts:
        declared = schema.columns.get(name)
        if isinstance(declared, Category) and declared.longest is not None and declared.among != tuple(keys):
            raise QuestionError(f"{name} has two lists of keys in one release. Ask in two. Nothing was charged.")
        return schema
    longest = schema.texts[name].longest
    if any(type(key) is str and (len(key) > longest or key != key.strip()) for key in keys):
        raise QuestionError(
            f"A key of {name} is longer than the {longest} characters that count, or has blanks at its ends. Nothing "
            "was charged."
        )
    return listed_texts(schema, name, keys)


def listed_texts(schema: Schema, name: str, keys: Sequence[Key]) -> Schema:
    """The schema in which a column of texts is a category of these keys, read as its texts are.

    Parameters
    ----------
    schema : Schema
    name : str
        The column.
    keys : sequence of str

    Returns
    -------
    Schema
    """
    text = schema.texts[name]
    columns = {**schema.columns, name: Category(tuple(keys), text.why, longest=text.longest)}
    texts = {one: declared for one, declared in schema.texts.items() if one != name}
    return replace(schema, columns=MappingProxyType(columns), texts=MappingProxyType(texts))


def _weights(asked: Ask, schema: Schema) -> str | None:
    """The canonical name of the weight of a question: its own, or that of the study.

    Raises
    ------
    QuestionError
        A question that takes no weight, in a study that has one; a weight that is no column.
    """
    if asked.weights is not None:
        return asked.weights if asked.weights == UNWEIGHTED else name_of(asked.weights, schema)
    if schema.design is None or not schema.design.weight:
        return None
    weight = schema.design.weight
    try:
        name = name_of(weight, schema)
    except QuestionError as error:
        raise QuestionError(
            f"The weight of the study, {weight}: {error} Declare the column, low = 0 and the largest weight as high."
        ) from None
    return attrs.evolve(asked, weights=name).weights


def extended(schema: Schema, asked: Sequence[Ask]) -> Schema:
    """The schema with one computed column for each expression of resolved questions, and for parts of a product."""
    for item in asked:
        if item.keys is not None and item.keys.file is not None:
            listed = dict(item.keys.parts) or {item.keys.column: item.keys.among}
            for name in item.keys.columns:
                schema = _with_texts(schema, name, listed[name])
        weights = [] if item.weighed_by is None else [item.weighed_by]
        for name in (*item.statistic.named, *([] if item.keys is None else [item.keys.column]), *weights):
            if name not in schema.columns:
                schema = _with(schema, name, tree_of(name, schema))
        for name in () if item.keys is None else item.keys.columns:
            if name not in schema.columns:
                with suppress(QuestionError):  # a part of one value is no column, and can stand in a product
                    schema = _with(schema, name, tree_of(name, schema))
    return schema


def name_of(name: str, schema: Schema) -> str:
    """The canonical name of a column or of an expression in its place."""
    return column_text(tree_of(name, schema))


def tree_of(name: str, schema: Schema) -> Tree:
    """A declared column, or the expression of the declared columns that a text says.

    Raises
    ------
    QuestionError
        A text that is neither, with the declared column it may mean.
    """
    name = schema.canonical(name)
    if name in schema.columns:
        return ColumnName(name)
    from reticent.data import transformations

    names: list[str] = []

    def canonical(one: str) -> str:
        names.append(schema.canonical(one))
        return names[-1]

    try:
        tree = renamed(formula.read(name), canonical)
        if isinstance(tree, ColumnName):
            schema.column(tree.column)
            return tree
        transformations.bound(tree, schema)
    except QuestionError:
        computed = any(sign in name for sign in "()+-*/<>=")
        if schema.person.column in names:
            raise
        if computed and names and all(one in schema.columns for one in names):  # what is done with them is wrong
            raise
        if odd_in_call(name, schema.columns) or difflib.get_close_matches(name, schema.columns) or not computed:
            schema.column(name)  # refused, with the names that there are
        raise
    if not isinstance(tree, Application):
        schema.column(name)
    return tree


def keys_of(
    schema: Schema,
    groups: str,
    among: Sequence[Key | tuple[Key, ...]] | None = None,
    touch: int | None = None,
) -> Keys:
    """Public groups of a column of keys, or of the product of several.

    A person may be in as many groups as they have kept rows; in one, where every column is declared constant
    for a person.

    Parameters
    ----------
    schema : Schema
    groups : str
        Columns, and expressions in their place, with commas between them.
    among : sequence, optional
        The keys that are wanted, of several columns one of each together; by default all.
    touch : int, optional
        A smaller public bound on the groups of a person, which is then enforced.

    Returns
    -------
    Keys
        Groups with the bound.

    Raises
    ------
    QuestionError
        Groups that are not public; more of them than can be asked for.
    PublicParameterError
        A bound that is no number of groups.
    """
    trees = [ColumnName(groups)] if groups in schema.columns else _parts(groups, schema)
    if any(isinstance(tree, ColumnName) and tree.column == schema.person.column for tree in trees):
        raise refusal(f"{schema.person.column} names the person: groups of it would be people.")
    for tree in trees:
        if isinstance(tree, ColumnName) and not _listed(schema, tree.column):
            declared = schema.columns[tree.column]
            whole_numbers = isinstance(declared, Integer) and declared.calendar is None
            ways = ["low = …, high = …"] if whole_numbers else []
            ways.append('kind = "category", among = [...]')
            raise QuestionError(
                f"The groups of '{tree.column}' might name someone. List them: {section(tree.column)} "
                f"{', or '.join(ways)}. Numbers are cut: by cut({tree.column}, 0:100:10)."
            )
    whole = trees[0] if len(trees) == 1 else Application(CROSS, tuple(trees))
    if isinstance(whole, ColumnName) and isinstance(schema.columns[whole.column], Category):
        return _keys_of_one(schema, whole.column, among, touch)
    from reticent.data import expression, expression_types

    kinds = [expression.bind(tree, schema.columns)[1] for tree in trees]
    if len(trees) == 1 and isinstance(kinds[0], expression_types.Labels):
        name = column_text(whole)
        return _keys_of_one(_with(schema, name, whole), name, among, touch)
    if len(trees) == 1 and isinstance(trees[0], ColumnName) and among is not None:
        declared = schema.columns[trees[0].column]
        if isinstance(declared, Integer) and declared.calendar is None:
            return _integers(schema, trees[0].column, declared, among, touch)
    whole = Application(CROSS, tuple(trees))
    name, lists = column_text(whole), tuple(map(expression_types.part_keys, kinds))
    parts = tuple((column_text(tree), keys) for tree, keys in zip(trees, lists, strict=True))
    crossed = _with(schema, name, whole).column(name)
    assert isinstance(crossed, Category)
    if among is None:
        return Keys(name, crossed.among, _touch(crossed, schema, crossed.among, touch), parts)
    cells = [cell if isinstance(cell, tuple) else (cell,) for cell in among]
    texts = dict(zip(product(*lists), crossed.among, strict=True))
    spelt = {cell: cell for cell in texts}  # True == 1: take the declared spelling
    for cell in cells:
        if cell not in texts:
            shown = ", ".join(map(str, cell))
            raise QuestionError(f"{shown} is no combination of the keys of {', '.join(one for one, _ in parts)}.")
    if not cells or len(set(cells)) != len(cells):
        raise QuestionError(f"name each group of {name} once, and at least one of them")
    chosen = tuple(texts[cell] for cell in cells)
    return Keys(name, chosen, _touch(crossed, schema, chosen, touch), parts, cells=tuple(spelt[cell] for cell in cells))


def _integers(
    schema: Schema, column: str, declared: Integer, among: Sequence[Key | tuple[Key, ...]], touch: int | None
) -> Keys:
    """Some integers of a bounded column, however wide its range."""
    chosen = [key for key in among if type(key) is int]
    if len(chosen) < len(among) or declared.low is None or declared.high is None:
        raise QuestionError(f"groups of {column} are integers between its declared bounds.")
    if odd := [key for key in chosen if not declared.low <= key <= declared.high]:
        raise QuestionError(f"{odd[0]} is not between the declared bounds of {column}.")
    if not 1 <= len(chosen) <= MOST_CELLS or len(set(chosen)) != len(chosen):
        raise QuestionError(f"name each group of {column} once, and 1 to {MOST_CELLS:,} of them")
    return Keys(column, tuple(chosen), _touch(declared, schema, chosen, touch))


def _with(schema: Schema, name: str, tree: Tree) -> Schema:
    from reticent.data.transformations import computed

    return computed(schema, name, tree, most_keys=MOST_CELLS)


def _listed(schema: Schema, column: str) -> bool:
    """Tell if the keys of a declared column are public."""
    declared = schema.columns[column]
    return isinstance(declared, Category) or (isinstance(declared, Integer) and declared.low is not None)


def _parts(groups: str, schema: Schema) -> list[Tree]:
    """The columns and expressions of a clause: ``ward, month(admitted)``, or their product as it is named."""
    if not all(divided(groups)):
        raise QuestionError(f"by {groups} has an empty place between commas.")
    trees = [tree_of(part, schema) for part in divided(groups)]
    if len(trees) == 1 and isinstance(trees[0], Application) and trees[0].operation == CROSS:
        trees = list(trees[0].operands)
    for tree in trees:
        if trees.count(tree) > 1:
            raise QuestionError(f"by {groups} names {column_text(tree)} twice.")
    return trees


def _keys_of_one(schema: Schema, column: str, among: Sequence[Key | tuple[Key, ...]] | None, touch: int | None) -> Keys:
    """Keys of one column with a public list, or some of them."""
    declared = schema.column(column)
    assert isinstance(declared, Category)
    chosen = declared.among if among is None else tuple(among)
    spelt: dict[object, Key] = {key: key for key in declared.among}  # True == 1: take the declared spelling
    for key in chosen:
        if isinstance(key, tuple) or not isinstance(key, Hashable) or key not in spelt:
            more = f" and {len(spelt) - MOST_SHOWN:,} more" if len(spelt) > MOST_SHOWN else ""
            listed = ", ".join(map(str, declared.among[:MOST_SHOWN])) + more
            raise QuestionError(f"{key!r} is not among the declared values of {column}: {listed}.")
    picked = tuple(spelt[key] for key in chosen)
    if not picked or len(set(picked)) != len(picked):
        raise QuestionError(f"name each group of {column} once, and at least one of them")
    return Keys(column, picked, _touch(declared, schema, picked, touch))


def _touch(declared: Category | Integer, schema: Schema, chosen: Sequence[Key], groups: int | None) -> int:
    """The most groups that one person can be in."""
    most = 1 if declared.constant else min(len(chosen), schema.person.rows)
    if groups is None:
        return most
    if type(groups) is not int or groups < 1:
        raise PublicParameterError(f"groups must be a whole number >= 1, got {groups!r}")
    return min(most, groups)


__all__ = ["extended", "keys_of", "name_of", "resolved", "tree_of"]


def name_accepted(refused: QuestionError, asked: Sequence[Ask], accept: Callable[[Ask], object]) -> None:
    """Let a refusal for missing bounds name those questions without bounds that the study accepts in its place.

    Parameters
    ----------
    refused : QuestionError
        Its words are changed.
    asked : sequence of Ask
        Of the release that was refused.
    accept : function of a question
        The plan of that question; a refusal where the study does not accept it.
    """
    told = str(refused)
    item = next((one for one in asked if told.startswith(one.statistic.name)), None)
    if item is None:
        return
    found = []
    for text in refused.instead:
        with suppress(Refusal):
            other = attrs.evolve(item, statistic=parse(text).statistic, as_asked=None, totals=False)
            accept(other)
            found.append(str(other))
    refused.args = (told.replace(words_of_instead(refused.instead), words_of_instead(found)),)


def together_words(refused: QuestionError, asked: Sequence[Ask], accept: Callable[[Sequence[Ask]], object]) -> str:
    """The words of a refusal for too few values, with the one question that is accepted in place of several quantiles.

    Parameters
    ----------
    refused : QuestionError
    asked : sequence of Ask
        Of the release that was refused.
    accept : function of questions
        The plan of those questions; a refusal where the study does not accept them.

    Returns
    -------
    str
    """
    told = str(refused)
    for joint, found in joint_questions(asked):
        if any(told.startswith(asked[place].name) for place in found):
            with suppress(Refusal):
                accept([joint, *(one for place, one in enumerate(asked) if place not in found)])
                start, end, _ = told.rpartition(" Nothing was charged.")
                return f"{start} So does one question for all levels: {joint.name}.{end}"
    return told


def joint_questions(asked: Sequence[Ask]) -> list[tuple[Ask, list[int]]]:
    """One question for each set of quantiles of one column that share all but their levels, with their places."""
    from reticent.statistics.quantiles.quantiles import Quantiles
    from reticent.statistics.quantiles.rank_statistic import RankStatistic

    alike: dict[Ask, list[int]] = {}
    for place, item in enumerate(asked):
        one = item.statistic
        if isinstance(one, RankStatistic) and one.method == "auto" and item.epsilon is None:
            joint = Quantiles(one.column, (Fraction(1, 2),), low=one.low, high=one.high, interval=one.interval)
            alike.setdefault(attrs.evolve(item, statistic=joint, as_asked=None), []).append(place)
    made = []
    for item, found in alike.items():
        levels = sorted({level for place in found for level in getattr(asked[place].statistic, "levels", ())})
        whole = attrs.evolve(item.statistic, **{"levels": levels})
        made += [(attrs.evolve(item, statistic=whole), found)] if len(found) > 1 else []
    return made
