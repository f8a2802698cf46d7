# Grades answers as AIPerf does: with its own graders, and for the three that match
# extractively with lighteval's match over latex2sympy2_extended and sympy, of which AIPerf's
# are settings. Lines of JSON in, lines of JSON out. Of lighteval only the modules that match
# are loaded: the package wants much more.
import asyncio, importlib, json, logging, os, sys, types

import latex2sympy2_extended

logging.disable(logging.CRITICAL)


def package(name, path):
    m = types.ModuleType(name)
    m.__path__ = [path]
    sys.modules[name] = m


def module(name, **members):
    m = types.ModuleType(name)
    m.__dict__.update(members)
    sys.modules[name] = m


base = os.path.join(os.path.dirname(os.path.dirname(latex2sympy2_extended.__file__)), "lighteval")
package("lighteval", base)
for sub in ("metrics", "metrics/utils", "utils", "tasks", "tasks/tasks", "tasks/tasks/lcb", "tasks/templates", "tasks/templates/utils"):
    package("lighteval." + sub.replace("/", "."), os.path.join(base, sub))
module("lighteval.utils.imports", requires=lambda *a, **k: lambda f: f)
module("lighteval.tasks.requests", Doc=type("Doc", (), {}))
module("lighteval.tasks.templates.utils.formulation", ChoicePrefix=str, get_prefix=lambda p, l: list("ABCDEFGHIJ"))

from lighteval.metrics.utils import extractive_match_utils as extract
from lighteval.metrics.utils.math_comparison import compare_gold_target
from lighteval.utils.language import Language


class Doc:
    choices = list("ABCD")


def targets(grader):
    expr, latex = extract.ExprExtractionConfig(), extract.LatexExtractionConfig
    if grader == "lighteval_gpqa":
        index = extract.IndicesExtractionConfig(prefix_for_extraction="NativeLetters")
        return [index], [index], 6
    pred = [expr, latex(boxed_match_priority=0)]
    return ([expr] if grader == "lighteval_expr" else [latex()]), pred, 5


def found(text, target):
    extract.lazy_latex_regex.cache_clear()
    regexes = extract.get_extraction_regexes(Doc, target, Language.ENGLISH)
    return extract.extract_target_from_pred(text, regexes, "first_match", "any_match", 5)


def extractive(grader, answer, truth):
    gold, pred, precision = targets(grader)
    g, p = found(truth, gold) or [truth], found(answer, pred)
    return compare_gold_target(g, p, precision, timeout_seconds=5), str(p), False


THEIRS = {
    "exact_match": ("exact_match", "ExactMatchGrader"),
    "math": ("math", "MathGrader"),
    "multiple_choice": ("multiple_choice", "MultipleChoiceGrader"),
    "mmlu_pro": ("mmlu_pro", "MMLUProGrader"),
    "lighteval_gsm8k": ("gsm8k_grader", "LightevalGSM8KGrader"),
}


# 0.13.0's own grader of code gives its worker a pipe that every process below closes by its
# number, be it another file by then, and so finds all code wrong. Below it is what it calls.
def code(answer, truth):
    from aiperf.accuracy.graders.code_execution import _payload_to_test_cases, extract_code
    from lighteval.tasks.tasks.lcb.codegen_metrics import run_test

    inputs, outputs, name = _payload_to_test_cases(json.loads(truth))
    sample = {"input_output": json.dumps({"inputs": inputs, "outputs": outputs, "fn_name": name})}
    found = extract_code(answer)
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            ok = all(r > 0 for r in run_test(sample, test=found))
            os.write(start, b"1" if ok else b"0")
        finally:
            os._exit(0)
    os.close(start)
    said = os.read(end, 1)
    os.close(end)
    os.waitpid(child, 0)
    return said == b"1", found, not found


async def theirs(name, pairs):
    file, kind = THEIRS[name]
    g = getattr(importlib.import_module("aiperf.accuracy.graders." + file), kind)(run=None)
    for answer, truth in pairs:
        r = await g.grade(answer, truth)
        yield r.correct, r.extracted_answer, r.unparsed


async def main():
    lines = [json.loads(line) for line in sys.stdin]
    name = lines[0][0]
    pairs = [line[1:] for line in lines]
    if name in THEIRS:
        async for ok, what, unparsed in theirs(name, pairs):
            print(json.dumps([bool(ok), what, bool(unparsed)]), flush=True)
        return
    for answer, truth in pairs:
        try:
            ok, what, unparsed = code(answer, truth) if name == "code_execution" else extractive(name, answer, truth)
        except Exception as e:
            ok, what, unparsed = False, repr(e), True
        print(json.dumps([bool(ok), what, unparsed]), flush=True)


asyncio.run(main())
