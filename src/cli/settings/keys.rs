//! Every setting with its name in the config file, its flag and its environment variables: the one list that the
//! merge, the config file's check of unknown keys and the documentation are made from.

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Table and key in the config file: `judge.model`.
    pub name: &'static str,
    /// The command line's option.
    pub flag: &'static str,
    /// Environment variables, the stronger first.
    pub env: &'static [&'static str],
    /// True if the config file may set it; false for what only one call of the program can mean (`--overwrite`).
    pub in_file: bool,
}

macro_rules! keys {
    ($($const:ident = $name:literal, $flag:literal, [$($env:literal),*] $(, $only:ident)?;)*) => {
        $(
            #[doc = concat!("`", $name, "`, option `", $flag, "`.")]
            pub const $const: Key =
                Key { name: $name, flag: $flag, env: &[$($env),*], in_file: true $(&& $only())? };
        )*

        /// All settings, in the order in which `scholareval config` shows them.
        pub const ALL: &[Key] = &[$($const),*];
    };
}

const fn flag_only() -> bool {
    false
}

keys! {
    ANSWERS = "score.answers", "ANSWERS", [];
    TESTS = "score.tests", "--tests", [];
    RUBRICS = "score.rubrics", "--rubrics", [];
    SNIPPETS = "score.snippets", "--snippets", [];
    SYSTEMS = "score.systems", "--systems", [];
    CASES = "score.cases", "--cases", [];
    LIMIT = "score.limit", "--limit", [];
    SCORERS = "score.scorers", "--scorers", [];
    REFERENCES = "score.references", "--references", [];
    REFERENCES_BLOCK = "score.references_block", "--references-block", [];
    INDEX_BASE = "score.index_base", "--index-base", [];
    TRUNCATE = "score.truncate", "--truncate", [];
    SAMPLES = "score.samples", "--samples", [];
    MERGE = "score.merge", "--merge", [];
    AGREEMENT = "score.agreement", "--agreement", [];
    COMPAT = "score.compat", "--compat", [];
    STRICT = "score.strict", "--strict", [];
    ON_UNSCORED = "score.on_unscored", "--on-unscored", [];
    MAX_UNSCORED = "score.max_unscored", "--max-unscored", [];
    PARSE_RETRIES = "score.parse_retries", "--parse-retries", [];
    SEED = "score.seed", "--seed", [];
    DRY_RUN = "score.dry_run", "--dry-run", [], flag_only;
    SLICE = "score.slice", "--slice", [], flag_only;
    BUDGET_USD = "score.budget_usd", "--budget-usd", [], flag_only;
    BUDGET_TOKENS = "score.budget_tokens", "--budget-tokens", [], flag_only;
    TIME_LIMIT = "score.time_limit", "--time-limit", [], flag_only;
    ASPECTS = "aspects.names", "--aspects", [];
    ASPECT_RUBRICS = "aspects.rubrics", "--aspect-rubrics", [];
    NO_REFERENCE = "aspects.no_reference", "--no-reference", [];
    INSTRUCTION = "aspects.instruction", "--instruction", [];
    TOP_N = "aspects.top_n", "--top-n", [];
    ENTAIL = "citations.entail", "--entail", [];
    AT_MOST = "citations.at_most", "--at-most", [];
    MAX_WORDS = "overlap.max_words", "--max-words", [];
    KIND = "judge.kind", "--judge", [];
    MODEL = "judge.model", "--model", ["SCHOLAREVAL_MODEL"];
    BASE_URL = "judge.base_url", "--base-url", ["SCHOLAREVAL_BASE_URL", "OPENAI_BASE_URL"];
    API_KEY_ENV = "judge.api_key_env", "--api-key-env", ["SCHOLAREVAL_API_KEY_ENV"];
    CACHE_ID = "judge.cache_id", "--cache-id", [];
    TEMPERATURE = "judge.temperature", "--temperature", [];
    TOP_P = "judge.top_p", "--top-p", [];
    JUDGE_SEED = "judge.seed", "--judge-seed", [];
    JSON_MODE = "judge.json_mode", "--no-json-mode", [];
    MAX_TOKENS = "judge.max_tokens", "--max-tokens", [];
    MAX_TOKENS_FIELD = "judge.max_tokens_field", "--max-tokens-field", [];
    LOGPROBS = "judge.logprobs", "--logprobs", [];
    CONVERSATION = "judge.conversation", "--conversation", [];
    EXTRA_BODY = "judge.extra_body", "--extra-body", [];
    HEADERS = "judge.headers", "--header", [];
    QUERY = "judge.query", "--query", [];
    WAIT_SERVER = "judge.wait_server", "--wait-server", ["SCHOLAREVAL_WAIT_SERVER"];
    STREAM = "judge.stream", "--stream", ["SCHOLAREVAL_STREAM"];
    TIMEOUT = "judge.timeout", "--timeout", ["SCHOLAREVAL_TIMEOUT"];
    FIRST_BYTE_TIMEOUT = "judge.first_byte_timeout", "--first-byte-timeout", [];
    RETRIES = "judge.retries", "--retries", [];
    CONCURRENCY = "limits.concurrency", "--concurrency", ["SCHOLAREVAL_CONCURRENCY"];
    RPM = "limits.rpm", "--rpm", ["SCHOLAREVAL_RPM"];
    TPM = "limits.tpm", "--tpm", ["SCHOLAREVAL_TPM"];
    CACHE_ENABLED = "cache.enabled", "--no-cache", [];
    CACHE_PATH = "cache.path", "--cache", ["SCHOLAREVAL_CACHE"];
    RETRY_UNSCORED = "cache.retry_unscored", "--retry-unscored", [], flag_only;
    PROMPTS = "prompts.dir", "--prompts", ["SCHOLAREVAL_PROMPTS"];
    OUT = "output.out", "--out", [];
    OVERWRITE = "output.overwrite", "--overwrite", [], flag_only;
    NO_INPUTS = "output.no_inputs", "--no-inputs", [];
    LABEL = "output.label", "--run-label", [];
    RESULTS_FILE = "output.results_file", "--output", [];
    FORMAT = "output.format", "--format", ["SCHOLAREVAL_FORMAT"];
    QUIET = "output.quiet", "--quiet", ["SCHOLAREVAL_QUIET"];
}

/// Tables of the config file, in the order in which they are documented; beside them [`JUDGES`] and [`ROLES`].
pub const TABLES: [&str; 9] =
    ["score", "aspects", "citations", "overlap", "judge", "limits", "cache", "prompts", "output"];

/// The table of further judges: `[judges.NAME]`.
pub const JUDGES: &str = "judges";

/// The table that gives each role its judges.
pub const ROLES: &str = "roles";

/// The table of what models cost: `[prices."MODEL"]`.
pub const PRICES: &str = "prices";

/// The variable that names the config file where `--config` does not.
pub const CONFIG_ENV: &str = "SCHOLAREVAL_CONFIG";

/// The keys that the config file may hold under `table`.
pub fn file_keys(table: &str) -> impl Iterator<Item = &'static str> {
    ALL.iter().filter(|key| key.in_file).filter_map(move |key| key.name.strip_prefix(table)?.strip_prefix('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_lies_in_a_documented_table_and_no_name_occurs_twice() {
        for (i, key) in ALL.iter().enumerate() {
            let table = key.name.split('.').next().unwrap();
            assert!(TABLES.contains(&table), "{}", key.name);
            assert!(ALL[..i].iter().all(|other| other.name != key.name && other.flag != key.flag), "{}", key.name);
        }
    }

    #[test]
    fn options_for_one_call_only_are_no_file_keys() {
        assert!(file_keys("cache").eq(["enabled", "path"]));
        assert!(file_keys("nonsense").next().is_none());
    }
}
