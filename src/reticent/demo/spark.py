"""The demonstration with its rows in Spark: ``make demo-spark``, on a Connect server of its own that ends with it."""

from __future__ import annotations

import sys
import uuid
from importlib import resources
from pathlib import Path

from reticent.demo.run import STUDY, TABLE, Demonstration, prepare, publish
from reticent.demo.spark_server import connect_server, lacking


def fresh_name() -> str:
    """A name in the catalog that no earlier demonstration had: by its name a table is one source, with one ledger."""
    return f"spark_catalog.default.randhie_{uuid.uuid4().hex}"


def demonstrate(out: Path | None = None) -> Demonstration:
    """Publish what the demonstration's study file plans, from a table in the catalog of this call's own server."""
    import pyarrow.parquet as pq
    from pyspark.sql import SparkSession

    folder, name = prepare(out), fresh_name()
    with connect_server() as address:
        session = SparkSession.builder.remote(address).getOrCreate()
        try:
            with resources.as_file(resources.files("reticent.demo") / TABLE) as path:
                session.createDataFrame(pq.read_table(path)).write.saveAsTable(name)
            file = folder / STUDY
            file.write_text(file.read_text("utf-8").replace(f'"{TABLE}"', f'"spark:{name}"'), "utf-8")
            return publish(folder)
        finally:
            session.stop()


def main() -> int:
    """Run the demonstration; the exit status is 2 where Java or pyspark is missing."""
    if missing := lacking():
        print(f"Spark needs Java and pyspark: {missing}", file=sys.stderr)
        return 2
    found = demonstrate(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    print(found.release)
    print(f"wrote {', '.join(str(file) for file in found.files)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
