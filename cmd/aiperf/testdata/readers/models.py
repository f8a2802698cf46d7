"""Reads the files below a folder with AIPerf's own models: models.py FOLDER.

Prints a line for each file that they refuse, and how many were read of how
many folders. A metric
that AIPerf does not know must at least look like one of its.
"""

import json
import pathlib
import sys

from aiperf.common.models.dataset_models import InputsFile
from aiperf.common.models.export_models import JsonExportData, JsonMetricResult, TimesliceCollectionExportData
from aiperf.common.models.record_models import MetricRecordInfo, RawRecordInfo
from aiperf.common.models.server_metrics_models import ServerMetricsExportData, SlimRecord
from aiperf.common.models.telemetry_models import TelemetryRecord
from aiperf.config.resolution.plan import BenchmarkRun
from aiperf.orchestrator.aggregation.confidence import ConfidenceMetric


def summary(raw):
    for value in (JsonExportData.model_validate_json(raw).model_extra or {}).values():
        JsonMetricResult.model_validate(value)


def slices(raw):
    for part in TimesliceCollectionExportData.model_validate_json(raw).timeslices:
        for value in (part.model_extra or {}).values():
            JsonMetricResult.model_validate(value)


def over_runs(raw):
    for value in json.loads(raw)["metrics"].values():
        ConfidenceMetric(**value)  # a missing key and an unknown one are errors


def lines(model):
    return lambda raw: [model.model_validate_json(line) for line in raw.splitlines()]


def kind(path):
    name = path.name
    if name == "inputs.json":
        return InputsFile.model_validate_json
    if name == "profile_export_aiperf_aggregate.json":
        return over_runs
    if name == "run_config.json":
        return lambda raw: BenchmarkRun.model_validate(json.loads(raw))
    if name.endswith(".json") and raw_keys(path) >= {"metrics_phase", "metrics"}:
        return ServerMetricsExportData.model_validate_json
    if name.endswith(".jsonl") and raw_keys(path) >= {"endpoint_url", "metrics"}:
        return lines(SlimRecord)
    if name.endswith(".jsonl") and raw_keys(path) >= {"gpu_index", "telemetry_data"}:
        return lines(TelemetryRecord)
    if name.endswith("_raw.jsonl"):
        return lines(RawRecordInfo)
    if name.endswith("_timeslices.json"):
        return slices
    if name.endswith(".jsonl") and raw_keys(path) >= {"metadata", "metrics"}:
        return lines(MetricRecordInfo)
    if name.endswith(".json") and raw_keys(path) >= {"schema_version", "aiperf_version", "input_config"}:
        return summary  # whatever --profile-export-file calls it
    return None


def raw_keys(path):
    with open(path, "rb") as f:
        text = f.readline() if path.suffix == ".jsonl" else f.read()
    try:
        value = json.loads(text)
    except ValueError:
        return set()
    return set(value) if isinstance(value, dict) else set()


root, read = pathlib.Path(sys.argv[1]), []
for path in sorted(root.rglob("*")):
    reader = kind(path) if path.is_file() and path.suffix in (".json", ".jsonl") else None
    if reader is None:
        continue
    read.append(path.relative_to(root).parts[0])
    try:
        reader(path.read_bytes())
    except Exception as e:  # whatever a model says is a finding
        print(f"{path.relative_to(root)}: {type(e).__name__}: {' '.join(str(e).split())[:400]}")
print(len(read), len(set(read)))
