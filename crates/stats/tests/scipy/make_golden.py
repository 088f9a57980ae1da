"""Writes golden.json beside this file: what SciPy gives for the statistics of `crates/stats/src`.

    python3 -m venv /tmp/v && /tmp/v/bin/pip install scipy && /tmp/v/bin/python crates/stats/tests/scipy/make_golden.py
"""

import json
import platform
from pathlib import Path
from types import SimpleNamespace

import numpy
import scipy
from scipy import stats

rng = numpy.random.default_rng(20261121)


def number(x):
    return None if numpy.isnan(x) else float(x)


def correlation(name, x, y):
    return {
        "name": name,
        "x": list(map(float, x)),
        "y": list(map(float, y)),
        "kendall": number(stats.kendalltau(x, y).statistic),
        "pearson": number(stats.pearsonr(x, y).statistic),
        "spearman": number(stats.spearmanr(x, y).statistic),
    }


samples = {
    "uniform": rng.uniform(size=30),
    "skewed": rng.exponential(size=25),
    "mostly zero": numpy.r_[numpy.zeros(15), rng.uniform(size=5)],
    "eleven steps": rng.integers(0, 11, size=40) / 10,
    "two values": numpy.array([0.2, 0.9]),
    "hundred": rng.beta(5, 2, size=100),
}


def given_resamples(name, values, level):
    means = rng.choice(values, size=(199, len(values))).mean(axis=1)
    # With n_resamples=0 SciPy uses the resamples it is given: no randomness is left in the comparison.
    result = stats.bootstrap((values,), numpy.mean, method="BCa", confidence_level=level, n_resamples=0,
                             bootstrap_result=SimpleNamespace(bootstrap_distribution=means))
    low, high = result.confidence_interval
    return {"name": name, "level": level, "values": values.tolist(), "resampled_means": means.tolist(),
            "low": float(low), "high": float(high)}


def many_resamples(name, values):
    result = stats.bootstrap((values,), numpy.mean, method="BCa", n_resamples=200_000, batch=20_000, rng=rng)
    low, high = result.confidence_interval
    return {"name": name, "values": values.tolist(), "low": float(low), "high": float(high)}


golden = {
    "made_by": "crates/stats/tests/scipy/make_golden.py",
    "versions": {"python": platform.python_version(), "numpy": numpy.__version__, "scipy": scipy.__version__},
    "correlation": [
        *(correlation(f"random {n}", rng.normal(size=n), rng.normal(size=n)) for n in (2, 3, 4, 7, 12, 30)),
        *(correlation(f"ties {n}", rng.integers(0, 4, size=n), rng.integers(0, 4, size=n)) for n in (5, 8, 20)),
        correlation("same", [1, 2, 3, 4], [1, 2, 3, 4]),
        correlation("reversed", [1, 2, 3, 4], [4, 3, 2, 1]),
        correlation("one constant", [0.1, 0.1, 0.1], [1, 2, 3]),
    ],
    "bca_given_resamples": [
        given_resamples(name, samples[name], level)
        for name, level in [("uniform", 0.95), ("skewed", 0.95), ("mostly zero", 0.9), ("hundred", 0.99)]
    ],
    "bca_many_resamples": [many_resamples(name, samples[name])
                           for name in ("uniform", "skewed", "eleven steps", "hundred")],
}
Path(__file__).with_name("golden.json").write_text(json.dumps(golden, indent=1) + "\n")
