//! Calls to bytes: the prompt set words them, the judge's options wrap them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Rendered;
use super::body::RequestOptions;
use super::capacity::Capacity;
use super::kind::JudgeKind;
use super::truncate::{Fitted, Truncation, fit};
use crate::domain::{CallKind, JudgeCall, JudgeTask};
use crate::prompt::{InsertMode, PromptSet};

/// Turns a call into what goes over the wire.
pub trait Renderer: Send + Sync {
    /// The rendered call; `None` for judges that answer the task itself.
    fn render(&self, call: &JudgeCall, attempt: u32) -> Option<Rendered>;

    /// The route of rendered calls; `None` where nothing is rendered.
    fn route(&self) -> Option<JudgeKind> {
        None
    }
}

/// Renders nothing: for judges that answer the task itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRendering;

impl Renderer for NoRendering {
    fn render(&self, _call: &JudgeCall, _attempt: u32) -> Option<Rendered> {
        None
    }
}

/// Renders the calls to one judge: the prompt set words them, the judge's options wrap them.
pub struct PromptRenderer {
    prompts: Arc<PromptSet>,
    /// What is sent with each kind of call.
    options: BTreeMap<CallKind, RequestOptions>,
    /// Where texts that do not fit are cut: how much does.
    capacity: Option<Capacity>,
}

impl PromptRenderer {
    /// JSON mode is requested only where the prompts ask for JSON. Control tokens inside texts are neutralized, except in
    /// published wordings, which are sent byte for byte. With a `capacity`, texts that do not fit are cut.
    pub fn new(prompts: Arc<PromptSet>, options: &RequestOptions, capacity: Option<Capacity>) -> Self {
        let of_kind = |kind: CallKind| RequestOptions {
            json_mode: options.json_mode && prompts.json_mode(kind),
            neutralize: prompts.family(kind).mode() == InsertMode::Fenced,
            ..options.clone()
        };
        let options = CallKind::ALL.into_iter().map(|kind| (kind, of_kind(kind))).collect();
        Self { prompts, options, capacity }
    }

    fn rendered(&self, task: &JudgeTask, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let kind = task.kind();
        Some(self.options.get(&kind)?.render(kind, &self.prompts.render(task), call.draw, attempt))
    }

    /// The call with its text cut to the room there is, and by how much.
    fn cut(&self, call: &JudgeCall, whole: &Rendered) -> Option<(JudgeTask, Truncation)> {
        // An eighth stays free: tokens are estimated.
        let room = self.capacity?.prompt_room(whole.max_tokens) / 8 * 7;
        let count = |task: &JudgeTask| self.rendered(task, call, 0).map_or(0, |rendered| rendered.prompt_tokens);
        match fit(&call.task, room, count) {
            Fitted::Cut(task, truncation) => Some((task, truncation)),
            Fitted::Whole | Fitted::Never => None,
        }
    }
}

impl Renderer for PromptRenderer {
    fn render(&self, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let whole = self.rendered(&call.task, call, attempt)?;
        let Some((task, by)) = self.cut(call, &whole) else { return Some(whole) };
        let what = if matches!(task, JudgeTask::Attribution { .. }) { "document" } else { "answer" };
        let note = format!("the judge saw {what}s cut to fit its context (--truncate)");
        let cut = self.rendered(&task, call, attempt)?;
        tracing::info!("{}: {what} cut to {} of {} characters", call.item, by.kept_chars, by.of_chars);
        Some(Rendered { note: Some(note), ..cut })
    }

    fn route(&self) -> Option<JudgeKind> {
        self.options.values().next().map(|options| options.endpoint)
    }
}
