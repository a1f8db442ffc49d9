"""Time zones that an engine does not know are refused before the charge: the self-test converts times of each.

That engines know the zones here is tested beside them, in ``test_postgres`` and ``test_spark``.
"""

from __future__ import annotations

import zoneinfo
from typing import Any

import pytest

import reticent as rt
from reticent import calendar
from reticent.data import table as tables
from reticent.data.dates import datetime
from reticent.data.engines.casts import _read_moment
from reticent.data.engines.duckdb import DUCKDB, DuckDBDialect
from reticent.data.engines.engine import Engine
from reticent.data.format import Limits
from reticent.data.schema import Person, Schema
from reticent.data.source import open_source
from reticent.data.table import Table, check_engine
from reticent.errors import Refusal

ZONES = ("Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "UTC")
ZONED = {f"t{nth}": datetime("2020-01-01", "2025-01-01", zone=zone) for nth, zone in enumerate(ZONES)}


def opened(engine: Engine, columns: Any = None) -> Table:
    schema = Schema(columns or ZONED, Person("add_remove"))
    rows: dict[str, list[object]] = {name: [] for name in schema.columns}
    return Table(open_source(rows, schema), schema, Limits(), None, engine=engine)


@pytest.mark.wide
def test_duckdb_converts_as_python_does() -> None:
    check_engine(opened(DUCKDB))


def test_a_zone_that_the_engine_does_not_know_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar, "_known", lambda zone: True)
    columns = {"t": datetime("2020-01-01", "2025-01-01", zone="Mars/Olympus")}
    monkeypatch.setattr(tables, "ZoneInfo", lambda zone: zoneinfo.ZoneInfo("UTC"))
    with pytest.raises(Refusal, match=r"does not know a declared time zone.*Nothing was charged"):
        check_engine(opened(DUCKDB, columns))


@pytest.mark.wide
def test_a_zone_of_other_rules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "ZoneInfo", lambda zone: zoneinfo.ZoneInfo("Asia/Tokyo"))
    with pytest.raises(Refusal, match=r"does not know a declared time zone.*Nothing was charged"):
        check_engine(opened(DUCKDB))


def test_a_table_without_zones_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Table, "run", lambda *_: pytest.fail("nothing is to be asked"))
    opened(DUCKDB, {"x": rt.real(0, 1)}).probe_zones()


def test_parts_of_times_are_found_by_their_places() -> None:
    """Each search for all parts by the pattern takes as long as ten places: it had stood there six times."""
    import ibis

    iso = calendar.Calendar(step=60, zone="Europe/Berlin")
    cells = ibis.table({"t": "string"}, name="cells")
    text = DuckDBDialect().write(cells.select(v=_read_moment(cells.t, iso)))
    year = iso.pattern.partition("(")[2][:12]
    assert text.count(year) == text.count("REGEXP_MATCHES") > 0
    assert "REGEXP_EXTRACT" in text  # the offset alone
