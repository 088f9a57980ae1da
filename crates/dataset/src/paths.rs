//! Paths of the fields that a profile names: `a.b`, `a[]` (each element of a list), `a[id]` (each element, grouped by a
//! field), `a.*` (each value of an object, grouped by its key), `a:json` (the JSON in a text), `.` (the value itself).

use std::borrow::Cow;
use std::fmt;
use std::mem;

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
    text: String,
    steps: Vec<Step>,
}

/// A step of a path, which stands at `start..end` of its text.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    kind: StepKind,
    /// The name of a field, or of the field that groups elements.
    name: String,
    start: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StepKind {
    /// A field of an object, or a position in a list.
    Field,
    /// Each element of a list.
    Each,
    /// Each element of a list, grouped by the text of a field.
    EachBy,
    /// Each value of an object, grouped by its key.
    Values,
    /// The JSON in a text.
    Json,
}

/// A value to which a path leads.
#[derive(Debug, Clone)]
pub(super) struct Match<'v> {
    pub(super) value: Cow<'v, Value>,
    /// Names of its groups, the outermost first.
    pub(super) groups: Vec<String>,
    /// Where it is, for messages: `content.rubric.analysis[2]`.
    pub(super) place: String,
}

/// The values to which a path leads.
#[derive(Debug, Default)]
pub(super) struct Matches<'v> {
    pub(super) all: Vec<Match<'v>>,
    /// The longest part of the path behind which a step leads nowhere.
    pub(super) gap: Option<Gap>,
}

/// Where a path ends too early.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// Number of steps that lead to a value.
    steps: usize,
    pub(super) place: String,
    found: String,
    /// Whether it is a list or an object without elements.
    pub(super) is_empty: bool,
}

impl Gap {
    /// Whether the path leads further than in `other`.
    pub(super) fn is_beyond(&self, other: &Self) -> bool {
        self.steps > other.steps
    }

    /// Whether only the last step of the path leads nowhere.
    pub(super) fn is_at_last_step(&self, path: &FieldPath) -> bool {
        self.steps > 0 && self.steps + 1 == path.steps.len()
    }

    /// Whether the first step leads nowhere.
    pub(super) fn is_at_root(&self) -> bool {
        self.steps == 0
    }
}

impl fmt::Display for Gap {
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
                path.push(StepKind::Field, &name, start..end);
                start = end;
            }
        } else if text.is_empty() {
            path.push(StepKind::Field, "", 0..0);
        } else if text != "." {
            let mut start = 0;
            for part in parts(text) {
                path.push_part(part, start)
                    .map_err(|what| format!("{} is not a path: {what}", text.escape_debug()))?;
                start += part.len() + 1;
            }
        }
        if path.steps.len() > STEPS {
            return Err(format!("a path has at most {STEPS} steps"));
        }
        Ok(path)
    }

    fn push(&mut self, kind: StepKind, name: &str, range: std::ops::Range<usize>) {
        self.steps.push(Step {
            kind,
            name: name.to_owned(),
            start: range.start,
            end: range.end,
        });
    }

    /// Adds the steps of a part between dots: a name with what follows it.
    fn push_part(&mut self, part: &str, start: usize) -> Result<(), String> {
        let hint = "write / before the name of a field with these signs";
        let mut behind = Vec::new();
        let mut name = part;
        loop {
            let end = start + name.len();
            if let Some(before) = name.strip_suffix(":json") {
                behind.push((StepKind::Json, "", start + before.len()..end));
                name = before;
            } else if let Some((before, field)) = name
                .strip_suffix(']')
                .and_then(|inner| inner.rsplit_once('['))
            {
                let kind = if field.is_empty() {
                    StepKind::Each
                } else {
                    StepKind::EachBy
                };
                behind.push((kind, field, start + before.len()..end));
                name = before;
            } else {
                break;
            }
        }
        let is_open = name.matches('{').count() != name.matches('}').count();
        let mut fields = behind.iter().map(|(_, field, _)| field);
        if is_open || name.contains(['[', ']']) || fields.any(|field| field.contains(']')) {
            return Err(format!("a bracket is not closed; {hint}"));
        }
        let end = start + name.len();
        match name {
            "" if behind.is_empty() => return Err(format!("a step is empty; {hint}")),
            "" => {}
            "*" => self.push(StepKind::Values, "*", start..end),
            name => self.push(StepKind::Field, name, start..end),
        }
        for (kind, field, range) in behind.into_iter().rev() {
            self.push(kind, field, range);
        }
        Ok(())
    }

    /// The path as it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the path has more than one step.
    pub(super) fn is_nested(&self) -> bool {
        self.steps.len() > 1
    }

    /// Whether each value is an element of a list.
    pub(super) fn ends_in_elements(&self) -> bool {
        let last = self.steps.last().map(|step| step.kind);
        matches!(last, Some(StepKind::Each | StepKind::EachBy))
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
            path.text.push_str(&self.text[end..step.start]);
            end = step.end;
            let start = path.text.len();
            let mut name = String::new();
            let mut rest = step.name.as_str();
            while let Some((before, (inner, behind))) = rest
                .split_once('{')
                .and_then(|(before, from)| Some((before, from.split_once('}')?)))
            {
                name.push_str(before);
                name.push_str(&text_of(inner, &self.text[..step.start])?);
                rest = behind;
            }
            name.push_str(rest);
            if step.kind == StepKind::Field {
                path.text.push_str(&name);
            } else {
                path.text.push_str(&self.text[step.start..step.end]);
            }
            let range = start..path.text.len();
            path.push(step.kind, &name, range);
        }
        Ok(path)
    }

    /// The one value to which the path leads; `None` if there is none.
    ///
    /// # Errors
    /// As [`matches`](Self::matches), and when there are several values.
    pub(super) fn value<'v>(&self, root: &'v Value) -> Result<Option<Cow<'v, Value>>, String> {
        self.matches(root)?.only(self)
    }

    /// All values to which the path leads.
    ///
    /// # Errors
    /// When a step meets a value of another kind, or a text that is not JSON.
    pub(super) fn matches<'v>(&self, root: &'v Value) -> Result<Matches<'v>, String> {
        self.matches_from(Match {
            value: Cow::Borrowed(root),
            groups: Vec::new(),
            place: String::new(),
        })
    }

    /// [`matches`](Self::matches) in a value to which another path leads.
    ///
    /// # Errors
    /// As [`matches`](Self::matches).
    pub(super) fn matches_from<'v>(&self, root: Match<'v>) -> Result<Matches<'v>, String> {
        let mut matches = Matches::default();
        self.walk(0, root, &mut matches)?;
        Ok(matches)
    }

    /// Walks from the step at `at`.
    fn walk<'v>(&self, at: usize, from: Match<'v>, to: &mut Matches<'v>) -> Result<(), String> {
        if has_two_values(&from.value) {
            return Err(format!("{} has {TWO_VALUES_NAME}", from.place));
        }
        let Some(step) = self.steps.get(at) else {
            to.all.push(from);
            return Ok(());
        };
        if from.value.is_null() {
            to.note_gap(at.saturating_sub(1), &from);
            return Ok(());
        }
        match step.kind {
            StepKind::Field => {
                let (name, next) = self.longest_name(at, &from.value);
                if field(&from.value, name).is_none() {
                    to.note_gap(at, &from);
                    return Ok(());
                }
                let place = within(&from.place, name);
                let value = taken(from.value, name);
                self.walk(
                    next,
                    Match {
                        value,
                        place,
                        ..from
                    },
                    to,
                )
            }
            StepKind::Json => {
                let Value::String(text) = &*from.value else {
                    return Err(from.another_kind("a text with JSON"));
                };
                let value: Value = serde_json::from_str(&settled(text))
                    .map_err(|error| format!("{}: no JSON in the text: {error}", from.place))?;
                let (value, place) = (Cow::Owned(value), format!("{}:json", from.place));
                self.walk(
                    at + 1,
                    Match {
                        value,
                        place,
                        ..from
                    },
                    to,
                )
            }
            StepKind::Each | StepKind::EachBy | StepKind::Values => {
                let children = match step.kind {
                    StepKind::Values => from.values(),
                    _ => from.elements(step),
                }?;
                if children.is_empty() {
                    to.note_gap(at, &from);
                }
                for child in children {
                    self.walk(at + 1, child, to)?;
                }
                Ok(())
            }
        }
    }

    /// The longest name of a field of this object with which the rest of the path begins, and the step behind it: names may
    /// have the signs of paths.
    fn longest_name(&self, at: usize, object: &Value) -> (&str, usize) {
        let start = self.steps[at].start;
        for next in (at + 2..=self.steps.len()).rev() {
            let name = &self.text[start..self.steps[next - 1].end];
            if object.get(name).is_some() {
                return (name, next);
            }
        }
        (&self.steps[at].name, at + 1)
    }
}

impl<'v> Match<'v> {
    /// Each element of a list, in its group if the step names one.
    fn elements(&self, step: &Step) -> Result<Vec<Self>, String> {
        let elements: Vec<Cow<'v, Value>> = match &self.value {
            Cow::Borrowed(Value::Array(list)) => list.iter().map(Cow::Borrowed).collect(),
            Cow::Owned(Value::Array(list)) => list.iter().cloned().map(Cow::Owned).collect(),
            _ => return Err(self.another_kind("a list")),
        };
        let mut matches = Vec::with_capacity(elements.len());
        for (at, value) in elements.into_iter().enumerate() {
            let mut groups = self.groups.clone();
            let place = format!("{}[{at}]", self.place);
            if step.kind == StepKind::EachBy {
                groups.push(match value.get(&step.name) {
                    Some(Value::String(name)) => group(name, &place)?,
                    Some(Value::Number(number)) => number.to_string(),
                    _ => {
                        let name = step.name.escape_debug();
                        return Err(format!("{place} has no text {name}, which names its group"));
                    }
                });
            }
            matches.push(Match {
                value,
                groups,
                place,
            });
        }
        Ok(matches)
    }

    /// Each value of an object, in the group of its key.
    fn values(&self) -> Result<Vec<Self>, String> {
        let members: Vec<(&String, Cow<'v, Value>)> = match &self.value {
            Cow::Borrowed(Value::Object(fields)) => fields
                .iter()
                .map(|(name, value)| (name, Cow::Borrowed(value)))
                .collect(),
            Cow::Owned(Value::Object(fields)) => fields
                .iter()
                .map(|(name, value)| (name, Cow::Owned(value.clone())))
                .collect(),
            _ => return Err(self.another_kind("an object")),
        };
        let mut matches = Vec::with_capacity(members.len());
        for (name, value) in members {
            let mut groups = self.groups.clone();
            groups.push(group(name, &self.place)?);
            let place = within(&self.place, name);
            matches.push(Match {
                value,
                groups,
                place,
            });
        }
        Ok(matches)
    }

    fn another_kind(&self, kind: &str) -> String {
        let what = expected(kind, &self.value);
        if self.place.is_empty() {
            what
        } else {
            format!("{}: {what}", self.place)
        }
    }
}

impl<'v> Matches<'v> {
    /// The one value; `None` if there is none.
    ///
    /// # Errors
    /// When there are several.
    pub(super) fn only(mut self, path: &FieldPath) -> Result<Option<Cow<'v, Value>>, String> {
        if self.all.len() > 1 {
            let count = self.all.len();
            return Err(format!("{path} leads to {count} values, not to one"));
        }
        Ok(self.all.pop().map(|only| only.value))
    }

    /// Keeps the longest part of the path that leads to a value.
    fn note_gap(&mut self, steps: usize, last: &Match<'_>) {
        if self.gap.as_ref().is_some_and(|gap| gap.steps >= steps) {
            return;
        }
        let mut gap = Gap {
            steps,
            ..Gap::default()
        };
        if !last.place.is_empty() {
            gap.place = last.place.clone();
            gap.found = match &*last.value {
                Value::Object(fields) if !fields.is_empty() => {
                    format!("has {}", list(fields.keys().map(String::as_str), SHOWN))
                }
                Value::Array(elements) if !elements.is_empty() => "is a list".to_owned(),
                Value::Object(_) | Value::Array(_) => "is empty".to_owned(),
                other => format!("is {}", start_of(&other.to_string())),
            };
            gap.is_empty = gap.found == "is empty";
        }
        self.gap = Some(gap);
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

/// The place of a field within another place.
pub(super) fn within(place: &str, name: &str) -> String {
    let name = start_of(&name.escape_debug().to_string());
    if place.is_empty() {
        name
    } else {
        format!("{place}.{name}")
    }
}

/// The name of a group.
fn group(name: &str, place: &str) -> Result<String, String> {
    if name.chars().count() > GROUP_CHARS {
        let start = start_of(name);
        return Err(format!(
            "{place}: the name of a group has more than {GROUP_CHARS} characters: {start}"
        ));
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

/// The value of a field that is there.
fn taken<'v>(value: Cow<'v, Value>, name: &str) -> Cow<'v, Value> {
    match value {
        Cow::Borrowed(value) => field(value, name).map_or(Cow::Owned(Value::Null), Cow::Borrowed),
        Cow::Owned(mut value) => {
            let field = match &mut value {
                Value::Array(elements) => name
                    .parse::<usize>()
                    .ok()
                    .and_then(|at| elements.get_mut(at)),
                other => other.get_mut(name),
            };
            Cow::Owned(field.map(mem::take).unwrap_or_default())
        }
    }
}
