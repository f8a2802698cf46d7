"""Recomputes the tables of a result directory from its requests, with numpy.

What a shared read leaves open of a run's inter token latency is taken from its
run.json.

Prints {"problems": [...], "values": n, "estimates": m}: what does not hold, how
many values of runs and how many estimates of cells were recomputed.
"""

import collections
import glob
import json
import math
import sys

import numpy as np
import pyarrow.parquet as pq

directory = sys.argv[1]
tables = {name: pq.read_table(f"{directory}/{name}.parquet").to_pylist() for name in ("requests", "chunks", "runs", "cells", "metrics")}
problems = []


def near(what, have, want, relative=1e-9):
    if have is None or abs(have - want) > relative * max(1, abs(want)):
        problems.append(f"{what}: {have}, want {want}")


def check(what, holds):
    if not holds:
        problems.append(what)


# Requests: their keys, and their times out of their stamps.
runs = {r["run_id"]: r for r in tables["runs"]}
cells = {c["cell"] for c in tables["cells"]}
requests, of_run = {}, collections.defaultdict(list)
for q in tables["requests"]:
    key = (q["run_id"], q["phase"], q["request_id"])
    check(f"{key}: twice", key not in requests)
    check(f"{key}: a run and a cell that are there", q["run_id"] in runs and q["cell"] in cells)
    requests[key] = q
    of_run[q["run_id"]].append(q)
    stamps = [q[s] for s in ("intended_ns", "admitted_ns", "sent_ns", "first_byte_ns", "first_token_ns", "last_token_ns", "end_ns") if q[s] is not None]
    check(f"{key}: stamps {stamps} run backwards", stamps == sorted(stamps))
    if q["status"] == "ok" and q["first_token_ns"] is not None:
        near(f"{key}: ttft_ms", q["ttft_ms"], (q["first_token_ns"] - q["sent_ns"]) / 1e6)
        near(f"{key}: latency_ms", q["latency_ms"], (q["last_token_ns"] - q["sent_ns"]) / 1e6)
        near(f"{key}: ttft_from_intended_ms", q["ttft_from_intended_ms"], (q["first_token_ns"] - q["intended_ns"]) / 1e6)
        near(f"{key}: itl_ms", q["itl_ms"], (q["last_token_ns"] - q["first_token_ns"]) / 1e6 / (q["osl"] - 1))

# Chunks: those of a request, in order, first and last as the request says.
of_request = collections.defaultdict(list)
for c in tables["chunks"]:
    of_request[c["run_id"], c["phase"], c["request_id"]].append(c)
check("requests and chunks are of the same requests", set(of_request) == {k for k, q in requests.items() if q["chunks"]})
for key, chunks in of_request.items():
    q, content = requests[key], [c for c in chunks if c["kind"] in ("content", "reasoning", "tool")]
    check(f"{key}: ordinals of chunks", [c["chunk"] for c in chunks] == list(range(len(chunks))))
    check(f"{key}: {q['chunks']} chunks, {len(content)} rows", q["chunks"] == len(content))
    check(f"{key}: first and last token", (q["first_token_ns"], q["last_token_ns"]) == (content[0]["t_ns"], content[-1]["t_ns"]))
    for a, b in zip(content, content[1:]):
        near(f"{key}: gap_ms", b["gap_ms"], (b["t_ns"] - a["t_ns"]) / 1e6, 1e-3)

# Runs: statistics of the requests that ended well in the window. Percentiles
# are numpy's linear ones, the standard deviation is that of the population.
columns = {
    "time_to_first_token": "ttft_ms", "request_latency": "latency_ms", "inter_token_latency": "itl_ms",
    "time_to_first_token_from_intended": "ttft_from_intended_ms", "request_latency_from_intended": "latency_from_intended_ms",
    "output_sequence_length": "osl", "input_sequence_length": "isl", "output_token_throughput_per_user": "tps_user",
}
statistics = {"avg": np.mean, "min": np.min, "max": np.max, "std": np.std, "sum": np.sum}


# In the steady window the rates, and the average and the standard deviation of lengths, weigh each
# request by the part of it that lies inside. Of an answer that came in several reads these are
# the parts of it that were delivered: each chunk is spread over the time since the read before,
# and those of the first read count when they came. Of any other answer it is the part of its time.
def overlap(a, b, start, end):
    return max(0, min(b, end) - max(a, start)) / (b - a)


def part(q, start, end):
    reads = collections.Counter(c["t_ns"] for c in of_request[q["run_id"], q["phase"], q["request_id"]] if c["kind"] in ("content", "reasoning", "tool"))
    if len(reads) < 2 or q["ttft_ms"] is None:
        return overlap(q["sent_ns"], q["end_ns"], start, end)
    first, *rest = sorted(reads)
    before, share = first, reads[first] * (start < first <= end)
    for at in rest:
        share += reads[at] * overlap(before, at, start, end)
        before = at
    return share / sum(reads.values())


parts = {}
for key, q in requests.items():
    run = runs[key[0]]
    if q["status"] == "ok" and q["in_window"] and run["steady_start_ns"] is not None:
        parts[key] = part(q, run["steady_start_ns"], run["steady_end_ns"])


def weighed(run, column):
    """Values and weights of all requests that lie in the steady window, in part or whole."""
    mine = [(q[column], parts[q["run_id"], q["phase"], q["request_id"]]) for q in of_run[run]
            if (q["run_id"], q["phase"], q["request_id"]) in parts and q[column] is not None]
    return np.array([v for v, _ in mine], float), np.array([w for _, w in mine], float)


def residence(run):
    """How many ms the requests with parts were under way in the steady window, up to their last content."""
    start, end = runs[run]["steady_start_ns"], runs[run]["steady_end_ns"]
    return sum(max(0, min(q["last_token_ns"], end) - max(q["sent_ns"], start)) for q in of_run[run] if (q["run_id"], q["phase"], q["request_id"]) in parts) / 1e6


def rate(m):
    """The steady rate of requests or of tokens; None for another metric."""
    column = {"request_throughput": "sent_ns", "input_token_throughput": "isl", "output_token_throughput": "osl"}.get(m["metric"])
    if m["span"] != "steady" or column is None:
        return None
    run = runs[m["run_id"]]
    data, weights = weighed(m["run_id"], column)
    total = weights.sum() if column == "sent_ns" else (data * weights).sum()
    return total / ((run["steady_end_ns"] - run["steady_start_ns"]) / 1e9)


of_runs, values = {}, 0
for m in tables["metrics"]:
    if m["level"] != "run":
        continue
    of_runs[m["run_id"], m["span"], m["metric"], m["stat"]] = m["value"]
    want = rate(m)
    if want is not None:
        near(f"{m['run_id']} {m['span']} {m['metric']} {m['stat']}", m["value"], want, 1e-6)
        values += 1
        continue
    column = columns.get(m["metric"])
    if column is None or m["stat"] not in statistics and m["stat"][0] != "p":
        continue
    counted = [q for q in of_run[m["run_id"]] if q["status"] == "ok" and q["in_window"] and (m["span"] == "full" or q["steady"])]
    data = np.array([q[column] for q in counted if q[column] is not None], float)
    if m["span"] == "steady" and m["stat"] in ("avg", "std") and column in ("isl", "osl"):
        every, weights = weighed(m["run_id"], column)
        want = np.average(every, weights=weights)
        if m["stat"] == "std":
            want = math.sqrt(np.average((every - want) ** 2, weights=weights))
    elif m["span"] == "steady" and m["stat"] == "avg" and column == "latency_ms":
        want = residence(m["run_id"]) / weighed(m["run_id"], column)[1].sum()
    elif m["stat"] in statistics:
        want = statistics[m["stat"]](data)
    else:
        digits = m["stat"][1:]
        want = np.percentile(data, float(digits[:2] + "." + digits[2:]) if len(digits) > 2 else float(digits))
    near(f"{m['run_id']} {m['span']} {m['metric']} {m['stat']}", m["value"], want, 1e-6)
    values += 1

# Cells: the geometric mean over their runs that are not INVALID, with Student's t
# at 95 % on the logarithms; where a value is 0 or less the mean, cut at 0.
critical = {2: 12.706204736432095, 3: 4.302652729696142, 4: 3.182446305284263, 5: 2.7764451051977987}
resolution = 1e-3  # of a stamp, ms
estimates = 0
allowed = sys.argv[2:] == ["allow-invalid"]
ends = {}
reports = [json.load(open(path)) for path in glob.glob(f"{directory}/**/run.json", recursive=True)]
for path in glob.glob(f"{directory}/runs.json"):
    reports += json.load(open(path))
for run in reports:
    for b in run.get("bounds") or []:
        if b["metric"] == "inter_token_latency":
            for span in ("full", "steady"):
                ends[run["run"], span, b["metric"], b["stat"]] = b["low"], b["high"]
for m in tables["metrics"]:  # a percentile of a server's histogram lies within its bucket
    if m["level"] == "run" and m["metric"].startswith("server_") and m["ci_low"] is not None:
        ends[m["run_id"], m["span"], m["metric"], m["stat"]] = m["ci_low"], m["ci_high"]


def most(m):
    """The largest value that a figure can have."""
    return 1 if m["unit"] == "ratio" and m["metric"].startswith("server_") else math.inf


def interval(trials, logarithms, m):
    scale, back = (np.log, math.exp) if logarithms else (np.array, float)
    half = critical[len(trials)] * np.std(scale(trials), ddof=1) / math.sqrt(len(trials))
    middle = scale(trials).mean()
    low, high = back(middle - half), back(middle + half)
    if not logarithms and trials.min() >= 0:
        low = max(0, low)
    high = min(most(m), high)
    if m["unit"] == "ms" and high - low < resolution:
        low, high = max(0, (low + high - resolution) / 2), (low + high + resolution) / 2
    return back(middle), low, high


def spanning(used, m, trials, low, high):
    """The interval with those of the least and the most that the trials may be."""
    for end in (0, 1):
        may = trials.copy()
        for i, r in enumerate(used):
            if (r, m["span"], m["metric"], m["stat"]) in ends:
                span = m["span"] if m["metric"].startswith("server_") else "full"
                gap = ends[r, m["span"], m["metric"], m["stat"]][end] - of_runs[r, span, m["metric"], m["stat"]]
                may[i] = max(0, trials[i] + (min(gap, 0) if end == 0 else max(gap, 0)))
        logarithms = may.min() > 0 and not m["metric"].startswith("server_")
        _, least, most = interval(may, logarithms, m)
        low, high = min(low, least), max(high, most)
    return low, high


for m in tables["metrics"]:
    if m["level"] != "cell" or m["method"] not in ("t", "log_t") or m["stat"] in ("count", "n_effective"):
        continue
    used = [r for r in runs if runs[r]["cell"] == m["cell"] and (allowed or runs[r]["verdict"] != "INVALID")]
    trials = [of_runs.get((r, m["span"], m["metric"], m["stat"])) for r in used]
    trials = np.array([v for v in trials if v is not None], float)
    what = f"{m['cell']} {m['span']} {m['metric']} {m['stat']}"
    check(f"{what}: n is {m['n']} of {len(trials)}", m["n"] == len(trials))
    middle, low, high = interval(trials, m["method"] == "log_t", m)
    if m["metric"] == "inter_token_latency" or any((r, m["span"], m["metric"], m["stat"]) in ends for r in used):
        low, high = spanning(used, m, trials, low, high)
    near(what, m["value"], middle)
    near(f"{what} low", m["ci_low"], low, 1e-6)
    near(f"{what} high", m["ci_high"], high, 1e-6)
    estimates += 1

json.dump({"problems": problems[:20], "values": values, "estimates": estimates}, sys.stdout)
