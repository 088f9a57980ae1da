"""Writes the reference of the Python package, docs/python.md, from its docstrings: `python python/reference.py docs/python.md`."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import typing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import scholareval
from scholareval import _inputs, _reward
from scholareval.integrations import inspect as inspect_adapter
from scholareval.integrations import trl, verifiers, verl

HEAD = """# Python reference

Made from the docstrings of the package by `python/reference.py`. The [guide](guide.md#from-python) shows how they are used.
"""
SECTIONS: list[tuple[str, list[object]]] = [
    ("Scoring and comparing", [scholareval.score, scholareval.ascore, scholareval.plan, scholareval.compare, scholareval.agree, scholareval.load]),
    ("Rewards", [scholareval.reward, scholareval.rewards, scholareval.areward, scholareval.arewards]),
    ("Results", [scholareval.Run, scholareval.Table, scholareval.Comparison]),
    ("Adapters", [inspect_adapter.rubric_scorer, trl.rubric_reward, verl.compute_score, verifiers.reward]),
    ("Exceptions", [scholareval.ScholarevalError, *scholareval.ScholarevalError.__subclasses__()]),
    ("Options", [scholareval.ScoreOptions, scholareval.PlanOptions, scholareval.CompareOptions, scholareval.AgreeOptions]),
]
TYPES = [
    ("Records", "a path, a data frame of pandas or polars, or an iterable of mappings", _inputs.Records),
    ("Question", "a text, or a conversation of messages with `role` and `content`", _reward.Question),
    ("Rubric", "criteria: texts, or mappings with `text`, `weight` and `tags`; one, or a list", _reward.Rubric),
    ("Item", "a question, an answer (None: there is none) and a rubric", _reward.Item),
    ("Text", "a path: `str` or `os.PathLike`", _inputs.Text),
]


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, objects in SECTIONS:
        parts.append(f"## {title}\n")
        parts += [entry(one) for one in objects]
    parts.append("## Types\n")
    parts.append("".join(f"- `{name}`: {about}\n" for name, about, _ in TYPES))
    return "\n".join(parts)


def entry(one: object) -> str:
    """A function or a class with its members."""
    name = getattr(one, "__name__")
    module = getattr(one, "__module__")
    full = f"{module}.{name}" if module.startswith("scholareval.integrations") else f"scholareval.{name}"
    lines = [f"### `{full}`\n"]
    if typing.is_typeddict(one):
        return "\n".join([*lines, options(one)])
    if inspect.isfunction(one):
        lines.append(f"```python\n{signature(one)}\n```\n")
    lines.append(inspect.getdoc(one) or "")
    if isinstance(one, type):
        if issubclass(one, scholareval.ScholarevalError) and one.exit_code:
            lines.append(f"\nExit code {one.exit_code}.")
        lines += members(one)
    return "\n".join(lines) + "\n"


def signature(function: object) -> str:
    """The signature, a parameter a line."""
    name = getattr(function, "__name__")
    shown = inspect.signature(typing.cast(typing.Any, function))
    is_async = "async " if inspect.iscoroutinefunction(function) else ""
    rows: list[str] = []
    was_keyword = False
    for parameter in shown.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not was_keyword:
            if not any(row.startswith("    *") for row in rows):
                rows.append("    *,")
            was_keyword = True
        # Annotations are strings; a default that is one keeps its quotes.
        rows.append("    " + re.sub(r"^([*\w]+): '([^']*)'", r"\1: \2", str(parameter)) + ",")
    returns = str(shown.return_annotation).strip("'")
    return f"{is_async}def {name}(\n" + "\n".join(rows) + f"\n) -> {returns}"


def members(of: type) -> list[str]:
    """Properties and methods with a docstring, as a list."""
    lines: list[str] = []
    for name, member in vars(of).items():
        if name.startswith("_"):
            continue
        documented = getattr(member, "func", None) or getattr(member, "fget", None) or member
        about = inspect.getdoc(documented)
        if callable(documented) and about:
            call = "()" if inspect.isfunction(member) else ""
            lines.append(f"- `.{name}{call}`: {about}")
    return ["", *lines] if lines else []


def options(of: object) -> str:
    """The keywords of a class of options with their types and help."""
    about, _, listed = (inspect.getdoc(of) or "").partition("\n\n")
    types = {name: hint for name, hint in vars(of)["__annotations__"].items()}
    rows = [about, ""]
    for line in listed.splitlines():
        name, _, text = line.partition(": ")
        hint = types[name]
        rows.append(f"- `{name}: {getattr(hint, '__forward_arg__', hint)}`: {plain(text)}")
    return "\n".join(rows) + "\n"


def plain(text: str) -> str:
    """Help as Markdown: no letter of it is markup."""
    return text.replace("\\", "\\\\").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(textwrap.dedent(page()), encoding="utf-8")
