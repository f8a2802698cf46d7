package docgen

import (
	"fmt"
	"strings"
)

// Column is a row of docs/tables.md.
type Column struct {
	Name, Type, Unit string
	Null             bool
	Doc              string
}

// Table is a table of a result directory.
type Table struct {
	Name    string
	Row     string // what one row is
	Columns []Column
}

// question is what people ask of the tables, with its answer in three languages: at most
// three lines each.
type question struct{ ask, sql, pandas, polars string }

// readAll is what the lines in Python begin with.
const readAll = `import glob, pandas as pd, polars as pl
read = lambda table: pd.concat([pd.read_parquet(f) for f in glob.glob(f"results/*-*/{table}.parquet")])
scan = lambda table: pl.concat([pl.read_parquet(f) for f in glob.glob(f"results/*-*/{table}.parquet")], how="diagonal_relaxed")
`

// questions; TestReaders runs all of them and holds the three answers against each other.
var questions = []question{
	{
		"Which cell has the highest throughput with a p99 of TTFT below 200 ms?",
		`SELECT experiment, axis_concurrency, output_tps FROM 'results/*-*/cells.parquet'
WHERE ttft_p99_ms < 200 ORDER BY output_tps DESC LIMIT 1`,
		`read("cells").query("ttft_p99_ms < 200").nlargest(1, "output_tps")[["experiment", "axis_concurrency", "output_tps"]]`,
		`scan("cells").filter(pl.col("ttft_p99_ms") < 200).top_k(1, by="output_tps").select("experiment", "axis_concurrency", "output_tps")`,
	},
	{
		"How sure are the throughputs?",
		`SELECT experiment, cell_index, output_tps, output_tps_low, output_tps_high, trials, verdict
FROM 'results/*-*/cells.parquet' ORDER BY ALL`,
		`read("cells")[["experiment", "cell_index", "output_tps", "output_tps_low", "output_tps_high", "trials", "verdict"]]`,
		`scan("cells").select("experiment", "cell_index", pl.col("^output_tps.*$"), "trials", "verdict")`,
	},
	{
		"What does a user get at each load?",
		`SELECT experiment, axis_endpoint, axis_isl, axis_concurrency, axis_request_rate, ttft_p50_ms, itl_p50_ms, tps_user, latency_p99_ms
FROM 'results/*-*/cells.parquet' ORDER BY ALL`,
		`read("cells")[["experiment", "axis_endpoint", "axis_isl", "axis_concurrency", "axis_request_rate",
               "ttft_p50_ms", "itl_p50_ms", "tps_user", "latency_p99_ms"]]`,
		`scan("cells").select("experiment", "axis_endpoint", "axis_isl", "axis_concurrency", "axis_request_rate",
                     "ttft_p50_ms", "itl_p50_ms", "tps_user", "latency_p99_ms")`,
	},
	{
		"How do trials differ?",
		`SELECT experiment, cell_index, trial, value FROM 'results/*-*/metrics.parquet'
WHERE level = 'run' AND span = 'full' AND metric = 'time_to_first_token' AND stat = 'p99' ORDER BY ALL`,
		`read("metrics").query("level == 'run' and span == 'full' and metric == 'time_to_first_token' and stat == 'p99'")[
    ["experiment", "cell_index", "trial", "value"]]`,
		`scan("metrics").filter(level="run", span="full", metric="time_to_first_token", stat="p99").select(
    "experiment", "cell_index", "trial", "value")`,
	},
	{
		"What failed, and how often?",
		`SELECT status, error_kind, error_message, count(*) AS n FROM 'results/*-*/requests.parquet'
WHERE status <> 'ok' GROUP BY ALL ORDER BY n DESC`,
		`read("requests").query("status != 'ok'").groupby(["status", "error_kind", "error_message"], dropna=False).size().reset_index(name="n")`,
		`scan("requests").filter(pl.col("status") != "ok").group_by("status", "error_kind", "error_message").len("n")`,
	},
	{
		"When did it fail?",
		`SELECT experiment, sent_ns // 1000000000 AS second, count(*) AS sent, count(*) FILTER (status <> 'ok') AS failed
FROM 'results/*-*/requests.parquet' GROUP BY ALL ORDER BY ALL`,
		`read("requests").assign(second=lambda r: r.sent_ns // 10**9, failed=lambda r: r.status != "ok").groupby(
    ["experiment", "second"], dropna=False, as_index=False).agg(sent=("failed", "size"), failed=("failed", "sum"))`,
		`scan("requests").group_by("experiment", second=pl.col("sent_ns") // 10**9).agg(
    sent=pl.len(), failed=(pl.col("status") != "ok").sum())`,
	},
	{
		"Which requests were the slowest?",
		`SELECT experiment, request_id, session_id, turn, url, isl, osl, latency_ms FROM 'results/*-*/requests.parquet'
WHERE status = 'ok' ORDER BY latency_ms DESC LIMIT 10`,
		`read("requests").query("status == 'ok'").nlargest(10, "latency_ms")[
    ["experiment", "request_id", "session_id", "turn", "url", "isl", "osl", "latency_ms"]]`,
		`scan("requests").filter(status="ok").top_k(10, by="latency_ms").select(
    "experiment", "request_id", "session_id", "turn", "url", "isl", "osl", "latency_ms")`,
	},
	{
		"Where did an answer stop longest?",
		`SELECT experiment, request_id, chunk, gap_ms FROM 'results/*-*/chunks.parquet' ORDER BY gap_ms DESC NULLS LAST LIMIT 10`,
		`read("chunks").nlargest(10, "gap_ms")[["experiment", "request_id", "chunk", "gap_ms"]]`,
		`scan("chunks").top_k(10, by="gap_ms").select("experiment", "request_id", "chunk", "gap_ms")`,
	},
	{
		"How much of the prompts did the server's cache know?",
		`SELECT experiment, cell_index, sum(cached_tokens) / sum(usage_prompt_tokens) AS known
FROM 'results/*-*/requests.parquet' WHERE in_window GROUP BY ALL ORDER BY ALL`,
		`read("requests").query("in_window").groupby(["experiment", "cell_index"], as_index=False)[
    ["cached_tokens", "usage_prompt_tokens"]].sum(min_count=1).eval("known = cached_tokens / usage_prompt_tokens")`,
		`scan("requests").filter("in_window").group_by("experiment", "cell_index").agg(
    known=pl.when(pl.col("cached_tokens").count() > 0).then(pl.col("cached_tokens").sum() / pl.col("usage_prompt_tokens").sum()))`,
	},
	{
		"What is held against the measurement?",
		`SELECT experiment, cell_index, "check", verdict, detail FROM 'results/*-*/checks.parquet' WHERE verdict <> 'pass' ORDER BY ALL`,
		`read("checks").query("verdict != 'pass'")[["experiment", "cell_index", "check", "verdict", "detail"]]`,
		`scan("checks").filter(pl.col("verdict") != "pass").select("experiment", "cell_index", "check", "verdict", "detail")`,
	},
}

// asked is the part of the page about the questions.
func asked() string {
	var b strings.Builder
	b.WriteString("## Ten questions\n\n" +
		"Each is answered over all results at once, in DuckDB, pandas and polars. With experiments of different axes, `SELECT *`\n" +
		"needs `read_parquet('results/*-*/cells.parquet', union_by_name = true)`. The lines in Python begin with\n\n" +
		"```python\n" + readAll + "```\n\n")
	for _, q := range questions {
		fmt.Fprintf(&b, "### %s\n\n```sql\n%s\n```\n\n```python\n%s\n%s\n```\n\n", q.ask, q.sql, q.pandas, q.polars)
	}
	return b.String()
}

// Tables is docs/tables.md. A column without a sentence is an error, so that
// none is added in silence.
func Tables(tables []Table) (string, error) {
	var b strings.Builder
	b.WriteString(Mark("sinks/columns.go"))
	b.WriteString("# Tables\n\n" +
		"Each table is a file in the result directory, as Parquet, and as Arrow and CSV as far as `tables.formats` says. A null is a\n" +
		"value that was not measured or does not apply; it is never 0 and never NaN. Columns ending in `_ns` count nanoseconds on\n" +
		"the monotonic clock since T0, which is `aiperf.t0_unix_ns` in the file's metadata. Every axis of the sweep has a column `axis_NAME`; `axis_concurrency`,\n" +
		"`axis_request_rate`, `axis_isl`, `axis_osl`, `axis_model` and `axis_endpoint` are always there. A column keeps its meaning within a schema version, which\n" +
		"is in the file's metadata. In a CSV file an apostrophe precedes a text that a spreadsheet would take for a formula (`=`, `+`, `-`, `@`),\n" +
		"and requests.csv gives times in ms, and tokens/s, to the thousandth: its columns in ns, and the other formats, have every digit.\n\n" +
		"Every request that was due has a row in requests, even one that was never sent; [metrics.md](metrics.md#how-requests-end) says\n" +
		"which requests each count and share includes.\n\n" +
		"Percentiles of the steady window, and averages of times other than request_latency, are those of the requests with `steady`. Its rates,\n" +
		"and averages and standard deviations of lengths in tokens, weigh each successful request by w, the part of it between `steady_start_ns`\n" +
		"and `steady_end_ns`:\n\n" +
		"- of an answer that came in several reads, the part of its events in chunks (content, reasoning, tool) that arrived then; an event\n" +
		"  counts as spread over the time since the read before, and those of the first read count at their `t_ns`;\n" +
		"- of any other answer, the share of its time from `sent_ns` to `end_ns`.\n\n" +
		"Then request_throughput is Σ w / window, output_token_throughput is Σ w · osl / window (plus the events of answers that were cut off),\n" +
		"the average of a length x is Σ w · x / Σ w, and the average of request_latency is the time from `sent_ns` to `last_token_ns` that lies\n" +
		"inside, over these requests, / Σ w: throughput × average latency is what was in flight. In the full window every w is 1.\n\n")
	b.WriteString(asked())
	for _, t := range tables {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", t.Name, t.Row)
		var rows [][]string
		for _, c := range t.Columns {
			if c.Doc == "" {
				return "", fmt.Errorf("column %s.%s: say in its literal what it is", t.Name, c.Name)
			}
			null := ""
			if c.Null {
				null = "yes"
			}
			rows = append(rows, []string{code(c.Name), c.Type, c.Unit, null, c.Doc})
		}
		b.WriteString(table([]string{"column", "type", "unit", "null", "what it is"}, rows))
	}
	return b.String(), nil
}
