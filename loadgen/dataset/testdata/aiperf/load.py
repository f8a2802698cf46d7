"""Loads dataset files with AIPerf's own loaders and prints, a JSON object for
each, what they make of them: conversations with their turns. A prompt that is
made of hashes stands as these and its length. "analysis" is what analyze-trace
says of a mooncake trace. Settings of the data set may stand between.

    python load.py single_turn=FILE 'baseten_trace={"replay_speedup":2}=FILE' analysis=FILE ...

What AIPerf imports and a loader does not need (its HTTP client, tokenizers)
need not be installed.
"""

import abc
import importlib.abc
import importlib.util
import json
import sys
import types
from importlib import import_module
from unittest.mock import MagicMock



# Packages of AIPerf's that are left out.
ABSENT = {"aiohttp", "zmq", "aiofiles", "psutil", "PIL", "ffmpeg"}


class Nothing(abc.ABCMeta):
    """The class of what a missing package would hold: more of the same."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing(name, (), {"__init__": lambda self, *args, **kwargs: None, "__getattr__": lambda self, name: Nothing(name, (), {})})


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for packages that are not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ABSENT:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = lambda name: getattr(Nothing("module", (), {}), name)
        return module

    def exec_module(self, module):
        pass


sys.meta_path.append(Absent())

LOADERS = {
    "single_turn": "single_turn.SingleTurnDatasetLoader",
    "multi_turn": "multi_turn.MultiTurnDatasetLoader",
    "raw_payload": "raw_payload.RawPayloadDatasetLoader",
    "inputs_json": "inputs_json.InputsJsonPayloadLoader",
    "sagemaker_data_capture": "sagemaker_data_capture.SageMakerDataCaptureLoader",
    "mooncake_trace": "mooncake_trace.MooncakeTraceDatasetLoader",
    "bailian_trace": "bailian_trace.BailianTraceDatasetLoader",
    "burst_gpt_trace": "burst_gpt.BurstGPTTraceDatasetLoader",
    "weka_trace": "weka_trace.WekaTraceLoader",
    "tracelab": "tracelab_trace.TraceLabTraceDatasetLoader",
    "baseten_trace": "baseten_trace.BasetenTraceDatasetLoader",
    "dag_jsonl": "dag_jsonl.DagJsonlLoader",
    "speed_bench_qualitative": "speed_bench.SpeedBenchQualitativeLoader",
}


# Their loaders write the prompts themselves, in blocks of so many tokens.
AGENTS, BLOCK = {"weka_trace", "tracelab"}, 64


class Blocks:
    """Says where in the corpus a block begins: at BLOCK times its name, which is
    another one in each trace."""

    def __init__(self):
        self.traces = {}

    def set_trace_id(self, name):
        self.trace = self.traces.setdefault(name, len(self.traces) + 1)

    def reseed_for_hash_id(self, name):
        self.name = self.trace * 1000 + name

    def randrange(self, size):
        return self.name * BLOCK % size


def writing(generator):
    """A generator whose texts are the places of their tokens in the corpus."""
    generator._tokenized_corpus, generator._corpus_size = list(range(1_000_000)), 1_000_000
    generator._cache, generator._hash_id_corpus_rng = {}, Blocks()
    generator.tokenizer.decode.side_effect = lambda ids, **_: " ".join(map(str, ids))
    generator.tokenizer.encode.side_effect = lambda text, **_: [int(t) for t in text.split()]
    return generator


def blocks(tokens):
    """A prompt as [[block, ...], length]; a last part has no block."""
    return json.dumps([[tokens[at] // BLOCK for at in range(0, len(tokens) - BLOCK + 1, BLOCK)], len(tokens)])


def prompts():
    """Stands in for the generator of prompts."""
    generator = MagicMock()
    generator.generate.side_effect = lambda mean=0, stddev=0, hash_ids=None, **_: json.dumps([hash_ids or [], mean])
    return generator


def plain(turn):
    out = {}
    for name in ("timestamp", "delay", "max_tokens", "model"):
        value = getattr(turn, name, None)
        if value is not None:
            out[name] = value
    texts = [c for t in turn.texts for c in t.contents]
    if texts:
        out["texts"] = texts
    if turn.role not in (None, "user"):
        out["role"] = turn.role
    for kind in ("images", "audios", "videos"):
        media = [c for m in getattr(turn, kind) for c in m.contents]
        if media:
            out[kind] = media
    if getattr(turn, "no_request", False):
        out["silent"] = True
    for name in ("raw_messages", "raw_tools", "raw_payload", "extra_body"):
        value = getattr(turn, name, None)
        if value is not None:
            out[name] = value
    return out


def starts(conversation, out):
    """Says of each turn what it starts, and which turn waits for that."""
    for branch in conversation.branches:
        for at, turn in enumerate(conversation.turns):
            if branch.branch_id not in turn.branch_ids:
                continue
            waits = [i for i, t in enumerate(conversation.turns) if any(p.branch_id == branch.branch_id for p in t.prerequisites)]
            words = [f"{branch.mode.value} {child}" + "".join(f" {i}" for i in waits) for child in branch.child_conversation_ids]
            to = out if branch.dispatch_timing == "pre" else out["turns"][at]
            to["starts"] = sorted(to.get("starts", []) + words)


def agent(conversation, out, begins):
    """Says what is sent: the prompt by its blocks; when the first turn of a
    started conversation is sent after that; a turn that waits for others is sent
    at once when they are over."""
    for branch in conversation.branches:
        begins.update((child, branch.start_timestamp_ms) for child in branch.child_conversation_ids)
    tokens = []  # a turn's messages follow those before, unless it begins anew
    for at, turn in enumerate(out["turns"]):
        if conversation.turns[at].reset_context:
            tokens = []
        tokens += [int(t) for m in turn["raw_messages"] for t in m["content"].split()]
        turn["texts"] = [blocks(tokens)]
        del turn["raw_messages"], turn["model"]
        if at == 0 and conversation.session_id in begins:
            turn["delay"] = turn["timestamp"] - begins[conversation.session_id]
        if conversation.turns[at].prerequisites:
            turn.pop("delay", None)
        if turn.get("delay") == 0:
            del turn["delay"]


class Table:
    """Stands in for a Parquet file: its rows as JSON lines."""

    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        self.schema_arrow = types.SimpleNamespace(names=names)

    def iter_batches(self, columns, **_):
        rows = [{name: row.get(name) for name in columns} for row in self.rows]
        yield types.SimpleNamespace(to_pylist=lambda: rows)

    def close(self):
        pass


def run(path, settings):
    """A run whose data set has the settings."""
    from aiperf.common import random_generator
    from aiperf.config.dataset.config import FileDataset
    from aiperf.dataset.loader.base_loader import _default_test_run

    random_generator.reset()
    random_generator.init(1)
    run = _default_test_run()
    run.cfg.datasets[0] = FileDataset.model_validate({"name": "default", "type": "file", "path": path, "format": "baseten_trace", **settings})
    return run


def load(name, path, settings):
    module, _, cls = LOADERS[name].rpartition(".")
    module = import_module("aiperf.dataset.loader." + module)
    cls = getattr(module, cls)
    kwargs = {"filename": path}
    if name == "baseten_trace":
        module.pq = types.SimpleNamespace(ParquetFile=Table)
        cls._minimum_timestamp = lambda self: min(row["timestamp_start_unix_ms"] for row in self._parquet_file.rows)
        kwargs["run"] = run(path, settings)
    if name in AGENTS or name.endswith("_trace") or name.startswith("sagemaker"):
        kwargs["prompt_generator"] = prompts()
        kwargs["default_block_size"] = {"bailian_trace": 16, "weka_trace": BLOCK, "tracelab": BLOCK}.get(name, 512)
    if name in AGENTS:
        writing(kwargs["prompt_generator"])
    loader = cls(**kwargs)
    loader.synthesize_prompts_from_hash_ids = lambda requests: {
        r.key: json.dumps([list(r.hash_ids), r.input_length]) for r in requests
    }
    conversations, begins = [], {}
    for c in loader.convert_to_conversations(loader.load_dataset()):
        out = {"turns": [plain(t) for t in c.turns]}
        starts(c, out)
        if c.system_message:
            out["system"] = c.system_message
        if name in AGENTS:
            agent(c, out, begins)
        conversations.append(out)
    return conversations


def analyze(path):
    from aiperf.dataset.synthesis.prefix_analyzer import PrefixAnalyzer

    return PrefixAnalyzer(block_size=512).analyze_file(path).model_dump(mode="json")


for word in sys.argv[1:]:
    name, _, path = word.partition("=")
    settings, _, path = path.rpartition("=")
    settings = json.loads(settings or "{}")
    try:
        if name == "analysis":
            out = {"format": name, "analysis": analyze(path)}
        else:
            out = {"format": name, "conversations": load(name, path, settings)}
    except Exception as e:  # what it refuses is an answer, too
        out = {"format": name, "refused": str(e).splitlines()[0]}
    if settings:
        out["settings"] = settings
    print(json.dumps(out, sort_keys=True))
