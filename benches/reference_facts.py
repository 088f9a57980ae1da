"""The references of benches/facts.rs, timed: fever-scorer, and a loop that does what verisci's evaluator does.

    python3 benches/reference_facts.py VENV '{"fever": {"gold": PATH, "predictions": PATH}, "scifact": ..}' OUTPUT.json

Makes a virtual environment at VENV with pip if there is none, and runs itself in it. fever-scorer is the package of its
authors; its reading is json.loads of each line. SciFact's evaluator is not a package: here is its algorithm in our words
(verisci/evaluate at commit 68b98a5; docs/metrics.md has the rules), with its own search for the claim of each prediction
through all claims, which makes it quadratic.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = ["fever-scorer==2.0.39"]
# Set in the process that runs in the environment.
INSIDE = "SCHOLAREVAL_REFERENCE_FACTS"


def install(venv):
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    done = venv / "scholareval-installed"
    if not done.exists():
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
        done.touch()
    return python


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def fever(files):
    from fever.scorer import fever_score

    def score():
        predictions, gold = read(files["predictions"]), read(files["gold"])
        return fever_score(predictions, gold)

    scores, seconds = timed(score)
    return {"scores": scores, **seconds}


def claim_of(claims, claim_id):
    found = [claim for claim in claims if claim["id"] == claim_id]
    assert len(found) == 1
    return found[0]


def is_rationalized(rationales, sentences):
    return any(set(rationale["sentences"]) <= set(sentences[:3]) for rationale in rationales)


def is_right_sentence(rationales, sentence, sentences):
    holding = [rationale for rationale in rationales if sentence in rationale["sentences"]]
    assert len(holding) <= 1
    return bool(holding) and set(holding[0]["sentences"]) <= set(sentences)


def count(claim, prediction, counts):
    gold = claim["evidence"]
    counts["abstracts"] += len(gold)
    counts["sentences"] += sum(len(r["sentences"]) for rationales in gold.values() for r in rationales)
    for doc_id, predicted in prediction["evidence"].items():
        counts["abstracts_predicted"] += 1
        counts["sentences_predicted"] += len(predicted["sentences"])
        if doc_id not in gold:
            continue
        rationales, sentences = gold[doc_id], predicted["sentences"]
        is_right = predicted["label"] == rationales[0]["label"]
        counts["label_only"] += is_right
        counts["rationalized"] += is_right and is_rationalized(rationales, sentences)
        right = sum(is_right_sentence(rationales, sentence, sentences) for sentence in sentences)
        counts["selection"] += right
        counts["label"] += right if is_right else 0


def f1(right, predicted, relevant):
    precision = right / predicted if predicted else 0
    recall = right / relevant if relevant else 0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


def scifact(files):
    def score():
        claims, predictions = read(files["gold"]), read(files["predictions"])
        names = ["abstracts", "abstracts_predicted", "label_only", "rationalized"]
        names += ["sentences", "sentences_predicted", "selection", "label"]
        counts = dict.fromkeys(names, 0)
        for prediction in predictions:
            count(claim_of(claims, prediction["id"]), prediction, counts)
        kinds = {"abstracts": ["label_only", "rationalized"], "sentences": ["selection", "label"]}
        return [
            f1(counts[right], counts[f"{kind}_predicted"], counts[kind])
            for kind, rights in kinds.items()
            for right in rights
        ]

    scores, seconds = timed(score)
    return {"f1": scores, **seconds}


def main():
    venv, files, target = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3]
    if INSIDE not in os.environ:
        arguments = [str(install(venv)), os.path.abspath(__file__), str(venv), files, target]
        sys.exit(subprocess.run(arguments, env=dict(os.environ, **{INSIDE: "1"})).returncode)
    measures = {"fever": fever, "scifact": scifact}
    results = {name: measures[name](paths) for name, paths in json.loads(files).items()}
    with open(target, "w", encoding="utf-8") as file:
        json.dump(results, file)


main()
