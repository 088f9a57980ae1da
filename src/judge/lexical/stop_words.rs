//! Words without content, English.

/// Articles, prepositions, conjunctions, pronouns, auxiliaries; sorted, to be searched by halving.
const STOP_WORDS: [&str; 119] = [
    "a", "about", "after", "all", "also", "although", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "done", "during", "each",
    "either", "etc", "every", "few", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him", "his",
    "how", "however", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "may", "me", "might", "more",
    "most", "much", "must", "my", "no", "nor", "not", "of", "on", "only", "or", "other", "our", "out", "over", "own",
    "same", "she", "should", "since", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "through", "thus", "to", "too", "under", "until", "up", "upon", "us", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would",
    "you", "your",
];

/// True for a lower-cased word without content.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_word_of_it_is_found() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        assert!(!is_stop_word("matter"));
    }
}
