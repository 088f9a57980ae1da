"""Reads what `scholareval export` wrote with the programs it is meant for, and tells as JSON what they found.

    read_exports.py parquet DIR     with pyarrow
    read_exports.py inspect DIR     with inspect-ai
    read_exports.py scores DIR      puts DIR/scores into the logs in DIR/logs with inspect-ai's scorer precomputed_scores
    read_exports.py eee DIR         validates by the schemas in the wheel that SCHOLAREVAL_EEE names
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


def of_scores(folder):
    from inspect_ai import score
    from inspect_ai.log import list_eval_logs, read_eval_log
    from inspect_ai.scorer import precomputed_scores

    found = {}
    for info in list_eval_logs(os.path.join(folder, "logs"), descending=False):
        log = read_eval_log(info.name)
        system = log.eval.model
        (name,) = (own for own in os.listdir(os.path.join(folder, "scores")) if f"_{system}_" in own)
        # The names of these systems are those of no provider, which Inspect wants to know.
        log.eval.model, log.eval.model_roles = "none/none", None
        scored = score(log, precomputed_scores(os.path.join(folder, "scores", name)), action="append", display="none")
        (added,) = (own for own in scored.results.scores if own.scorer == "precomputed_scores")
        found[system] = {
            "scored": added.scored_samples,
            "unscored": added.unscored_samples,
            "mean": added.metrics["accuracy"].value,
            "values": {sample.id: plain(sample.scores["precomputed_scores"].value) for sample in scored.samples},
        }
    return found


def of_eee(folder):
    import glob
    import hashlib
    import zipfile

    from jsonschema import Draft7Validator

    with zipfile.ZipFile(os.environ["SCHOLAREVAL_EEE"]) as wheel:
        schema = lambda name: json.loads(wheel.read(f"every_eval_ever/schemas/{name}.schema.json"))
        aggregate, record = Draft7Validator(schema("eval")), Draft7Validator(schema("instance_level_eval"))
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "data/*/*/*/*.json"))):
        evaluation = json.load(open(path, encoding="utf-8"))
        aggregate.validate(evaluation)
        details = evaluation["detailed_evaluation_results"]
        data = open(os.path.join(folder, details["file_path"]), "rb").read()
        assert hashlib.sha256(data).hexdigest() == details["checksum"]
        records = [json.loads(line) for line in data.decode("utf-8").splitlines()]
        assert len(records) == details["total_rows"]
        results = {result["evaluation_result_id"] for result in evaluation["evaluation_results"]}
        for own in records:
            record.validate(own)
            assert own["evaluation_id"] == evaluation["evaluation_id"] and own["evaluation_result_id"] in results
        found.append({"evaluation": evaluation, "records": records})
    return found


if __name__ == "__main__":
    read = {"parquet": of_parquet, "inspect": of_inspect, "scores": of_scores, "eee": of_eee}[sys.argv[1]]
    json.dump(read(sys.argv[2]), sys.stdout)
