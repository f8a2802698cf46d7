#!/usr/bin/env python3
"""Recompute the summary of one run and compare it with what the program wrote.

  recompute.py ARTIFACT_DIR SERVER_LOG [--rtol 1e-6] [--early-ms 1.0] [--late-ms X] [-v]

A. profile_export.jsonl  -> statistics  -> profile_export_aiperf.json (and the CSV)
B. server log (JSON lines)     -> truth    -> profile_export.jsonl, per X-Request-ID
   A client time shorter than the server's own span (by > --early-ms) is impossible
   and a mismatch. Excess is only reported, unless --late-ms bounds its median.
Exit 1 if any mismatch. Standard library only; nothing here depends on the writer.
"""
import argparse, csv, datetime, io, json, math, os, sys

ap = argparse.ArgumentParser()
ap.add_argument("dir"); ap.add_argument("log")
ap.add_argument("--rtol", type=float, default=1e-6)
ap.add_argument("--early-ms", type=float, default=1.0)
ap.add_argument("--late-ms", type=float, default=None)
ap.add_argument("-v", action="store_true")
A = ap.parse_args()
bad, warn, checked = [], [], 0


def find(*names):
    for n in names:
        p = os.path.join(A.dir, n)
        if os.path.exists(p):
            return p
    sys.exit("missing " + names[0])


def eq(what, got, want, rtol=None):
    """got: written by the program; want: recomputed here."""
    global checked
    checked += 1
    rtol = A.rtol if rtol is None else rtol
    if got is None or want is None:
        if got is not want:
            bad.append("%s: written %r, recomputed %r" % (what, got, want))
        return
    if not math.isclose(got, want, rel_tol=rtol, abs_tol=1e-9):
        bad.append("%s: written %.9g, recomputed %.9g (%.3g%%)" % (what, got, want, 100 * (got - want) / want if want else float("inf")))


def pct(v, q):
    v = sorted(v); i = q / 100 * (len(v) - 1); lo = math.floor(i); hi = min(lo + 1, len(v) - 1)
    return v[lo] + (v[hi] - v[lo]) * (i - lo)


def stats(v):
    m = math.fsum(v) / len(v)
    d = {"avg": m, "min": min(v), "max": max(v), "sum": math.fsum(v), "count": len(v),
         "std": math.sqrt(math.fsum((x - m) ** 2 for x in v) / len(v))}
    d.update({"p%d" % q: pct(v, q) for q in (1, 5, 10, 25, 50, 75, 90, 95, 99)})
    return d


recs = [json.loads(l) for l in open(find("profile_export.jsonl")) if l.strip()]
S = json.load(open(find("profile_export_aiperf.json")))
prof = [r for r in recs if r["metadata"].get("benchmark_phase", "profiling") == "profiling"]
ok = [r for r in prof if not r.get("error")]
err = [r for r in prof if r.get("error")]
canc = [r for r in prof if r["metadata"].get("was_cancelled")]
val = lambda r, t: r["metrics"].get(t, {}).get("value")

# --- A1 distributions ---------------------------------------------------------
cols, units = {}, {}
for r in ok:
    for t, m in (r.get("metrics") or {}).items():
        units[t] = m["unit"]
        cols.setdefault(t, []).extend(m["value"] if isinstance(m["value"], list) else [m["value"]])
for t, v in cols.items():
    if t not in S:
        warn.append("record metric %s is not in the summary" % t); continue
    if not isinstance(S[t], dict):
        continue
    if "count" not in S[t]:
        warn.append("summary %s has no distribution" % t); continue
    st = stats(v)
    if S[t]["unit"] != units[t]:
        bad.append("%s: unit %s in summary, %s in records" % (t, S[t]["unit"], units[t]))
    for k, x in S[t].items():
        if k != "unit":
            eq("%s.%s" % (t, k), x, st.get(k))
# --- A2 derived ---------------------------------------------------------------
av = lambda t: S[t]["avg"] if t in S else None
lat = [(r["metadata"]["request_start_ns"], val(r, "request_latency")) for r in ok]
exp = {"request_count": float(len(ok))}
if err:
    exp["error_request_count"] = float(len(err))
exp["completed_request_count"] = float(len(prof))
if prof:
    exp["request_error_rate"] = 100 * len(err) / len(prof)
if lat and all(l is not None for _, l in lat):
    t0 = min(r["metadata"]["request_start_ns"] for r in ok)
    dur = (max(s + l * 1e6 for s, l in lat) - t0) / 1e9
    exp["benchmark_duration"] = dur
    sums = {k: math.fsum(cols[k]) for k in ("input_sequence_length", "output_sequence_length", "output_token_count", "reasoning_token_count") if k in cols}
    if "output_sequence_length" in sums:
        exp["total_osl"] = sums["output_sequence_length"]
    if "input_sequence_length" in sums:
        exp["total_isl"] = sums["input_sequence_length"]
    if "output_token_count" in sums:
        exp["total_output_tokens"] = sums["output_token_count"]
    if "reasoning_token_count" in sums:
        exp["total_reasoning_tokens"] = sums["reasoning_token_count"]
    # rates: the peer divides by the phase window (start_time..end_time), not by benchmark_duration;
    # both denominators are accepted here, but all rates must share one and we say which.
    iso = lambda k: datetime.datetime.fromisoformat(S[k]) if S.get(k) else None
    win = (iso("end_time") - iso("start_time")).total_seconds() if iso("start_time") and iso("end_time") else dur
    rates = {"request_throughput": float(len(ok))}
    if "output_sequence_length" in sums:
        rates["output_token_throughput"] = sums["output_sequence_length"]
    if "input_sequence_length" in sums:
        rates["input_token_throughput"] = sums["input_sequence_length"]
        if "output_sequence_length" in sums:
            rates["total_token_throughput"] = sums["input_sequence_length"] + sums["output_sequence_length"]
    used = set()
    for t, num in rates.items():
        if t not in S:
            continue
        checked += 1
        den = num / S[t]["avg"]
        hit = [n for n, d in (("benchmark_duration", dur), ("start_time..end_time", win)) if math.isclose(den, d, rel_tol=1e-5, abs_tol=2e-6)]
        if not hit:
            bad.append("%s: %.9g = %.9g / %.6f s; expected / %.6f (benchmark_duration) or %.6f (window)" % (t, S[t]["avg"], num, den, dur, win))
        used.update(hit[:1])
    print("rates divide by %s; benchmark_duration %.6f s, start..end %.6f s (%.2f%% longer)" % (" and ".join(sorted(used)) or "?", dur, win, 100 * (win / dur - 1)))
    if len(used) > 1:
        bad.append("rates use different denominators")
    # time-weighted mean of requests in flight over the window, from the records alone
    if "effective_concurrency" in S and not canc and not S.get("was_cancelled"):
        busy = math.fsum((r["metadata"]["request_end_ns"] - r["metadata"]["request_start_ns"]) for r in prof) / 1e9
        eq("effective_concurrency.avg", S["effective_concurrency"]["avg"], busy / win, 1e-3)
for t, want in exp.items():
    if t not in S and not want:      # a sum of nothing may be left out
        continue
    if t in S or t not in ("input_token_throughput", "total_token_throughput", "completed_request_count", "request_error_rate"):
        eq(t + " (derived)", av(t), want, rtol=max(A.rtol, 1e-6 if t != "request_count" else 0))
# --- A3 per-record identities ---------------------------------------------------
for i, r in enumerate(ok):
    g = lambda t: val(r, t)
    L, T, O, I = (g(x) for x in ("request_latency", "time_to_first_token", "output_sequence_length", "input_sequence_length"))
    tag = "record %d " % i
    if L and O and g("e2e_output_token_throughput") is not None:
        eq(tag + "e2e_output_token_throughput", g("e2e_output_token_throughput"), O / L * 1e3)
    if T and L:
        if g("decode_duration") is not None:
            eq(tag + "decode_duration", g("decode_duration"), L - T)
        if O and O > 1 and g("inter_token_latency") is not None:
            x = (L - T) / (O - 1)
            if not math.isclose(x, g("inter_token_latency"), rel_tol=1e-6, abs_tol=1e-6):
                warn.append(tag + "inter_token_latency %.4f is not (latency-TTFT)/(OSL-1) = %.4f (per-chunk usage?)" % (g("inter_token_latency"), x))
        ic = g("inter_chunk_latency")
        if ic:
            eq(tag + "sum(ICL)=latency-TTFT", math.fsum(ic), L - T, 1e-6)
        if I and g("prefill_throughput_per_user") is not None:
            eq(tag + "prefill_throughput_per_user", g("prefill_throughput_per_user"), I / T * 1e3)
# --- A4 CSV -------------------------------------------------------------------
p = os.path.join(A.dir, "profile_export_aiperf.csv")
if os.path.exists(p):
    raw = open(p, newline="").read()
    if "\r\n" not in raw:
        bad.append("CSV has no CRLF")
    rows = list(csv.reader(io.StringIO(raw)))
    vals = [r for r in rows if r and r[0] == "Request Count"]
    if vals and "request_count" in S and float(vals[0][-1]) != S["request_count"]["avg"]:
        bad.append("CSV Request Count %s" % vals[0][-1])
    for r in rows:
        if r and r[0].startswith("Time to First Token (ms)") and "time_to_first_token" in S and abs(float(r[1]) - S["time_to_first_token"]["avg"]) > 0.0051:
            bad.append("CSV TTFT avg %s" % r[1])

# --- B server truth -------------------------------------------------------------
srv = [json.loads(l) for l in open(A.log) if l.strip()]
posts = [r for r in srv if r["n"] >= 0]
by = {}
for r in posts:
    h = {k.lower(): v for k, v in r["headers"]}
    by[h.get("x-request-id")] = r
CONTENT = ("content", "reasoning", "tool", "body")
D = {k: [] for k in ("ttft_excess_ms", "latency_excess_ms", "icl_abs_err_ms", "start_to_recv_ms", "send_excess_ms")}
zero = tot = tokbad = 0
for i, r in enumerate(prof):
    s = by.get(r["metadata"].get("x_request_id"))
    tag = "record %d " % i
    if s is None:
        if not r["metadata"].get("was_cancelled"):
            bad.append(tag + "has no request in the server log")
        continue
    D["start_to_recv_ms"].append((s["recv_ns"] + s["wall_off"] - r["metadata"]["request_start_ns"]) / 1e6)
    if r.get("error"):
        # 200 with an error is legal only for scripted in-stream failures / cancellations
        continue
    if s["status"] != 200:
        bad.append(tag + "counted as success but the server answered %d" % s["status"]); continue
    c = [x for x in s["chunks"] if x[2] in CONTENT]
    L, T, ic = val(r, "request_latency"), val(r, "time_to_first_token"), val(r, "inter_chunk_latency")
    if c and L is not None:
        truth = (c[-1][0] - s["body_ns"]) / 1e6
        D["latency_excess_ms"].append(L - truth)
        if L < truth - A.early_ms:
            bad.append(tag + "request_latency %.3f ms is shorter than the server's %.3f" % (L, truth))
    if c and T is not None and c[0][2] != "body":
        truth = (c[0][0] - s["body_ns"]) / 1e6
        D["ttft_excess_ms"].append(T - truth)
        if T < truth - A.early_ms:
            bad.append(tag + "TTFT %.3f ms is shorter than the server's %.3f" % (T, truth))
    if ic:
        g = [(b[0] - a[0]) / 1e6 for a, b in zip(c, c[1:])]
        if len(g) != len(ic):
            warn.append(tag + "%d inter-chunk gaps, server sent %d" % (len(ic), len(g)))
        else:
            D["icl_abs_err_ms"] += [abs(a - b) for a, b in zip(ic, g)]
            zero += sum(a == 0 for a in ic); tot += len(ic)
    O = val(r, "output_sequence_length")
    if O is not None and s["out_tok"] and O != s["out_tok"] and not any(x[2] == "tool" for x in c):
        tokbad += 1
prof_posts = len(prof)
print("records %d (ok %d, error %d, cancelled %d); server POSTs %d (warm-up and probes included)" % (len(prof), len(ok), len(err), len(canc), len(posts)))
for k, v in D.items():
    if v:
        print("  %-18s n=%-4d min %8.3f  median %8.3f  mean %8.3f  p99 %8.3f  max %8.3f" % (k, len(v), min(v), pct(v, 50), sum(v) / len(v), pct(v, 99), max(v)))
if tot:
    print("  inter-chunk gaps of exactly 0: %d of %d" % (zero, tot))
if tokbad:
    warn.append("output_sequence_length differs from the server's token count in %d records" % tokbad)
ks = [(s["body_ns"], max([x[0] for x in s["chunks"] if x[2] in CONTENT] or [s["end_ns"]])) for r in ok for s in [by.get(r["metadata"].get("x_request_id"))] if s]
if ks:
    d = (max(e for _, e in ks) - min(b for b, _ in ks)) / 1e9
    print("  server-side span of the successful requests %.6f s -> %.3f requests/s; written %s" % (d, len(ks) / d, av("request_throughput")))
if A.late_ms is not None:
    for k in ("ttft_excess_ms", "latency_excess_ms"):
        if D[k] and pct(D[k], 50) > A.late_ms:
            bad.append("median %s %.3f > %.3f" % (k, pct(D[k], 50), A.late_ms))
for w in warn[: None if A.v else 12]:
    print("note:", w)
for b in bad[: None if A.v else 40]:
    print("MISMATCH:", b)
print("%d values checked, %d mismatches, %d notes" % (checked, len(bad), len(warn)))
sys.exit(1 if bad else 0)
