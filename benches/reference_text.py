"""The references of benches/text.rs: NLTK's sentences and google's rouge_score, timed in CPU seconds.

    python3 benches/reference_text.py VENV INPUT.json OUTPUT.json

Makes a virtual environment at VENV with pip if there is none, and runs itself in it. The Punkt model is written there
from crates/core/src/text/punkt/english.tsv (the same values as NLTK's punkt_tab/english).
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PACKAGES = ["nltk==3.10.4", "rouge-score==0.1.2"]
# Set in the process that runs in the environment.
INSIDE = "SCHOLAREVAL_REFERENCE_TEXT"
FILES = {
    "abbreviations": "abbrev_types.txt",
    "collocations": "collocations.tab",
    "sentence_starters": "sent_starters.txt",
    "orthography": "ortho_context.tab",
}


def install(venv):
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    done = venv / "scholareval-installed"
    if not done.exists():
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True)
        write_model(venv / "nltk_data" / "tokenizers" / "punkt_tab" / "english")
        done.touch()
    return python


def write_model(folder):
    folder.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).parent.parent / "src" / "text" / "punkt" / "english.tsv"
    for section in source.read_text(encoding="utf-8").rstrip("\n").split("\n\n"):
        name, lines = section.split("\n", 1)
        (folder / FILES[name]).write_text(lines, encoding="utf-8")


def timed(work, items):
    begin = time.process_time()
    results = [work(item) for item in items]
    return {"seconds": time.process_time() - begin, "results": results}


def measure(data):
    import nltk
    from rouge_score import rouge_scorer

    nltk.sent_tokenize("The model is loaded. Now.")
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)

    def rouge(pair):
        scores = scorer.score(target=pair[0], prediction=pair[1])
        return [number for key in ("rouge1", "rouge2", "rougeL") for number in scores[key]]

    return {
        "sentences": timed(nltk.sent_tokenize, data["texts"]),
        "sentence_pairs": timed(rouge, data["sentence_pairs"]),
        "answer_pairs": timed(rouge, data["answer_pairs"]),
    }


def main():
    venv, source, target = Path(sys.argv[1]).absolute(), sys.argv[2], sys.argv[3]
    if INSIDE not in os.environ:
        python = install(venv)
        environment = dict(os.environ, NLTK_DATA=str(venv / "nltk_data"), **{INSIDE: "1"})
        arguments = [str(python), os.path.abspath(__file__), str(venv), source, target]
        sys.exit(subprocess.run(arguments, env=environment).returncode)
    with open(source, encoding="utf-8") as file:
        data = json.load(file)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(measure(data), file)


main()
