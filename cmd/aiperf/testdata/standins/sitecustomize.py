# Lets AIPerf's benchmarks and graders run without what models need. lighteval, which compares
# answers for four of them, imports packages of some GB that the comparison never calls: where
# one is missing, an empty one stands in. What is installed is used. deepeval, whose prompts
# two of them ask, imports the same and more as a whole: only the modules with prompts are read.
import importlib.machinery
import sys
import types

UNUSED = {
    "GitPython", "accelerate", "aenum", "bert_score", "colorlog", "inspect_ai", "langcodes", "litellm", "nltk", "openai",
    "pytablewriter", "rouge", "rouge_score", "sacrebleu", "scipy", "sklearn", "spacy", "tinyBenchmarks", "torch", "transformers",
}
UNUSED_MODULES = {
    "deepeval.dataset", "deepeval.models", "deepeval.telemetry", "deepeval.benchmarks.base_benchmark",
    "deepeval.benchmarks.schema", "deepeval.benchmarks.utils",
}


class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other):
        return cls

    __ror__ = __or__


class Nothing(metaclass=Anything):
    """A class, a decorator, or a value, of which nothing is asked."""

    def __new__(cls, *args, **kw):
        return args[0] if cls is Nothing and len(args) == 1 and callable(args[0]) and not kw else object.__new__(cls)

    def __init__(self, *args, **kw):
        pass

    def __call__(self, *args, **kw):
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __class_getitem__(cls, item):
        return cls


class Empty(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Unasked(Empty):
    """lighteval's question whether packages are there in exactly its versions."""

    @staticmethod
    def requires(*_, **__):
        return lambda f: f


class StandIns:
    def __init__(self, kind, stands):
        self.kind, self.stands = kind, stands

    def find_spec(self, name, path=None, target=None):
        if self.stands(name):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return self.kind(spec.name)

    def exec_module(self, module):
        pass


class Prompts:
    """deepeval's packages on the way to its prompts, without what they import."""

    NAMES = ("deepeval", "deepeval.benchmarks", "deepeval.benchmarks.hellaswag", "deepeval.benchmarks.big_bench_hard")

    def find_spec(self, name, path=None, target=None):
        if name in self.NAMES:
            found = importlib.machinery.PathFinder.find_spec(name, path)
            if found is not None:
                spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
                spec.submodule_search_locations = found.submodule_search_locations
                return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Prompts())
sys.meta_path.insert(0, StandIns(Empty, UNUSED_MODULES.__contains__))
sys.meta_path.insert(0, StandIns(Unasked, lambda name: name == "lighteval.utils.imports"))
sys.meta_path.append(StandIns(Empty, lambda name: name.partition(".")[0] in UNUSED))
