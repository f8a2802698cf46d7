"""Makes testdata/pairs again: result files of real clients, in pairs.

    python3 pairs.py AIPERF TOKENIZER [TOOL...]

Each client is run against the built-in server with one command twice (a1, a2), with drawn
lengths and other seeds (drawn1, 2, 3), and with one thing changed. Answers, addresses and paths
are left out of what is kept. vllm is taken from the PATH; sglang from the python3 there.
"""

import json
import os
import subprocess
import sys
import tempfile

BASE = {"isl": 64, "osl": 16, "requests": 40, "concurrency": 4, "spread": 0, "seed": 0, "model": "demo",
        "server": "ttft=5ms&itl=1ms"}
PAIRS = {
    "a1": {}, "a2": {},
    "drawn1": {"spread": 0.4, "seed": 11}, "drawn2": {"spread": 0.4, "seed": 12}, "drawn3": {"spread": 0.4, "seed": 13},
    "requests": {"requests": 60}, "concurrency": {"concurrency": 8}, "isl": {"isl": 96}, "osl": {"osl": 24},
    "model": {"model": "other"}, "failures": {"server": BASE["server"] + "&error_rate=0.25&seed=5"},
}
LEFT_OUT = ("generated_texts", "itls", "queue_times")


def vllm(k, url, tokenizer, out):
    return ["vllm", "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
            "--base-url", url, "--model", k["model"], "--tokenizer", tokenizer, "--dataset-name", "random",
            "--random-input-len", k["isl"], "--random-output-len", k["osl"], "--random-range-ratio", k["spread"],
            "--ignore-eos", "--num-prompts", k["requests"], "--max-concurrency", k["concurrency"], "--seed", k["seed"],
            "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,99", "--disable-tqdm",
            "--save-result", "--save-detailed", "--result-dir", os.path.dirname(out),
            "--result-filename", os.path.basename(out)]


def sglang(k, url, tokenizer, out):
    return ["python3", "-m", "sglang.benchmark.serving", "--backend", "sglang-oai-chat", "--base-url", url,
            "--model", k["model"], "--tokenizer", tokenizer, "--dataset-name", "random-ids",
            "--random-input-len", k["isl"], "--random-output-len", k["osl"], "--random-range-ratio", 1 - k["spread"],
            "--num-prompts", k["requests"], "--max-concurrency", k["concurrency"], "--seed", k["seed"],
            "--disable-tqdm", "--output-details", "--output-file", out]


def kept(doc):
    for name in LEFT_OUT:
        doc.pop(name, None)
    if "tokenizer_id" in doc:
        doc["tokenizer_id"] = "tok"
    doc["errors"] = [e.strip().splitlines()[-1][:60] if e else "" for e in doc.get("errors", [])]
    return doc


def main(aiperf, tokenizer, tools):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pairs")
    for command in tools:
        folder = os.path.join(here, command.__name__)
        os.makedirs(folder, exist_ok=True)
        for name, change in PAIRS.items():
            k = dict(BASE, **change)
            words = "mock:?" + k["server"] + "&tokenizer=" + tokenizer
            with tempfile.TemporaryDirectory() as scratch, subprocess.Popen(
                    [aiperf, "mock-server", words], stdout=subprocess.PIPE, text=True) as server:
                try:
                    url, out = server.stdout.readline().split()[-1], os.path.join(scratch, "result.json")
                    line = [str(w) for w in command(k, url, tokenizer, out)]
                    subprocess.run(line, cwd=scratch, env=dict(os.environ, HF_HUB_OFFLINE="1"), timeout=600, check=True)
                    with open(out) as f:
                        doc = kept(json.loads(f.read()))
                finally:
                    server.terminate()
            with open(os.path.join(folder, name + ".json"), "w") as f:
                f.write(json.dumps(doc) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    known = {"vllm": vllm, "sglang": sglang}
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), [known[t] for t in sys.argv[3:] or known])
