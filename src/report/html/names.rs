//! Names of systems as the page has room for them.

use std::collections::HashMap;

use crate::report::visible::{visible, without_middle};

/// Characters of a name that are shown; the whole of it stands in the title.
const SHOWN: usize = 48;

/// What is shown in the place of each name.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(HashMap<String, String>);

impl Names {
    /// Of these names, those that are too long without their middle: `RUN/SYSTEM` may differ at both ends. Where two would
    /// look the same they are numbered.
    pub(super) fn of<'a>(labels: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: HashMap<String, String> = HashMap::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        for label in labels {
            let whole = visible(label).into_owned();
            if names.contains_key(&whole) {
                continue;
            }
            let short = without_middle(&whole, SHOWN);
            let count = seen.entry(short.clone()).or_insert(0);
            *count += 1;
            let shown = if *count > 1 { format!("{short} ({count})") } else { short };
            names.insert(whole, shown);
        }
        Self(names)
    }

    /// What is shown for a name as [`visible`] writes it.
    fn short(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_else(|| without_middle(name, SHOWN))
    }

    /// The same in pieces, between which a line may end: names have few other places for that.
    pub(super) fn pieces(&self, name: &str) -> Vec<String> {
        self.short(name).split_inclusive(['_', '/']).map(str::to_owned).collect()
    }

    /// The same for a label, and nothing where it is shown whole.
    pub(super) fn shortened(&self, label: &str) -> Option<String> {
        let whole = visible(label);
        Some(self.short(&whole)).filter(|short| *short != whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends_and_no_two_look_the_same() {
        let long = |middle: &str| format!("{}{middle}{}", "x".repeat(100), "y".repeat(100));
        let names = Names::of([long("1").as_str(), long("2").as_str(), "short"]);
        // 23 + 1 + 24 characters
        let short = format!("{}…{}", "x".repeat(23), "y".repeat(24));
        assert_eq!(names.short(&long("1")), short);
        assert_eq!(names.short(&long("2")), format!("{short} (2)"));
        assert_eq!((names.short("short").as_str(), names.shortened("short")), ("short", None));
        assert_eq!(names.shortened(&long("1")), Some(short));
        assert_eq!(names.pieces("run/a_b-c"), ["run/", "a_", "b-c"]);
    }
}
