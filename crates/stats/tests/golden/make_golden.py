"""Writes golden.json beside this file: what other people's implementations give for the statistics of `crates/stats/src`.

    python3 -m venv /tmp/v
    /tmp/v/bin/pip install scipy statsmodels krippendorff scikit-learn pingouin ppi-python
    /tmp/v/bin/python crates/stats/tests/golden/make_golden.py

Where a number is not theirs as it stands, the comment says what was done with it.
"""

import json
import platform
import warnings
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy as np
import pandas
import pingouin
import ppi_py
import statsmodels.api as sm
from scipy import stats
from sklearn.metrics import cohen_kappa_score

rng = np.random.default_rng(20261121)


def plain(table):
    """Nested lists, with None for what is missing."""
    return [[None if np.isnan(x) else float(x) for x in row] for row in np.asarray(table, dtype=float)]


def panel(raters, units, scale, noise, missing):
    """Ratings that share a truth: `scale` None for real numbers, else whole numbers 1..=scale."""
    truth = rng.uniform(1, 6 if scale is None else scale, size=units)
    ratings = truth + rng.normal(scale=noise, size=(raters, units))
    if scale is not None:
        ratings = np.clip(np.rint(ratings), 1, scale)
    ratings[rng.uniform(size=ratings.shape) < missing] = np.nan
    return ratings


def alpha(name, ratings):
    return {"name": name, "ratings": plain(ratings)} | {
        level: float(krippendorff.alpha(reliability_data=ratings, level_of_measurement=level))
        for level in ("nominal", "ordinal", "interval")
    }


def kappa(name, x, y, labels):
    # The whole scale as labels: scikit-learn weighs by places among them, and these are evenly spaced.
    places = {label: place for place, label in enumerate(labels)}
    x_places, y_places = [places[v] for v in x], [places[v] for v in y]
    score = lambda weights: float(cohen_kappa_score(x_places, y_places, labels=range(len(labels)), weights=weights))
    return {"name": name, "x": list(map(float, x)), "y": list(map(float, y)), "unweighted": score(None),
            "linear": score("linear"), "quadratic": score("quadratic")}


def kappas():
    five, tenths = range(1, 6), [i / 10 for i in range(11)]
    for n in (6, 25, 200):
        x = rng.integers(1, 6, size=n)
        yield kappa(f"scale of five, {n}", x, np.clip(x + rng.integers(-1, 2, size=n), 1, 5), five)
    x = rng.choice([1, 2, 5], size=40)
    yield kappa("two steps never used", x, np.where(rng.uniform(size=40) < 0.7, x, 5), five)
    yield kappa("independent", rng.integers(1, 6, size=50), rng.integers(1, 6, size=50), five)
    yield kappa("tenths", rng.choice(tenths, size=60), rng.choice(tenths, size=60), tenths)


def icc(name, ratings):
    raters, units = ratings.shape
    long = pandas.DataFrame({"unit": np.tile(np.arange(units), raters), "rater": np.repeat(np.arange(raters), units),
                             "rating": ratings.ravel()})
    table = pingouin.intraclass_corr(long, targets="unit", raters="rater", ratings="rating").set_index("Type")
    row = table.loc["ICC(A,1)"]
    return {"name": name, "ratings": plain(ratings), "icc": float(row["ICC"])}


def pearson_interval(n, level):
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    result = stats.pearsonr(x, y)
    interval = result.confidence_interval(level)
    return {"x": x.tolist(), "y": y.tolist(), "level": level, "low": float(interval.low), "high": float(interval.high)}


def kendall(n, steps):
    x, y = rng.integers(0, steps, size=n), rng.integers(0, steps, size=n)
    return {"x": list(map(float, x)), "y": list(map(float, y)), "tau": float(stats.kendalltau(x, y).statistic)}


def permutation(name, differences):
    exact = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    return {"name": name, "differences": list(map(float, differences)), "p": float(exact.pvalue)}


def effect(x, y):
    # Cliff's delta from the Mann-Whitney U of x: U counts pairs x > y, ties by half; delta = 2 U / (n m) - 1.
    u = stats.mannwhitneyu(x, y).statistic
    t = stats.ttest_rel(x, y)
    return {"x": list(map(float, x)), "y": list(map(float, y)), "cliffs_delta": float(2 * u / (len(x) * len(y)) - 1),
            "cohens_dz": float(t.statistic / np.sqrt(len(x))), "t": float(t.statistic)}


def regression(n, slope):
    x = rng.normal(scale=200, size=n)
    y = 0.05 + slope * x + rng.normal(scale=0.2, size=n)
    fit = sm.OLS(y, sm.add_constant(x)).fit()
    (a_low, a_high), (b_low, b_high) = fit.conf_int(0.05)
    return {"x": x.tolist(), "y": y.tolist(), "level": 0.95, "intercept": float(fit.params[0]),
            "slope": float(fit.params[1]), "r_squared": float(fit.rsquared), "intercept_low": float(a_low),
            "intercept_high": float(a_high), "slope_low": float(b_low), "slope_high": float(b_high)}


def ppi(name, n, unlabeled, agreement):
    truth, noise = rng.uniform(size=n + unlabeled), rng.uniform(size=n + unlabeled)
    judge = agreement * truth + (1 - agreement) * noise + 0.1
    human, paired, rest = truth[:n], judge[:n], judge[n:]
    tuned = float(np.squeeze(ppi_py.ppi_mean_pointestimate(human, paired, rest)))
    full = float(np.squeeze(ppi_py.ppi_mean_pointestimate(human, paired, rest, lam=1)))
    # Lambda is not given out: it is the place of the tuned estimate between those of lambda 0 and 1.
    weight = (tuned - human.mean()) / (full - human.mean())
    # Their interval has variances divided by n and a normal quantile; ours those by n - 1 and Welch's t.
    left, right = weight**2 * rest.var(ddof=1) / unlabeled, (human - weight * paired).var(ddof=1) / n
    df = (left + right) ** 2 / (left**2 / (unlabeled - 1) + right**2 / (n - 1))
    half = stats.t.ppf(0.975, df) * np.sqrt(left + right)
    low, high = (float(np.squeeze(end)) for end in ppi_py.ppi_mean_ci(human, paired, rest, alpha=0.05))
    return {"name": name, "human": human.tolist(), "judge": paired.tolist(), "unlabeled": rest.tolist(),
            "estimate": tuned, "estimate_lambda_1": full, "lambda": float(weight), "level": 0.95,
            "low": tuned - half, "high": tuned + half, "ppi_py_low": low, "ppi_py_high": high}


def components(name, rows):
    """Henderson's method I from its definition: quadratic forms y'Ay with E = sum of trace(Z'AZ) sigma^2.

    The projections are explicit matrices here, so that nothing of the closed sums in the Rust code is repeated.
    """
    q, j, y = (np.array(column) for column in zip(*rows))
    one = lambda keys: (keys[:, None] == np.unique(keys)[None, :]).astype(float)
    z = {"question": one(q), "judge": one(j), "question_judge": one(q * 1000 + j), "residual": np.eye(len(y))}
    project = lambda m: m @ np.linalg.pinv(m)
    mean, by_q, by_j, cells = (project(m) for m in (np.ones((len(y), 1)), z["question"], z["judge"],
                                                     z["question_judge"]))
    forms = [by_q - mean, by_j - mean, cells - by_q - by_j + mean, np.eye(len(y)) - cells]
    names = list(z)
    left = np.array([[np.trace(z[n].T @ a @ z[n]) for n in names] for a in forms])
    solved = np.linalg.solve(left, np.array([y @ a @ y for a in forms]))
    return {"name": name, "rows": [[int(a), int(b), float(c)] for a, b, c in rows],
            "raw": dict(zip(names, map(float, solved)))}


def judged(questions, judges, draws, drop):
    q, j = rng.normal(size=questions), rng.normal(scale=0.3, size=judges)
    qj = rng.normal(scale=0.5, size=(questions, judges))
    rows = [(a, b, q[a] + j[b] + qj[a, b] + rng.normal(scale=0.4))
            for a in range(questions) for b in range(judges) for _ in range(draws)]
    return [row for row in rows if rng.uniform() >= drop]


def jackknife(name, columns, statistic):
    """The interval of a coefficient from its values without each unit, by t on the scale of atanh."""
    columns = [np.asarray(column, dtype=float) for column in columns]
    k = len(columns[0])
    without = np.array([statistic(*(np.delete(column, unit) for column in columns)) for unit in range(k)])
    d = without - without.mean()
    value, error = float(statistic(*columns)), np.sqrt((k - 1) / k * np.sum(d**2))
    half = stats.t.ppf(0.975, max(1, np.sum(d**2) ** 2 / np.sum(d**4) - 1)) * error / (1 - value**2)
    return {"name": name, "columns": [column.tolist() for column in columns],
            "low": float(np.tanh(np.arctanh(value) - half)), "high": float(np.tanh(np.arctanh(value) + half))}


def jackknives():
    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    yield jackknife("pearson", (x, y), lambda a, b: stats.pearsonr(a, b).statistic)
    yield jackknife("spearman", (x, y), lambda a, b: stats.spearmanr(a, b).statistic)
    steps = (rng.integers(0, 5, size=50), rng.integers(0, 3, size=50))
    steps = (steps[0], steps[0] + steps[1])
    yield jackknife("kendall", steps, lambda a, b: stats.kendalltau(a, b).statistic)
    raters = panel(3, 40, 5, 0.8, 0)
    yield jackknife("alpha", raters, lambda *r: krippendorff.alpha(np.array(r), level_of_measurement="interval"))
    yield jackknife("kappa", raters[:2], lambda a, b: cohen_kappa_score(
        a.astype(int), b.astype(int), labels=range(1, 6), weights="quadratic"))
    yield jackknife("icc", raters, lambda *r: icc("", np.array(r))["icc"])


def clusters():
    """SciPy's BCa interval of a mean over cases by cluster, as (sum, cases): a ratio of sums."""
    sizes = rng.integers(1, 5, size=30)
    columns = (rng.normal(0.5, 0.3, size=30) * sizes, sizes)
    result = stats.bootstrap(columns, lambda s, n: s.sum() / n.sum(), paired=True, vectorized=False, method="BCa",
                             n_resamples=20_000, rng=np.random.default_rng(1))
    return {"columns": [list(map(float, column)) for column in columns],
            "low": float(result.confidence_interval.low), "high": float(result.confidence_interval.high)}


def comparison(name, n, systems):
    """Systems over shared cases, with the words of their answers: every system and every pair."""
    words = rng.integers(100, 900, size=(systems, n))
    values = rng.uniform(size=n) * 0.5 + rng.normal(scale=0.1, size=(systems, n)) + words / 4000
    values += np.arange(systems)[:, None] * 0.05
    pairs = [comparison_of_pair(values, words, a, b) for a in range(systems) for b in range(a + 1, systems)]
    of_system = lambda v, w: {"mean": float(np.mean(v)), "spearman": float(stats.spearmanr(v, w).statistic)}
    return {"name": name, "values": values.tolist(), "words": words.astype(float).tolist(), "pairs": pairs,
            "systems": [of_system(v, w) for v, w in zip(values, words)]}


def comparison_of_pair(values, words, a, b):
    # The better one first.
    a, b = (a, b) if values[a].mean() >= values[b].mean() else (b, a)
    differences = values[a] - values[b]
    flips = lambda: stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    p = {"p": float(flips().pvalue)} if len(differences) < 20 else {}
    fit = sm.OLS(differences, sm.add_constant((words[a] - words[b]) / 100)).fit()
    (low, high), (slope_low, slope_high) = fit.conf_int(0.05)
    effects = effect(values[a], values[b])
    return {"first": a, "second": b, "difference": float(differences.mean()), "cohens_dz": effects["cohens_dz"], "cliffs_delta": effects["cliffs_delta"],
            "at_equal_length": float(fit.params[0]), "length_low": float(low), "length_high": float(high),
            "per_100_words": float(fit.params[1]), "slope_low": float(slope_low), "slope_high": float(slope_high)} | p


pingouin.options["round"] = None
warnings.simplefilter("ignore")
# Keeps the numbers of the sections below as they are.
rng.uniform(size=59)
packages = ("numpy", "scipy", "statsmodels", "krippendorff", "scikit-learn", "pingouin", "ppi-python")
golden = {
    "made_by": "crates/stats/tests/golden/make_golden.py",
    "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
    "alpha": [
        alpha("two raters, five steps", panel(2, 30, 5, 0.7, 0)),
        alpha("four raters, a third missing", panel(4, 40, 5, 0.8, 0.33)),
        alpha("five raters, mostly missing", panel(5, 60, 10, 1.5, 0.7)),
        alpha("real numbers", panel(3, 20, None, 0.5, 0.1)),
        alpha("no agreement", rng.integers(1, 4, size=(3, 25)).astype(float)),
        alpha("worse than chance", np.array([[1, 2, 1, 2, 3, 1], [2, 1, 2, 3, 1, 3]], dtype=float)),
    ],
    "kappa": list(kappas()),
    "icc": [icc("two raters", panel(2, 12, None, 0.6, 0)), icc("five raters", panel(5, 30, None, 1.0, 0)),
            icc("whole numbers", panel(3, 50, 5, 0.9, 0)), icc("noise", panel(4, 10, None, 9.0, 0))],
    "pearson_interval": [pearson_interval(5, 0.95), pearson_interval(40, 0.9), pearson_interval(300, 0.99)],
    "kendall": [kendall(300, 7), kendall(300, 10_000), kendall(51, 2)],
    "jackknife": list(jackknives()),
    "clusters": [clusters()],
    "permutation_exact": [
        permutation("reals", rng.normal(0.3, 1, size=12)), permutation("fifths", rng.integers(-2, 4, size=14) / 5),
        permutation("three", np.array([0.1, 0.2, 0.3])), permutation("balanced", np.array([0.5, -0.5, 0.25, -0.25])),
    ],
    "effect": [effect(rng.integers(0, 11, size=n) / 10, rng.integers(0, 9, size=n) / 10) for n in (8, 40, 150)],
    "t_quantile": [{"df": df, "p": p, "t": float(stats.t.ppf(p, df))}
                   for df in (1, 2, 3.5, 12, 99, 1500, 2500, 40_000) for p in (0.6, 0.9, 0.975, 0.9995)],
    "regression": [regression(5, 0.001), regression(60, 0.0), regression(200, -0.0005)],
    "ppi": [ppi("good judge", 40, 400, 0.9), ppi("fair judge", 100, 900, 0.5), ppi("blind judge", 60, 300, 0.0)],
    "variance_components": [
        components("balanced 12 x 3 x 4", judged(12, 3, 4, 0)), components("balanced 30 x 2 x 2", judged(30, 2, 2, 0)),
        components("unbalanced", judged(15, 3, 4, 0.3)), components("holes", judged(20, 4, 2, 0.5)),
    ],
    "comparison": [comparison("ten cases", 10, 3), comparison("sixty cases", 60, 3), comparison("two systems", 8, 2)],
}
Path(__file__).with_name("golden.json").write_text(json.dumps(golden, indent=None, separators=(",", ":")) + "\n")
