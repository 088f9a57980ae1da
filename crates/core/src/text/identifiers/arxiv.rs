//! Numbers of arXiv: `2101.00001`, and `hep-th/9901001` until March 2007.

/// Archives whose papers had numbers of their own.
const ARCHIVES: [&str; 35] = [
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn",
    "chem-ph", "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex",
    "hep-lat", "hep-ph", "hep-th", "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th",
    "patt-sol", "physics", "plasm-ph", "q-alg", "q-bio", "quant-ph", "solv-int", "stat",
    "supr-con",
];

/// Words between `arXiv` and the number.
const LABELS: &str = "e-prints e-print eprints eprint preprints preprint identifier number org abs pdf id \
    arxiv";

/// Labels before one number, at most.
const LABELS_IN_A_ROW: usize = 6;

/// Whether a text is a number of arXiv without version: `2101.00001` or `hep-th/9901001`.
pub fn is_arxiv_id(text: &str) -> bool {
    id_at_start(text).is_some_and(|(length, id)| length == text.len() && id.len() == length)
}

/// The number with which a text begins, and its length with the version: `math.GT/0309136v2` is `math/0309136`.
pub(super) fn id_at_start(text: &str) -> Option<(usize, String)> {
    let digits = leading_digits(text);
    let (length, id) = if digits == 4 {
        let number = text[digits..].strip_prefix('.').map(leading_digits)?;
        let is_month = matches!(&text[2..4], "10" | "11" | "12")
            || text.as_bytes()[2] == b'0' && text.as_bytes()[3] != b'0';
        let length = digits + 1 + number;
        (is_month && matches!(number, 4 | 5)).then(|| (length, text[..length].to_owned()))?
    } else {
        let (archive, number) = text.split_once('/')?;
        let name = archive.split('.').next()?.to_ascii_lowercase();
        let is_number = leading_digits(number) == 7 && ARCHIVES.contains(&name.as_str());
        is_number.then(|| (archive.len() + 8, format!("{name}/{}", &number[..7])))?
    };
    let rest = &text[length..];
    let version = rest.strip_prefix(['v', 'V']).map_or(0, leading_digits);
    Some((length + if version > 0 { version + 1 } else { 0 }, id))
}

/// The number behind the `arXiv` with which a text begins, and the length of both.
pub(super) fn id_behind_label(text: &str) -> Option<(usize, String)> {
    let mut at = 0;
    for _ in 0..LABELS_IN_A_ROW {
        let rest = &text[at..];
        let label = LABELS.split(' ').find(|label| {
            let head = rest.get(..label.len());
            head.is_some_and(|head| head.eq_ignore_ascii_case(label))
        });
        at += label?.len();
        let marks = text[at..]
            .trim_start_matches([' ', '\n', ':', '.', ',', '/', '[', '(', '#', '=', '-', '{']);
        at = text.len() - marks.len();
        if let Some((length, id)) = id_at_start(marks) {
            return Some((at + length, id));
        }
    }
    None
}

pub(super) fn leading_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
