//! What models cost: `[prices."MODEL"]` of the config file, in USD per million tokens.

use std::collections::BTreeMap;

use serde_json::Value;

use super::config_file::ConfigFile;
use super::settings::keys::PRICES;
use super::settings::value::type_name;
use super::suggest::nearest;
use crate::error::Result;

pub use crate::judge::layers::budgeted::Price;

/// The members of a model's table.
const MEMBERS: [&str; 3] = ["prompt", "completion", "cached_prompt"];

/// Prices by the name of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Reads every table of the file.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) with file and line for a table that is no price.
    pub fn of(file: Option<&ConfigFile>) -> Result<Self> {
        let Some(file) = file else { return Ok(Self::default()) };
        let mut prices = BTreeMap::new();
        let start = format!("{PRICES}.");
        for (model, entry) in file.under(&start) {
            let price =
                price(&entry.value).map_err(|what| file.fault(&format!("{PRICES}.\"{model}\""), entry.line, &what))?;
            prices.insert(model.to_owned(), price);
        }
        Ok(Self(prices))
    }

    /// The price of that model.
    pub fn get(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }

    /// What to write for a model without one.
    pub fn what_to_write(model: &str) -> String {
        format!(
            "write [{PRICES}.\"{}\"] with prompt = .. and completion = .. (USD per million tokens) into the config file",
            model.escape_debug()
        )
    }
}

fn price(value: &Value) -> std::result::Result<Price, String> {
    let Value::Object(table) = value else {
        return Err(format!("expected a table with prompt and completion, found {}", type_name(value)));
    };
    if let Some(other) = table.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
        let hint = match nearest(other, MEMBERS) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known are {}", MEMBERS.join(", ")),
        };
        return Err(format!("unknown key {}; {hint}", other.escape_debug()));
    }
    let number = |name: &str| match table.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64().filter(|price| price.is_finite() && *price >= 0.0) {
            Some(price) => Ok(Some(price)),
            None => Err(format!("{name}: expected USD per million tokens, such as 2.5")),
        },
    };
    let needed = |name: &str| number(name)?.ok_or_else(|| format!("{name} is missing; USD per million tokens"));
    Ok(Price { prompt: needed("prompt")?, completion: needed("completion")?, cached_prompt: number("cached_prompt")? })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<Prices> {
        Prices::of(Some(&ConfigFile::parse(Path::new("my.toml"), text)?))
    }

    #[test]
    fn prices_are_found_by_the_models_name_dots_and_slashes_in_it() {
        let text = "[prices.\"gpt-4.1\"]\nprompt = 2\ncompletion = 8.0\ncached_prompt = 0.5\n\
                    [prices.\"a/b\"]\nprompt = 0\ncompletion = 0\n";
        let prices = read(text).unwrap();
        let expected = Price { prompt: 2.0, completion: 8.0, cached_prompt: Some(0.5) };
        assert_eq!(prices.get("gpt-4.1"), Some(expected));
        assert_eq!(prices.get("a/b").unwrap().cached_prompt, None);
        assert_eq!(prices.get("gpt-4"), None);
        assert_eq!(Prices::of(None).unwrap(), Prices::default());
    }

    #[test]
    fn what_is_no_price_is_named_with_line_and_remedy() {
        for (text, said) in [
            ("[prices.\"m\"]\nprompt = 2\n", "my.toml:1: prices.\"m\": completion is missing"),
            ("[prices.m]\nprompt = -1\ncompletion = 1\n", "prompt: expected USD per million tokens"),
            ("[prices.m]\nprompts = 1\ncompletion = 1\n", "unknown key prompts; did you mean prompt?"),
            ("[prices]\nm = 3\n", "my.toml:2: prices.\"m\": expected a table"),
            ("prices = 3\n", "prices is not a table"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
