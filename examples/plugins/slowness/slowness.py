"""Metrics: figures of all requests of a run, which no single one has.

It speaks JSON lines over stdin and stdout, needs nothing but Python, and is a frame to
copy: change figures(), and the columns and metrics of the manifest.
"""

import json
import statistics
import sys


def figures(columns):
    """What the requests of one window say; None where there is nothing to say."""
    took = [
        latency
        for status, latency in zip(columns["status"], columns["latency_ms"])
        if status == "ok" and latency is not None
    ]
    if not took:
        return {"slow_share": None, "slowest_ms": None}
    median = statistics.median(took)
    return {"slow_share": sum(t > 2 * median for t in took) / len(took), "slowest_ms": max(took)}


def main():
    hello = json.loads(sys.stdin.readline())
    say({"aiperf": 1, "kind": "metric", "name": hello["name"], "version": "1.0"})
    seen = {"status": [], "latency_ms": []}
    for line in sys.stdin:
        asked = json.loads(line)
        if "columns" in asked:  # some requests of the window
            for name, values in asked["columns"].items():
                seen[name] += values
            say({"id": asked["id"]})
        else:  # these were all
            say({"id": asked["id"], "figures": figures(seen)})
            seen = {name: [] for name in seen}


def say(message):
    sys.stdout.write(json.dumps(message, allow_nan=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
