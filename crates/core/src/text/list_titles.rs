//! Titles of lists of references, in the languages in which answers have them.
//!
//! A title is made of parts of a table, `list_titles.txt`: "Selected References and Further Reading" of two names and what may
//! stand before them. So "Sources of error" is not one, and no form of a heading has to be listed: its marks, emoji, tags and
//! numbers are left out.

use std::sync::LazyLock;

use super::tokens::composed;

/// The longest title, in bytes: a text of one line must not be taken apart for each look.
const LONGEST_TITLE: usize = 120;

/// What a part says about the parts around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TitlePart {
    /// That this is a list of references.
    Name,
    /// Needs a name before it.
    Behind,
    /// Needs a name behind it.
    Before,
}

/// The parts of titles, the longest first; "cited" may stand before and behind a name.
static PARTS: LazyLock<Vec<(&str, TitlePart)>> = LazyLock::new(|| {
    let mut parts = Vec::new();
    for line in include_str!("list_titles.txt").lines() {
        let Some((kind, words)) = line.split_once(' ') else {
            continue;
        };
        let kind = match kind {
            "name" => TitlePart::Name,
            "before" => TitlePart::Before,
            "behind" => TitlePart::Behind,
            _ => continue,
        };
        parts.extend(words.split('|').map(|word| (word, kind)));
    }
    parts.sort_by_key(|(word, part)| (std::cmp::Reverse(word.len()), *part));
    parts
});

/// Whether a line is the title of a list of references, as a heading or alone on its line.
///
/// ```
/// use scholareval_core::text::list_titles::is_list_title;
/// assert!(is_list_title("## 7. Selected References:") && is_list_title("**主要参考来源**"));
/// assert!(!is_list_title("## Sources of error") && !is_list_title("Source code"));
/// ```
pub fn is_list_title(line: &str) -> bool {
    let line = line.trim();
    let item = line
        .strip_prefix(['-', '*', '+', '•', '–'])
        .unwrap_or_default();
    let is_item = item.starts_with(' ') && !item.trim_start().starts_with(['*', '_']);
    if line.is_empty() || line.len() > LONGEST_TITLE || is_item {
        return false;
    }
    // `References (in order of appearance)`
    let title = title_words(line.split(['(', '（']).next().unwrap_or_default());
    let title = if title.trim().is_empty() {
        title_words(line)
    } else {
        title
    };
    let mut rest = without_number(title.trim_start());
    let mut is_named = false;
    while !rest.is_empty() {
        let Some((part, behind)) = first_part(rest, is_named) else {
            return false;
        };
        is_named = part != TitlePart::Before;
        rest = behind.trim_start_matches(|c: char| c == ' ' || c.is_numeric());
    }
    is_named
}

/// The words of a line in lower case, with spaces in the place of its marks, tags and emoji.
fn title_words(line: &str) -> String {
    let mut words = String::with_capacity(line.len());
    let mut is_tag = false;
    for c in composed(line).replace('&', " and ").chars() {
        is_tag |= c == '<';
        // Vowels of Indian and Thai letters are marks.
        let is_of_word = c.is_alphanumeric() || matches!(c, '\u{900}'..='\u{e7f}');
        if is_of_word && !is_tag {
            words.extend(c.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
        is_tag &= c != '>';
    }
    words.truncate(words.trim_end().len());
    words
}

/// A title without the number of its section: `7`, `iv`, `b`.
fn without_number(title: &str) -> &str {
    let title = title.trim_start_matches(|c: char| c == ' ' || c.is_numeric());
    match title.split_once(' ') {
        Some((number, rest))
            if number.len() == 1 || number.bytes().all(|byte| b"ivx".contains(&byte)) =>
        {
            rest
        }
        _ => title,
    }
}

/// The longest part with which a text begins, and what follows it; `is_named`: whether a name stands before the text.
fn first_part(text: &str, is_named: bool) -> Option<(TitlePart, &str)> {
    PARTS.iter().find_map(|(word, part)| {
        let behind = text.strip_prefix(word)?;
        // Chinese and Japanese have no spaces between words.
        let is_spaced = word.chars().all(|c| (c as u32) < 0x2e80) || is_hangul(word);
        let is_inside = is_spaced && behind.starts_with(char::is_alphabetic);
        let is_misplaced = *part == TitlePart::Behind && !is_named;
        (!is_inside && !is_misplaced).then_some((*part, behind))
    })
}

fn is_hangul(word: &str) -> bool {
    word.starts_with(|c| matches!(c, '\u{ac00}'..='\u{d7a3}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_their_titles_in_many_languages_and_forms() {
        for title in [
            "References",
            "REFERENCES:",
            "## References",
            "  ### Sources ",
            "**References:**",
            "__Citations__",
            "*Bibliography*",
            "## **Works Cited**",
            "# 📚 References",
            "### 🔗 Sources & Further Reading 🔗",
            "7️⃣ References",
            "## 7. References",
            "7.2 References",
            "VII. References",
            "A. References",
            "**5) Sources**",
            "> References",
            "Literature Cited",
            "Key References",
            "List of References",
            "Selected References and Notes",
            "References (12)",
            "References (APA)",
            "References (in order of appearance)",
            "(1) References",
            "\\section*{References}",
            "## Data Sources",
            "Further Reading",
            "<h2>References</h2>",
            "<strong>Sources:</strong>",
            "参考文献",
            "参考文献：",
            "## 七、参考文献",
            "第七章 参考资料",
            "**主要参考来源**",
            "主要参考文献与数据来源",
            "来源",
            "參考資料",
            "参考文献リスト",
            "主な出典",
            "참고문헌",
            "## 참고 자료 및 출처",
            "Literatur",
            "## Quellenverzeichnis",
            "Verwendete Quellen",
            "Références bibliographiques",
            "Sources consultées",
            "Références et sources",
            "Referencias",
            "BIBLIOGRAFÍA",
            "Referências",
            "Fonti",
            "Bronnen",
            "Källor",
            "Źródła",
            "Použitá literatura",
            "Kaynakça",
            "Irodalomjegyzék",
            "Источники",
            "## Список литературы",
            "Список использованных источников",
            "Джерела",
            "ΒΙΒΛΙΟΓΡΑΦΊΑ",
            "المراجع",
            "المصادر والمراجع:",
            "منابع",
            "מקורות",
            "संदर्भ",
            "เอกสารอ้างอิง",
            "Tài liệu tham khảo",
            "Daftar Pustaka",
            // As a decomposing keyboard writes it.
            "Re\u{301}fe\u{301}rences",
        ] {
            assert!(is_list_title(title), "{title}");
        }
    }

    #[test]
    fn other_headings_with_these_words_are_not_titles_of_lists() {
        for line in [
            "",
            "##",
            "7.",
            "## Sources of error",
            "Sources of data",
            "## Data",
            "Key findings",
            "Reference architecture",
            "Source code",
            "Open-source tools",
            "Literature review",
            "Related work",
            "Cited",
            "Notes",
            "The list",
            "References are listed below.",
            "Sources: [1] https://example.org",
            "- References",
            "来源分析",
            "参考价值",
            "数据",
            "Источники энергии",
            "Quellen der Kraft",
            "Fuentes de energía",
        ] {
            assert!(!is_list_title(line), "{line}");
        }
    }
}
