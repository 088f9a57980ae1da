//! Prices of hosted models: a dated list, built in or from a file.
//!
//! Names match exactly and never by their beginning: `gpt-4o` with a later date may cost something else, and a budget by a
//! guessed price is worse than one that asks for `--price`.

use std::collections::BTreeMap;
use std::path::Path;

use scholareval_data::PRICES;
use serde::Deserialize;

use super::endpoint::Endpoint;
use super::layers::budgeted::Price;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_small_text;

/// Services whose name may precede that of a model (`openai/gpt-4o`).
const SERVICES: [&str; 7] = [
    "openai",
    "anthropic",
    "google",
    "gemini",
    "mistral",
    "mistralai",
    "deepseek",
];

/// Prices of models by name, as in `data/prices.json`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PriceList {
    /// The day of the prices, YYYY-MM-DD.
    pub date: String,
    /// USD per million tokens.
    pub models: BTreeMap<String, Price>,
}

impl PriceList {
    /// The list in this file; without one the built-in list.
    ///
    /// # Errors
    /// For a file that cannot be read, is not such a list or has a price below 0.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        let text = match file {
            Some(file) => read_small_text(file)?.0,
            None => PRICES.to_owned(),
        };
        let file = file.unwrap_or(Path::new("data/prices.json"));
        let list: Self = serde_json::from_str(&text)
            .map_err(|error| fault(file, format!("not a price list: {error}")))?;
        for (model, price) in &list.models {
            if !price.is_valid() {
                return Err(fault(file, format!("the price of {model:?} is not a price")).into());
            }
        }
        Ok(list)
    }

    /// The price of exactly this model, with or without the name of a service before it. Private servers have none,
    /// whatever they call their model.
    pub fn find(&self, model: &str, endpoint: &Endpoint) -> Option<Price> {
        // A local model may well be called `gpt-4o`; priced by its name, a budget would stop a run
        // that costs nothing.
        if endpoint.is_private() {
            return None;
        }
        if let Some(price) = self.models.get(model) {
            return Some(*price);
        }
        // Open models have their maker's name, and another price at each service.
        if endpoint.base_url.contains("//api.together.")
            && let Some(price) = self.models.get(&format!("together_ai/{model}"))
        {
            return Some(*price);
        }
        let (service, bare) = model.split_once('/')?;
        if !SERVICES.contains(&service) {
            return None;
        }
        self.models.get(bare).copied()
    }
}

/// A fault of a price list, with how to write one.
fn fault(file: &Path, what: String) -> InputFault {
    let example =
        r#"{"date": "2026-01-31", "models": {"gpt-6-luna": {"prompt": 0.1, "completion": 0.5}}}"#;
    InputFault::new(file, what).hint(format!("write USD per million tokens, such as {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price_at(url: &str, model: &str) -> Option<(f64, f64)> {
        let price = PriceList::load(None)
            .unwrap()
            .find(model, &Endpoint::new(url).unwrap())?;
        Some((price.prompt, price.completion))
    }

    #[test]
    fn a_model_is_found_by_its_exact_name_with_or_without_a_service_and_never_by_a_similar_one() {
        let openai = |model| price_at("https://api.openai.com/v1", model);
        assert_eq!(openai("gpt-4o"), Some((2.5, 10.0)));
        assert_eq!(openai("gpt-4o-2024-11-20"), Some((2.5, 10.0)));
        assert_eq!(
            price_at("https://openrouter.ai/api/v1", "openai/gpt-4o-2024-11-20"),
            Some((2.5, 10.0))
        );
        for other in [
            "gpt-4o-2031-01-01",
            "gpt-4",
            "gpt-4o-",
            "other/gpt-4o",
            "GPT-4o",
            "",
        ] {
            assert_eq!(openai(other), None, "{other}");
        }
    }

    #[test]
    fn private_servers_have_no_price_and_open_models_only_that_of_their_service() {
        for url in [
            "http://localhost:8000",
            "https://gpu07:8443",
            "https://10.0.0.7",
            "http://judge.example.org",
        ] {
            assert_eq!(price_at(url, "gpt-4o"), None, "{url}");
        }
        assert_eq!(
            price_at("https://api.together.xyz/v1", "openai/gpt-oss-120b"),
            Some((0.15, 0.6))
        );
        assert_eq!(
            price_at("https://llm.example.edu/v1", "openai/gpt-oss-120b"),
            None
        );
    }

    #[test]
    fn a_file_replaces_the_list_and_a_fault_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("prices.json");
        let load = |text: &str| {
            std::fs::write(&file, text).unwrap();
            PriceList::load(Some(&file))
        };
        let list =
            load(r#"{"date": "2027-01-01", "models": {"m": {"prompt": 1, "completion": 2}}}"#)
                .unwrap();
        let openai = Endpoint::new("https://api.openai.com").unwrap();
        assert_eq!(
            (
                list.find("m", &openai).unwrap().completion,
                list.find("gpt-4o", &openai)
            ),
            (2.0, None)
        );
        for bad in [
            "[]",
            r#"{"date": "x", "models": {"m": {"prompt": -1, "completion": 2}}}"#,
        ] {
            let error = load(bad).unwrap_err().to_string();
            assert!(
                error.contains("prices.json") && error.contains("USD per million tokens"),
                "{error}"
            );
        }
    }
}
