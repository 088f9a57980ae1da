"""Copies a GGUF file of a chat model with two more keys, so that llama.cpp's /v1/systemone answers with it. No weight changes:
the model was not trained for this, and judges at chance.

    python decision_gguf.py SOURCE TARGET
"""

import struct
import sys

TEMPLATE = (
    "<|im_start|>user\n{% if state is string %}{{ state }}{% else %}{{ state | tojson }}{% endif %}\n\n"
    "Question: {% if instructions is string %}{{ instructions }}{% else %}{{ instructions | tojson }}{% endif %}\n"
    "{% for option in options %}{{ 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'[loop.index0] }}: {{ option.key }}"
    "{% if option.description %} - {{ option.description }}{% endif %}\n{% endfor %}"
    "Answer with one letter only.<|im_end|>\n<|im_start|>assistant\n"
)
HEADER = struct.Struct("<4sIQQ")  # magic, version, tensors, keys
STRING = 8  # the type of a value
ALIGNMENT = 32  # of the tensors' data, counted from the beginning of the file


def text(value):
    return struct.pack("<Q", len(value)) + value


def entry(key, value):
    return text(key.encode()) + struct.pack("<I", STRING) + text(value)


def main(source, target):
    with open(source, "rb") as file:
        magic, version, tensors, keys = HEADER.unpack(file.read(HEADER.size))
        rest = file.read()
    assert magic == b"GGUF" and version == 3, (magic, version)
    added = entry("llama.decision.type", b"openjev") + entry("tokenizer.chat_template.systemone", TEMPLATE.encode())
    # What follows moves by a multiple of the alignment.
    filling = -(len(added) + len(entry("general.filling", b""))) % ALIGNMENT
    added += entry("general.filling", b" " * filling)
    with open(target, "wb") as file:
        file.write(HEADER.pack(magic, version, tensors, keys + 3) + added + rest)


main(*sys.argv[1:])
