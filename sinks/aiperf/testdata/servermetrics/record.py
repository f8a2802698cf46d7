#!/usr/bin/env python3
"""Makes the files of this folder with AIPerf 0.13.0's own code: record.py

Pages of metrics at given times go through its parser, its accumulator and its
exporters. Nothing here computes a statistic.
"""
import asyncio, json, math, os, pathlib
from types import SimpleNamespace as NS
from unittest.mock import MagicMock

from aiperf.common.accumulator_protocols import ExportContext
from aiperf.common.enums import CreditPhase, ServerMetricsFormat
from aiperf.server_metrics.accumulator import ServerMetricsAccumulator
from aiperf.server_metrics.csv_exporter import ServerMetricsCsvExporter
from aiperf.server_metrics.data_collector import ServerMetricsDataCollector
from aiperf.server_metrics.json_exporter import ServerMetricsJsonExporter
from aiperf.server_metrics.parquet_exporter import ServerMetricsParquetExporter

HERE = pathlib.Path(__file__).parent
T0, MS = 1_795_448_700_123_456_000, 1_000_000
EDGES = (0.001, 0.01, 0.05, 0.1, 0.25, 1.0, 2.5)


def page(k, done):
    """What a server says after `done` requests; k varies the gauges."""
    out = []
    add = out.append
    add("# HELP vllm:num_requests_running Number of requests in model execution batches.\n# TYPE vllm:num_requests_running gauge")
    for engine in (0, 1):
        add('vllm:num_requests_running{engine="%d",model_name="m"} %.1f' % (engine, (k * (3 + engine)) % 5))
    add("# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.\n# TYPE vllm:kv_cache_usage_perc gauge")
    add('vllm:kv_cache_usage_perc{engine="0",model_name="m"} %r' % round(0.013 * (k % 7), 6))
    add("# HELP vllm:generation_tokens_total Number of generation tokens processed.\n# TYPE vllm:generation_tokens_total counter")
    add('vllm:generation_tokens_total{engine="0",model_name="m"} %.1f' % (done * 16))
    add("# HELP vllm:request_success_total Count of successfully processed requests.\n# TYPE vllm:request_success_total counter")
    for why, share in (("length", 1), ("stop", 0)):
        add('vllm:request_success_total{finished_reason="%s",model_name="m"} %.1f' % (why, done * share))
    add("# HELP restarts_total Falls back to nothing once.\n# TYPE restarts_total counter")
    add("restarts_total %d" % (done if k < 9 else done - 15))
    for name, help, scale in (("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", 1.0), ("vllm:iteration_tokens_total", "Histogram of number of tokens per engine_step.", 300.0)):
        add("# HELP %s %s\n# TYPE %s histogram" % (name, help, name))
        values = [scale * (0.02 + 0.011 * ((i * 7) % 13)) for i in range(done)]
        for e in EDGES:
            add('%s_bucket{le="%r",model_name="m"} %.1f' % (name, e * scale, sum(v <= e * scale for v in values)))
        add('%s_bucket{le="+Inf",model_name="m"} %.1f' % (name, done))
        add('%s_count{model_name="m"} %.1f\n%s_sum{model_name="m"} %r' % (name, done, name, math.fsum(values)))
    add("# HELP idle_seconds Never observed.\n# TYPE idle_seconds histogram")
    add('idle_seconds_bucket{le="0.5"} 0.0\nidle_seconds_bucket{le="+Inf"} 0.0\nidle_seconds_count 0.0\nidle_seconds_sum 0.0')
    add("# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n# TYPE vllm:cache_config_info gauge")
    add('vllm:cache_config_info{block_size="16",num_gpu_blocks="1024"} 1.0')
    add("# HELP gpu_power_usage Power draw (in W).\n# TYPE gpu_power_usage gauge\ngpu_power_usage %r" % (100.0 + 10 * (k % 3)))
    add("untyped_thing %d" % (k % 4))
    add("# HELP rpc_seconds A summary.\n# TYPE rpc_seconds summary")
    add('rpc_seconds{quantile="0.5"} 0.2\nrpc_seconds_sum %d\nrpc_seconds_count %d' % (done, done))
    if k > 3:
        add("# HELP late_queue Comes later. In milliseconds.\n# TYPE late_queue gauge\nlate_queue %d" % k)
    return "\n".join(out) + "\n"


# time in ms since T0, phase, requests done
LOOKS = [(0, None, 0), (350, "warmup", 1), (700, "warmup", 3), (995, "warmup", 5), (1000, "profiling", 5), (1333, "profiling", 9), (1666, "profiling", 14), (2000, "profiling", 14),
         (2333, "profiling", 21), (2666, "profiling", 27), (3000, "profiling", 33), (3333, "profiling", 38), (3410, "profiling", 40)]
START, END, WARM = T0 + 1000 * MS, T0 + 3400 * MS, (T0 + 350 * MS, T0 + 990 * MS)
URL = "http://127.0.0.1:8000/metrics"


async def main():
    cfg = MagicMock()
    cfg.server_metrics.enabled, cfg.server_metrics.formats, cfg.server_metrics_formats = True, list(ServerMetricsFormat), list(ServerMetricsFormat)
    cfg.server_metrics_disabled, cfg.artifacts.slice_duration = False, 0.5
    cfg.model_dump.return_value = {}
    run = NS(cfg=cfg, benchmark_id="4dec3190c4b4")
    acc = ServerMetricsAccumulator.__new__(ServerMetricsAccumulator)
    probe = MagicMock()
    probe.run = run
    try:
        acc.__init__(run)
    except Exception:
        from aiperf.server_metrics.storage import ServerMetricsHierarchy
        from aiperf.common.growable_array import GrowableArray
        import numpy as np
        acc.run, acc._server_metrics_hierarchy, acc._slice_duration = run, ServerMetricsHierarchy(), 0.5
        acc._timestamps_ns = GrowableArray(initial_capacity=1024, dtype=np.int64)
        acc._last_warmup_record_ns, acc._phase_captures, acc._last_phase_signature = None, {}, None
        acc._current_synthetic_phase_index, acc._next_synthetic_phase_index, acc._synthetic_phase_indices = None, -2, {}
    col = ServerMetricsDataCollector(endpoint_url=URL, collection_interval=0.333, reachability_timeout=1, record_callback=None, error_callback=None)
    last, lines, slim = None, [], []
    for k, (at, phase, done) in enumerate(LOOKS):
        body = page(k if k != 7 else 6, done)
        took = (4 + k % 3) * MS
        lines.append(json.dumps({"t_ns": at * MS, "took_ns": took, "body": body}))
        fetch = NS(text=body, content_type=None, trace_timing=NS(first_byte_ns=T0 + at * MS, start_ns=T0 + at * MS - took, start_perf_ns=0, first_byte_perf_ns=took, end_perf_ns=took, latency_ns=took), is_duplicate=body == last)
        rec = col._parse_metrics_to_records(fetch)
        index, prof = {"warmup": (0, None), "profiling": (1, 0), None: (None, None)}[phase]
        rec = rec.model_copy(update=dict(endpoint_latency_ns=took, request_sent_ns=T0 + at * MS - took, first_byte_ns=T0 + at * MS, timestamp_ns=T0 + at * MS, is_duplicate=body == last,
                             benchmark_phase=CreditPhase(phase) if phase else None, phase_index=index, profiling_index=prof, phase_name=phase, phase_kind=phase))
        last = body
        await acc.process_server_metrics_record(rec)
        if not rec.is_duplicate:
            slim.append(rec.to_slim().model_dump_json(exclude_none=True))
    (HERE / "pages.jsonl").write_text("\n".join(lines) + "\n")
    (HERE / "server_metrics_export.jsonl").write_text("\n".join(slim) + "\n")
    acc._export_parquet_widened = MagicMock(side_effect=lambda *_: asyncio.sleep(0))
    res = await acc.export_results(ExportContext(start_ns=START, end_ns=END, warmup_start_ns=WARM[0], warmup_end_ns=WARM[1], error_summary=[]))
    for cls, name in ((ServerMetricsJsonExporter, "server_metrics_export.json"), (ServerMetricsCsvExporter, "server_metrics_export.csv")):
        x = cls.__new__(cls)
        x._server_metrics_results, x._cfg = res, cfg
        x.debug = lambda *a: None
        (HERE / name).write_text(x._generate_content(), newline="")
    from aiperf.common.models import TimeRangeFilter
    x = ServerMetricsParquetExporter.__new__(ServerMetricsParquetExporter)
    x._accumulator, x.run, x._time_filter = acc, run, TimeRangeFilter(start_ns=START, end_ns=T0 + LOOKS[-1][0] * MS)
    labels = x._discover_all_label_keys() - x._get_reserved_names()
    names = x._build_pyarrow_schema(labels).names
    with open(HERE / "parquet_rows.jsonl", "w") as f:
        f.write(json.dumps(names) + "\n")
        for row in x._collect_all_rows(labels):
            f.write(json.dumps([row.get(n) for n in names]) + "\n")

asyncio.run(main())
