"""Runs a notebook's code cells in order, without Jupyter, and prints what it
found: latency by concurrency, gates by cell, doubts.

argument: the notebook. stdout: one JSON document.
"""

import contextlib
import json
import sys

names = {}
with open(sys.argv[1]) as f:
    cells = json.load(f)["cells"]
for number, cell in enumerate(cells):
    if cell["cell_type"] == "code":
        assert not cell["outputs"], f"cell {number}: a notebook is kept without outputs"
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)

latency, gates, doubts = names["latency"], names["gates"], names["doubts"]
json.dump(
    {
        "latency": {str(c): {str(q): latency.loc[c, ("ttft_ms", q)] for q in (0.5, 0.99)} for c in latency.index},
        "gates": [{gate: bool(held) for gate, held in row.items()} for _, row in gates.sort_index().iterrows()],
        "doubts": doubts.groupby("check").size().to_dict(),
    },
    sys.stdout,
)
