//! Makes a prompt set from the user's own checkout of ScholarQABench.
//!
//! Read are the string literals of three scripts: those of class `RubricCorpusQaGenericMetric`, located by the method
//! they stand in and the argument they are given as, and those that the scripts for aspects and for citations set at
//! their top (see [`super::import_graded`]). Nothing of the checkout is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::checkout::head_commit;
use super::files::read_text;
use super::import_graded::{import_aspect, import_attribution};
use super::manifest::{Imported, InsertMode, Manifest, TaskEntry};
use super::python::{LiteralPiece, Placed, Token, tokens};
use super::script::Scope;
use super::set::PromptSet;
use super::template::{Variable, escape};
use crate::error::{Error, InputFault, Result};

const SCRIPT: &str = "scripts/scholarqacs_rubric.py";
const CLASS: &str = "RubricCorpusQaGenericMetric";
const CONFIG_CLASS: &str = "CorpusQaRubricConfig";

impl PromptSet {
    /// Reads the published wording from a checkout of ScholarQABench.
    ///
    /// The set is verbatim; [`Family::is_published`](super::Family::is_published) tells of each family whether it is
    /// the published wording. Where a checkout lacks the script for aspects or for citations, the set lacks that
    /// family, which then is the built-in one. The commit of the checkout is kept in the manifest, where it can be
    /// told.
    ///
    /// # Errors
    /// No script with the rubric, or one of another shape: with file, line and what was looked for.
    pub fn import(checkout: &Path) -> Result<Self> {
        let path = find_script(checkout)?;
        let mut files = BTreeMap::new();
        let mut manifest = import_rubric(&path, &mut files)?;
        manifest.aspect = import_aspect(checkout, &mut files)?;
        manifest.attribution = import_attribution(checkout, &mut files)?;
        let source =
            |manifest: &Manifest| toml::to_string(manifest).map_err(|error| Error::Internal(error.to_string()));
        let set = Self::compile(source(&manifest)?, files, &path)?;
        let Some(commit) = head_commit(checkout) else { return Ok(set) };
        manifest.imported = Some(Imported { commit, fingerprint: set.fingerprint() });
        Self::compile(source(&manifest)?, set.files, &path)
    }
}

/// A manifest with the four tasks of the rubric, their texts into `files`.
fn import_rubric(path: &Path, files: &mut BTreeMap<String, String>) -> Result<Manifest> {
    let source = read_text(path)?;
    let tokens = tokens(&source, path)?;
    let file = Scope { path, what: "the script", line: 1, body: &tokens };
    let class = file.child("class", CLASS)?;
    let mut property = class.child("def", "_score_property")?.task("property", files)?;
    let evidence_method = class.child("def", "_score_evidence")?;
    evidence_method.check_numbering()?;
    let evidence = evidence_method.task("evidence", files)?;
    let citations = class.child("def", "_score_citations_excerpts_inner")?.task("citations", files)?;
    // A fork may give the literal in another method: then the first one of the class counts.
    let criterion = class.child("def", "score_output").and_then(Scope::expertise_criterion);
    let criterion = criterion.or_else(|_| class.expertise_criterion())?;
    files.insert("expertise.criterion.txt".to_owned(), criterion);
    let expertise = TaskEntry { criterion: Some("expertise.criterion.txt".to_owned()), ..property.clone() };
    property.criterion = None;
    Ok(Manifest {
        name: "scholarqabench".to_owned(),
        version: 1,
        mode: InsertMode::Verbatim,
        model: file.child("class", CONFIG_CLASS).ok().and_then(|config| config.default_of("model_name")),
        imported: None,
        expertise: Some(expertise),
        property: Some(property),
        evidence: Some(evidence),
        citations: Some(citations),
        aspect: None,
        attribution: None,
    })
}

/// The published script, else another one that defines the class.
fn find_script(checkout: &Path) -> Result<PathBuf> {
    let usual = checkout.join(SCRIPT);
    if usual.is_file() {
        return Ok(usual);
    }
    let scripts = checkout.join("scripts");
    let mut candidates: Vec<PathBuf> = fs::read_dir(&scripts)
        .map(|entries| entries.filter_map(Result::ok).map(|entry| entry.path()).collect())
        .unwrap_or_default();
    candidates.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    candidates.sort();
    let class = format!("class {CLASS}");
    let defines_it = |path: &PathBuf| read_text(path).is_ok_and(|source| source.contains(&class));
    candidates.into_iter().find(defines_it).ok_or_else(|| {
        InputFault::new(checkout, format!("holds neither {SCRIPT} nor another script with `{class}`"))
            .hint("name the top directory of a checkout of ScholarQABench")
            .into()
    })
}

impl<'a> Scope<'a> {
    /// One task: its prompts as files, and the parameters beside them.
    fn task(&self, kind: &str, files: &mut BTreeMap<String, String>) -> Result<TaskEntry> {
        let mut entry = TaskEntry::default();
        for (argument, part) in [("system_prompt", "system"), ("user_prompt", "user")] {
            let value = self
                .argument(argument)
                .ok_or_else(|| self.fault(self.line, format!("{} has no argument {argument}=", self.what)))?;
            let template = self.template(argument, value)?;
            let name = format!("{kind}.{part}.txt");
            files.insert(name.clone(), template);
            match part {
                "system" => entry.system = Some(name),
                _ => entry.user.push(name),
            }
        }
        entry.json_mode = self.argument("json_mode").is_some_and(|value| value[0].is_name("True"));
        entry.max_tokens = self.number("max_tokens");
        Ok(entry)
    }

    /// The template source of the literals `value` starts with.
    fn template(&self, argument: &str, value: &[Placed]) -> Result<String> {
        let opening = value.iter().take_while(|placed| placed.is_operator('(')).count();
        let (pieces, _) = self.literal(&value[opening..])?;
        if pieces.is_empty() {
            let line = value.first().map_or(self.line, |placed| placed.line);
            return Err(self.fault(line, format!("{argument}= of {} is not a string literal", self.what)));
        }
        let mut out = String::new();
        for piece in pieces {
            match piece {
                LiteralPiece::Text(text) => out.push_str(&escape(&text)),
                LiteralPiece::Expression(expression, line) => {
                    let variable = match expression.as_str() {
                        "question" => Variable::Question,
                        "response" => Variable::Response,
                        "prop" => Variable::Criterion,
                        "snippets" => Variable::Snippets,
                        "len(evidence)" => Variable::SnippetCount,
                        other => {
                            let known = "question, response, prop, snippets, len(evidence)";
                            let what = format!("{argument}= of {} has {{{other}}}; known are {known}", self.what);
                            return Err(self.fault(line, what));
                        }
                    };
                    out.push_str(&format!("{{{{{}}}}}", variable.name()));
                }
            }
        }
        Ok(out)
    }

    /// Snippets are joined as `1. text` lines; anything else would be rendered wrongly.
    fn check_numbering(&self) -> Result<()> {
        let value = self
            .argument("snippets")
            .ok_or_else(|| self.fault(self.line, format!("{} makes no `snippets`", self.what)))?;
        let literals: Vec<Vec<LiteralPiece>> = value
            .iter()
            .take(6)
            .filter_map(|placed| match &placed.token {
                Token::Text(raw) => Some(raw.value(self.path)),
                _ => None,
            })
            .collect::<Result<_>>()?;
        let is_expected = matches!(literals.as_slice(), [separator, line]
            if matches!(separator.as_slice(), [LiteralPiece::Text(text)] if text == "\n")
            && matches!(line.as_slice(), [LiteralPiece::Expression(number, _), LiteralPiece::Text(dot), LiteralPiece::Expression(..)]
                if number.ends_with("+1") && dot == ". "));
        if is_expected {
            return Ok(());
        }
        let line = value.first().map_or(self.line, |placed| placed.line);
        Err(self.fault(line, "snippets are not numbered as `1. text`, one a line"))
    }

    /// The literal that is given to the `_score_property` call for the component `expertise`.
    fn expertise_criterion(self) -> Result<String> {
        for (at, _) in self.body.iter().enumerate().filter(|(_, placed)| placed.is_name("_score_property")) {
            let mut depth = 0_usize;
            for (i, placed) in self.body.iter().enumerate().skip(at + 1) {
                match placed.token {
                    Token::Operator('(' | '[' | '{') => depth += 1,
                    Token::Operator(')' | ']' | '}') => depth = depth.saturating_sub(1),
                    Token::Text(_) if depth == 1 => {
                        let (pieces, _) = self.literal(&self.body[i..])?;
                        if let [LiteralPiece::Text(text)] = pieces.as_slice() {
                            return Ok(text.clone());
                        }
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        }
        Err(self.fault(self.line, format!("{} gives no literal to _score_property", self.what)))
    }

    /// The string default of a field, as in `name: str = "value"`.
    fn default_of(&self, field: &str) -> Option<String> {
        let at = self.body.windows(2).position(|pair| pair[0].is_name(field) && pair[1].is_operator(':'))?;
        let rest = &self.body[at + 2..];
        let equals = rest.iter().take(8).position(|placed| placed.is_operator('='))?;
        match self.literal(&rest[equals + 1..]).ok()?.0.as_slice() {
            [LiteralPiece::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }
}
