"""Reads a page of metrics on stdin with prometheus_client's parser, and prints its samples."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

out = {}
for family in text_string_to_metric_families(sys.stdin.read()):
    for s in family.samples:
        labels = ",".join(f"{k}={v}" for k, v in sorted(s.labels.items()))
        out[f"{s.name}|{labels}"] = s.value
print(json.dumps(out))
