//! Reasoning that a model writes before its answer, as in `<think>..</think>`.
//!
//! One table of forms serves answers and judges' replies. They differ where only the closing tag is there, since chat
//! templates write the opening one themselves: an answer may be about such tags, so that there it must begin or end its
//! line; in a reply it counts anywhere.

use std::cmp::Reverse;
use std::collections::HashMap;

use memchr::memmem;

/// What opens reasoning and what closes it, in any case of ASCII letters, as users name theirs (`--reasoning-tags`).
const FORMS: [&str; 15] = [
    "<think> </think>",
    "<thinking> </thinking>",
    "<thought> </thought>",
    "<reasoning> </reasoning>",
    "<seed:think> </seed:think>",
    "[THINK] [/THINK]",
    "◁think▷ ◁/think▷",
    "<|begin_of_thought|> <|end_of_thought|>",
    "<|START_THINKING|> <|END_THINKING|>",
    "<|channel>thought <channel|>",
    "<unused94>thought <unused95>",
    // Harmony: the header of the final message closes all messages before it.
    "<|channel|> <|channel|>final<|message|>",
    "<|channel|> <|channel|>final <|constrain|>json<|message|>",
    WORDS[0],
    WORDS[1],
];
/// Harmony's channels without their control tokens, and what Ollama prints.
const WORDS: [&str; 2] = ["analysis assistantfinal", "Thinking... ...done thinking."];
/// What chat templates write before a message of the model.
const ROLES: [&str; 6] = [
    "<|start|>assistant",
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|assistant|>",
    "<｜Assistant｜>",
    "assistant",
];
/// White space within a line.
const BLANKS: [char; 3] = [' ', '\t', '\r'];
/// Parts of the names of other tags that may open reasoning.
const NAMES: [&str; 8] = [
    "think", "thought", "reason", "analys", "reflect", "scratch", "deliber", "monolog",
];

/// A tag in a text.
struct Tag<'a> {
    at: usize,
    end: usize,
    is_open: bool,
    /// The opening tag of its form, which names the form.
    form: &'a str,
    /// The end of its closing tag, where blocks are nested.
    close: Option<usize>,
}

impl Tag<'_> {
    /// Whether it has no brackets, so that it may be a word of the text.
    fn is_word(&self) -> bool {
        WORDS.iter().any(|form| form.starts_with(self.form))
    }
}

/// Length in bytes of the reasoning at the start of an answer, with the white space behind it; 0 if there is none. `more`
/// are forms besides the known ones, each as `OPEN CLOSE`.
///
/// It is a block that begins the text, or everything up to a closing tag that begins or ends its line, has no opening tag
/// before it and stands in no code block. A block that is never closed takes the whole text. Tags elsewhere, and a closing tag
/// that stands alone behind a block, belong to the answer.
///
/// ```
/// use scholareval_core::text::thinking::thinking_bytes;
///
/// let text = "<think>Is it rain?</think>\n\nRain. Write `</think>` at the end.";
/// assert_eq!(&text[thinking_bytes(text, &[])..], "Rain. Write `</think>` at the end.");
/// ```
pub fn thinking_bytes(text: &str, more: &[String]) -> usize {
    let tags = tags(text, more);
    let mut answer = 0;
    let mut block = block_end(text, &tags, 0).or_else(|| lone_end(text, &tags));
    while let Some(end) = block {
        answer = text.len() - text[end..].trim_start_matches(is_blank).len();
        block = block_end(text, &tags, answer);
    }
    answer
}

/// Where the text of a judge's reply begins, behind its reasoning; its length if there is nothing else.
pub(crate) fn reply_start(text: &str, more: &[String]) -> usize {
    let tags = tags(text, more);
    let mut start = 0;
    while let Some(end) = block_end(text, &tags, start) {
        start = end;
    }
    match tags.iter().find(|tag| !tag.is_open) {
        Some(close) if start == 0 => close.end,
        _ => start,
    }
}

/// Whether a text may begin with reasoning in a form that is not known: in a tag whose name says so, or before a closing
/// tag within a line.
pub fn may_begin_with_thinking(text: &str) -> bool {
    let tags = tags(text, &[]);
    let first = tags.iter().find(|tag| !tag.is_word());
    first.is_some_and(|tag| !tag.is_open) || begins_with_such_a_tag(text)
}

/// All tags of a text in their order; of those that begin at one place, the longest first.
fn tags<'a>(text: &str, more: &'a [String]) -> Vec<Tag<'a>> {
    let lower = text.to_ascii_lowercase();
    let mut tags = Vec::new();
    let forms = FORMS.into_iter().chain(more.iter().map(String::as_str));
    for (form, close) in forms.filter_map(|form| form.split_once(char::is_whitespace)) {
        for (tag, is_open) in [(form, true), (close.trim_start(), false)] {
            let tag = tag.to_ascii_lowercase();
            for at in memmem::find_iter(lower.as_bytes(), tag.as_bytes()) {
                let end = at + tag.len();
                tags.push(Tag {
                    at,
                    end,
                    is_open,
                    form,
                    close: None,
                });
            }
        }
    }
    tags.sort_by_key(|tag| (tag.at, Reverse(tag.end)));
    pair(text, &mut tags);
    tags
}

/// Gives each opening tag its closing one. Words and tags behind a back tick open and close nothing within a block.
fn pair(text: &str, tags: &mut [Tag<'_>]) {
    let mut opened: HashMap<&str, Vec<usize>> = HashMap::new();
    for index in 0..tags.len() {
        let Tag {
            at, end, is_open, ..
        } = tags[index];
        if tags[index].is_word() || text[..at].ends_with('`') {
            continue;
        }
        let opened = opened.entry(tags[index].form).or_default();
        if is_open {
            opened.push(index);
        } else if let Some(open) = opened.pop() {
            tags[open].close = Some(end);
        }
    }
}

/// The end of the block that begins the text from there on.
fn block_end(text: &str, tags: &[Tag<'_>], from: usize) -> Option<usize> {
    let begin = text[from..].trim_start_matches(is_blank);
    let role = ROLES.iter().find_map(|role| begin.strip_prefix(role));
    let begin = role.map_or(begin, |behind| behind.trim_start_matches(is_blank));
    let begin = text.len() - begin.len();
    let first = tags.partition_point(|tag| tag.at < begin);
    // An answer may begin with a word of a form.
    let open = tags
        .get(first)
        .filter(|tag| tag.at == begin && !(tag.is_word() && from > 0))?;
    if !open.is_open {
        return Some(open.end);
    }
    let mut closing = tags[first..]
        .iter()
        .filter(|tag| tag.at >= open.end && !tag.is_open && tag.form == open.form);
    // Reasoning may name its opening tag: then the first one closes it.
    match open.close.or_else(|| closing.next().map(|tag| tag.end)) {
        Some(end) => Some(end),
        // A block that is never closed was cut while the model was reasoning: there is no answer behind it.
        None => (!open.is_word()).then_some(text.len()),
    }
}

/// The end of a closing tag that stands alone, as the chat template wrote the opening one.
fn lone_end(text: &str, tags: &[Tag<'_>]) -> Option<usize> {
    let (mut fences, mut counted) = (0, 0);
    let mut opened: Vec<&str> = Vec::new();
    for tag in tags {
        let is_opened = opened.contains(&tag.form);
        if tag.is_open {
            if !is_opened {
                opened.push(tag.form);
            }
            continue;
        }
        // Then both tags are part of the text, such as an answer about such models.
        if is_opened {
            return None;
        }
        fences += text
            .get(counted..tag.at)
            .map_or(0, |between| between.matches("```").count());
        counted = tag.end;
        let before = text[..tag.at].trim_end_matches(BLANKS);
        let behind = text[tag.end..].trim_start_matches(BLANKS);
        let begins_line = before.is_empty() || before.ends_with('\n');
        let ends_line = behind.is_empty() || behind.starts_with('\n');
        // Within a sentence or a code block the tag is quoted.
        if (begins_line || ends_line) && fences % 2 == 0 {
            return Some(tag.end);
        }
    }
    None
}

/// Whether a text begins with a tag whose name says that it opens reasoning, also behind marks of emphasis.
fn begins_with_such_a_tag(text: &str) -> bool {
    let text = text.trim_start_matches(|c| is_blank(c) || "*_`#\"'".contains(c));
    let behind = text
        .strip_prefix("&lt;")
        .or(text.strip_prefix(['<', '[', '◁', '【', '＜']));
    let tag = behind.unwrap_or_default().trim_start_matches(' ');
    let rest = tag.trim_start_matches(|c: char| c.is_alphanumeric() || "_:-|".contains(c));
    // A citation in brackets has more than a name.
    let is_tag = rest.starts_with(['>', ']', '▷', '】', '＞', '&', ' '])
        && !(text.starts_with('[') && rest.starts_with(' '));
    let mut name = tag[..tag.len() - rest.len()].to_lowercase();
    if name == "details" {
        // What is folded away is named in an attribute.
        name = rest.split('>').next().unwrap_or_default().to_lowercase();
    }
    is_tag && (name == "cot" || NAMES.iter().any(|part| name.contains(part)))
}

/// White space, and what is as invisible: byte order marks, joiners and marks of direction.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reasoning_at_the_start_is_removed() {
        for (text, answer) in [
            ("Rain.", "Rain."),
            ("\n Rain.", "\n Rain."),
            ("<think>Why?</think>Rain.", "Rain."),
            (" \n<think>\nWhy?\n</think>\n\nRain.\n", "Rain.\n"),
            ("<think></think><think>Why?</think> Rain.", "Rain."),
            // The template wrote the opening tag.
            ("Why?\n</think>\n\nRain.", "Rain."),
            ("Why?</think>\nRain.", "Rain."),
            ("`</think>` ends it.\n</think>Rain.", "Rain."),
            ("Why?</think>", ""),
            // Nested, or with a tag that the reasoning names.
            ("<think>a <think>b</think> c</think>Rain.", "Rain."),
            ("[THINK]a [THINK]b[/THINK] c[/THINK]Rain.", "Rain."),
            ("<think>a <think> b</think>Rain.", "Rain."),
            (
                "<think>a `<think>` b</think>It has </think>.",
                "It has </think>.",
            ),
            // A closing tag alone behind a block.
            ("<think>a</think>Rain.</think>", "Rain.</think>"),
            ("<think>a</think></think>Rain.", "Rain."),
            // What templates write before a message.
            ("assistantanalysisWhy?assistantfinalRain.", "Rain."),
            ("<|im_start|>assistant\n<think>a</think>Rain.", "Rain."),
            ("assistant\n<think>a</think>Rain.", "Rain."),
            ("assistant\nRain.", "assistant\nRain."),
            ("Thinking...\nWhy?\n...done thinking.\n\nRain.", "Rain."),
            ("Thinking... Rain.", "Thinking... Rain."),
            // Cut off.
            ("<think>Why? Because", ""),
            // Tags that the answer mentions.
            ("Models write <think> first.", "Models write <think> first."),
            (
                "Rain.\n<think>\nWhy?\n</think>\n",
                "Rain.\n<think>\nWhy?\n</think>\n",
            ),
            (
                "It ends with `</think>`, then rain.",
                "It ends with `</think>`, then rain.",
            ),
            (
                "So:\n```\n{reasoning}</think>\n```\n",
                "So:\n```\n{reasoning}</think>\n```\n",
            ),
        ] {
            assert_eq!(&text[thinking_bytes(text, &[])..], answer, "{text:?}");
        }
    }

    #[test]
    fn every_form_is_removed_in_any_case_of_letters() {
        let harmony = "<|channel|>analysis<|message|>";
        let last = "<|end|><|start|>assistant<|channel|>final<|message|>";
        for (open, close) in [
            ("<THINK>", "</Think>"),
            ("[THINK]", "[/THINK]"),
            ("[think]", "[/think]"),
            ("<thinking>", "</thinking>"),
            ("<thought>", "</thought>"),
            ("<Reasoning>", "</reasoning>"),
            ("<seed:think>", "</seed:think>"),
            ("◁think▷", "◁/think▷"),
            ("<|begin_of_thought|>", "<|end_of_thought|>"),
            ("<|START_THINKING|>", "<|END_THINKING|>"),
            ("\u{feff}<|channel>thought", "<channel|>"),
            ("<unused94>thought", "<unused95>"),
            (harmony, last),
            ("<|start|>assistant<|channel|>analysis<|message|>", last),
            ("<|channel|>commentary to=x<|message|>", last),
            (
                harmony,
                "<|end|><|start|>assistant<|channel|>final <|constrain|>JSON<|message|>",
            ),
            ("analysis", "assistantfinal"),
        ] {
            let text = format!("{open}Rayleigh scatters.{close}\n I do not know.");
            assert_eq!(
                &text[thinking_bytes(&text, &[])..],
                "I do not know.",
                "{text}"
            );
            assert_eq!(text[reply_start(&text, &[])..].trim(), "I do not know.");
            let cut = format!("{open}Rayleigh scatters.");
            let is_word = open == "analysis";
            assert_eq!(thinking_bytes(&cut, &[]) < cut.len(), is_word, "{cut}");
            // The tags may be what an answer is about.
            for text in [
                format!("Models write {open}x{close} before it."),
                format!("> Sky: {open}x{close}\n\nRain."),
                format!("So:\n```\nx{close}\n```\n"),
            ] {
                assert_eq!(thinking_bytes(&text, &[]), 0, "{text}");
            }
        }
        let lone = "<|channel|>final<|message|>Rain.";
        assert_eq!(&lone[thinking_bytes(lone, &[])..], "Rain.");
        let both = "<think>a</think>[THINK]b[/THINK]Rain.";
        assert_eq!(&both[thinking_bytes(both, &[])..], "Rain.");
        let more = ["<plan>\t</plan>".to_owned()];
        let plan = "<Plan>a</plan> <think>b</think> Rain.";
        assert_eq!(&plan[thinking_bytes(plan, &more)..], "Rain.");
        assert_eq!(thinking_bytes(plan, &[]), 0);
    }

    #[test]
    fn in_a_reply_a_closing_tag_alone_counts_within_a_line() {
        let reply = "maybe 2, no [/THINK] 4";
        assert_eq!(&reply[reply_start(reply, &[])..], " 4");
        assert_eq!(thinking_bytes(reply, &[]), 0);
    }

    #[test]
    fn what_looks_like_a_tag_of_reasoning_is_noticed() {
        for text in [
            "<cot>a</cot>",
            "**<inner_thoughts>** a",
            "&lt;think&gt;a",
            "[Scratchpad]\na",
            "<think effort=1>",
            "< think >a</ think >",
            "<details type=\"reasoning\" done>a</details>",
            "Why?</think> Rain.",
        ] {
            assert!(may_begin_with_thinking(text), "{text}");
        }
        for text in [
            "Rain.",
            "[1] finds",
            "[Reasoner, 2020] finds",
            "<b>Reason</b>",
            "I think",
            "{\"reason\": 1}",
            "",
        ] {
            assert!(!may_begin_with_thinking(text), "{text}");
        }
    }

    #[test]
    fn many_tags_take_linear_time() {
        for text in [
            "```\n".to_owned() + &"\n</think>".repeat(200_000),
            "x</think>y".repeat(200_000),
            "[think] ".to_owned() + &"x</think>y".repeat(200_000),
            "<thought>x</think>y".repeat(100_000),
            "analysis\n</think>\n".repeat(100_000),
            "<think><think></think>".repeat(100_000),
        ] {
            thinking_bytes(&text, &[]);
        }
        assert_eq!(thinking_bytes(&"x</think>y".repeat(200_000), &[]), 0);
    }
}
