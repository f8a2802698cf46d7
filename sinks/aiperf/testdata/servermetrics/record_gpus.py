#!/usr/bin/env python3
"""Makes gpu_*.json* of this folder with AIPerf 0.13.0's own code: record_gpus.py

Pages of a DCGM exporter at given times go through its parser and its accumulator.
Nothing here computes a statistic.
"""
import asyncio, json, pathlib
from types import SimpleNamespace as NS
from unittest.mock import MagicMock

from aiperf.common.accumulator_protocols import ExportContext
from aiperf.gpu_telemetry.accumulator import GPUTelemetryAccumulator
from aiperf.gpu_telemetry.dcgm_collector import SCALING_FACTORS, DCGMTelemetryCollector
from aiperf.common.models.telemetry_models import TelemetryHierarchy

HERE = pathlib.Path(__file__).parent
T0, MS = 1_795_448_700_123_456_000, 1_000_000
URL = "http://127.0.0.1:9400/dcgm1/metrics"
LOOKS = [0, 333, 666, 999, 1333, 1666, 2000, 2333, 2666, 3000, 3333, 3410]
FIELDS = [("DCGM_FI_DEV_POWER_USAGE", "gauge", lambda k, g: 100.5 + 37.25 * ((k * 5 + g) % 11)), ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", lambda k, g: 5e6 + 70001 * k * (g + 1)),
          ("DCGM_FI_DEV_GPU_UTIL", "gauge", lambda k, g: (k * 17 + g) % 101), ("DCGM_FI_DEV_FB_USED", "gauge", lambda k, g: 40000 + 111 * k), ("DCGM_FI_DEV_GPU_TEMP", "gauge", lambda k, g: 40 + k),
          ("DCGM_FI_PROF_SM_ACTIVE", "gauge", lambda k, g: 0.01 * (k % 9) if k != 6 else float("nan")), ("DCGM_FI_DEV_XID_ERRORS", "gauge", lambda k, g: 0), ("DCGM_FI_DEV_POWER_VIOLATION", "counter", lambda k, g: 1000 * k if k < 8 else 0)]


def page(k):
    out = []
    for name, kind, of in FIELDS:
        out.append("# HELP %s x\n# TYPE %s %s" % (name, name, kind))
        for g in (0, 1):
            out.append('%s{gpu="%d",UUID="GPU-%d",pci_bus_id="00000000:0%d:00.0",device="nvidia%d",modelName="NVIDIA H200",Hostname="localhost"} %r' % (name, g, g, g + 2, g, of(k, g)))
    return "\n".join(out) + "\n"


async def main():
    col = DCGMTelemetryCollector.__new__(DCGMTelemetryCollector)
    col._scaling_factors, col._endpoint_url = SCALING_FACTORS, URL
    acc = GPUTelemetryAccumulator.__new__(GPUTelemetryAccumulator)
    acc._hierarchy = TelemetryHierarchy()
    acc._timestamps_ns = MagicMock()
    pages, lines = [], []
    for k, at in enumerate(LOOKS):
        pages.append(json.dumps({"t_ns": at * MS, "took_ns": 4 * MS, "body": page(k)}))
        for rec in col._parse_metrics_to_records(page(k)):
            rec = rec.model_copy(update={"timestamp_ns": T0 + at * MS})
            lines.append(rec.model_dump_json(exclude_none=True))
            acc._hierarchy.add_record(rec)
    data = await acc.export_results(ExportContext(start_ns=T0 + 1000 * MS, end_ns=None, error_summary=[]))
    (HERE / "gpu_pages.jsonl").write_text("\n".join(pages) + "\n")
    (HERE / "gpu_telemetry_export.jsonl").write_text("\n".join(lines) + "\n")
    (HERE / "gpu_telemetry_data.json").write_text(json.dumps(data.model_dump(mode="json", exclude_none=True)["endpoints"], indent=1) + "\n")

asyncio.run(main())
