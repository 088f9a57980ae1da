//! The longest prompt that a server accepts, where it reports one: found before a call is sent, not by its refusal.
//!
//! | server | where the limit stands | counts |
//! |---|---|---|
//! | vLLM | `max_model_len` in `GET /v1/models` | prompt and reply limit together |
//! | llama.cpp | `default_generation_settings.n_ctx` in `GET /props` (one slot), `meta.n_ctx` in `GET /v1/models` | the prompt |
//! | SGLang | `max_model_len` as vLLM; before that `max_req_input_len` in `GET /get_server_info` | the prompt |
//!
//! The context that a model was trained for (`n_ctx_train`) is not a limit of the server, and is not used.

use serde_json::Value;

/// How long a prompt may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Tokens that a call may have; of vLLM with its reply limit, of llama.cpp without.
    pub context_tokens: u64,
    /// Whether the reply limit counts, too.
    pub counts_reply: bool,
}

impl Capacity {
    /// A limit in tokens, if the value is one.
    pub(super) fn of(tokens: &Value, counts_reply: bool) -> Option<Self> {
        let context_tokens = tokens.as_u64().filter(|tokens| *tokens > 0)?;
        Some(Self {
            context_tokens,
            counts_reply,
        })
    }

    /// The capacity by the model's entry in `GET /v1/models` of vLLM and llama.cpp.
    pub(super) fn listed(entry: &Value) -> Option<Self> {
        Self::of(&entry["max_model_len"], true).or_else(|| Self::of(&entry["meta"]["n_ctx"], false))
    }

    /// The capacity by the list of models and by `GET /props`, where null stands for a missing route. llama.cpp lists the
    /// context of all its slots, and reports that of one.
    pub(super) fn reported(listed: Option<Self>, props: &Value) -> Option<Self> {
        let slot = Self::of(&props["default_generation_settings"]["n_ctx"], false);
        let whole = listed.filter(|listed| listed.counts_reply);
        whole.or(slot).or(listed)
    }

    /// The capacity by SGLang's report on itself.
    pub(super) fn of_sglang(info: &Value) -> Option<Self> {
        let prompt = info["max_req_input_len"]
            .as_u64()
            .filter(|tokens| *tokens > 0)?;
        // Beside the prompt there must be room for one token of a reply.
        Some(Self {
            context_tokens: prompt.saturating_add(1),
            counts_reply: false,
        })
    }

    /// Tokens that a prompt may have beside a reply limited to `max_tokens`.
    pub fn prompt_room(&self, max_tokens: Option<u64>) -> u64 {
        // One token of a reply there must be.
        let reply = self.counted_reply(max_tokens).unwrap_or(1).max(1);
        self.context_tokens.saturating_sub(reply)
    }

    /// The reply limit, where the server counts it: such a call is refused although its prompt would fit.
    pub(super) fn counted_reply(&self, max_tokens: Option<u64>) -> Option<u64> {
        max_tokens.filter(|_| self.counts_reply)
    }
}

/// How many calls a server of llama.cpp works on at once, by its list of models and by `GET /props`, where null stands for a
/// missing route: any number if it does not report its slots. `None` for other servers.
pub(super) fn slots_of_llama_cpp(models: &Value, props: &Value) -> Option<usize> {
    let slots = props["total_slots"].as_u64().filter(|slots| *slots > 0);
    let is_llama_cpp = props["default_generation_settings"].is_object()
        || models["data"][0]["owned_by"] == "llamacpp";
    let slots = slots.or(is_llama_cpp.then_some(u64::MAX))?;
    Some(usize::try_from(slots).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_server_reports_its_limit_in_its_own_place() {
        let vllm = Capacity {
            context_tokens: 8192,
            counts_reply: true,
        };
        assert_eq!(
            Capacity::listed(&json!({"id": "m", "max_model_len": 8192})),
            Some(vllm)
        );
        let llama = |context_tokens| {
            Some(Capacity {
                context_tokens,
                counts_reply: false,
            })
        };
        let listed = json!({"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}});
        assert_eq!(
            Capacity::reported(Capacity::listed(&listed), &Value::Null),
            llama(2048)
        );
        assert_eq!(
            Capacity::reported(
                Capacity::listed(&listed),
                &json!({"default_generation_settings": {"n_ctx": 512}})
            ),
            llama(512)
        );
        let sglang =
            Capacity::of_sglang(&json!({"context_length": null, "max_req_input_len": 4090}))
                .unwrap();
        assert_eq!(
            (
                sglang.prompt_room(Some(100)),
                Capacity::of_sglang(&Value::Null)
            ),
            (4090, None)
        );
        for silent in [
            json!(null),
            json!({"id": "m", "meta": {"n_ctx_train": 8192}}),
            json!(7),
        ] {
            assert_eq!(Capacity::listed(&silent), None, "{silent}");
        }
    }

    #[test]
    fn only_llama_cpp_has_slots() {
        let models = json!({"data": [{"id": "m", "owned_by": "llamacpp"}]});
        let slots = |props: Value| slots_of_llama_cpp(&models, &props);
        assert_eq!(slots(json!({"total_slots": 2})), Some(2));
        assert_eq!(slots(json!({"total_slots": 0})), Some(usize::MAX));
        assert_eq!(slots(Value::Null), Some(usize::MAX));
        let other = json!({"data": [{"id": "m", "owned_by": "vllm"}]});
        assert_eq!(slots_of_llama_cpp(&other, &Value::Null), None);
        assert_eq!(
            slots_of_llama_cpp(&other, &json!({"model_path": "/m"})),
            None
        );
        let props = json!({"default_generation_settings": {"n_ctx": 8}, "total_slots": 4});
        assert_eq!(slots_of_llama_cpp(&Value::Null, &props), Some(4));
    }

    #[test]
    fn the_reply_limit_counts_where_the_server_counts_it() {
        let room = |context_tokens, counts_reply, limit| {
            Capacity {
                context_tokens,
                counts_reply,
            }
            .prompt_room(limit)
        };
        assert_eq!(room(1000, true, Some(512)), 488);
        assert_eq!(room(1000, true, None), 999);
        assert_eq!(room(1000, false, Some(512)), 999);
        assert_eq!(room(100, true, Some(512)), 0);
    }
}
