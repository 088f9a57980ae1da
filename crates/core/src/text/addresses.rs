//! Web addresses: when two of them are the same page, when two pages are the same work, and where a text has some.
//!
//! Reports cite one page in many forms: with and without `www.`, with a fragment that a browser made, as a DOI. A page is
//! stored and looked up by its [`page_key`], so that these meet; the [`work_key`] joins the abstract and the full text of a
//! paper.

use std::ops::Range;

use url::Url;

use super::identifiers::{CleanText, IdentifierScheme, identifiers_in, word_end};

/// Parameters of a query that say where a visitor came from, not which page is meant.
const TRACKING: [&str; 2] = ["gclid", "srsltid"];

/// How a tracking parameter begins.
const TRACKING_PREFIX: &str = "utm_";

/// Hosts that resolve DOIs.
const DOI_HOSTS: [&str; 3] = ["doi.org", "dx.doi.org", "www.doi.org"];

/// The prefix of the DOIs that arXiv gives to its papers.
const ARXIV_DOI: &str = "10.48550/arxiv.";

/// The page that an address means: `https`, without `www.`, default port, fragment (but `#/route`), slash at the end and
/// tracking parameters; DOIs in lower case at doi.org, arXiv papers without their version. `None` for what is not an address of a
/// web page.
///
/// ```
/// use scholareval_core::text::addresses::page_key;
/// let page = Some("https://example.org/a".to_owned());
/// assert_eq!(page_key("http://www.example.org:80/a/?utm_source=x#part"), page);
/// assert_eq!(page_key("doi:10.1000/ABC"), page_key("https://dx.doi.org/10.1000/abc"));
/// assert_eq!(page_key("arXiv:2101.00001v2"), page_key("https://arxiv.org/abs/2101.00001"));
/// ```
pub fn page_key(address: &str) -> Option<String> {
    let address = address.trim();
    if let Some(doi) = after_prefix(address, "doi:") {
        return doi_key(doi);
    }
    if after_prefix(address, "arxiv:").is_some() {
        let first = identifiers_in(address).into_iter().next()?;
        let is_paper = first.scheme == IdentifierScheme::Arxiv;
        return is_paper.then(|| format!("https://arxiv.org/abs/{}", first.id));
    }
    if address.starts_with("10.")
        && let Some(key) = doi_key(address)
    {
        return Some(key);
    }
    let url = web_address(address)?;
    let host = url.host_str()?;
    if DOI_HOSTS.contains(&host)
        && let Some(key) = doi_key(address)
    {
        return Some(key);
    }
    let host = host.strip_prefix("www.").unwrap_or(host);
    let mut key = format!("https://{host}");
    if let Some(port) = url.port() {
        key.push_str(&format!(":{port}"));
    }
    let path = url.path().trim_end_matches('/');
    if host == "arxiv.org" || host == "export.arxiv.org" {
        let path = path.strip_suffix(".pdf").unwrap_or(path);
        key = format!("https://arxiv.org{}", without_version(path));
    } else {
        key.push_str(path);
    }
    if let Some(query) = url.query() {
        push_query(&mut key, query);
    }
    push_route(&mut key, &url);
    Some(key)
}

/// Adds a fragment that says which page of an application is meant: `#/one`, `#!/two`. Other fragments are places in a page,
/// and so are the pictures that a wiki shows over its page (`#/media/File:..`).
fn push_route(key: &mut String, url: &Url) {
    let fragment = url.fragment().unwrap_or_default();
    let is_picture = fragment.starts_with("/media/") && fragment.contains(':');
    if !fragment.starts_with(['/', '!']) || is_picture {
        return;
    }
    let route = fragment.split('#').next().unwrap_or_default();
    let route = route.split(":~:").next().unwrap_or_default();
    let (path, query) = route.split_once('?').unwrap_or((route, ""));
    let path = path.trim_end_matches('/');
    if !matches!(path, "" | "!") {
        key.push('#');
        key.push_str(path);
    }
    if !query.is_empty() && key.contains('#') {
        push_query(key, query);
    }
}

/// Adds what is left of a query without its tracking parameters.
fn push_query(key: &mut String, query: &str) {
    let mut separator = '?';
    for parameter in query.split('&') {
        let name = parameter.split('=').next().unwrap_or_default();
        let is_tracking = name.starts_with(TRACKING_PREFIX) || TRACKING.contains(&name);
        if !is_tracking && !parameter.is_empty() {
            key.push(separator);
            key.push_str(parameter);
            separator = '&';
        }
    }
}

/// The work that a page holds, as `doi:..`, `arxiv:..` or another [key](super::identifiers::WorkIdentifier::key); `None`
/// where its address does not say.
///
/// ```
/// use scholareval_core::text::addresses::work_key;
/// let paper = Some("arxiv:2101.00001".to_owned());
/// assert_eq!(work_key("https://arxiv.org/pdf/2101.00001v3"), paper);
/// assert_eq!(work_key("https://doi.org/10.48550/arXiv.2101.00001"), paper);
/// ```
pub fn work_key(address: &str) -> Option<String> {
    let first = identifiers_in(address).into_iter().next();
    first
        .filter(|identifier| !identifier.is_derived)
        .map(|identifier| identifier.key())
}

/// What two addresses have in common if they lead to the same: their [work](work_key), else their [page](page_key), whatever
/// entities and percent-encoding they are written with. `None` for what is neither an address nor an identifier.
///
/// ```
/// use scholareval_core::text::addresses::target_key;
/// let key = target_key("https://example.org/~doe/%C3%A9?a=1&b=2");
/// assert_eq!(target_key("http://www.example.org/%7edoe/\u{e9}/?a=1&amp;b=2#part"), key);
/// assert_eq!(target_key("https://doi.org/10.1000/x"), target_key("https://p.org/doi/full/10.1000/X"));
/// ```
pub fn target_key(address: &str) -> Option<String> {
    work_key(address).or_else(|| {
        let key = page_key(CleanText::of(address).text())?;
        Some(with_one_encoding(&key))
    })
}

/// The address with its `%xx` in upper case, and those of characters that need none decoded (RFC 3986, 6.2.2).
fn with_one_encoding(address: &str) -> String {
    let mut parts = address.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..2).unwrap_or_default();
        let is_code = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let code = u8::from_str_radix(digits, 16).ok().filter(|_| is_code);
        match code.map(char::from) {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~') => {
                out.push(c)
            }
            Some(c) => out.push_str(&format!("%{:02X}", u32::from(c))),
            None => {
                out.push('%');
                out.push_str(part);
                continue;
            }
        }
        out.push_str(&part[2..]);
    }
    out
}

/// The addresses in a text, each once, in their order: `http` and `https`, `doi:` and `arXiv:`.
///
/// ```
/// use scholareval_core::text::addresses::addresses_in;
/// let text = "As [shown](https://example.org/a_(b)), and in doi:10.1000/x.";
/// assert_eq!(addresses_in(text), ["https://example.org/a_(b)", "doi:10.1000/x"]);
/// ```
pub fn addresses_in(text: &str) -> Vec<&str> {
    let mut seen = std::collections::HashSet::new();
    let addresses = address_ranges(text).into_iter().map(|range| &text[range]);
    addresses.filter(|address| seen.insert(*address)).collect()
}

/// Where the addresses in a text stand.
pub(super) fn address_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while let Some(at) = next_address(&text[start..]) {
        let address = address_at(&text[start + at..]);
        let range = start + at..start + at + address.len();
        start = range.end;
        if page_key(address).is_some() {
            ranges.push(range);
        }
    }
    ranges
}

/// Where the next address begins.
fn next_address(text: &str) -> Option<usize> {
    let mut start = 0;
    while let Some(colon) = text[start..].find(':') {
        let before = &text[..start + colon];
        for scheme in ["https", "http", "doi", "arxiv"] {
            if !ends_with_ignoring_case(before, scheme) {
                continue;
            }
            let at = before.len() - scheme.len();
            let is_word = text[..at]
                .chars()
                .next_back()
                .is_some_and(char::is_alphanumeric);
            let behind = &text[start + colon + 1..];
            let is_web = scheme.starts_with("http");
            // `arXiv: https://..` is the address behind the label.
            let is_label = !is_web && after_prefix(behind.trim_start(), "http").is_some();
            let is_url = !is_web || behind.starts_with("//");
            if is_url && !is_label && !is_word {
                return Some(at);
            }
        }
        start += colon + 1;
    }
    None
}

/// The address with which a text begins, without the marks of the sentence around it. At least its first character.
fn address_at(text: &str) -> &str {
    // "arXiv: 2101.00001" is common in lists of references.
    let scheme = text.find(':').map_or(0, |at| at + 1);
    let blank = text[scheme..].len() - text[scheme..].trim_start_matches(' ').len();
    let from = if text[..scheme].to_ascii_lowercase().starts_with("http") {
        0
    } else {
        scheme + blank
    };
    let address = &text[..word_end(text, from)];
    if address.is_empty() {
        let first = text.chars().next().map_or(0, char::len_utf8);
        return &text[..first];
    }
    address
}

fn ends_with_ignoring_case(text: &str, ending: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= ending.len()
        && bytes[bytes.len() - ending.len()..].eq_ignore_ascii_case(ending.as_bytes())
}

fn after_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start
        .eq_ignore_ascii_case(prefix)
        .then(|| text[prefix.len()..].trim_start())
}

/// The address as a URL of the web; one without a scheme is one if it begins with a host.
fn web_address(address: &str) -> Option<Url> {
    let url = match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        // `example.org:8080/a` parses with the host as its scheme.
        _ => {
            let host = address.split(['/', '?', '#', ':']).next()?;
            let is_host = host.contains('.') && !host.contains([' ', '@']);
            let url = Url::parse(&format!("https://{address}")).ok()?;
            return (is_host && has_top_level(&url)).then_some(url);
        }
    };
    url.host_str()
        .is_some_and(|host| !host.is_empty())
        .then_some(url)
}

/// Whether the host ends as hosts of the web do: `page.2` does not.
fn has_top_level(url: &Url) -> bool {
    let last = url.domain().and_then(|host| host.rsplit('.').next());
    last.is_some_and(|last| last.len() >= 2 && last.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// The page of a DOI; `None` if a text is not one.
fn doi_key(text: &str) -> Option<String> {
    let first = identifiers_in(text).into_iter().next()?;
    let doi = match first.scheme {
        IdentifierScheme::Doi if !first.is_derived => first.id,
        IdentifierScheme::Arxiv => format!("{ARXIV_DOI}{}", first.id),
        _ => return None,
    };
    Some(format!("https://doi.org/{doi}"))
}

/// The text without a `v2` at its end.
fn without_version(text: &str) -> &str {
    let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let before = &text[..text.len() - digits];
    match before.strip_suffix('v') {
        // Only a version follows a digit; `/abs/v1` is not a paper.
        Some(paper) if digits > 0 && paper.ends_with(|c: char| c.is_ascii_digit()) => paper,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(address: &str) -> String {
        page_key(address).unwrap_or_default()
    }

    #[test]
    fn forms_of_one_page_have_one_key() {
        for address in [
            "https://example.org/a/b?id=1",
            " http://www.example.org/a/b/?utm_source=x&id=1&gclid=7#frag ",
            "https://EXAMPLE.org:443/a/b?id=1&srsltid=z",
            "example.org/a/b?id=1",
        ] {
            assert_eq!(key(address), "https://example.org/a/b?id=1", "{address}");
        }
        for address in [
            "doi:10.1000/ABC.1",
            "https://doi.org/10.1000/abc.1/",
            "http://dx.doi.org/10.1000/Abc.1",
            "10.1000/abc.1",
            "DOI: 10.1000/abc.1",
        ] {
            assert_eq!(key(address), "https://doi.org/10.1000/abc.1", "{address}");
        }
        for address in [
            "arXiv:2101.00001v2",
            "http://arxiv.org/abs/2101.00001v1",
            "https://www.arxiv.org/abs/2101.00001",
            "https://export.arxiv.org/abs/2101.00001",
        ] {
            assert_eq!(
                key(address),
                "https://arxiv.org/abs/2101.00001",
                "{address}"
            );
        }
        assert_eq!(
            key("https://arxiv.org/pdf/2101.00001v2.pdf"),
            "https://arxiv.org/pdf/2101.00001"
        );
        assert_eq!(key("https://example.org:8080/"), "https://example.org:8080");
    }

    #[test]
    fn what_is_not_a_web_page_has_no_key() {
        for text in [
            "",
            "null",
            "p. 2",
            "page.2",
            "ftp://example.org/a",
            "mailto:a@example.org",
            "javascript:alert(1)",
            "https://",
            "doi:",
            "arXiv:hello",
            "a b.org",
        ] {
            assert_eq!(page_key(text), None, "{text}");
        }
    }

    #[test]
    fn a_work_is_known_by_doi_arxiv_id_or_pmid() {
        let work = |address: &str| work_key(address).unwrap_or_default();
        assert_eq!(
            work("https://arxiv.org/abs/hep-th/9901001v1"),
            "arxiv:hep-th/9901001"
        );
        assert_eq!(
            work("https://pubmed.ncbi.nlm.nih.gov/123456/"),
            "pmid:123456"
        );
        assert_eq!(
            work("https://publisher.example/doi/full/10.1000/Abc?x=1"),
            "doi:10.1000/abc"
        );
        assert_eq!(work("https://doi.org/10.1000/abc"), "doi:10.1000/abc");
        assert_eq!(work("10.48550/arXiv.2101.00001v2"), "arxiv:2101.00001");
        assert_eq!(work("https://example.org/doing/nothing"), "");
        assert_eq!(work("https://arxiv.org/list/cs.CL/new"), "");
    }

    #[test]
    fn addresses_end_before_the_marks_of_the_sentence() {
        let text = "See [a](https://a.org/x_(y)) (https://b.org/p?q=1), <https://c.org>, \
                    “https://d.org/e”。 arXiv: 2101.00001, xhttps://no.org and **https://f.org/**. https://b.org/p?q=1";
        let expected = [
            "https://a.org/x_(y)",
            "https://b.org/p?q=1",
            "https://c.org",
            "https://d.org/e",
            "arXiv: 2101.00001",
            "https://f.org/",
        ];
        assert_eq!(addresses_in(text), expected);
        assert_eq!(addresses_in("http:// https://. doi: arXiv:"), [""; 0]);
        assert_eq!(
            addresses_in("arXiv: https://a.org/x, DOI:https://doi.org/10.1000/y"),
            ["https://a.org/x", "https://doi.org/10.1000/y"]
        );
        // In time that does not grow with the square of the brackets.
        let many = format!("https://a.org/x(y){}", ").]".repeat(200_000));
        assert_eq!(addresses_in(&many), ["https://a.org/x(y)"]);
    }

    #[test]
    fn routes_of_applications_are_pages_and_other_fragments_are_places() {
        let key = |fragment: &str| page_key(&format!("https://app.org/x{fragment}")).unwrap();
        assert_eq!(key("#/one"), "https://app.org/x#/one");
        assert_eq!(key("#!/two/"), "https://app.org/x#!/two");
        assert_eq!(key("#!three"), "https://app.org/x#!three");
        assert_eq!(
            key("#/one?utm_source=y&id=1#part"),
            "https://app.org/x#/one?id=1"
        );
        assert_eq!(key("#/item:1:~:text=a"), "https://app.org/x#/item:1");
        for fragment in [
            "",
            "#part",
            "#/",
            "#!",
            "#!/",
            "#:~:text=a",
            "#/media/File:Ice.jpg",
            "#:/a",
        ] {
            assert_eq!(key(fragment), "https://app.org/x", "{fragment}");
        }
        assert_eq!(
            work_key("https://p.org/doi/10.1000/x#/one").unwrap(),
            "doi:10.1000/x"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_the_search(text in ".{0,80}(http://|doi:|arXiv:).{0,80}") {
            for address in addresses_in(&text) {
                proptest::prop_assert!(text.contains(address));
                let key = page_key(address).unwrap();
                proptest::prop_assert_eq!(page_key(&key), Some(key));
            }
        }
    }
}
