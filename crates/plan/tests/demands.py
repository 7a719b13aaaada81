"""Demands by LINE's utilisation-based regression, and least squares by SciPy.

Standard input: JSON with `tables`, a list of {"per_s": rows of rates, "used": busy CPUs of each
row}, and `systems`, a list of {"a": rows, "b": right sides}. Standard output: JSON with `demands`, of
each operation and of the idle site as the last, and `solutions`.
"""

import json
import sys

import numpy as np
from line_solver import Exp, MetricType, Network, OpenClass, Queue, SchedStrategy, Sink, Source
from line_solver.inference import ParamEstimator, SampledMetric
from scipy.optimize import nnls


def demands(per_s, used):
    # The idle site is a class that comes once a second.
    rates = np.column_stack([np.asarray(per_s), np.ones(len(used))])
    model = Network("site")
    source, queue, sink = Source(model, "Source"), Queue(model, "CPU", SchedStrategy.PS), Sink(model, "Sink")
    classes = [OpenClass(model, f"Class{at}", 0) for at in range(rates.shape[1])]
    for it in classes:
        source.setArrival(it, Exp(1.0))
        queue.setService(it, Exp(float("nan")))
    routing = model.initRoutingMatrix()
    for it in classes:
        routing.set(it, it, source, queue, 1.0)
        routing.set(it, it, queue, sink, 1.0)
    model.link(routing)
    options = ParamEstimator.defaultOptions()
    options["method"] = "ubr"
    estimator = ParamEstimator(model, options)
    times = np.arange(1, len(used) + 1, dtype=float)
    for at, it in enumerate(classes):
        estimator.addSamples(SampledMetric(MetricType.ArvR, times, rates[:, at], queue, it))
    estimator.addSamples(SampledMetric(MetricType.Util, times, np.asarray(used), queue))
    estimator.interpolate()
    return [float(it) for it in estimator.estimateAt(queue)]


given = json.load(sys.stdin)
json.dump(
    {
        "demands": [demands(it["per_s"], it["used"]) for it in given["tables"]],
        "solutions": [nnls(np.array(it["a"]), np.array(it["b"]))[0].tolist() for it in given["systems"]],
    },
    sys.stdout,
)
