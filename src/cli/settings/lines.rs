//! The effective options as lines, secrets masked.

use serde_json::{Value, json};

use super::{SettingSources, TABLES};
use crate::cli::args::ScoreArgs;
use crate::cli::origin::{Origin, SettingLine};
use crate::evaluation::options::as_map;
use crate::judge::endpoint::{mask_url, masked_json};
use crate::judge::kind::JudgeKind;
use crate::judge::options::JudgeOptions;

impl SettingSources<'_> {
    /// The lines of all tables: those of the file's tables, the further judges, then the roles if any has another judge.
    pub(super) fn describe(&self, args: &ScoreArgs) -> Vec<SettingLine> {
        let map = as_map(args);
        let judge = &args.options.judge;
        let mut lines = Vec::new();
        for (table, groups) in TABLES {
            let objects = groups.iter().filter_map(|group| map[*group].as_object());
            self.describe_table(table, objects.flatten(), judge, &mut lines);
        }
        for (name, judge) in &args.options.judges {
            let mut keys = as_map(judge);
            for key in ["samples", "merge"] {
                if let Some(value) = keys.get_mut(key).filter(|value| value.is_null()) {
                    *value = map["asking"][key].clone();
                }
            }
            self.describe_table(&format!("judges.{name}"), &keys, &judge.judge, &mut lines);
        }
        // One entry is the merge rule alone, which is a default.
        if let Some(roles) = map["roles"].as_object().filter(|roles| roles.len() > 1) {
            self.describe_table("roles", roles, judge, &mut lines);
        }
        lines
    }

    /// The lines of one table; for the baseline only its kind, since it uses nothing else.
    fn describe_table<'m>(
        &self,
        table: &str,
        keys: impl IntoIterator<Item = (&'m String, &'m Value)>,
        judge: &JudgeOptions,
        lines: &mut Vec<SettingLine>,
    ) {
        let is_judge = table == "judge" || table.starts_with("judges.");
        let is_lexical = (is_judge || table == "limits") && judge.kind() == JudgeKind::Lexical;
        for (key, value) in keys {
            if !is_lexical || key == "kind" {
                self.describe_value(table, key, masked(key, value, judge), lines);
            }
        }
        if is_judge && !is_lexical {
            lines.push(api_key_line(table, judge));
        }
    }

    /// The line of a value, or a line for each of its entries; the server alone knows the structure of `extra_body`.
    fn describe_value(&self, table: &str, key: &str, value: Value, lines: &mut Vec<SettingLine>) {
        let origin = self.origin(table, key);
        match value {
            Value::Object(members) if key != "extra_body" => {
                for (name, value) in members {
                    lines.push(SettingLine {
                        key: format!("{table}.{key}.{name}"),
                        value,
                        origin: origin.clone(),
                    });
                }
            }
            value => lines.push(SettingLine {
                key: format!("{table}.{key}"),
                value,
                origin,
            }),
        }
    }
}

/// Whether a judge has a key, and from which variable; never the key.
fn api_key_line(table: &str, judge: &JudgeOptions) -> SettingLine {
    let (value, origin) = match &judge.api_key {
        Some(_) => (
            "set, not shown",
            Origin::Environment(judge.api_key_variable().to_owned()),
        ),
        None => ("not set", Origin::Default),
    };
    SettingLine {
        key: format!("{table}.api_key"),
        value: value.into(),
        origin,
    }
}

/// The value as `config` shows it.
fn masked(key: &str, value: &Value, judge: &JudgeOptions) -> Value {
    match (key, value) {
        ("base_url", Value::Array(urls)) if urls.is_empty() => json!(judge.addresses().join(",")),
        ("base_url", Value::Array(urls)) => {
            let urls = urls.iter().filter_map(Value::as_str).map(mask_url);
            json!(urls.collect::<Vec<_>>().join(","))
        }
        ("kind", Value::Null) => json!(judge.kind()),
        ("headers" | "extra_body", value) => masked_json(value),
        (_, Value::Array(items)) if items.is_empty() => Value::Null,
        (_, value) => value.clone(),
    }
}
