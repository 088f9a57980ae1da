//! Calls to bytes: the prompt set words them, the judge's options wrap them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::domain::{CallKind, JudgeCall, JudgeTask};
use crate::evaluation::Renderer;
use crate::judge::body::RequestOptions;
use crate::judge::capacity::Capacity;
use crate::judge::kind::JudgeKind;
use crate::judge::truncate::{Fitted, Truncation, fit};
use crate::judge::{Rendered, RenderedKey};
use crate::prompt::{InsertMode, Messages, PromptSet};

/// Renders the calls to one judge.
pub(super) struct PromptRenderer {
    prompts: Arc<PromptSet>,
    /// What is sent with each kind of call.
    options: BTreeMap<CallKind, RequestOptions>,
    /// Where texts that do not fit are cut: how much does.
    capacity: Option<Capacity>,
    /// No other renderer of this process has it.
    number: u64,
}

/// What a thread rendered last: the draws of a call come one after the other, and differ in their keys only.
struct Last {
    renderer: u64,
    task: JudgeTask,
    messages: Messages,
    rendered: Rendered,
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

static RENDERERS: AtomicU64 = AtomicU64::new(0);

impl PromptRenderer {
    /// JSON mode is asked for only where the prompts ask for JSON; marks of turns inside texts are made harmless but in
    /// published wordings, which are sent byte for byte.
    pub(super) fn new(prompts: Arc<PromptSet>, options: &RequestOptions, capacity: Option<Capacity>) -> Self {
        let of_kind = |kind: CallKind| RequestOptions {
            json_mode: options.json_mode && prompts.json_mode(kind),
            neutralise: prompts.family(kind).mode() == InsertMode::Fenced,
            ..options.clone()
        };
        let options = CallKind::ALL.into_iter().map(|kind| (kind, of_kind(kind))).collect();
        Self { prompts, options, capacity, number: RENDERERS.fetch_add(1, Ordering::Relaxed) }
    }

    fn rendered(&self, task: &JudgeTask, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let kind = task.kind();
        Some(self.options.get(&kind)?.render(kind, &self.prompts.render(task), call.draw, attempt))
    }

    /// The call with its text whole; `key` where it is known.
    fn whole(&self, call: &JudgeCall, attempt: u32, key: Option<RenderedKey>) -> Option<Rendered> {
        let (kind, place) = (call.task.kind(), (call.draw, attempt));
        let options = self.options.get(&kind)?;
        LAST.with_borrow_mut(|last| {
            if let Some(last) = last.as_ref().filter(|last| last.renderer == self.number && last.task == call.task) {
                return Some(options.render_like(kind, &last.messages, place, &last.rendered, key));
            }
            let messages = self.prompts.render(&call.task);
            let rendered = match key {
                Some(key) => options.render_again(kind, &messages, place, key),
                None => options.render(kind, &messages, call.draw, attempt),
            };
            let task = call.task.clone();
            *last = Some(Last { renderer: self.number, task, messages, rendered: rendered.clone() });
            Some(rendered)
        })
    }

    /// The call with its text cut to the room there is, and by how much.
    fn cut(&self, call: &JudgeCall, whole: &Rendered) -> Option<(JudgeTask, Truncation)> {
        // An eighth stays free: tokens are estimated.
        let room = self.capacity?.prompt_room(whole.max_tokens)? / 8 * 7;
        let count = |task: &JudgeTask| self.rendered(task, call, 0).map_or(0, |rendered| rendered.prompt_tokens);
        match fit(&call.task, room, count) {
            Fitted::Cut(task, truncation) => Some((task, truncation)),
            Fitted::Whole | Fitted::Never => None,
        }
    }
}

impl Renderer for PromptRenderer {
    fn render(&self, call: &JudgeCall, attempt: u32) -> Option<Rendered> {
        let whole = self.whole(call, attempt, None)?;
        let Some((task, by)) = self.cut(call, &whole) else { return Some(whole) };
        let what = if matches!(task, JudgeTask::Attribution { .. }) { "document" } else { "answer" };
        let note = format!("the judge saw {what}s cut to fit its context (--truncate)");
        let cut = self.rendered(&task, call, attempt)?;
        tracing::info!("{}: {what} cut to {} of {} characters", call.item, by.kept_chars, by.of_chars);
        Some(Rendered { note: Some(note), ..cut })
    }

    fn render_again(&self, call: &JudgeCall, attempt: u32, key: RenderedKey) -> Option<Rendered> {
        match self.capacity {
            // The key may be that of a text that was cut.
            Some(_) => self.render(call, attempt),
            None => self.whole(call, attempt, Some(key)),
        }
    }

    fn route(&self) -> Option<JudgeKind> {
        self.options.values().next().map(|options| options.endpoint)
    }
}
