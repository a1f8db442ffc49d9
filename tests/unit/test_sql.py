"""SELECT statements as questions: what each word asks, and what no word gives."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest

import reticent as rt
from reticent.data.joined_table import JoinedTable
from reticent.data.joins import with_tables
from reticent.data.schema import Category, Column, Integer, Person, Real, Schema, Text
from reticent.errors import QuestionError, Refusal
from reticent.sql.output import GroupKey, IntervalEnd, Quotient, WeightedSum
from reticent.sql.statement import SelectStatement, read

SCHEMA = Schema(
    {
        "cost": Real(Fraction(0), Fraction(1000)),
        "age": Integer(0, 120),
        "Ward": Category(("north", "south")),
        "old": Category((False, True)),
        "born": rt.date("1900-01-01", "2020-12-31"),
        "seen": rt.date("2020-01-01", "2024-12-31"),
    },
    Person("add_remove", "who", 3),
    texts={"drug": Text()},
)


def asks(text: str) -> list[str]:
    return [str(ask) for ask in read(text, SCHEMA, ("study", "visits")).asks]


def refused(text: str) -> str:
    with pytest.raises(QuestionError) as caught:
        read(text, SCHEMA)
    assert str(caught.value).endswith("Nothing was charged.")
    return str(caught.value)


AGGREGATES = {
    "count(*)": "count",
    "COUNT(cost)": "count where cost is not missing",
    "count(distinct who)": "persons",
    "count_if(age > 3)": "count where age > 3",
    "sum(cost)": "sum(cost)",
    "avg(age)": "mean(age)",
    "var_samp(cost)": "variance(cost)",
    "variance(cost)": "variance(cost)",
    "var(cost)": "variance(cost)",
    "stddev(cost)": "sd(cost)",
    "std(cost)": "sd(cost)",
    "count(1)": "count",
    "sum(if(age > 3, cost, 0))": "sum(case when age > 3 then cost else 0 end)",
    "approx_percentile(cost, 0.9)": "quantile(cost, 0.9)",
    "quantile(cost, 0.9)": "quantile(cost, 0.9)",
    "median(cost)": "median(cost)",
    "percentile_cont(0.9) within group (order by cost)": "quantile(cost, 0.9)",
    "percentile_cont(0.9) within group (order by cost desc)": "quantile(cost, 0.1)",
    "quantile_cont(cost, 0.25)": "quantile(cost, 0.25)",
    "avg(cost) filter (where age between 18 and 65)": "mean(cost) where age >= 18 and age <= 65",
    "avg(v.COST)": "mean(cost)",
}


@pytest.mark.parametrize(("sql", "question"), AGGREGATES.items())
def test_each_aggregate_is_a_question(sql: str, question: str) -> None:
    assert asks(f"select {sql} from visits v") == [question]


CONDITIONS = {
    "age >= 65": "age >= 65",
    "ward = 'north'": 'Ward = "north"',
    "ward in ('north', 'south') and not old": 'Ward in ("north", "south") and not old',
    "ward not in ('north')": 'Ward not in ("north")',
    "cost is null or age is not null": "cost is missing or age is not missing",
    "case when age > 3 then cost else 0 end > 2": "case when age > 3 then cost else 0 end > 2",
    "case ward when 'north' then 1 else 2 end = 1": 'case when Ward = "north" then 1 else 2 end = 1',
    "coalesce(cost, 0) + abs(age - 3) * 2 < 9.5": "coalesce(cost, 0) + abs(age - 3) * 2 < 9.5",
    "ln(cost) > sqrt(age) / 2": "log(cost) > sqrt(age) / 2",
    "least(cost, age) > greatest(age, 3)": "least(cost, age) > greatest(age, 3)",
    "left(ward, 1) <> 's'": 'left(Ward, 1) != "s"',
    "(old is true) or -age < -5": "old = true and old is not missing or 0 - age < -5",
    "floor(cost) = 3": "floor(cost) = 3",
    "seen >= date '2024-02-29' and seen < '2024-12-01'": 'seen >= "2024-02-29" and seen < "2024-12-01"',
    "year(seen) = 2024 and extract(month from seen) = 2": "year(seen) = 2024 and month(seen) = 2",
    "extract(isodow from seen) <= 5": "weekday(seen) <= 5",
    "date_diff('day', born, seen) > 30": "days(seen - born) > 30",
    "days(seen - born) > 30": "days(seen - born) > 30",
}


@pytest.mark.parametrize(("sql", "condition"), CONDITIONS.items())
def test_each_condition_is_an_expression(sql: str, condition: str) -> None:
    assert asks(f"select count(*) from study where {sql}") == [f"count where {condition}"]


def test_groups_are_named_by_column_place_or_alias() -> None:
    for group in ("ward", "1", "w", "study.ward"):
        found = read(f"select ward as w, avg(cost) from study group by {group}", SCHEMA)
        assert found.outputs[0] == ("w", GroupKey(0))
        assert [str(ask) for ask in found.asks] == ["mean(cost) by Ward"]


def test_dates_are_grouped_by_their_parts() -> None:
    text = "select date_trunc('month', seen) m, avg(cost) from study group by 1"
    assert asks(text) == ['mean(cost) by trunc(seen, "month")']


SETS = {
    "ward, old": ((0, 1),),
    "(ward, old)": ((0, 1),),
    "rollup (ward, old)": ((0, 1), (0,), ()),
    "ward, old with rollup": ((0, 1), (0,), ()),
    "cube (ward, old)": ((0, 1), (0,), (1,), ()),
    "grouping sets ((ward, old), old)": ((0, 1), (1,)),
    "ward, rollup (old)": ((0, 1), (0,)),
    "rollup ((ward, old), age)": ((0, 1, 2), (0, 1), ()),
    "grouping sets (rollup (ward, old))": ((0, 1), (0,), ()),
    "rollup (1, w)": ((0, 1), (0,), ()),
    "grouping sets (())": ((),),
}


@pytest.mark.parametrize(("clause", "sets"), SETS.items())
def test_totals_are_the_sets_of_groups_that_are_listed(clause: str, sets: tuple[tuple[int, ...], ...]) -> None:
    keys = "" if clause == "grouping sets (())" else "old, ward as w, " if "w)" in clause else "ward, old, "
    found = read(f"select {keys}count(*) from study group by {clause}", SCHEMA)
    assert found.sets == sets
    assert str(found.asks[0]).endswith(" with totals") == (len(sets) > 1)


def test_arithmetic_on_aggregates_is_a_weighted_sum_or_a_quotient() -> None:
    text = (
        "select sum(cost) / count(*) q, 2 * avg(age) - avg(cost) / 4 + 1 d, count(*) / 10 t, interval_low(avg(age)) l"
    )
    found = read(text + ", 1 + sum(cost) / count(*) from study", SCHEMA)
    q, d, t, low, last = (output for _, output in found.outputs)
    assert q == Quotient(WeightedSum((("sum(cost)", Fraction(1)),)), WeightedSum((("count", Fraction(1)),)))
    assert d == WeightedSum((("mean(age)", Fraction(2)), ("mean(cost)", Fraction(-1, 4))), Fraction(1))
    assert t == WeightedSum((("count", Fraction(1, 10)),))
    assert low == IntervalEnd(WeightedSum((("mean(age)", Fraction(1)),)), "low")
    assert isinstance(last, Quotient)
    assert dict(last.above.weights) == {"sum(cost)": 1, "count": 1}
    assert len(found.asks) == 4  # each once, however often it stands there


def test_subqueries_name_columns_and_filter_rows() -> None:
    text = """with old_ones as (select *, cost / 100 as euros from study where age >= 65),
              dear as (select euros as e, ward from old_ones where euros > 1)
              select ward, median(e) from (select * from dear where ward = 'north') d group by d.ward"""
    assert asks(text) == ['median(cost / 100) where age >= 65 and cost / 100 > 1 and Ward = "north" by Ward']


UNIONS = {
    "select cost as c from study where age < 65 union all select cost / 2 from study where age >= 65": (
        "sum(case when age < 65 then cost else cost / 2 end) where age < 65 or age >= 65"
    ),
    "select cost as c from study where ward = 'north' union all select cost from study where ward in ('south')": (
        'sum(cost) where Ward = "north" or Ward in ("south")'
    ),
    "select cost as c from study where old union all select cost from study where not old and age > 3": (
        "sum(cost) where old or not old and age > 3"
    ),
    "select cost as c from study where 3 > age union all select 1 from study where age between 3 and 9 "
    "union all select age from study where age > 9": (
        "sum(case when 3 > age then cost when age >= 3 and age <= 9 then 1 else age end) "
        "where 3 > age or age >= 3 and age <= 9 or age > 9"
    ),
    "select cost c from study where seen < '2022-01-01' union all select cost from study where seen >= '2022-01-01'": (
        'sum(cost) where seen < "2022-01-01" or seen >= "2022-01-01"'
    ),
    "select cost as c from study where age in (1, 2) union all select cost from study where age = 3": (
        "sum(cost) where age in (1, 2) or age = 3"
    ),
}


@pytest.mark.parametrize(("rows", "question"), UNIONS.items())
def test_sides_of_a_union_that_exclude_each_other_are_one_filter(rows: str, question: str) -> None:
    assert asks(f"select sum(c) from ({rows}) t") == [question]
    assert asks(f"with t as ({rows}) select sum(c) from t") == [question]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("where age < 65", "where age <= 65 and age > 64"),
        ("where age <= 65", "where age >= 65"),
        ("where age in (1, 2)", "where age >= 2"),
        ("where ward = 'north'", "where lower(ward) = 'south'"),
        ("where ward = 'north'", "where age = 3"),
        ("where old", "where not (old and age > 3)"),
        ("where age < 3 or ward = 'north'", "where age > 3 and ward = 'south'"),
        ("", "where age = 3"),
    ],
)
def test_sides_that_a_row_could_both_pass_are_refused(one: str, other: str) -> None:
    text = f"select count(*) from (select cost from study {one} union all select cost from study {other}) t"
    assert "count twice" in refused(text)


def test_the_clause_of_googlesql_is_read() -> None:
    options = "epsilon = 0.5, delta=1e-9, privacy_unit_column='who'"
    text = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS ({options}) COUNT(*) FROM study"
    found = read(text, SCHEMA)
    assert dict(found.cost) == {"epsilon": "0.5", "delta": "1e-9"}
    assert read("select dp_interval_low(count(*)) from study", SCHEMA) is not None
    assert "privacy_unit_column is who" in refused(text.replace("'who'", "cost"))
    assert "no option max_bytes" in refused(text.replace("delta", "max_bytes"))
    groups = text.replace("delta=1e-9", "group_selection_strategy = PUBLIC_GROUPS")
    assert read(groups, SCHEMA).asks
    assert "keys(x)" in refused(groups.replace("PUBLIC_GROUPS", "LAPLACE_THRESHOLD"))
    assert "Bounds of a person" in refused(text.replace("COUNT(*)", "SUM(cost, contribution_bounds_per_row => (0, 9))"))


REFUSED = {
    "select * from study": "Rows cannot be released",
    "select count(* exclude (age)) from study": "EXCEPT",
    "select cost from study": "cannot be released",
    "select ward, count(*) from study": "stands in no GROUP BY",
    "select 1 from study": "no aggregate",
    "select count(*)": "names no table",
    "select count(*) from 'd.parquet'": "no table 'd.parquet'",
    "select count(*) from other.study": "its one name",
    "select count(*) from study, study s2": "no rows of one person alone",
    "select count(*) from study join b using (who)": "no table 'b'. Write FROM study.",
    "select count(*) from study tablesample 10%": "SAMPLE",
    "select count(*) from read_csv('x')": "by its name",
    "select count(*) from study group by all": "ALL",
    "select count(*) from study group by grouping sets (ward, old)": "the set of all its columns",
    "select count(*) from study group by rollup (ward, ward)": "stands twice",
    "select count(*) from study group by cube (age, ward, old, cost, born, seen, 1 + age)": "at most 64",
    "select count(*) from study group by rollup (count(*))": "no aggregate",
    "select ward, grouping(old), count(*) from study group by rollup (ward)": "stands in no GROUP BY",
    "select grouping(ward, old), count(*) from study group by cube (ward, old)": "takes one column",
    "select distinct count(*) from study": "DISTINCT",
    "select count(*) from study qualify 1": "QUALIFY",
    "select avg(cost) over () from study": "window",
    "select avg(distinct cost) from study": "COUNT(DISTINCT person)",
    "select count(distinct ward) from study": "counts persons",
    "select min(cost) from study": "PERCENTILE_CONT(0.01)",
    "select max(cost) from study": "PERCENTILE_CONT(0.99)",
    "select avg(avg(cost)) from study": "not of another aggregate",
    "select sum(cost) * count(*) from study": "multiplied by numbers",
    "select count(*) / 0 from study": "divides by 0",
    "select count(*) / (sum(cost) / count(*)) from study": "divided by a number",
    "select count(*) from study where count(*) > 3": "HAVING",
    "select count(*) from study where ward like 'n%'": "IN ('north', 'south')",
    "select count(*) from study where cast(ward as int) = 3": "declare the column",
    "select count(*) from study where extract(dow from seen) = 0": "ISODOW",
    "select count(*) from study where date_diff('month', born, seen) > 3": "days or hours",
    "select quantile_cont( , 0.25) from study": "operand",
    "select drug, count(*) from study group by drug": "keys(drug)",
    "select count(*) from study where age % 2 = 0": "cut classes",
    "select count(*) from study where cost = null": "IS NULL",
    "select count(*) from study where age in (select age from study)": "Write instead: a JOIN",
    "select count(*) from study where getenv('HOME') = 'x'": "GETENV",
    "select getenv('HOME') from study": "GETENV",
    "select count(*) from study where wrad = 'north'": "Did you mean Ward?",
    "select count(*) from study where \"ward\" = 'north'": "no column 'ward'",
    "select count(*) from study where case when age > 3 then true end": "ELSE",
    "select count(*) from study limit 2.5": "whole number",
    "select count(*) from study limit 2 offset 1": "OFFSET",
    "select count(*) as n, avg(age) as n from study": "Two columns are called n",
    "select count(*) as n, avg(age) as n_low from study": "n_low",
    "select count(*) as no_reply from study": "no_reply",
    "select count(*) from (select count(*) c from study) t": "outer SELECT",
    "select count(*) from (select * from study limit 5) t": "LIMIT",
    "select count(*) from (select cost / 2 from study) t": "Name what a subquery computes",
    "select count(*) from study union all select count(*) from study": "UNION of results",
    "select count(*) from (select 1 a from study where old union select 1 from study where not old) t": "UNION ALL",
    "select count(*) from (select cost from study where old intersect select cost from study) t": "AND",
    "select count(*) from (select age from study where old union all select age, cost from study where not old) t": (
        "1 and 2 columns"
    ),
    "select count(*) from (select age from study where old union all select count(*) from study where not old) t": (
        "outer SELECT"
    ),
    "select x.cost, count(*) from study group by 1": "no table 'x'",
    "copy study to 'x'": "no statistic",
    "drop table study": "no statistic",
    "select count(*) from study; select count(*) from study": "one statement",
    "": "one statement",
    "select count(*) from study where " + "(" * 400 + "age > 3" + ")" * 400: "brackets",
    "select count(*) from study where " + " and ".join(["age > 3"] * 3000): "at most",
    "pragma version": "no statistic",
    "if select count(*) from study": "IF asks for no statistic",
    "select round(avg(cost), 1) from study": "Write instead: the number as it is",
    "select corr(age, cost) from study": "test(x ~ y, kind=correlation)",
    "select regr_slope(age, cost) from study": "regress(y ~ x)",
    "select approx_count_distinct(who) from study": "COUNT(DISTINCT person)",
    "select approx_quantiles(cost, 4) from study": "PERCENTILE_CONT(0.5)",
    "select mode(ward) from study": "COUNT(*) with GROUP BY",
    "select anon_count(*) from study": "Write instead: COUNT(*).",
    "select width_bucket(cost, 0, 9, 3), count(*) from study group by 1": "CASE WHEN",
    "select rank() over (order by cost) from study": "ORDER BY and LIMIT",
    "select distinct ward from study": "Write instead: GROUP BY.",
    "select top 5 ward, count(*) from study group by ward": "Write LIMIT 5",
    "select count(*) from study fetch first 3 rows only": "Write instead: LIMIT 5",
    "select avg(datediff(seen, born)) from study": "Write DATE_DIFF('day', a, b).",
    "select count(who) from study": "COUNT(DISTINCT who) counts persons, COUNT(*) rows",
    "select count(*) from study where seen > born + interval '2 days'": "DATE_DIFF('day', a, b) > 2",
    "select count(*) from study where seen > current_date": "CURRENT_DATE is not allowed",
    "select strftime(seen, '%Y'), count(*) from study group by 1": "STRFTIME is not allowed",
    "select date_part('month', seen), count(*) from study group by 1": "EXTRACT(MONTH FROM x)",
    "select avg(power(cost, 2)) from study": "Write instead: x * x",
    "select avg(nullif(cost, 0)) from study": "FILTER (WHERE x <> 0)",
    "select sum(cost) / nullif(count(*), 0) from study": "no reply where the divisor may be 0",
    "select avg(cost) > 3 from study": "> is not allowed in arithmetic on aggregates. Write instead: HAVING",
    "select case when avg(cost) > 3 then 1 else 0 end from study": "Write instead: HAVING",
    "select sqrt(variance(cost)) from study": "Write instead: the aggregate alone",
    "select string_agg(ward, ',') from study": "STRING_AGG is not allowed",
    "select any_value(ward) from study": "ANY_VALUE is not allowed",
    "select count(*) from study where cost > (select avg(cost) from study)": "A subquery inside an expression",
    "select count(*) from study where if(age > 3, true) = true": "IF needs three parts",
    "select var(cost, age) from study": "cannot be read",
    "select avg(t) from (select who, sum(cost) t from study group by who) x": "per=person",
    "select count(*) from study where exists (select 1 from study s where s.age > 3)": "a JOIN that the study declares",
}


@pytest.mark.parametrize(("sql", "words"), REFUSED.items())
def test_what_no_release_gives_is_refused_in_words(sql: str, words: str, caplog: pytest.LogCaptureFixture) -> None:
    assert words in refused(sql)
    assert not caplog.records


TABLES = with_tables(
    SCHEMA,
    {
        "patients": (
            JoinedTable(person="pid"),
            {"age": Integer(0, 120), "sex": Category(("f", "m"))},
            {"job": Text()},
        ),
        "wards": (JoinedTable((("unit", "code"),), digest="0" * 64), {"name": Category(("N", "S"))}, {}),
        "drugs": (JoinedTable((("visit", "visit"),), "who", "inner"), {"dose": Real(Fraction(0), Fraction(9))}, {}),
    },
)
DRUGS = "join drugs d using (who, visit)"
PATIENTS = "left join patients p on v.who = p.pid"
WARDS = "join wards as w on (w.code = v.unit)"


def test_a_column_that_is_a_word_of_sql_is_told_to_stand_in_quotes() -> None:
    columns: dict[str, Column] = {"union": Category(("yes", "no")), "Body Mass (g)": Real(Fraction(0), Fraction(9))}
    schema = Schema(columns, Person("add_remove"))

    def said(text: str) -> str:
        with pytest.raises(QuestionError) as caught:
            read(text, schema)
        return str(caught.value)

    for text in ("SELECT COUNT(*) FROM study WHERE union = 'yes'", "SELECT UNION, COUNT(*) FROM study GROUP BY 1"):
        assert 'The column "union" stands in double quotes. Nothing was charged.' in said(text)
    assert 'The column "Body Mass (g)" stands in double quotes.' in said("SELECT AVG(Body Mass (g)) FROM study")
    assert "double quotes" not in said("SELECT COUNT(* FROM study WHERE \"union\" = 'yes'")
    assert read("SELECT COUNT(*) FROM study WHERE \"union\" = 'yes'", schema).asks


def joined(text: str) -> SelectStatement:
    return read(text, TABLES, ("study", "visits"))


def test_joins_are_those_that_the_study_declares() -> None:
    source = f"visits v {DRUGS} {PATIENTS} {WARDS}"
    found = joined(f"select w.name, avg(v.cost), avg(dose) from {source} where p.age > 65 group by 1")
    assert [str(ask) for ask in found.asks] == [
        "mean(cost) where patients.age > 65 by wards.name",
        "mean(drugs.dose) where patients.age > 65 by wards.name",
    ]
    assert dict(found.joined) == {"drugs": "inner", "patients": "left", "wards": "inner"}
    assert dict(joined("select count(*) from study").joined) == {"patients": "left", "wards": "left", "drugs": "inner"}
    whole = joined("select wards.name, count(sex) from study group by wards.name")
    assert [str(ask) for ask in whole.asks] == ["count where patients.sex is not missing by wards.name"]
    rows = f"select v.cost c, w.name from visits v {DRUGS} {WARDS} where v.age > 3"
    within = f"with t as ({rows}) select name, sum(c) from t group by name"
    assert [str(ask) for ask in joined(within).asks] == ["sum(cost) where age > 3 by wards.name"]
    assert dict(joined(within).joined) == {"drugs": "inner", "wards": "inner"}


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"visits v {DRUGS} left join patients p on v.who = p.who", "patients ON v.who = p.pid"),
        (f"visits v {DRUGS} left join patients p on v.who = p.pid and v.age = p.age", "v.who = p.pid"),
        (f"visits v {DRUGS} left join patients p on v.who <> p.pid", "v.who = p.pid"),
        (f"visits v {DRUGS} left join patients p on v.who = p.pid or true", "v.who = p.pid"),
        (f"visits v {DRUGS} left join patients p using (who)", "v.who = p.pid"),
        (f"visits v {DRUGS} {PATIENTS} join wards w on p.unit = w.code", "v.unit = w.code"),
        (f"visits v {DRUGS} join wards w on name = 'N'", "v.unit = w.code"),
        (f"visits v {DRUGS}, patients", "A comma between tables"),
        (f"visits v {DRUGS} join patients p", "or JOIN without ON"),
        (f"visits v {DRUGS} cross join patients p", "CROSS JOIN"),
        (f"visits v {DRUGS} natural join patients p", "NATURAL JOIN"),
        (f"visits v {DRUGS} right join patients p on v.who = p.pid", "RIGHT JOIN"),
        (f"visits v {DRUGS} full join patients p on v.who = p.pid", "FULL JOIN"),
        (f"visits v {DRUGS} semi join patients p on v.who = p.pid", "SEMI JOIN"),
        (f"visits v {DRUGS} {PATIENTS} join patients q on v.who = q.pid", "joined twice"),
        (f"visits v {DRUGS} join nurses n using (who)", "Its tables: visits, patients, wards, drugs"),
        (f"visits v {DRUGS} join (select * from study) s using (who)", "no rows of one person alone"),
        (f"visits v {DRUGS} left join patients v on v.who = v.pid", "Two tables are called v"),
        ("visits v left join drugs d using (who, visit)", "leaves out rows without drugs"),
        ("visits", "JOIN drugs ON visits.who = drugs.who AND visits.visit = drugs.visit"),
        ("patients p", "Write FROM visits JOIN patients ON visits.who = patients.pid."),
        (f"(select cost from visits v {DRUGS}) t join wards w on t.unit = w.code", "JOIN wards ON t.unit = w.code"),
        (
            f"(select cost from visits v {DRUGS} where old union all select cost from study where not old) t",
            "same ones",
        ),
    ],
)
def test_a_join_that_the_study_does_not_declare_is_refused(source: str, words: str) -> None:
    with pytest.raises(QuestionError) as caught:
        joined(f"select count(*) from {source}")
    assert words in str(caught.value)
    assert str(caught.value).endswith("Nothing was charged.")


CHAINED = with_tables(
    SCHEMA,
    {
        "patients": (JoinedTable(person="pid"), {"age": Integer(0, 120), "sex": Category(("f", "m"))}, {}),
        "wards": (JoinedTable((("patients.unit", "code"),), digest="0" * 64), {"name": Category(("N", "S"))}, {}),
        "regions": (JoinedTable((("wards.region", "region"),), digest="1" * 64), {"size": Integer(0, 9)}, {}),
        "doses": (JoinedTable((), "pid"), {"dose": Integer(0, 9)}, {}),
    },
)
SOME = "visits v join patients p on v.who = p.pid"
CHAINS = {
    f"{SOME} join wards w on p.unit = w.code join regions r on w.region = r.region": "inner, inner, inner",
    f"{SOME} left join wards w on p.unit = w.code": "inner, left",
    f"{SOME} join doses d on p.pid = d.pid": "inner, inner",
    "patients p right join visits v on v.who = p.pid": "left",
    "patients p join visits v on v.who = p.pid left join wards w on w.code = p.unit": "inner, left",
    "visits v join (select pid, unit u from patients) p on v.who = p.pid join wards w on p.u = w.code": "inner, inner",
    "(select * from visits where cost > 2) v left join patients p on v.who = p.pid": "left",
    "(select who, cost from visits) v join (select * from patients) p on v.who = p.pid": "inner",
}


@pytest.mark.parametrize(("source", "how"), CHAINS.items())
def test_a_table_is_reached_by_a_column_of_one_that_is_joined_before(source: str, how: str) -> None:
    found = read(f"select count(*) n from {source}", CHAINED, ("study", "visits"))
    assert ", ".join(found.joined.values()) == how
    assert str(found.asks[0]) == ("count where cost > 2" if "cost > 2" in source else "count")


def test_persons_behind_a_key_are_counted_by_the_column_of_their_table() -> None:
    person = Person("add_remove", "patients.pid", 3)
    columns: dict[str, Column] = {"age": Integer(0, 120)}
    tables: dict[str, tuple[JoinedTable, dict[str, Column], dict[str, Text]]] = {
        "patients": (JoinedTable((("bed", "bed"),), "pid", "inner", most_keys=1), columns, {})
    }
    source = "from visits v join patients p on v.bed = p.bed"

    def ask(one: str, main: dict[str, Column]) -> str:
        schema = with_tables(Schema(main, person), tables)
        return str(read(f"select count(distinct {one}) {source}", schema, ("study", "visits")).asks[0])

    assert {ask(one, {}) for one in ("pid", "p.pid", "P.PID")} == {"persons"}
    with pytest.raises(QuestionError, match="counts persons"):
        ask("bed", {})
    same: dict[str, Column] = {"pid": Integer(0, 9)}  # the main table has a column of that name, too
    assert {ask(one, same) for one in ("p.pid", "P.PID")} == {"persons"}
    for one in ("v.pid", "pid"):
        with pytest.raises(QuestionError, match=r"counts persons: COUNT\(DISTINCT patients\.pid\)"):
            ask(one, same)


def test_a_subquery_of_a_further_table_is_joined_with_its_names_and_its_condition() -> None:
    text = """with old as (select pid, age * 2 as twice, unit from patients where age >= 65),
                   dear as (select * from visits where cost > 100)
              select w.name, avg(o.twice), avg(v.cost) from dear v join old o on v.who = o.pid
              left join wards w on o.unit = w.code group by w.name"""
    asked = [str(ask) for ask in read(text, CHAINED, ("study", "visits")).asks]
    assert asked == [
        f"mean({x}) where cost > 100 and patients.age >= 65 by wards.name" for x in ("patients.age * 2", "cost")
    ]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("visits v left join patients p on v.who = p.pid join doses d on p.pid = d.pid", "ON v.who = d.pid"),
        (f"{SOME} join wards w on v.unit = w.code", "ON p.unit = w.code"),
        ("visits v join wards w on patients.unit = w.code", "ON patients.unit = w.code"),
        ("patients p left join visits v on v.who = p.pid", "LEFT JOIN keeps rows of patients without one of visits"),
        ("visits v right join patients p on v.who = p.pid", "write LEFT JOIN patients"),
        ("patients p full join visits v on v.who = p.pid", "LEFT JOIN patients ON visits.who = p.pid"),
        ("patients p join wards w on p.unit = w.code", "Write FROM visits JOIN patients"),
        ("patients p join visits v on v.who = p.pid join visits w on w.who = p.pid", "beside other rows of visits"),
        ("(select * from patients) p", "Write FROM visits JOIN patients"),
        ("visits v left join (select * from patients where age > 3) p on v.who = p.pid", "after the joins"),
        ("visits v join (select age from patients) p on v.who = p.pid", "ON v.who = p.pid"),
        ("visits v join (select pid, count(*) n from patients group by pid) p on v.who = p.pid", "GROUP BY is not"),
        ("(select age from patients union all select cost from visits) t", "these are of several"),
    ],
)
def test_rows_of_another_table_or_another_way_to_it_are_refused(source: str, words: str) -> None:
    with pytest.raises(QuestionError, match=re.escape(words)):
        read(f"select count(*) from {source}", CHAINED, ("study", "visits"))


def test_a_name_of_several_tables_is_said_with_one() -> None:
    source = f"from visits v {DRUGS} {PATIENTS}"
    for text, words in (
        (f"select avg(age) {source}", "Say v.age or p.age"),
        (f"select avg(w.name) {source}", "no table 'w'"),
        (f"select avg(p.cost) {source}", "no column 'cost'"),
        (f"select avg(name) {source}", "name is a column of wards: JOIN wards ON visits.unit = wards.code."),
        (f"select count(unit) {source}", "unit joins tables and is not declared: [columns.unit]"),
        (f"select job, count(*) {source} group by job", "keys(patients.job)"),
    ):
        with pytest.raises(QuestionError, match=re.escape(words)):
            joined(text)
    assert str(joined(f"select avg(P.AGE) {source}").asks[0]) == "mean(patients.age)"


def test_a_name_without_a_table_is_that_of_the_main_one_alone_and_of_using() -> None:
    """``FROM study`` names one table, and a column of USING is one column."""
    assert str(joined("select avg(age) from study").asks[0]) == "mean(age)"
    columns: dict[str, Column] = {"Ward": Category(("north", "south")), "beds": Real(Fraction(0), Fraction(9))}
    schema = with_tables(SCHEMA, {"rooms": (JoinedTable((("Ward", "Ward"),), digest="0" * 64), columns, {})})

    def ask(source: str) -> str:
        found = read(f"select ward, avg(beds) from {source} group by ward", schema, ("study", "visits"))
        return str(found.asks[0])

    for source in ("study", "visits join rooms using (ward)", "visits v left join rooms r using (WARD)"):
        assert ask(source) == "mean(rooms.beds) by Ward"
    with pytest.raises(QuestionError, match=r"Say v.ward or r.ward"):
        ask("visits v join rooms r on v.ward = r.ward")


TEXT = r"""
select count(*) avg(cost) sum(age) from study where group by having order limit ( ) , ward age cost
'north' 3 0.5 - * / + = < >= and or not in is null between case when then else end distinct as x study.
with over interval_low median filter within union join null true '' ; -- /* */ " 1e999 0x1 \ :: ? $1 @ %
|| like array[1] {'a':1} exists any all lambda x -> unnest pivot qualify sample cast try extract date
interval '1' day rollup cube grouping sets grouping all except intersect left join inner on using
patients wards v. p. w. = drugs , regions doses p.unit w.code r.region v.who p.pid right full outer visits
"""
PIECES = TEXT.split()


@pytest.mark.wide
@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.audit, id="many")])
def test_scrambled_statements_end_in_a_statement_or_in_words(count: int) -> None:
    """Statements with pieces dropped, doubled and put elsewhere: nothing but a statement or a typed refusal."""
    dice = random.Random(20081)
    tables = ["", DRUGS, PATIENTS, WARDS, f"{DRUGS} {PATIENTS} {WARDS}"]
    good = [
        *(f"select w.name , avg(v.cost) , count(p.sex) from visits v {one} group by w.name" for one in tables),
        *(f"select count(*) , avg(v.cost) from {source} where v.cost > 3" for source in CHAINS),
        *(f"select ward , {a} from study group by ward" for a in AGGREGATES),
        *(f"select count(*) from study where {c}" for c in CONDITIONS),
        *(f"select sum(c) from ( {rows} ) t" for rows in UNIONS),
        *(f"select grouping(ward) g, ward, sum(cost) / count(*) from study group by {sets}" for sets in SETS),
    ]
    read_well = 0
    for _ in range(count):
        with suppress(Refusal):
            text = scrambled(dice, dice.choice(good))
            assert isinstance(read(text, dice.choice((SCHEMA, TABLES, CHAINED)), ("study", "visits")), SelectStatement)
            read_well += 1
    assert read_well > count / 10


def scrambled(dice: random.Random, text: str) -> str:
    """A statement with pieces dropped, doubled and put elsewhere."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    for _ in range(dice.randrange(4)):
        place = dice.randrange(len(words))
        words[place : place + dice.randrange(2)] = [dice.choice(PIECES)] * dice.randrange(3)
        words = words or ["select"]
    return " ".join(words)


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore::UserWarning")  # most of them are too cheap for a reply
@pytest.mark.parametrize("count", [60, pytest.param(20_000, marks=pytest.mark.audit, id="many")])
def test_scrambled_statements_are_answered_or_refused_without_a_cell(count: int) -> None:
    """Planned and released, over a table whose every text and number of a person has a mark of its own."""
    people = range(300)
    cells: dict[str, list[object]] = {
        "who": [f"zq{one}" for one in people],
        "cost": [one + 0.7319157 for one in people],
        "age": [one % 99 for one in people],
        "Ward": [("north", "south", "zqx")[one % 3] for one in people],
        "old": [one % 2 == 0 for one in people],
        "born": [f"19{50 + one % 50}-03-01" for one in people],
        "seen": ["2022-07-19"] * 300,
        "drug": ["zqd"] * 300,
    }
    person = Person("add_remove", "who", 3)
    columns: dict[str, Any] = {**SCHEMA.columns, "drug": rt.text()}
    study = rt.study(cells, person="who", rows_each=person.rows, adjacency="add_remove", columns=columns, budget=10)
    dice = random.Random(58)
    good = [
        *(f"select ward , {a} from study v group by ward having count(*) > 3 order by 2 limit 2" for a in AGGREGATES),
        *(f"select count(*) - 2 * avg(cost) n , interval_low(avg(age)) from study where {c}" for c in CONDITIONS),
        *(f"select sum(c) / count(*) from ( {rows} ) t" for rows in UNIONS),
        *(f"select grouping(ward) g , ward , sum(cost) / count(*) from study group by {sets}" for sets in SETS),
    ]
    answered = 0
    for place in range(count):
        text = scrambled(dice, dice.choice(good))
        try:
            if place % 3 or not text.lower().startswith("select"):
                said = str(study.plan(text, epsilon=1))
            else:
                found = study.sql(text, epsilon=Fraction(1, 10_000))
                said = f"{found}{found.frame()}{found._repr_html_()}"
                answered += 1
        except Refusal as refused:
            said = str(refused)
        assert not re.search(r"zq|\.7319157", said), text
    assert answered > count / 20
