# Grades answers with the implementations that AIPerf's graders are made of: lighteval's
# extractive match over latex2sympy2_extended and sympy, and the regular expressions of
# its graders of letters and numbers, as Python reads them. Lines of JSON in, lines of
# JSON out. Only the modules that match are loaded: the package wants much more.
import json, logging, os, re, sys, types

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
for sub in ("metrics", "metrics/utils", "utils", "tasks", "tasks/templates", "tasks/templates/utils"):
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
    return compare_gold_target(g, p, precision, timeout_seconds=5), str(p)


def letter(grader, answer, truth):
    letters = "A-D" if grader == "multiple_choice" else "A-J"
    first = answer.split("\n")[0].strip()
    if re.fullmatch("[%s]" % letters, first):
        return first
    all = re.findall(r"answer is \(?([%s])\)?" % letters, answer)
    if all:
        return all[-1]
    m = re.search(r"(?s).*[aA]nswer:\s*([%s])" % letters, answer)
    if m:
        return m.group(1)
    if grader == "multiple_choice":
        m = re.search(r"(?<!\w)[A-D](?!\w)", first)
        if m:
            return m.group(0)
    all = re.findall(r"\b[%s]\b" % letters, answer)
    return all[-1] if all else first if grader == "multiple_choice" else ""


def number(answer):
    m = re.search(r"#### (-?[0-9.,]+)", answer)
    if m:
        return m.group(1).replace(",", "")
    all = re.findall(r"-?[0-9][0-9,]*(?:\.[0-9]+)?", answer)
    return all[-1].replace(",", "") if all else "[invalid]"


def gsm8k(answer, truth):
    m = re.search(r"#### (-?[0-9.,]+)", truth)
    gold, pred = m.group(1).replace(",", "") if m else "[invalid]", number(answer)
    if "[invalid]" in (gold, pred):
        return False, pred
    try:
        return abs(float(gold) - float(pred)) < 1e-6, pred
    except ValueError:
        return gold == pred, pred


# The comparison of ToRA and Qwen2.5-Math, in AIPerf's order, over sympy.
def normal(s):
    units = sys.modules["latex2sympy2_extended.math_normalization"].units
    s = s.strip().replace("\n", "").rstrip(".").replace("\\!", "")
    s = re.sub(r"\\begin\{array\}\{.*?\}", r"\\begin{pmatrix}", s)
    for a, b in (
        ("\\end{array}", "\\end{pmatrix}"), ("bmatrix", "pmatrix"), ("tfrac", "frac"), ("dfrac", "frac"),
        ("\\neq", "\\ne"), ("\\leq", "\\le"), ("\\geq", "\\ge"), ("\\left", ""), ("\\right", ""), ("\\{", "{"),
        ("\\}", "}"),
    ):
        s = s.replace(a, b)
    s = re.sub(r"\\text{.*?}$", "", s).strip() or s
    names = [u for u in units if u != "cent"] + ["a", "percent"]
    for _ in range(2):
        for u in names + [u + "s" for u in names]:
            s = re.sub(r"(^|\W)" + u + r"($|\W)", r"\1\2", s) or s
    for a in ("^{\\circ}", "^\\circ", "\\$", "$", "\\(", "\\)"):
        s = s.replace(a, "")
    s = re.sub(r"\\text\{(.*?)\}", r"\1", s)
    for a in ("x=", "y=", "z=", "x\\in", "y\\in", "z\\in", "x\\to", "y\\to", "z\\to"):
        s = s.replace(a, "")
    s = s.replace("\\emptyset", "{}").replace("(-\\infty,\\infty)", "\\mathbb{R}").replace("\\%", "").replace("%", "")
    for m in "January February March April May June July August September October November December".split():
        s = re.sub(r"\b%s\b" % m, "", s)
    s = s.replace(" .", " 0.").replace("{.", "{0.").replace("infinity", "\\infty")
    s = s if "\\infty" in s else s.replace("inf", "\\infty")
    s = re.sub(r"\\mbox{.*?}", "", s.replace("and", "").replace("\\mathbf", ""))
    s = s.replace("j", "i") if "j" in s and "i" not in s else s
    s = re.sub(r"(\d+)\.0*$", r"\1", re.sub(r"(\d+)\.0*([^\d])", r"\1\2", s))
    s = "0" + s if s.startswith(".") else s
    if s.count("=") == 1 and len(s.split("=")[0]) <= 2:
        s = s.split("=")[1]
    s = re.sub(r"\\sqrt(\w+)", r"\\sqrt{\1}", s).replace(" ", "")
    s = re.sub(r"\\frac(\w)(\w)", r"\\frac{\1}{\2}", s)
    m = re.fullmatch(r"(-?\d+)/(-?\d+)", s)
    return r"\frac{%s}{%s}" % m.groups() if m else s


def boxed(s):
    i = s.rfind("\\boxed{")
    depth = 0
    for j in range(i + 6, len(s) if i >= 0 else 0):
        depth += {"{": 1, "}": -1}.get(s[j], 0)
        if depth == 0:
            return s[i + 7 : j]


def math_answer(s):
    inside = boxed(s)
    if inside is not None:
        return re.sub(r"\n\s*", "", inside).removeprefix(":").removesuffix(".").removesuffix("/")
    parts = re.split(r"(?i)final answer|the answer is|answer\s*[:=]|answer is", s)
    if len(parts) > 1:
        rest = re.sub(r"^\s*(is\b)?\s*[:=]?\s*", "", parts[-1])
        rest = re.split(r"\.(?!\d)|\n", rest)[0].strip()
        numbers = re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", rest)
        if rest:
            return numbers[-1] if numbers and not set(rest) & set("\\{}") else rest
    numbers = re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", s)
    return numbers[-1] if numbers else s.strip()


def plain(s):
    s = s.replace(",", "")
    try:
        return float(s[:-1].rstrip("\\")) / 100 if s.endswith("%") else float(s)
    except ValueError:
        return None


def symbols(s):
    from sympy.parsing.sympy_parser import parse_expr

    for read in (parse_expr, latex2sympy2_extended.latex2sympy):
        try:
            return read(s)
        except Exception:
            pass
    return s


def same(a, b):
    import sympy

    a, b = symbols(a), symbols(b)
    try:
        if a == b or str(a) == str(b):
            return True
    except Exception:
        pass
    for test in (lambda: a.equals(b), lambda: sympy.simplify(a - b) == 0,
                 lambda: abs(float(sympy.N(a)) - float(sympy.N(b))) <= 1e-4):
        try:
            if test():
                return True
        except Exception:
            pass
    return False


def math_equal(p, r, depth=0):
    if p.strip().lower() == r.strip().lower():
        return True
    if r in list("ABCDE") and (re.findall(r"\b[A-E]\b", p.upper()) or [""])[-1] == r:
        return True
    m = re.match(r"(?:\([A-E]\)|\*\*[A-E]\*\*|[A-E][.):])\s*(.+)$", p)
    if m and depth < 5 and math_equal(m.group(1), r, depth + 1):
        return True
    if "," in p and "," in r and depth < 5:
        a, b = sorted(p.split(",")), sorted(r.split(","))
        if len(a) == len(b) and all(math_equal(x, y, depth + 5) for x, y in zip(a, b)):
            return True
    x, y = plain(p), plain(r)
    if x is not None and y is not None:
        return any(abs(x - y * k) <= 1e-4 for k in (0.01, 1, 100))
    bare = lambda s: re.sub(r"[{}()]", "", s).lower()
    if bare(p) == bare(r):
        return True
    if p.count("=") == 1 and r.count("=") == 1:
        a, b = ("%s-(%s)" % tuple(s.split("=")) for s in (p, r))
        return same(a, b) or same("-(%s)" % a, b)
    return same(p, r)


for line in sys.stdin:
    grader, answer, truth = json.loads(line)
    try:
        if grader in ("multiple_choice", "mmlu_pro"):
            what = letter(grader, answer, truth)
            ok = what == truth.strip()
        elif grader == "math":
            what = math_answer(answer)
            ok = bool(what) and math_equal(normal(what), normal(truth))
        elif grader == "lighteval_gsm8k":
            ok, what = gsm8k(answer, truth)
        else:
            ok, what = extractive(grader, answer, truth)
    except Exception as e:
        ok, what = False, repr(e)
    print(json.dumps([bool(ok), what]), flush=True)
