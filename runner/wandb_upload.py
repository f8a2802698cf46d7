"""Files the results of aiperf in this folder with Weights & Biases (pip install wandb)."""

import json
from pathlib import Path

import wandb

here = Path(__file__).resolve().parent
data = json.loads((here / "wandb_export.json").read_text())
for number, table in enumerate(data["tables"]):
    several = len(data["tables"]) > 1
    name = data["run_name"] or None
    if several:
        name = " · ".join(filter(None, [name, table["name"]]))
    run = wandb.init(
        project=data["project"], entity=data["entity"] or None, name=name, tags=[tag[:64] for tag in data["tags"]],
        config=data["config"], dir=str(here), group=data["artifact"] if several else None, reinit=True,
    )
    run.log({"summary_metrics": wandb.Table(columns=data["columns"], data=table["rows"])})
    for row in table["rows"]:
        run.summary[row[0]] = row[1]
    if number == 0:
        artifact = wandb.Artifact(data["artifact"], type="aiperf-run")
        for file in data["files"]:
            if (here / file).is_file():
                artifact.add_file(str(here / file), name=file)
        run.log_artifact(artifact)
    run.finish()
