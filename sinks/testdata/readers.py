"""Reads result directories with pyarrow, pandas, polars and DuckDB.

    readers.py DIR     DIR/results/alpha-1, DIR/results/beta-1 and DIR/want.json

want.json holds what the writer knows: row counts, nulls, quantiles, types.
Prints every difference; exits 1 if there is one.
"""

import ast
import json
import os
import re
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

os.chdir(sys.argv[1])
want = json.load(open("want.json"))
bad = []


def eq(what, got, expected):
    if got != expected:
        bad.append(f"{what}: got {got!r}, want {expected!r}")


def near(what, got, expected):
    if len(got) != len(expected) or any(abs(g - e) > 1e-9 * max(1, abs(e)) for g, e in zip(got, expected)):
        bad.append(f"{what}: got {got!r}, want {expected!r}")


TABLES = ["requests", "chunks", "runs", "cells", "metrics", "checks"]
for e in ("alpha", "beta"):
    for t in TABLES:
        path, rows, where = f"results/{e}-1/{t}.parquet", want[e]["rows"][t], f"{e}/{t}"
        table = pq.read_table(path)
        eq(where + " pyarrow rows", table.num_rows, rows)
        eq(where + " pandas rows", len(pd.read_parquet(path)), rows)
        eq(where + " polars rows", pl.read_parquet(path).height, rows)
        eq(where + " duckdb rows", duckdb.sql(f"SELECT count(*) FROM '{path}'").fetchall()[0][0], rows)
        same = feather.read_table(f"results/{e}-1/{t}.arrow")
        eq(where + " arrow file", same.equals(table.cast(same.schema)) or same.to_pylist() == table.to_pylist(), True)
        from_csv = pd.read_csv(f"results/{e}-1/{t}.csv")
        kept = rows if t != "metrics" else duckdb.sql(f"SELECT count(*) FROM '{path}' WHERE level = 'cell'").fetchall()[0][0]
        eq(where + " csv", (len(from_csv), list(from_csv.columns)), (kept, table.column_names))

    # One type and one meaning of null per column, in every reader.
    requests = pq.read_table(f"results/{e}-1/requests.parquet")
    for name, kind in want["types"].items():
        eq(f"{e} type of {name}", str(requests.schema.field(name).type), kind)
    eq(e + " unit", requests.schema.field("sent_ns").metadata, {b"unit": b"ns"})
    eq(e + " units", json.loads(requests.schema.metadata[b"aiperf.units"])["ttft_ms"], "ms")
    eq(e + " schema", requests.schema.metadata[b"aiperf.schema"], b"requests/4")
    nulls = want[e]["nulls"]
    frame, lazy = pd.read_parquet(f"results/{e}-1/requests.parquet"), pl.read_parquet(f"results/{e}-1/requests.parquet")
    for name, n in nulls.items():
        eq(f"{e} pyarrow nulls of {name}", requests[name].null_count, n)
        eq(f"{e} pandas nulls of {name}", int(frame[name].isna().sum()), n)
        eq(f"{e} polars nulls of {name}", lazy[name].null_count(), n)
    zeros = want[e]["temperature_zero"]
    eq(e + " zero is not null (pandas)", int((frame.axis_temperature == 0).sum()), zeros)
    eq(e + " zero is not null (polars)", int((lazy["axis_temperature"] == 0).sum()), zeros)
    eq(e + " pandas start_time", str(frame.start_time.dtype), "datetime64[ns, UTC]")
    eq(e + " pandas start", frame.start_time.min().value, want[e]["start_min"])
    kept = pd.read_parquet(f"results/{e}-1/requests.parquet", dtype_backend="pyarrow")
    eq(e + " pandas keeps integers", str(kept.osl.dtype), "int32[pyarrow]")

    # The quantiles of three readers are ours.
    for c, q in want[e]["ttft"].items():
        ok = frame[(frame.status == "ok") & frame.in_window & (frame.axis_concurrency == int(c))].ttft_ms
        near(f"{e} pandas quantiles at {c}", list(ok.quantile([0.5, 0.99])), q)
        pol = lazy.filter((pl.col("status") == "ok") & pl.col("in_window") & (pl.col("axis_concurrency") == int(c)))["ttft_ms"]
        near(f"{e} polars quantiles at {c}", [pol.quantile(x, "linear") for x in (0.5, 0.99)], q)

# A journal is an Arrow stream; read batch by batch it serves a running run too.
stream, n = ipc.open_stream(pa.OSFile("results/alpha-1/stream.arrow")), 0
while True:
    try:
        n += stream.read_next_batch().num_rows
    except (StopIteration, OSError):
        break
eq("journal rows", n, want["journal"])

# The lines of the documentation, unchanged.
lines = [
    "SELECT experiment, axis_concurrency, quantile_cont(ttft_ms,[.5,.99]) FROM 'results/*-*/requests.parquet' WHERE status='ok' AND in_window GROUP BY ALL ORDER BY ALL;",
    "PIVOT (FROM 'results/*-*/metrics.parquet' WHERE level='cell' AND metric='time_to_first_token') ON experiment USING first(value) GROUP BY axis_endpoint, axis_concurrency, stat;",
    "SELECT axis_concurrency, quantile_cont(gap_ms,[.5,.99,.999]) FROM 'results/*-*/chunks.parquet' GROUP BY 1 ORDER BY 1;",
    "SELECT (sent_ns//1e9)::int AS sec, avg((status<>'ok')::int) AS err, quantile_cont(ttft_ms,.99) FROM 'results/*-*/requests.parquet' GROUP BY 1 ORDER BY 1;",
    "SELECT axis_concurrency, avg((ttft_ms<150 AND itl_ms<9 AND status='ok')::int) FROM 'results/*-*/requests.parquet' GROUP BY 1;",
    "SELECT * FROM read_parquet('results/*-*/checks.parquet', union_by_name=true) WHERE verdict<>'pass';",
]
out = [duckdb.sql(line).fetchall() for line in lines]
got = {(e, str(c)): q for e, c, q in out[0]}
eq("line 1 groups", sorted(got), sorted((e, c) for e in ("alpha", "beta") for c in want[e]["ttft"]))
for (e, c), q in got.items():
    near(f"line 1 {e} at {c}", q, want[e]["ttft"][c])
eq("line 2", sorted(out[1]), sorted(("candidate", int(c), "p99", 70.25, 70.25) for c in want["alpha"]["ttft"]))
for c, q in out[2]:
    near(f"line 3 at {c}", q, want["gaps"][str(c)])
eq("line 3 groups", sorted(str(c) for c, _ in out[2]), sorted(want["gaps"]))
eq("line 4 seconds", [r[0] for r in out[3]], want["seconds"])
near("line 4 errors", [r[1] for r in out[3]], want["errors"])
near("line 5", [r[1] for r in sorted(out[4])], want["good"])
eq("line 6", len(out[5]), want["doubts"])

# The ten questions of the documentation: DuckDB, pandas and polars say the same.
def plain(v):
    if v is None or v is pd.NA or v != v:
        return None
    v = v.item() if hasattr(v, "item") else v
    return float(f"{v:.12g}") if isinstance(v, (int, float)) else v


def table(frame, columns):
    if isinstance(frame, pl.DataFrame):
        rows = frame.select(columns).rows()
    else:
        rows = frame[columns].itertuples(index=False)
    return sorted(([plain(v) for v in row] for row in rows), key=repr)


page = open(sys.argv[2], encoding="utf-8").read().split("## Ten questions\n")[1].split("\n## ")[0]
blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.S)
exec(blocks[0][1])
eq("questions", [kind for kind, _ in blocks], ["python"] + 10 * ["sql", "python"])
answers = []
for i in range(10):
    sql, (pandas, polars) = blocks[2 * i + 1][1], ast.parse(blocks[2 * i + 2][1]).body
    of = f"question {i + 1}"
    eq(of + ": lines", [x for x in (sql.count("\n"), *(e.end_lineno - e.lineno + 1 for e in (pandas, polars))) if x > 3], [])
    answer = duckdb.sql(sql)
    columns, rows = answer.columns, answer.fetchall()
    if "LIMIT" in sql:  # which of two equal ones is first is not said
        columns, rows = columns[-1:], [row[-1:] for row in rows]
    rows = sorted(([plain(v) for v in row] for row in rows), key=repr)
    eq(of + " has an answer", len(rows) > 0, True)
    for name, e in (("pandas", pandas), ("polars", polars)):
        eq(f"{of} in {name}", table(eval(compile(ast.Expression(e.value), of, "eval")), columns), rows)
    answers.append(answer.fetchall() or duckdb.sql(sql).fetchall())
most = max(int(c) for c in want["alpha"]["ttft"])
eq("question 1", [r[1:] for r in answers[0]], [(most, 70.25 + len(want["alpha"]["ttft"]) - 1)])
eq("question 2", answers[1][0][2:], (70.25, 69.0, None, 2, "VALID"))

# Experiments with different axes of their own lie side by side.
both = duckdb.sql(
    "SELECT experiment, count(*), count(axis_alpha_only), count(axis_beta_only) "
    "FROM read_parquet('results/*-*/requests.parquet', union_by_name=true) GROUP BY 1 ORDER BY 1"
).fetchall()
a, b = want["alpha"]["rows"]["requests"], want["beta"]["rows"]["requests"]
eq("union by name", both, [("alpha", a, a, 0), ("beta", b, 0, b)])
paths = [f"results/{e}-1/requests.parquet" for e in ("alpha", "beta")]
diagonal = pl.concat([pl.scan_parquet(p) for p in paths], how="diagonal").collect()
eq("polars diagonal", (diagonal.height, diagonal["axis_alpha_only"].count(), diagonal["axis_beta_only"].count()), (a + b, a, b))
schema = pa.unify_schemas([pq.read_schema(p).remove_metadata() for p in paths])
eq("pyarrow dataset", ds.dataset(paths, schema=schema).count_rows(), a + b)

for line in bad:
    print("DIFFERS", line)
print(f"{len(bad)} differences")
sys.exit(1 if bad else 0)
