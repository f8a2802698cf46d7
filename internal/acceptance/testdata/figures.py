"""Runs a notebook's code cells in order, without Jupyter, and prints what it
found and how large its figures are.

argument: the notebook. stdout: one JSON document.
"""

import contextlib
import io
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

figures = []


def show():
    image = io.BytesIO()
    plt.savefig(image, format="png")
    figures.append(len(image.getvalue()))
    plt.close("all")


plt.show = show
names = {}
with open(sys.argv[1]) as f:
    cells = json.load(f)["cells"]
for number, cell in enumerate(cells):
    if cell["cell_type"] == "code":
        assert not cell["outputs"], f"cell {number}: a notebook is kept without outputs"
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)

found = {"figures": figures}
if "latency" in names:
    found["latency"] = names["latency"].filter(names["latency"]["metric"] == "time_to_first_token").height
if "change" in names:
    change = names["change"]
    found["said"] = sorted(set(change[(change["metric"] == "time_to_first_token") & (change["stat"] == "p50")]["said"]))
    found["rows"] = len(change)
if "fidelity" in names:
    found["requests"], found["exact"] = names["fidelity"][0], names["lengths"][0][5]
if "joined" in names:
    joined = names["joined"].dropna(subset=["running"])
    found["joined"], found["busiest"] = len(joined), joined["waiting"].max()
if "gaps" in names:
    found["gaps"] = names["gaps"][0]
json.dump(found, sys.stdout)
