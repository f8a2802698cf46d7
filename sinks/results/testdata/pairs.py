"""Makes testdata/pairs again: result files of real clients, in pairs.

    python3 pairs.py AIPERF TOKENIZER [TOOL[:PAIR]...]

Each client is run against the built-in server with one command twice (a1, a2), with drawn
lengths and other seeds (drawn1, 2, 3), and with one thing changed. What is kept is what a reader
of results needs: texts, addresses, paths and host names are left out, single requests are kept
in a few pairs only. The tools are taken from the PATH, sglang from the python3 there; aiperf
is NVIDIA's, while AIPERF is this program.
"""

import json
import os
import random
import re
import shutil
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
EACH = ("a1", "drawn1", "failures")  # pairs that keep single requests


def read(*path):
    with open(os.path.join(*path)) as f:
        return json.load(f)


def only(of, *names):
    return {name: of[name] for name in names if name in of}


class vllm:
    def command(k, url, tokenizer, out):
        return ["vllm", "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
                "--base-url", url, "--model", k["model"], "--tokenizer", tokenizer, "--dataset-name", "random",
                "--random-input-len", k["isl"], "--random-output-len", k["osl"], "--random-range-ratio", k["spread"],
                "--ignore-eos", "--num-prompts", k["requests"], "--max-concurrency", k["concurrency"],
                "--seed", k["seed"],
                "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,99", "--disable-tqdm",
                "--save-result", "--save-detailed", "--result-dir", out, "--result-filename", "result.json"]

    def kept(out, each):
        return kept_list(out)


class sglang:
    def command(k, url, tokenizer, out):
        return ["python3", "-m", "sglang.benchmark.serving", "--backend", "sglang-oai-chat", "--base-url", url,
                "--model", k["model"], "--tokenizer", tokenizer, "--dataset-name", "random-ids",
                "--random-input-len", k["isl"], "--random-output-len", k["osl"],
                "--random-range-ratio", 1 - k["spread"], "--num-prompts", k["requests"],
                "--max-concurrency", k["concurrency"], "--seed", k["seed"], "--disable-tqdm", "--output-details",
                "--output-file", os.path.join(out, "result.json")]

    def kept(out, each):
        return kept_list(out)


def kept_list(out):
    doc = read(out, "result.json")
    for name in ("generated_texts", "itls", "queue_times"):
        doc.pop(name, None)
    if "tokenizer_id" in doc:
        doc["tokenizer_id"] = "tok"
    doc["errors"] = [e.strip().splitlines()[-1][:60] if e else "" for e in doc.get("errors", [])]
    return doc


class guidellm:
    env = {"GUIDELLM__MAX_WORKER_PROCESSES": "1"}  # each of its processes takes seconds to start

    def command(k, url, tokenizer, out):
        drawn = ",prompt_tokens_stdev=%d,output_tokens_stdev=%d" % (k["spread"] * k["isl"], k["spread"] * k["osl"])
        return ["guidellm", "run", "--backend",
                "kind=openai_http,target=%s,model=%s,request_format=/v1/chat/completions" % (url, k["model"]),
                "--profile", "kind=concurrent,streams=%d" % k["concurrency"],
                "--constraint", "kind=max_requests,count=%d" % k["requests"],
                "--tokenizer", "kind=huggingface_auto,model=" + tokenizer, "--seed", "kind=static,value=%d" % k["seed"],
                "--data", "kind=synthetic_text,prompt_tokens=%d,output_tokens=%d" % (k["isl"], k["osl"]) +
                (drawn if k["spread"] else ""),
                "--output", "kind=json,path=" + os.path.join(out, "result.json"), "--disable-console"]

    def kept(out, each):
        doc = read(out, "result.json")
        one = doc["benchmarks"][0]
        del one["metrics"]["text"]
        for of in one["metrics"].values():
            for status in ("incomplete", "errored", "total"):
                if isinstance(of, dict) and isinstance(of.get(status), dict):
                    del of[status]
        for status, requests in one["requests"].items():
            one["requests"][status] = [guidellm.request(r) for r in requests] if each and requests else []
        spec = only(doc["config"]["spec"], "backend", "profile", "constraints", "data", "seed")
        spec["backend"] = dict(only(spec["backend"], "kind", "model", "request_format", "stream"), target="URL")
        for name in ("scheduler_metrics", "warnings"):
            one.pop(name, None)
        one["config"] = only(one["config"], "strategy", "constraints")
        one["scheduler_state"] = only(one["scheduler_state"], "created_requests", "processed_requests")
        return {"metadata": only(doc["metadata"], "guidellm_version", "python_version"), "config": {"spec": spec},
                "benchmarks": [one]}

    def request(r):
        timings = only(r["info"]["timings"], "targeted_start", "request_start", "first_token_iteration",
                       "last_token_iteration", "request_end", "token_iterations")
        error = r["info"].get("error")
        error = error and error.split("\n")[0][:60]
        return dict(only(r, "type_", "time_to_first_token_ms", "time_per_output_token_ms", "inter_token_latency_ms"),
                    info={"status": r["info"]["status"], "timings": timings, "error": error},
                    input_metrics=only(r["input_metrics"], "total_tokens"),
                    output_metrics=only(r["output_metrics"] or {}, "total_tokens"))


class aiperf:
    ends = (0, 1)  # 1 where requests failed
    env = {"HF_HUB_OFFLINE": ""}  # else it takes no folder for a tokenizer

    def command(k, url, tokenizer, out):
        return ["aiperf", "profile", "-m", k["model"], "-u", url, "--endpoint-type", "chat", "--streaming",
                "--tokenizer", tokenizer, "--isl", k["isl"], "--isl-stddev", int(k["spread"] * k["isl"]),
                "--osl", k["osl"], "--osl-stddev", int(k["spread"] * k["osl"]), "--extra-inputs", "ignore_eos:true",
                "--concurrency", k["concurrency"], "--request-count", k["requests"], "--random-seed", k["seed"],
                "--artifact-dir", out, "--ui", "none"]

    def kept(out, each):
        files = {"profile_export_aiperf.json": read(out, "profile_export_aiperf.json")}
        if each:
            with open(os.path.join(out, "profile_export.jsonl")) as f:
                files["profile_export.jsonl"] = [aiperf.record(json.loads(line)) for line in f]
        return files

    def record(r):
        r["metadata"] = only(r["metadata"], "request_start_ns", "request_ack_ns", "request_end_ns", "credit_issued_ns",
                             "benchmark_phase", "session_num", "turn_index", "was_cancelled")
        r["metrics"] = only(r["metrics"], "request_latency", "time_to_first_token", "inter_token_latency",
                            "input_sequence_length", "output_sequence_length", "output_token_count")
        if r.get("error"):
            r["error"] = dict(only(r["error"], "code", "type"), message="")
        return r


class inference_perf:
    each = EACH + ("drawn2", "drawn3")  # its summary has no standard deviations

    def command(k, url, tokenizer, out):
        def lengths(mean):
            sd = int(k["spread"] * mean)
            return {"min": mean - 2 * sd, "max": mean + 2 * sd, "mean": mean, "std_dev": sd,
                    "total_count": k["requests"]}

        config = {
            "api": {"type": "completion", "streaming": True},
            "server": {"type": "vllm", "model_name": k["model"], "base_url": url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": tokenizer},
            "data": {"type": "random", "input_distribution": lengths(k["isl"]),
                     "output_distribution": lengths(k["osl"])},
            "load": {"type": "concurrent", "num_workers": 1, "worker_max_concurrency": 100, "base_seed": k["seed"],
                     "stages": [{"num_requests": k["requests"], "concurrency_level": k["concurrency"]}]},
            "report": {"request_lifecycle": {"summary": True, "per_stage": True, "per_request": True}},
            "storage": {"local_storage": {"path": out}},
        }
        with open("config.yaml", "w") as f:
            json.dump(config, f)  # which is YAML
        return ["inference-perf", "-c", "config.yaml"]

    def kept(out, each):
        files = {"stage_0_lifecycle_metrics.json": read(out, "stage_0_lifecycle_metrics.json")}
        with open(os.path.join(out, "config.yaml")) as f:
            files["config.yaml"] = f.read()
        if each:
            files["per_request_lifecycle_metrics.json"] = [
                inference_perf.request(r) for r in read(out, "per_request_lifecycle_metrics.json")]
        return files

    def request(r):
        r["request"] = ""
        r.pop("response", None)
        (r["info"].get("response_metrics") or {}).pop("response_chunks", None)
        if r.get("error"):
            r["error"] = dict(only(r["error"], "error_type"), error_msg="")
        return r


class genai_bench:
    def command(k, url, tokenizer, out):
        scenario = "D(%d,%d)" % (k["isl"], k["osl"])
        if k["spread"]:
            scenario = "N(%d,%d)/(%d,%d)" % (k["isl"], k["spread"] * k["isl"], k["osl"], k["spread"] * k["osl"])
        return ["genai-bench", "benchmark", "--api-backend", "openai", "--api-base", url, "--api-key", "none",
                "--api-model-name", k["model"], "--model-tokenizer", tokenizer, "--task", "text-to-text",
                "--traffic-scenario", scenario, "--num-concurrency", k["concurrency"], "--max-time-per-run", 5,
                "--max-requests-per-run", k["requests"], "--experiment-base-dir", out,
                "--experiment-folder-name", "run"]

    def kept(out, each):
        files, at = {}, os.path.join(out, "run")
        for name in os.listdir(at):
            if name == "experiment_metadata.json":
                files[name] = only(read(at, name), "benchmark_version", "api_backend", "api_model_name", "task",
                                   "num_concurrency", "traffic_scenario", "max_time_per_run_s",
                                   "max_requests_per_run", "dataset_path")
            elif re.search(r"_time_\w+\.json$", name):
                files[name] = read(at, name)
                if not each:
                    files[name]["individual_request_metrics"] = []
        return files


class endpoints:
    def command(k, url, tokenizer, out):
        draw = random.Random(k["seed"])
        words = "one two three four five six seven eight nine ten".split()
        with open("prompts.jsonl", "w") as f:
            for i in range(k["requests"]):
                n = max(8, round(draw.gauss(k["isl"], k["spread"] * k["isl"])))
                prompt = [str(i % 10)] + [words[(i + j) % 10] for j in range(n - 1)]
                f.write(json.dumps({"prompt": " ".join(prompt)}) + "\n")
        return ["inference-endpoint", "benchmark", "online", "--endpoints", url, "--model", k["model"],
                "--tokenizer", tokenizer, "--dataset", os.path.abspath("prompts.jsonl"),
                "--max-output-tokens", k["osl"],
                "--load-pattern", "concurrency", "--concurrency", k["concurrency"], "--workers", 1, "--no-cpu-affinity",
                "--num-samples", k["requests"], "--duration", 0, "--service-ready-timeout-s", 240, "--streaming", "on",
                "--report-dir", out]

    def kept(out, each):
        at = next(d for d, _, names in os.walk(out) if "result_summary.json" in names)
        return {"result_summary.json": read(at, "result_summary.json")}


def written(to, content):
    """One file, or a folder of several, of an object, lines or text."""
    if os.path.splitext(to)[1] == "":
        shutil.rmtree(to, ignore_errors=True)
        os.makedirs(to)
        for name, of in content.items():
            written(os.path.join(to, name), of)
        return
    with open(to, "w") as f:
        if isinstance(content, str):
            f.write(content)
        elif to.endswith(".jsonl"):
            f.writelines(json.dumps(line) + "\n" for line in content)
        else:
            f.write(json.dumps(content) + "\n")


def anonymous(content, places):
    """Addresses and paths by name."""
    text = json.dumps(content)
    for place, name in places.items():
        text = text.replace(place, name)
    return json.loads(text)


def make(aiperf_bin, tokenizer, tool, folder, name, change):
    k = dict(BASE, **change)
    words = "mock:?" + k["server"] + "&tokenizer=" + tokenizer
    with tempfile.TemporaryDirectory() as scratch, subprocess.Popen(
            [aiperf_bin, "mock-server", words], stdout=subprocess.PIPE, text=True) as server:
        try:
            url, out = server.stdout.readline().split()[-1], os.path.join(scratch, "out")
            os.mkdir(out)
            os.chdir(scratch)
            line = [str(w) for w in tool.command(k, url, tokenizer, out)]
            env = {"HF_HUB_OFFLINE": "1"} | getattr(tool, "env", {})
            done = subprocess.run(line, env=dict(os.environ, **env), timeout=600, stdout=sys.stderr)
            if done.returncode not in getattr(tool, "ends", (0,)):
                sys.exit("%s ended with %d: %s" % (line[0], done.returncode, " ".join(line)))
            content = anonymous(tool.kept(out, name in getattr(tool, "each", EACH)),
                                {url: "URL", tokenizer: "tok", out: "out", scratch: "dir"})
        finally:
            server.terminate()
            os.chdir("/")
    several = set(content) and all(os.path.splitext(n)[1] for n in content)
    written(os.path.join(folder, name if several else name + ".json"), content)


def main(aiperf_bin, tokenizer, wanted):
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pairs")
    for tool, pair in wanted:
        folder = os.path.join(here, tool.__name__.replace("_", "-"))
        os.makedirs(folder, exist_ok=True)
        for name, change in PAIRS.items():
            if pair in ("", name):
                make(aiperf_bin, tokenizer, tool, folder, name, change)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    known = {t.__name__.replace("_", "-"): t
             for t in (vllm, sglang, guidellm, aiperf, inference_perf, genai_bench, endpoints)}
    asked = [t.partition(":")[::2] for t in sys.argv[3:] or known]
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), [(known[t], pair) for t, pair in asked])
