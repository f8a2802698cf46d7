"""Writes reference.json: what SciPy and statsmodels say, for the tests of this
package. Run: python -m pip install scipy==1.17.1 statsmodels==0.15.0, then
python reference.py > reference.json"""

import json
import math
from fractions import Fraction

import numpy as np
from scipy import stats as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired

rng = np.random.default_rng(20260101)
cases = []


def case(name, args, *want):
    cases.append({"name": name, "args": args, "want": [float(w) for w in want]})


def sample(n, mean=0.0, sd=1.0):
    return [round(float(v), 4) for v in rng.normal(mean, sd, n)]


def t_interval(x, level):
    return st.ttest_1samp(x, 0).confidence_interval(level)


for df in list(range(1, 31)) + [40, 100, 999]:
    case("t", [0.95, df], st.t.ppf(0.975, df))
for level in (0.9, 0.99, 0.999):
    for df in (1, 2, 4, 9, 30):
        case("t", [level, df], st.t.ppf(1 - (1 - level) / 2, df))
for p in (1e-6, 0.025, 0.5, 0.975, 0.999):
    for a, b in ((1, 80), (3.7, 80.2), (1990, 11), (0.3, 0.4), (50000, 49000.5)):
        case("beta", [p, a, b], st.beta.ppf(p, a, b))
for k, n in ((0, 40), (80, 80), (1, 100), (37, 82), (999, 1000), (50, 100000)):
    case("clopper_pearson", [k, n, 0.95], *proportion_confint(k, n, 0.05, method="beta"))


def korn_graubard(hits, of, level=0.95):
    hits, of, n = np.array(hits, float), np.array(of, float), len(of)
    p, d = hits.sum() / of.sum(), 1.0
    if 0 < p < 1 and n > 1:
        between = n / (n - 1) * ((hits - p * of) ** 2).sum() / of.sum() ** 2
        q = 1 - (1 - level) / 2
        d = max(1.0, between / (p * (1 - p) / of.sum()) * (st.t.ppf(q, n - 1) / st.norm.ppf(q)) ** 2)
    k, m = hits.sum() / d, of.sum() / d
    lo, hi = proportion_confint(k, m, 1 - level, method="beta")
    return p, 0.0 if k == 0 else lo, 1.0 if k == m else hi


for hits, of in (([16] * 5, [16] * 5), ([0, 0], [20, 20]), ([3, 5, 4], [100, 100, 100]), ([90, 40, 99, 97, 95], [100, 50, 100, 100, 100]), ([1, 0, 0, 0, 9], [200] * 5), ([7], [20])):
    case("share", [hits, of], *korn_graubard(hits, of))


def garwood(counts, level=0.95):
    c, n = np.array(counts, float), len(counts)
    d = 1.0
    if n > 1 and c.sum() > 0:
        q = 1 - (1 - level) / 2
        d = max(1.0, c.var(ddof=1) / c.mean() * (st.t.ppf(q, n - 1) / st.norm.ppf(q)) ** 2)
    k, a = c.sum() / d, (1 - level) / 2
    low = 0.0 if k == 0 else st.chi2.ppf(a, 2 * k) / 2
    return c.mean(), low * d / n, st.chi2.ppf(1 - a, 2 * k + 2) / 2 * d / n


for counts in ([0, 0, 0, 0, 5], [0, 0, 0], [3, 4, 5, 4], [100, 90, 130, 95, 88], [2, 60], [7]):
    case("count", counts, *garwood(counts))
for n in (0, 1, 10, 1234):
    case("poisson", [n, 0.95], 0.0 if n == 0 else st.chi2.ppf(0.025, 2 * n) / 2, st.chi2.ppf(0.975, 2 * n + 2) / 2)

for x in ([918, 921, 917, 919, 920], [0.02, 1.5, 0.4, 9.1], sample(12, 100, 9)):
    case("level", x, st.gmean(x), *np.exp(t_interval(np.log(x), 0.95)))
for x in (sample(5, 0, 3),):
    case("signed", x, np.mean(x), *t_interval(x, 0.95))

for n in (2, 3, 5, 10):
    a = [round(math.exp(v), 4) for v in sample(n, 4.6, 0.1)]
    b = [round(x * math.exp(v), 4) for x, v in zip(a, sample(n, 0.05, 0.03))]
    d = np.log(np.array(b) / np.array(a))
    r = st.ttest_1samp(d, 0)
    case("paired", [a, b], d.mean(), *r.confidence_interval(0.95), *r.confidence_interval(0.99), r.pvalue)
    tost = ttost_paired(np.log(b), np.log(a), math.log(0.95), math.log(1.05))
    case("tost", [a, b, math.log(0.95), math.log(1.05)], tost[0])
    c = [round(math.exp(v), 4) for v in sample(n + 2, 4.7, 0.3)]
    w = st.ttest_ind(np.log(c), np.log(a), equal_var=False)
    case("welch", [a, c], np.log(c).mean() - np.log(a).mean(), w.df, *w.confidence_interval(0.95), w.pvalue)

p = [0.01, 0.04, 0.03, 0.005, 0.2, 0.03, 0.9]
case("bh", p, *multipletests(p, method="fdr_bh")[1])

for m, n in ((3, 4), (8, 5), (20, 20)):
    a, b = sample(m), sample(n, 0.7)
    k = st.ks_2samp(a, b, method="exact")
    case("ks2", [a, b], k.statistic, k.pvalue)
sample(30, 5, 3), sample(40, 6, 3)  # drawn, so that what follows has the numbers that it had
case("ks2", [sample(90, 0), [v for v in sample(80, 0.3)]])
k = st.ks_2samp(cases[-1]["args"][0], cases[-1]["args"][1], method="exact")
cases[-1]["want"] = [float(k.statistic), float(k.pvalue)]

for n in (2, 3, 5, 10, 40):
    for effect in (0.3, 1.0, 3.0):
        case("power", [1.0, 0.05, effect, n], TTestPower().power(effect, n, 0.025, alternative="larger"))
for effect, alpha in ((0.5, 0.05), (1.0, 0.05), (2.0, 0.01)):
    n = TTestPower().solve_power(effect, None, alpha / 2, 0.8, "larger")
    case("trials", [1.0, alpha, effect], math.ceil(n))


def floor(q):
    p, n = 1 - q, 2
    while st.binom.cdf(1, n, p) > 0.01:
        n += 1
    return n


for q in (0.5, 0.75, 0.9, 0.95, 0.97, 0.99):
    case("floor", [q], floor(q))
x = sample(21, 50, 5)
case("half_shift", x, math.log(np.median(x[11:]) / np.median(x[:10])))


def fisher(k1, n1, k2, n2):
    """By whole numbers: scipy.stats.fisher_exact agrees with it to its last digits."""
    hits = k1 + k2
    ways = [math.comb(n1, i) * math.comb(n2, hits - i) for i in range(max(0, hits - n2), min(n1, hits) + 1)]
    seen = math.comb(n1, k1) * math.comb(n2, k2)
    return float(Fraction(sum(w for w in ways if w <= seen), math.comb(n1 + n2, hits)))


for table in ((0, 10, 0, 10), (3, 3, 0, 3), (8, 10, 1, 6), (0, 200, 3, 200), (0, 200, 8, 200), (0, 40, 8, 40), (5, 100, 5, 100), (12, 40, 0, 40), (1, 1000, 9, 500), (100, 5000, 150, 5000), (20, 20, 20, 20), (0, 7, 7, 7), (2, 10000, 40, 20000)):
    case("fisher", table, fisher(*table))

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
