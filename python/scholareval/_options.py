"""The options of the command line as keyword arguments; made by tests/integration/python_options.rs from its help."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

Text = str | os.PathLike[str]
"""A path."""

Pairs = str | int | Mapping[str, str | int] | Sequence[str]
"""A mapping, or texts `NAME=VALUE`."""


class NamedOptions(TypedDict, total=False):
    """The options that `score` and others have as parameters of their own.

    tests: Test cases with their rubrics (JSON)
    rubric: How criteria are read, asked and counted: a name that `rubrics list` shows, or a directory with a profile.toml [default: criteria]
    seed: Seed of the resampling behind the intervals
    samples: Ask every question K times and merge
    scorers: rubric, criteria, prometheus, entailment, pages, citation_audit, overlap, works [default: all that the input supports]
    model: Model that judges, such as gpt-oss-120b [default: the built-in lexical baseline, no LLM]
    base_url: OpenAI-compatible server, such as localhost:8000 [default: OPENAI_BASE_URL, else OpenAI]
    judge: Kind of judge: lexical (the built-in baseline: no LLM, offline), chat (OpenAI, and servers with its API), completions (the conversation is written out here), label (a model that answers with one label), anthropic (its Messages API), gemini (Google's own API), systemone (a decision model: TypeSafe, llama.cpp, vLLM, SGLang), decisions (a decision model: OpenAI, vLLM, Fireworks) [default: chat with model or base_url, else lexical]
    concurrency: Calls in flight at once
    cache: The reply cache
    out: Directory of the run record [default: runs/HASH, a hash of inputs and settings]
    """

    tests: Text
    rubric: str
    seed: int
    samples: int
    scorers: str | Sequence[str]
    model: str
    base_url: str | Sequence[str]
    judge: Literal["lexical", "chat", "completions", "label", "anthropic", "gemini", "systemone", "decisions"]
    concurrency: int
    cache: Text
    out: Text


class ScoreOptions(TypedDict, total=False):
    """Further options of `scholareval score`.

    config: Options in a TOML file; flags and environment win
    trust_config: Send keys to the servers that the config file names, now and until the file changes
    fields: Fields of the answers: answer_text=FIELD,case_id=FIELD or question=FIELD [default: as documented, else guessed]
    keep_thinking: Judge answers with the reasoning they begin with (think tags)
    keep_errors: Score answers that are only the error text of a failed generation ("Error code: 429 - ..")
    reasoning_tags: Tags of reasoning in answers and replies besides the known ones, such as "<plan> </plan>"; may be repeated
    partial_logs: Take what unfinished Inspect logs hold, and the first epoch of several
    systems: Only these systems [default: all]
    strict: Treat warnings about the input as errors, and exit with 4 if several models answered as one judge
    cases: Only these case ids [default: all]
    limit: Only the first N cases
    selected: Only the answers in this file, such as those that label format csv draws
    on_unscored: Leave unscored answers out of the means, or count their missing components as 0
    max_unscored: Unscored answers that are tolerated, such as 5%; above it the exit code is 5
    compat: Pair, parse and count as the reference script does, faults included
    merge: How the samples of a question become one verdict
    parse_retries: Repeats of a call whose reply cannot be read
    at_once: Make all calls of an answer at once; else the first one goes alone where it fills the provider's prefix cache for the others (prompts that share 1,024 tokens or more)
    prompts: A prompt set made by `prompts export` or `prompts import` [default: built in]
    truncate: Cut prompts that do not fit the judge's context, and flag them, instead of leaving them unscored
    certificate: Certificates of the judges (made by certify), which tables then show; may be repeated
    certificate_days: Days after the check for which a certificate counts
    references_block: Append a list of the cited sources to answers made from predictions; not counted in lengths
    slice: Only the I-th of N parts of the answers, such as 2/5, with about equally many calls; their caches can be merged
    until: Ask in random order and end when it is decided: "A>=B-0.02" (or "METRIC:A>=B"), "baseline" (all systems against baseline) or "all" (all pairs); the same command without until asks the rest
    baseline: The system that the others are compared with, by until baseline and in pairs
    references: Gold and reference answers, joined by question
    aspect_rubrics: Aspects with the descriptions of their scores, as released [default: built in]
    works: Files of works to look references up in: dumps of Crossref, OpenAlex, Semantic Scholar or arXiv, a library, an index
    retractions: Retractions: a CSV such as that of Retraction Watch
    sources: Judge whether the pages that answers cite support them; the pages are those of this store (see sources index)
    as_of: Of several snapshots of a page, read the newest one up to this day (2026-10-01) [default: the newest]
    only: Score only the criteria or only the snippets of ScholarQA-CS rubrics [default: both]
    agreement: Score questions annotated twice under both rubrics and report their agreement
    criteria_per_call: Criteria asked in one call [default: as the rubric says]
    aspects: Grade only these aspects [default: all of the rubrics]
    no_reference: Grade aspects without reference answers
    instruction: Text before the question in grading prompts; published: "Answer the question related to the most recent scientific literature." [default: nothing]
    top_n: Show at most N of the cited sources to judges of aspects
    entail: Judge citations sentence by sentence (long), or the question with the whole answer (short)
    at_most: Count only the first N citations of a claim
    index_base: Number of the first source
    max_words: Compare only the first N words of an output with its gold answers [default: all]
    page_tokens: Tokens of a page that a judge reads at a time; a longer page is read in up to 8 parts [default: 30000]
    dedup: Which statements about a page count as one: those with the same words, or those of which a judge says so (a further call for each page with several) [default: words]
    api_key_env: Environment variable that holds the API key [default: OPENAI_API_KEY, of kind anthropic ANTHROPIC_API_KEY, of kind gemini GEMINI_API_KEY, of kind systemone TYPESAFE_API_KEY; sent to that service, to this machine and to servers that base_url or the environment names]
    wait_server: Wait this long for a server that is still loading, such as 20m
    temperature: Sampling temperature, 0 to 2; published for aspects: 0.01
    no_temperature: Send no temperature: the server samples as it does by default
    top_p: Nucleus sampling, above 0 to 1; published for aspects: 0.95 [default: none is sent]
    judge_seed: Seed sent to the server [default: none is sent]
    structured: Form of replies that is asked of the server: schema, json (JSON mode), off (the prompt alone asks), or auto: a schema where the prompts declare one, else JSON mode, and our schema for repeats of unreadable replies
    reasoning_effort: How much a reasoning model thinks: none, minimal, low, medium, high, xhigh or max; reply limits begin with 0, 1,000, 4,000, 12,000, 32,000, 64,000 or 96,000 tokens of room for it [default: the model's own, room is given when a reply needs it]
    service_tier: Service tier of OpenAI and Gemini: flex costs half, with three times the time-out and retries [default: none is sent]
    max_tokens: Reply limits per kind without the reasoning, such as property=100,citations=16000, and total=20000 for reply and reasoning together; a run continues under other ones [default: 100 for scores; for lists such as citations 2,000 and 3 per token of the answer, none with compat or imported prompts; for aspect and attribution that of the prompts, for attribution by a label judge 10]
    logprobs: Request N alternatives of each token, 1 to 20; scores become expected scores [default: none]
    conversation: How a conversation is written out for a judge of kind completions
    extra_body: Fields added to every request, a JSON object such as '{"top_k": 1}'
    header: Header added to every request; may be repeated
    header_env: Header whose value is that of an environment variable, for secrets; may be repeated
    cache_id: Name of the judge in the cache, instead of the model and what the server reports
    rpm: Requests per minute [default: no limit]
    tpm: Tokens per minute [default: no limit]
    retries: Retries of transient failures (429, 5xx, resets, time-outs)
    timeout: Time-out of one request, such as 90s
    stream: Stream replies, so that a server stops generating on a time-out; auto: for vLLM, llama.cpp and SGLang
    budget_usd: Stop before more than this is spent by this command (needs a price for every model) [default: no limit]
    budget_tokens: Stop before more tokens, of prompts and replies, are used by this command [default: no limit]
    price: Price of the model in USD per million prompt and reply tokens, such as 2.5,10 [default: that of the config file, else of the price list]
    prices: Price list to use in place of the built-in one (JSON)
    time_limit: Stop in time to end after this long, such as 3h50m [default: no limit]
    no_cache: Do not read or write the reply cache
    retry_unscored: Repeat calls whose cached reply could not be read
    overwrite: Begin a new run record in place of the one there, whatever its settings
    no_inputs: Leave questions and answers out of the run record
    run_label: Name of the run in items.csv [default: the name of its directory]
    output: Also write the reference script's results file
    """

    config: Text
    trust_config: bool
    fields: Pairs
    keep_thinking: bool
    keep_errors: bool
    reasoning_tags: str | Sequence[str]
    partial_logs: bool
    systems: str | Sequence[str]
    strict: bool
    cases: str | Sequence[str]
    limit: int
    selected: Text
    on_unscored: Literal["exclude", "zero"]
    max_unscored: float | str
    compat: bool
    merge: Literal["mean", "median", "most-common"]
    parse_retries: int
    at_once: bool
    prompts: Text
    truncate: bool
    certificate: Text | Sequence[Text]
    certificate_days: int
    references_block: Literal["append", "none"]
    slice: str
    until: str
    baseline: str
    references: Text
    aspect_rubrics: Text
    works: Text | Sequence[Text]
    retractions: Text
    sources: Text
    as_of: str
    only: Literal["criteria", "snippets"]
    agreement: bool
    criteria_per_call: int | str
    aspects: str | Sequence[str]
    no_reference: bool
    instruction: str
    top_n: int
    entail: Literal["long", "short"]
    at_most: int
    index_base: Literal["0", "1"]
    max_words: int
    page_tokens: int
    dedup: Literal["words", "judge"]
    api_key_env: str
    wait_server: str
    temperature: float | str
    no_temperature: bool
    top_p: float | str
    judge_seed: int
    structured: Literal["auto", "schema", "json", "off"]
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    service_tier: Literal["flex"]
    max_tokens: Pairs
    logprobs: int
    conversation: Literal["llama-2", "mistral", "chatml", "none"]
    extra_body: str | Mapping[str, object]
    header: Pairs
    header_env: Pairs
    cache_id: str
    rpm: int
    tpm: int
    retries: int
    timeout: str
    stream: Literal["auto", "on", "off"]
    budget_usd: float | str
    budget_tokens: int
    price: str
    prices: Text
    time_limit: str
    no_cache: bool
    retry_unscored: bool
    overwrite: bool
    no_inputs: bool
    run_label: str
    output: Text


class PlanOptions(ScoreOptions, total=False):
    """Further options of `scholareval plan`.

    power: Plan a study from this pilot run: the questions that find a difference between two systems with 80% power
    difference: The difference to find, in the unit of files (0.02 is two points) [default: several]
    anchors: Plan anchors: how exact means on an old judge's scale are, from a run by the new judge and one by the old judge
    verdicts: Plan drawn verdicts: how exact means are that a dear judge's verdicts correct, from the run by a cheap judge
    half_width: The half-width to reach, in the unit of files (0.02 is two points)
    metric: Metric of the study [default: the headline metric]
    """

    power: Text
    difference: float | str
    anchors: Text | Sequence[Text]
    verdicts: Text
    half_width: float | str
    metric: str


class CompareOptions(TypedDict, total=False):
    """Further options of `scholareval compare`.

    metric: Metrics to compare: names with commas between, or all [default: the headline metric of each scorer, or the benchmark's columns]
    anyway: Compare runs whose judge, prompts, tests or settings differ, and flag it
    across: From one run to another: judges or prompts, what another judge of the same answers or other prompts change, of more than two runs which ranks hold under all; runs, how each system changes from the first run to each other one
    family: The family of a system or a judge (OpenAI, Mistral, ..), where its name does not say it, for the self-preference of judges; may be repeated
    corrected_by: Estimate the means of RUN on the scale of the judge of this run, which scored a random part of the answers, drawn verdicts, or other systems (also a directory of runs); or of people by their labels of drawn verdicts
    without: Systems that do not count as those that both judges scored, such as those of a judge's own family
    length_adjusted: Show the pairs with their length-adjusted differences
    require: Require that A is at most 0.02 worse than B, "A>=B-0.02", better by 0.02, "A>=B+0.02", or significantly better, "A>B", or that means reach a value, "score>=0.5" or of one system "A:score>=0.5", in the unit of files (0.5, not 50); METRIC:A>=B-0.02 names the metric; can be repeated; exit 6 if one is missed, 8 if one is undecided
    margin: With across judges or prompts: require that the mean shift by the first metric, of every two runs, lies within -M and M, in the unit of files; exit 6 if its interval lies outside, 8 if it is undecided
    tolerate_missing: Check gates by the reported numbers, whatever is missing
    on_undecided: What an undecided gate means: report, exit 8; pass or fail, as if it were met or missed
    junit: Write the gates as a JUnit file, a test case for each condition
    level: Level of intervals and tests: systems differ significantly at p below 1 - level
    resamples: Resamples behind intervals, tests and ranks
    seed: Seed of the resamples
    baseline: Test only the pairs with this system
    ties: What a tie of two answers is, where answers were compared with each other: half a win, or an outcome of its own
    """

    metric: str | Sequence[str]
    anyway: bool
    across: Literal["judges", "prompts", "runs"]
    family: Pairs
    corrected_by: Text
    without: str | Sequence[str]
    length_adjusted: bool
    require: str | Sequence[str]
    margin: float | str
    tolerate_missing: bool
    on_undecided: Literal["report", "pass", "fail"]
    junit: Text
    level: float | str
    resamples: int
    seed: int
    baseline: str
    ties: Literal["half", "davidson"]


class AgreeOptions(TypedDict, total=False):
    """Further options of `scholareval agree`.

    level: What is compared: answer or item
    metric: Which number of a run, and which item of the labels: score, a component, an aspect, a tag, ann_score, SCORER.score [default: the score of the first scorer]
    tie_threshold: Differences of a judge's values up to X are ties [default: chosen to give it as many ties as people have]
    resamples: Number of resamples for the intervals
    seed: Seed of the resampling for the intervals
    plan: Plan instead: how exact a system's mean on the human scale is by its number of labels, judged by the labels at hand
    require: Require that a number of the judge with the people together reaches a value, "kappa>=0.6" or "sensitivity>=0.8" (of several levels "sensitivity:LEVEL>=0.8"), or that the judge's mean is near theirs, "abs(shift)<=0.05", in the unit of the ratings; JUDGE:kappa>=0.6 names one of several judges; can be repeated; exit 6 if one is missed, 8 if one is undecided
    on_undecided: What an undecided gate means: report, exit 8; pass or fail, as if it were met or missed
    junit: Write the gates as a JUnit file, a test case for each condition
    by: More tables: rater (every pair), item, system, group (of cases)
    """

    level: Literal["answer", "item"]
    metric: str
    tie_threshold: float | str
    resamples: int
    seed: int
    plan: bool
    require: str | Sequence[str]
    on_undecided: Literal["report", "pass", "fail"]
    junit: Text
    by: str | Sequence[str]


# Options of texts `NAME=VALUE`, as which a mapping is passed; other mappings are passed as JSON.
PAIRS = frozenset(("family", "fields", "header", "header_env", "max_tokens"))
