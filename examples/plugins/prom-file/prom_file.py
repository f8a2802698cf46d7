"""An exporter: makes of the finished results a file for Prometheus's textfile collector.

It speaks JSON lines over stdin and stdout, needs nothing but Python, and is a frame to
copy: change export().
"""

import json
import os
import sys

NAME = "metrics.prom"


def export(directory):
    """Writes files into the result directory, and gives their names."""
    with open(os.path.join(directory, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    lines = []
    for cell in summary["cells"]:
        for tag, stats in sorted(cell["metrics"].items()):
            for stat, value in sorted(stats.items()):
                labels = f"cell={json.dumps(cell['label'])},stat={json.dumps(stat)}"
                lines.append(f"aiperf_{tag}{{{labels}}} {value['mean']}\n")
    with open(os.path.join(directory, NAME), "w", encoding="utf-8") as file:
        file.writelines(lines)
    return [NAME]


def main():
    hello = json.loads(sys.stdin.readline())
    say({"aiperf": 1, "kind": "exporter", "name": hello["name"], "version": "1.0"})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            say({"id": asked["id"], "files": export(asked["export"]["directory"])})
        except (OSError, ValueError, KeyError) as error:
            say({"id": asked["id"], "error": f"{type(error).__name__}: {error}"})


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
