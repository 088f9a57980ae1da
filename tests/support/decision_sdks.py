"""Requests of a run, one JSON object a line in a file, by the eyes of the makers' own packages: OpenAI's and TypeSafe's types
take the request as it is, and their clients, which send it to a server of decision models, read the reply.

    python decision_sdks.py BASE_URL FILE      prints how many requests of each shape went through
"""

import json
import sys
from collections import Counter

import openai
from openai.types import DecisionCreateParams
from pydantic import ConfigDict, TypeAdapter, with_config
from typesafe_sdk import Choice, Noul, Score, TypeSafeClient

FORMS = {"noul": Noul, "choice": Choice, "score": Score}


def ask_openai(client, body):
    """A list of questions. The types have no place for members that the route does not know."""
    strict = with_config(ConfigDict(extra="forbid"))(DecisionCreateParams)
    TypeAdapter(strict).validate_python(body)
    reply = client.decisions.create(**body)
    names = [answer.name for answer in reply.answers]
    assert names == [question["name"] for question in body["questions"]], names


def ask_typesafe(client, body):
    """Questions by name."""
    assert set(body) == {"model", "state", "questions"}, set(body)
    questions = {name: FORMS[question["type"]](**question) for name, question in body["questions"].items()}
    reply = client.system_one(state=body["state"], questions=questions, model=body["model"])
    assert list(reply.answers) == list(questions), reply


def main(base_url, path):
    by_list = openai.OpenAI(api_key="none", base_url=base_url, _strict_response_validation=True)
    by_name = TypeSafeClient(api_key="none", base_url=base_url.removesuffix("/v1"))
    asked = Counter()
    for line in open(path, encoding="utf-8"):
        body = json.loads(line)
        if isinstance(body["questions"], list):
            ask_openai(by_list, body)
            asked["openai"] += 1
        else:
            ask_typesafe(by_name, body)
            asked["typesafe"] += 1
    print(json.dumps(asked, sort_keys=True))


main(*sys.argv[1:])
