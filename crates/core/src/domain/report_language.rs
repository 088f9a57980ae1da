//! The language of a report, for prompts that come in two.

/// The language in which a judge is asked about a report, where its prompts have both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReportLanguage {
    /// English, and every other language.
    #[default]
    English,
    /// Chinese.
    Chinese,
}

/// From this share of Chinese characters among its letters on, a question is in Chinese: English names and abbreviations
/// are common in such questions, a Chinese word in English ones is rare.
const CHINESE_SHARE: f64 = 0.2;

impl ReportLanguage {
    /// The language of a report: that of its question, or its own where the question is not known.
    pub fn of_report(question: &str, report: &str) -> Self {
        let is_known = !question.trim().is_empty();
        Self::of_question(if is_known { question } else { report })
    }

    /// The language of a question. The tasks of DeepResearch Bench are reported on in the language of their question.
    ///
    /// ```
    /// use scholareval_core::domain::ReportLanguage;
    /// assert_eq!(ReportLanguage::of_question("为什么天空是蓝色的 (Rayleigh)?"), ReportLanguage::Chinese);
    /// assert_eq!(ReportLanguage::of_question("Why is the sky (天) blue?"), ReportLanguage::English);
    /// ```
    pub fn of_question(question: &str) -> Self {
        let mut letters: u32 = 0;
        let mut chinese: u32 = 0;
        for c in question.chars().filter(|c| c.is_alphabetic()) {
            letters += 1;
            chinese += u32::from(is_chinese(c));
        }
        if letters > 0 && f64::from(chinese) >= CHINESE_SHARE * f64::from(letters) {
            Self::Chinese
        } else {
            Self::English
        }
    }
}

/// Whether a character is one of the unified ideographs.
fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}')
}
