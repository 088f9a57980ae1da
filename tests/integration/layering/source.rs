//! Just enough reading of Rust source to find paths: no full parser, but comments, strings
//! and test-only items are known for what they are.

/// A path as written (`crate::domain::Score`), groups taken apart, with its 1-based line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathUse {
    pub(super) line: usize,
    pub(super) segments: Vec<String>,
}

impl PathUse {
    /// True if the path begins with these segments (`std::env`).
    pub(super) fn starts_with(&self, prefix: &str) -> bool {
        let mut segments = self.segments.iter();
        prefix
            .split("::")
            .all(|wanted| segments.next().is_some_and(|segment| segment == wanted))
    }

    pub(super) fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// The source with comments and the contents of strings and characters replaced by spaces; line breaks stay.
pub(super) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => end_of_line(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => end_of_block_comment(&chars, at),
            '"' => end_of_string(&chars, at),
            'r' if !part_of_word(&chars, at) => end_of_raw_string(&chars, at),
            '\'' => end_of_character(&chars, at),
            _ => at,
        };
        if end == at {
            code.push(chars[at]);
            at += 1;
        } else {
            code.extend(
                chars[at..end]
                    .iter()
                    .map(|c| if *c == '\n' { '\n' } else { ' ' }),
            );
            at = end;
        }
    }
    code
}

fn end_of_line(chars: &[char], from: usize) -> usize {
    (from..chars.len())
        .find(|at| chars[*at] == '\n')
        .unwrap_or(chars.len())
}

fn end_of_block_comment(chars: &[char], from: usize) -> usize {
    let (mut depth, mut at) = (0, from);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

fn end_of_string(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn part_of_word(chars: &[char], at: usize) -> bool {
    // `br"..."` is a raw string too
    let before = |back: usize| at.checked_sub(back).map(|index| chars[index]);
    match before(1) {
        Some('b') => before(2).is_some_and(is_word),
        Some(c) => is_word(c),
        None => false,
    }
}

fn end_of_raw_string(chars: &[char], from: usize) -> usize {
    let hashes = chars[from + 1..].iter().take_while(|c| **c == '#').count();
    let open = from + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return from;
    }
    let closes = |at: usize| {
        chars[at] == '"'
            && chars[at + 1..].len() >= hashes
            && chars[at + 1..=at + hashes].iter().all(|c| *c == '#')
    };
    (open + 1..chars.len())
        .find(|at| closes(*at))
        .map_or(chars.len(), |at| at + 1 + hashes)
}

/// The end of `'x'` or `'\n'`; a lifetime (`'a`) is not a character and stays.
fn end_of_character(chars: &[char], from: usize) -> usize {
    match chars.get(from + 1) {
        Some('\\') => (from + 3..chars.len())
            .find(|at| chars[*at] == '\'')
            .map_or(from, |at| at + 1),
        Some(_) if chars.get(from + 2) == Some(&'\'') => from + 3,
        _ => from,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The code without items that stand under `#[cfg(test)]`, and the names of modules declared so (`mod tests;`).
pub(super) fn without_tests(code: &str) -> (String, Vec<String>) {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut modules = Vec::new();
    let mut rest = code;
    while let Some(found) = rest.find(MARK) {
        kept.push_str(&rest[..found]);
        let item = &rest[found..];
        let end = end_of_item(item);
        if let Some(name) = item[..end]
            .strip_suffix(';')
            .and_then(|head| head.rsplit_once("mod "))
        {
            modules.push(name.1.trim().to_owned());
        }
        kept.extend(item[..end].matches('\n'));
        rest = &item[end..];
    }
    kept.push_str(rest);
    (kept, modules)
}

/// Where an item ends: at its `;`, or behind the brace that closes its body. A `use` has braces of its own.
fn end_of_item(item: &str) -> usize {
    let head = item.find(['{', ';']).map_or(item, |at| &item[..at]);
    if head.contains("use ") {
        return item.find(';').map_or(item.len(), |at| at + 1);
    }
    match item.find(['{', ';']) {
        Some(at) if item[at..].starts_with('{') => end_of_braces(item, at),
        Some(at) => at + 1,
        None => item.len(),
    }
}

/// The offset behind the brace that closes the one at `open`.
fn end_of_braces(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return open + at + 1;
        }
    }
    code.len()
}

/// Every path of two segments or more, imports and inline; `use a::{b, c::d}` gives `a::b` and `a::c::d`.
pub(super) fn paths(code: &str) -> Vec<PathUse> {
    let mut reader = PathReader {
        tokens: tokens(code),
        at: 0,
        found: Vec::new(),
    };
    while reader.at < reader.tokens.len() {
        reader.read(&[]);
    }
    reader.found.retain(|path| path.segments.len() > 1);
    reader.found
}

/// Words, `::` and single other characters, each with its line.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            tokens.push((number + 1, &rest[..length]));
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

struct PathReader<'a> {
    tokens: Vec<(usize, &'a str)>,
    at: usize,
    found: Vec<PathUse>,
}

impl PathReader<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", |token| token.1)
    }

    /// Reads one path with its group, or steps over one token that begins none.
    fn read(&mut self, prefix: &[String]) {
        let mut segments = prefix.to_vec();
        let line = self.tokens[self.at].0;
        loop {
            if !self.peek().starts_with(is_word) {
                self.at += 1;
                break;
            }
            segments.push(self.peek().to_owned());
            self.at += 1;
            if self.peek() != "::" {
                break;
            }
            self.at += 1;
            if self.peek() == "{" {
                self.at += 1;
                self.read_group(&segments);
                return;
            }
        }
        if segments.len() > prefix.len() {
            self.found.push(PathUse { line, segments });
        }
    }

    fn read_group(&mut self, prefix: &[String]) {
        while self.at < self.tokens.len() && self.peek() != "}" {
            self.read(prefix);
        }
        self.at += 1;
    }
}
