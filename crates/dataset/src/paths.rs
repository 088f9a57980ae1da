//! Paths of the fields that a profile names: `a.b`, `a[]` (each element of a list), `a[id]` (each element, grouped by a
//! field), `a.*` (each value of an object, grouped by its key), `a:json` (the JSON in a text), `.` (the value itself).

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::reader::expected;
use scholareval_core::domain::repeated_keys::{TWO_VALUES_NAME, has_two_values, settled};
use scholareval_core::text::names::{list, start_of};

/// Maximum number of steps: a path is walked by recursion.
const STEPS: usize = 64;

/// Maximum number of characters in the name of a group, which every criterion in it has as a tag.
const GROUP_CHARS: usize = 1_000;

/// Maximum number of fields to list.
const SHOWN: usize = 8;

/// A path in a profile.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldPath {
    /// As it is written.
    pub(super) text: String,
    steps: Vec<PathStep>,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq)]
struct PathStep {
    kind: StepKind,
    /// The name of a field, or of the field that groups elements.
    name: String,
    /// Where it stands in the text of the path.
    range: Range<usize>,
}

impl PathStep {
    fn new(kind: StepKind, name: impl Into<String>, range: Range<usize>) -> Self {
        let name = name.into();
        Self { kind, name, range }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StepKind {
    /// A field of an object, or a position in a list.
    Field,
    /// Each element of a list, grouped by the text of a field if it has a name.
    Each,
    /// Each value of an object, grouped by its key.
    Values,
    /// The JSON in a text.
    Json,
}

impl StepKind {
    fn needs(self) -> &'static str {
        match self {
            Self::Json => "a text with JSON",
            Self::Values => "an object",
            _ => "a list",
        }
    }
}

/// A value to which a path leads.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) value: Value,
    /// Names of its groups, the outermost first.
    pub(super) groups: Vec<String>,
    /// Where it is, for messages: `content.rubric.analysis[2]`.
    pub(super) place: String,
}

/// The values to which a path leads.
#[derive(Debug, Default)]
pub(super) struct Matches {
    pub(super) all: Vec<Match>,
    /// The longest part of the path behind which a step leads nowhere.
    pub(super) gap: Option<PathGap>,
}

/// Where a path ends too early.
#[derive(Debug, Default)]
pub(super) struct PathGap {
    /// Number of steps that lead to a value.
    pub(super) steps: usize,
    pub(super) place: String,
    found: String,
    /// Whether it is a list or an object without elements.
    pub(super) is_empty: bool,
}

impl PathGap {
    /// Whether only the last step of the path leads nowhere.
    pub(super) fn is_at_last_step(&self, path: &FieldPath) -> bool {
        self.steps > 0 && self.steps + 1 == path.steps.len()
    }
}

impl fmt::Display for PathGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.found)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FieldPath {
    /// Parses a path, or a JSON Pointer, which begins with `/`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut path = Self {
            text: text.to_owned(),
            steps: Vec::new(),
        };
        if let Some(pointer) = text.strip_prefix('/') {
            let mut start = 0;
            for name in pointer.split('/') {
                let end = start + 1 + name.len();
                // Escapes of RFC 6901.
                let name = name.replace("~1", "/").replace("~0", "~");
                path.steps
                    .push(PathStep::new(StepKind::Field, name, start..end));
                start = end;
            }
        } else if text.is_empty() {
            path.steps.push(PathStep::new(StepKind::Field, "", 0..0));
        } else if text != "." {
            let mut start = 0;
            for part in parts(text) {
                let steps = steps_of_part(part, start).map_err(|what| {
                    let hint = "write / before the name of a field with these signs";
                    format!("{} is not a path: {what}; {hint}", text.escape_debug())
                })?;
                path.steps.extend(steps);
                start += part.len() + 1;
            }
        }
        if path.steps.len() > STEPS {
            return Err(format!("a path has at most {STEPS} steps"));
        }
        Ok(path)
    }

    /// Whether the path has more than one step.
    pub(super) fn is_nested(&self) -> bool {
        self.steps.len() > 1
    }

    /// Whether each value is an element of a list.
    pub(super) fn ends_in_elements(&self) -> bool {
        self.steps
            .last()
            .is_some_and(|step| step.kind == StepKind::Each)
    }

    /// Whether this is the first field on the path.
    pub(super) fn begins_with(&self, name: &str) -> bool {
        self.text == name || self.steps.first().is_some_and(|step| step.name == name)
    }

    /// The name of the last field on the path; the path if it names none.
    pub(super) fn last_name(&self) -> &str {
        let mut steps = self.steps.iter().rev();
        steps
            .find(|step| step.kind == StepKind::Field)
            .map_or(&self.text, |step| &step.name)
    }

    /// Whether the path has a name in braces, which stands for another text.
    pub(super) fn has_braces(&self) -> bool {
        self.steps.iter().any(|step| step.name.contains('{'))
    }

    /// The path with a text for each name in braces: `text_of` gets the name, and the path to the object of its step. The text
    /// is a name, or a part of one, even if it has the signs of paths.
    pub(super) fn filled(
        &self,
        text_of: impl Fn(&str, &str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let mut path = Self {
            text: String::new(),
            steps: Vec::new(),
        };
        let mut end = 0;
        for step in &self.steps {
            let Range { start, .. } = step.range;
            let before = &self.text[..start];
            path.text.push_str(&before[end..]);
            end = step.range.end;
            let start = path.text.len();
            let mut name = String::new();
            let mut rest = step.name.as_str();
            while let Some((first, (inner, behind))) = rest
                .split_once('{')
                .and_then(|(first, from)| Some((first, from.split_once('}')?)))
            {
                name.push_str(first);
                name.push_str(&text_of(inner, before)?);
                rest = behind;
            }
            name.push_str(rest);
            if step.kind == StepKind::Field {
                path.text.push_str(&name);
            } else {
                path.text.push_str(&self.text[step.range.clone()]);
            }
            let range = start..path.text.len();
            path.steps.push(PathStep::new(step.kind, name, range));
        }
        Ok(path)
    }

    /// The one value to which the path leads; `None` if there is none.
    ///
    /// # Errors
    /// As [`matches`](Self::matches), and when there are several values.
    pub(super) fn value(&self, root: &Value) -> Result<Option<Value>, String> {
        self.matches(root)?.only(self)
    }

    /// All values to which the path leads.
    ///
    /// # Errors
    /// When a step meets a value of another kind, or a text that is not JSON.
    pub(super) fn matches(&self, root: &Value) -> Result<Matches, String> {
        self.matches_from(root, &[], "")
    }

    /// [`matches`](Self::matches) in a value at a place that another path leads to.
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    pub(super) fn matches_from(
        &self,
        value: &Value,
        groups: &[String],
        place: &str,
    ) -> Result<Matches, String> {
        let mut matches = Matches::default();
        self.walk(0, value, groups, place, &mut matches)?;
        Ok(matches)
    }

    /// Walks from the step at `at`, with the groups and the place of the value.
    fn walk(
        &self,
        at: usize,
        value: &Value,
        groups: &[String],
        place: &str,
        to: &mut Matches,
    ) -> Result<(), String> {
        if has_two_values(value) {
            return Err(format!("{place} has {TWO_VALUES_NAME}"));
        }
        let Some(step) = self.steps.get(at) else {
            to.all.push(Match {
                value: value.clone(),
                groups: groups.to_vec(),
                place: place.to_owned(),
            });
            return Ok(());
        };
        match (step.kind, value) {
            (_, Value::Null) => to.note_gap(at.saturating_sub(1), value, place),
            (StepKind::Field, _) => {
                let (name, next) = self.longest_name(at, value);
                match field(value, name) {
                    Some(field) => self.walk(next, field, groups, &within(place, name), to)?,
                    None => to.note_gap(at, value, place),
                }
            }
            (StepKind::Json, Value::String(text)) => {
                let json = serde_json::from_str(&settled(text))
                    .map_err(|error| format!("{place}: no JSON in the text: {error}"))?;
                self.walk(at + 1, &json, groups, &format!("{place}:json"), to)?;
            }
            (StepKind::Each, Value::Array(elements)) => {
                for (number, element) in elements.iter().enumerate() {
                    let place = format!("{place}[{number}]");
                    let mut groups = groups.to_vec();
                    if !step.name.is_empty() {
                        groups.push(group_of(element, &step.name, &place)?);
                    }
                    self.walk(at + 1, element, &groups, &place, to)?;
                }
            }
            (StepKind::Values, Value::Object(fields)) => {
                for (name, field) in fields {
                    let place = within(place, name);
                    let groups = [groups, &[group(name, &place)?]].concat();
                    self.walk(at + 1, field, &groups, &place, to)?;
                }
            }
            (kind, other) => return Err(at_place(place, &expected(kind.needs(), other))),
        }
        if is_empty(value) {
            to.note_gap(at, value, place);
        }
        Ok(())
    }

    /// The longest name of a field of this object with which the rest of the path begins, and the step behind it: names may
    /// have the signs of paths.
    fn longest_name(&self, at: usize, object: &Value) -> (&str, usize) {
        let start = self.steps[at].range.start;
        for next in (at + 1..=self.steps.len()).rev() {
            let name = &self.text[start..self.steps[next - 1].range.end];
            if object.get(name).is_some() {
                return (name, next);
            }
        }
        (&self.steps[at].name, at + 1)
    }
}

impl Matches {
    /// The one value; `None` if there is none.
    ///
    /// # Errors
    /// When there are several.
    pub(super) fn only(mut self, path: &FieldPath) -> Result<Option<Value>, String> {
        match self.all.len() {
            0 | 1 => Ok(self.all.pop().map(|only| only.value)),
            count => Err(format!("{path} leads to {count} values, not to one")),
        }
    }

    /// Keeps the longest part of the path that leads to a value.
    fn note_gap(&mut self, steps: usize, last: &Value, place: &str) {
        if self.gap.as_ref().is_some_and(|gap| gap.steps >= steps) {
            return;
        }
        let found = match last {
            // Messages about the root list its fields themselves.
            _ if place.is_empty() => String::new(),
            _ if is_empty(last) => "is empty".to_owned(),
            Value::Object(fields) => {
                format!("has {}", list(fields.keys().map(String::as_str), SHOWN))
            }
            Value::Array(_) => "is a list".to_owned(),
            other => format!("is {}", start_of(&other.to_string())),
        };
        self.gap = Some(PathGap {
            steps,
            place: place.to_owned(),
            is_empty: is_empty(last),
            found,
        });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// What is wrong, with the place where it is.
pub(super) fn at_place(place: &str, what: &str) -> String {
    if place.is_empty() {
        what.to_owned()
    } else {
        format!("{place}: {what}")
    }
}

/// The parts of a path between dots, but not those in brackets or braces.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, sign) in text.char_indices() {
        match sign {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            '.' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The steps of a part between dots: a name with what follows it.
fn steps_of_part(part: &str, start: usize) -> Result<Vec<PathStep>, &'static str> {
    // From the end to the name.
    let mut steps = Vec::new();
    let mut name = part;
    loop {
        let end = start + name.len();
        let brackets = name.strip_suffix(']');
        let (before, kind, field) = if let Some(before) = name.strip_suffix(":json") {
            (before, StepKind::Json, "")
        } else if let Some((before, field)) = brackets.and_then(|inner| inner.rsplit_once('[')) {
            (before, StepKind::Each, field)
        } else {
            break;
        };
        if field.contains(']') {
            return Err("a bracket is not closed");
        }
        steps.push(PathStep::new(kind, field, start + before.len()..end));
        name = before;
    }
    let is_open = name.matches('{').count() != name.matches('}').count();
    if is_open || name.contains(['[', ']']) {
        return Err("a bracket is not closed");
    }
    let range = start..start + name.len();
    match name {
        "" if steps.is_empty() => return Err("a step is empty"),
        "" => {}
        "*" => steps.push(PathStep::new(StepKind::Values, name, range)),
        name => steps.push(PathStep::new(StepKind::Field, name, range)),
    }
    steps.reverse();
    Ok(steps)
}

/// The place of a field within another place.
pub(super) fn within(place: &str, name: &str) -> String {
    let name = start_of(&name.escape_debug().to_string());
    if place.is_empty() {
        name
    } else {
        format!("{place}.{name}")
    }
}

/// The group of an element, by the text of a field.
fn group_of(element: &Value, field: &str, place: &str) -> Result<String, String> {
    match &element[field] {
        Value::String(name) => group(name, place),
        Value::Number(number) => Ok(number.to_string()),
        _ => {
            let field = field.escape_debug();
            Err(format!(
                "{place} has no text {field}, which names its group"
            ))
        }
    }
}

fn group(name: &str, place: &str) -> Result<String, String> {
    if name.chars().nth(GROUP_CHARS).is_some() {
        let what = format!("the name of a group has more than {GROUP_CHARS} characters");
        return Err(at_place(place, &what));
    }
    Ok(name.to_owned())
}

/// The field of an object, or the element of a list at a position.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Array(elements) => elements.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(path: &str, root: &Value) -> Vec<Value> {
        let found = FieldPath::parse(path).unwrap().matches(root).unwrap();
        found.all.into_iter().map(|found| found.value).collect()
    }

    fn fault(path: &str, root: &Value) -> String {
        FieldPath::parse(path).unwrap().matches(root).unwrap_err()
    }

    #[test]
    fn each_sign_leads_to_its_values() {
        let root = json!({
            "a": {"b": [{"id": "x", "n": 1}, {"id": 2, "n": 2}]},
            "by": {"k": [3, 4], "l": [5]},
            "json": "{\"list\": \"[6, 7]\"}",
        });
        for (path, expected) in [
            (".", json!([root])),
            ("a.b[].n", json!([1, 2])),
            ("a.b.1.n", json!([2])),
            ("/a/b/0/id", json!(["x"])),
            ("by.*[]", json!([3, 4, 5])),
            ("json:json.list:json[]", json!([6, 7])),
            ("a.b[id].n", json!([1, 2])),
            ("a.c[].n", json!([])),
            ("x.y", json!([])),
        ] {
            assert_eq!(json!(values(path, &root)), expected, "{path}");
        }
    }

    #[test]
    fn a_value_has_its_groups_and_its_place() {
        let root = json!({"a": {"k": "[{\"id\": 1, \"c\": [null, {}]}]"}});
        let path = FieldPath::parse("a.*:json[id].c[]").unwrap();
        let found = &path.matches(&root).unwrap().all[1];
        assert_eq!(found.groups, ["k", "1"]);
        assert_eq!(found.place, "a.k:json[0].c[1]");
    }

    #[test]
    fn the_longest_name_of_a_field_comes_first() {
        let root = json!({
            "a.b": 1, "a": {"b": 2, "c.*": {"d": 3}, "c": {"x": {"d": 4}}}, "l[]": 5, "l": [6], "/p": 7, "p": 8, "m/n": {"~": 9},
        });
        for (path, expected) in [
            ("a.b", 1),
            ("a.c.*.d", 3),
            ("/a/b", 2),
            ("l[]", 5),
            ("/p", 7),
            ("/m~1n/~0", 9),
        ] {
            assert_eq!(values(path, &root), [expected], "{path}");
        }
    }

    #[test]
    fn a_text_in_braces_is_a_name_whatever_its_signs() {
        let root = json!({"a": {"x.y[]_w": [1], "x": {"y": 2}}});
        let path = FieldPath::parse("a.{b.c}_w[]").unwrap();
        let filled = path.filled(|name, before| {
            assert_eq!((name, before), ("b.c", "a."));
            Ok("x.y[]".to_owned())
        });
        let filled = filled.unwrap();
        assert_eq!(filled.text, "a.x.y[]_w[]");
        assert_eq!(filled.value(&root), Ok(Some(json!(1))));
    }

    #[test]
    fn another_kind_of_value_is_a_fault_with_its_place() {
        let root = json!({"a": {"l": [1], "t": "{x"}, "o": {}, "two": {"\u{0}": 1}});
        for (path, expected) in [
            ("a.l.*", "a.l: expected an object, found a list"),
            ("a[]", "a: expected a list, found an object"),
            ("a.t[]", "a.t: expected a list, found \"{x\""),
            ("a.t:json", "a.t: no JSON in the text: key must be"),
            ("a.l[]:json", "a.l[0]: expected a text with JSON, found 1"),
            ("a.l[id]", "a.l[0] has no text id, which names its group"),
            ("two", "two has two different values"),
        ] {
            let fault = fault(path, &root);
            assert!(fault.starts_with(expected), "{path}: {fault}");
        }
        let several = FieldPath::parse("a.*").unwrap().value(&root);
        assert_eq!(several.unwrap_err(), "a.* leads to 2 values, not to one");
    }

    #[test]
    fn the_longest_part_of_a_path_is_named() {
        let root = json!({"a": {"b": {"c": 1}, "n": null, "e": [], "l": [{"x": 1}, {"y": 1}]}});
        for (path, expected) in [
            ("a.b.d.e", "a.b has c"),
            ("a.b.c.d", "a.b.c is 1"),
            ("a.n.b", "a.n is null"),
            ("a.e[]", "a.e is empty"),
            ("a.l[].x", "a.l[1] has y"),
            ("b.c", " "),
        ] {
            let found = FieldPath::parse(path).unwrap().matches(&root).unwrap();
            assert_eq!(found.gap.unwrap().to_string(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for path in [
            "a..b",
            "a.",
            "a[b",
            "a]",
            "a[b[c]]",
            "a[b]c",
            "{n",
            "a.:json..",
        ] {
            let fault = FieldPath::parse(path).unwrap_err();
            assert!(fault.contains("write / before the name"), "{path}: {fault}");
        }
        assert!(FieldPath::parse("dc:title").is_ok_and(|path| !path.is_nested()));
        assert!(FieldPath::parse(&"a.".repeat(100)).is_err());
        assert!(FieldPath::parse(&format!("{}a", "a.".repeat(100))).is_err());
    }

    #[test]
    fn deep_and_wide_values_are_walked_and_deeper_ones_refused() {
        let deep = "[".repeat(100) + &"]".repeat(100);
        let wide = json!(vec![json!({"text": "a", "more": deep}); 10_000]).to_string();
        let root = json!({ "a": json!({ "b": wide }).to_string() });
        assert_eq!(values("a:json.b:json[].text", &root).len(), 10_000);
        let deep = json!({ "a": deep.replace("[]", "[1]") });
        let path = format!("a:json{}", "[]".repeat(62));
        assert_eq!(values(&path, &deep).len(), 1);
        let deeper = json!({ "a": "[".repeat(10_000) });
        assert!(fault("a:json", &deeper).contains("recursion limit"));
        let long = "k".repeat(GROUP_CHARS + 1);
        assert!(fault("*", &json!({ long: 1 })).contains("more than 1000 characters"));
    }
}
