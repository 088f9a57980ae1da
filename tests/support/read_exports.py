"""Reads what `scholareval export` wrote with the programs it is meant for, and tells as JSON what they found.

    read_exports.py parquet DIR     with pyarrow
    read_exports.py inspect DIR     with inspect-ai
"""

import json
import math
import os
import sys


def of_parquet(folder):
    import pyarrow.parquet

    scores = pyarrow.parquet.read_table(os.path.join(folder, "scores.parquet"))
    calls = pyarrow.parquet.read_table(os.path.join(folder, "calls.parquet"))
    types = lambda table: {field.name: str(field.type) for field in table.schema}
    return {
        "scores": scores.to_pylist(),
        "score_types": types(scores),
        "calls": calls.to_pylist(),
        "call_types": types(calls),
        "run": scores.schema.metadata[b"scholareval.run"].decode(),
    }


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def results(log):
    return {
        f"{score.scorer}/{score.name}": {
            "scored": score.scored_samples,
            "unscored": score.unscored_samples,
            **{name: plain(metric.value) for name, metric in score.metrics.items()},
        }
        for score in log.results.scores
    }


def of_inspect(folder):
    from inspect_ai.log import list_eval_logs, read_eval_log, recompute_metrics

    logs = []
    for info in list_eval_logs(folder, descending=False):
        log = read_eval_log(info.name)
        header = read_eval_log(info.name, header_only=True)
        assert header.samples is None and header.eval.model == log.eval.model
        assert [sample.id for sample in log.samples] == log.eval.dataset.sample_ids
        written = results(log)
        recompute_metrics(log)
        logs.append(
            {
                "task": log.eval.task,
                "model": log.eval.model,
                "status": log.status,
                "version": log.version,
                "judges": {role: judge.model for role, judge in (log.eval.model_roles or {}).items()},
                "samples": [
                    {
                        "id": sample.id,
                        "input": sample.input,
                        "target": sample.target,
                        "completion": sample.output.completion,
                        "scores": {
                            name: {"value": plain(score.value), "reason": score.reason, "explanation": score.explanation}
                            for name, score in sample.scores.items()
                        },
                    }
                    for sample in log.samples
                ],
                "results": written,
                "recomputed": results(log),
            }
        )
    # inspect lists logs by the time they were written, and two may have the same
    return sorted(logs, key=lambda log: log["model"])


if __name__ == "__main__":
    read = {"parquet": of_parquet, "inspect": of_inspect}[sys.argv[1]]
    json.dump(read(sys.argv[2]), sys.stdout)
