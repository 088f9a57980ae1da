//! Prompts of a recorded run: rendered again from its inputs and a prompt set, and checked by the hashes in its calls.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;

use super::rescore::recorded_jobs;
use crate::domain::{CallId, CaseId, Fingerprint, Item, JudgeReply};
use crate::error::{Error, Result};
use crate::judge::body::RequestOptions;
use crate::judge::planner::ReplySource;
use crate::judge::{JudgeRequest, locked};
use crate::prompt::{Prompt, PromptSet};
use crate::record::{CallRecord, Inputs, JudgeEntry, Manifest, NoEvents, RecordedReplies, call_id};

/// Lines of a text by the place of the first and their number.
pub type LineRange = (usize, usize);

/// Shorter lines are stored once for each line that they follow, so that a blank line does not end a range.
const SHORT_LINE: usize = 40;

/// The prompts of a run.
#[derive(Debug, Clone)]
pub struct RunPrompts {
    manifest: Manifest,
    /// By case, or why there are none.
    cases: Result<HashMap<CaseId, CasePrompts>, String>,
}

/// The prompts about the answers of a case. Calls repeat each other's texts, so every line is stored about once.
#[derive(Debug, Clone, Default)]
struct CasePrompts {
    lines: Vec<String>,
    places: HashMap<blake3::Hash, usize>,
    calls: HashMap<CallId, (Fingerprint, Vec<Vec<LineRange>>)>,
}

impl CasePrompts {
    fn add(&mut self, text: &str) -> Vec<LineRange> {
        let mut ranges: Vec<LineRange> = Vec::new();
        let mut before = "";
        for line in text.split('\n') {
            let context = if line.len() < SHORT_LINE { before } else { "" };
            let key = blake3::hash(format!("{context}\n{line}").as_bytes());
            let next = self.lines.len();
            let place = *self.places.entry(key).or_insert(next);
            if place == next {
                self.lines.push(line.to_owned());
            }
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == place => *count += 1,
                _ => ranges.push((place, 1)),
            }
            before = line;
        }
        ranges
    }
}

impl RunPrompts {
    /// Renders the prompts about these cases of the run with this set.
    pub async fn rebuild(
        run: &Path,
        manifest: &Manifest,
        prompts: Arc<PromptSet>,
        is_chosen: impl Fn(&CaseId) -> bool,
    ) -> Self {
        let cases = rendered_cases(run, manifest, prompts, is_chosen).await;
        Self {
            manifest: manifest.clone(),
            cases: cases.map_err(|error| error.to_string()),
        }
    }

    /// The lines that the prompts of a case consist of.
    pub fn lines(&self, case: &CaseId) -> &[String] {
        let case = self.cases.as_ref().ok().and_then(|cases| cases.get(case));
        case.map_or(&[], |case| &case.lines)
    }

    /// The texts that were sent with this call: the system message, if there is one, and the user's.
    ///
    /// # Errors
    /// Why they are not known, such as that what was rendered does not have the hash of what was sent.
    pub fn of(&self, call: &CallRecord) -> Result<&[Vec<LineRange>], String> {
        let Some(hash) = call.prompt else {
            let why = "the record has no hash of a prompt (the baseline reads none, earlier versions recorded none)";
            return Err(why.to_owned());
        };
        let case = self
            .cases
            .as_ref()
            .map_err(String::clone)?
            .get(&call.case_id);
        if let Some((case_hash, texts)) = case.and_then(|case| case.calls.get(&call.call_id))
            && *case_hash == hash
        {
            return Ok(texts);
        }
        let role = self.manifest.roles.get(&*call.role.name());
        let label = role.and_then(|role| Some(&role.prompts.as_ref()?.label));
        Err(format!(
            "what the record and the given prompts make does not have the hash of what was sent; the judge was asked with \
             the prompts {} by scholareval {}: name their directory with --prompts DIR, unless answers or test cases \
             changed since, or --truncate cut a text",
            label.map_or("of the run", String::as_str),
            self.manifest.scholareval_version
        ))
    }
}

async fn rendered_cases(
    run: &Path,
    manifest: &Manifest,
    prompts: Arc<PromptSet>,
    is_chosen: impl Fn(&CaseId) -> bool,
) -> Result<HashMap<CaseId, CasePrompts>> {
    let mut judges = manifest.roles.values().flat_map(|role| &role.judges);
    if judges.all(|judge| judge.lexical) {
        return Ok(HashMap::new());
    }
    let inputs = Inputs::load(run, manifest)?.ok_or_else(|| {
        // Without the path of the run, which does not belong on a page.
        Error::Settings("the run holds no answers (--no-inputs)".to_owned())
    })?;
    let lists = [true, false].map(|needs_rubric| {
        let mut items: Vec<Item> = inputs.of_scorer(needs_rubric);
        items.retain(|item| is_chosen(&item.case.case_id));
        items
    });
    let replies = Arc::new(RecordedReplies::of_run(run, manifest)?);
    let source = Arc::new(RenderingReplies {
        replies: Arc::clone(&replies),
        manifest: manifest.clone(),
        prompts,
        cases: Mutex::default(),
    });
    let jobs = recorded_jobs(manifest, lists, &replies, Arc::clone(&source) as _)?;
    // A plan looks every call up.
    crate::evaluation::plan(&jobs, &mut NoEvents).await?;
    let cases = std::mem::take(&mut *locked(&source.cases));
    Ok(cases)
}

/// The replies of a run, which renders the prompt of each call that is looked up.
struct RenderingReplies {
    replies: Arc<RecordedReplies>,
    manifest: Manifest,
    prompts: Arc<PromptSet>,
    cases: Mutex<HashMap<CaseId, CasePrompts>>,
}

impl RenderingReplies {
    /// The prompt as the judge of this request gets it.
    fn prompt(&self, request: &JudgeRequest) -> Arc<Prompt> {
        let question = &*request.call.question;
        let messages = self.prompts.render(question);
        let role = self.manifest.roles.get(&*request.call.role.name());
        let Some(judge) = role.and_then(|role| role.judges.get(request.call.member as usize))
        else {
            return Arc::new(Prompt::new(messages, None));
        };
        let options = RequestOptions {
            endpoint: setting(judge, "kind"),
            conversation: setting(judge, "conversation"),
            ..RequestOptions::new("")
        };
        options.prompt(messages, self.prompts.is_fenced(question.info()))
    }
}

/// A setting of the judge, else its default: then the hash differs.
fn setting<T: Default + DeserializeOwned>(judge: &JudgeEntry, name: &str) -> T {
    let value = judge.settings.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).unwrap_or_default()
}

impl ReplySource for RenderingReplies {
    fn find(&self, request: &JudgeRequest) -> Result<Option<JudgeReply>> {
        let call = &request.call;
        let id = call_id(&request.system, &request.case_id, call, request.attempt);
        let prompt = self.prompt(request);
        let mut cases = locked(&self.cases);
        let case = cases.entry(request.case_id.clone()).or_default();
        if !case.calls.contains_key(&id) {
            let texts = prompt.sent().texts().map(|text| case.add(text)).collect();
            case.calls.insert(id, (prompt.hash(), texts));
        }
        self.replies.find(request)
    }
}
