//! The state of a page, decided by rules before any judge is asked.
//!
//! A wall, an error page or an empty shell says nothing about a statement; asked about it, a judge says "unsupported". The
//! rules look where such pages differ from others: at the status, the title, the first words and the length. Each pattern is
//! a phrase that people write on these pages; a longer page with the same words is a page about them.

use url::Url;

use super::text::spaced;
use scholareval_core::domain::PageState;
use scholareval_core::text::addresses::page_key;
use scholareval_core::text::tables::section;

/// Statuses with which servers refuse a reader: the page may be there.
const REFUSALS: [u16; 6] = [401, 402, 403, 407, 429, 451];

/// Where a wall says what it is, in characters.
const OPENING: usize = 200;

/// From this length on, in characters, a page is not a wall. Those of PMC and Cloudflare have about 225 characters.
const WALL: usize = 1_500;

/// From this length on, in characters, a page does not consist of its scripts.
const SHELL: usize = 500;

/// From this length on, in characters, a page is more than a teaser.
const TEASER: usize = 6_000;

/// What is looked at of a text, in bytes: more than [`TEASER`] characters of any script.
const HEAD_BYTES: usize = 8 * TEASER;

/// Letters and digits that a page has at least.
const FEWEST_LETTERS: usize = 20;

/// The phrases, in lists below their names.
const PHRASES: &str = include_str!("phrases.txt");

/// Phrases in the title or the first words of a wall.
const WALLS: &str = "walls";

/// Phrases in the title of a page that is not there.
const GONE_IN_TITLE: &str = "gone in title";

/// What a title, or a part of it between separators, is as a whole on such pages.
const GONE_AS_PART: &str = "gone as part";

/// Phrases of pages that need scripts.
const NEEDS_SCRIPTS: &str = "needs scripts";

/// Phrases of pages whose rest costs money.
const PAYWALLS: &str = "paywalls";

/// First labels of hosts, and parts of paths, at which people log in.
const LOGINS: [&str; 12] = [
    "accounts", "auth", "idp", "log-in", "login", "oauth", "oauth2", "sign-in", "signin", "sso",
    "consent", "wayf",
];

/// The longest first paragraph that is taken for a title, in bytes.
const FACT_TITLE: usize = 300;

/// Why a page with fewer letters is empty.
const NO_TEXT: &str = "no text";

/// What the rules look at.
#[derive(Debug, Default)]
pub(super) struct PageSigns<'a> {
    pub(super) url: &'a str,
    pub(super) final_url: Option<&'a str>,
    pub(super) status: Option<u16>,
    /// The message of a fetch that failed.
    pub(super) failure: Option<&'a str>,
    /// Whether bytes or text are beyond the limits.
    pub(super) is_too_long: bool,
    pub(super) is_pdf: bool,
    /// The type of bytes that are not text.
    pub(super) not_text: Option<&'a str>,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) noscript: &'a str,
}

/// A state with the reason for it; empty for a page without one.
pub(super) type Decision = (PageState, String);

/// The state of a page.
pub(super) fn state_of(page: &PageSigns<'_>) -> Decision {
    if let Some(decision) = by_reply(page) {
        return decision;
    }
    if page.is_too_long {
        return (PageState::TooLong, "beyond the limit of a page".to_owned());
    }
    if let Some(mime) = page.not_text {
        return (PageState::Empty, format!("{mime} is not text"));
    }
    let title = plain(page.title);
    let head = page.text.floor_char_boundary(HEAD_BYTES);
    let text = plain(&page.text[..head]);
    let length = text.chars().count();
    if let Some(phrase) = phrase_of_gone(&title) {
        let why = format!("the title says \"{phrase}\"");
        return (PageState::Unreachable, why);
    }
    if let Some(decision) = by_first_words(&title, &text, length) {
        return decision;
    }
    let shell = format!("{text} {}", plain(page.noscript));
    if length < SHELL
        && let Some(phrase) = first_of(NEEDS_SCRIPTS, &shell)
    {
        return (PageState::Empty, format!("the page says \"{phrase}\""));
    }
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    if letters.take(FEWEST_LETTERS).count() < FEWEST_LETTERS {
        let why = if page.is_pdf {
            "a PDF without text; put the output of pdftotext next to it, or index that"
        } else {
            NO_TEXT
        };
        return (PageState::Empty, why.to_owned());
    }
    if is_garbled(&text) {
        return (PageState::Empty, "not readable as text".to_owned());
    }
    if length < TEASER
        && let Some(phrase) = first_of(PAYWALLS, &text)
    {
        let why = format!("the page says \"{}\"", phrase.trim());
        return (PageState::Teaser, why);
    }
    (PageState::Ok, String::new())
}

/// The title in the text of a page of FACT: its first paragraph, if that is a line of usual length.
pub(super) fn fact_title(text: &str) -> Option<&str> {
    let (first, _) = text.split_once("\n\n")?;
    (first.len() <= FACT_TITLE && !first.contains('\n')).then_some(first)
}

/// What the reply says without its text: a failure, a status, a redirect.
fn by_reply(page: &PageSigns<'_>) -> Option<Decision> {
    if let Some(status) = page.status.filter(|status| *status >= 400) {
        return Some((refusal_or_gone(status), format!("status {status}")));
    }
    if let Some(message) = page.failure {
        let state = status_in(message).map_or(PageState::Unreachable, refusal_or_gone);
        let message: String = spaced(message).chars().take(OPENING).collect();
        return Some((state, message));
    }
    let final_url = page.final_url?;
    redirected(page.url, final_url)
}

fn refusal_or_gone(status: u16) -> PageState {
    if REFUSALS.contains(&status) {
        PageState::Blocked
    } else {
        PageState::Unreachable
    }
}

/// The HTTP status that the message of a scraper names: `HTTP 403`, `status code: 429`, `returned error 404: Not Found`.
fn status_in(message: &str) -> Option<u16> {
    let mut before = "";
    for word in message.split(|c: char| !c.is_alphanumeric()) {
        let is_named = ["http", "status", "code", "error", "failed"]
            .iter()
            .any(|name| before.eq_ignore_ascii_case(name));
        if let Ok(status @ 400..=599) = word.parse()
            && word.len() == 3
            && (is_named || message.trim_start().starts_with(word))
        {
            return Some(status);
        }
        if !word.is_empty() {
            before = word;
        }
    }
    None
}

/// A redirect that leads away from the page: to a login, or from a page to the start of its site.
fn redirected(url: &str, final_url: &str) -> Option<Decision> {
    let from = Url::parse(&page_key(url)?).ok()?;
    let to = Url::parse(&page_key(final_url)?).ok()?;
    if from == to {
        return None;
    }
    if is_login(&to) && !is_login(&from) {
        return Some((PageState::Blocked, "redirected to a login".to_owned()));
    }
    let is_same_site = from.host_str() == to.host_str() || from.host_str() == Some("doi.org");
    let is_start = |url: &Url| matches!(url.path(), "" | "/") && url.query().is_none();
    if is_same_site && is_start(&to) && !is_start(&from) {
        let why = "redirected to the start of the site".to_owned();
        return Some((PageState::Unreachable, why));
    }
    None
}

fn is_login(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let first = host.split('.').next().unwrap_or_default();
    let mut parts = url.path().split('/').map(str::to_ascii_lowercase);
    LOGINS.contains(&first)
        || parts.any(|part| LOGINS.contains(&part.as_str()) && part != "consent")
}

/// The phrase by which a title says that the page is not there.
fn phrase_of_gone(title: &str) -> Option<&str> {
    if let Some(phrase) = first_of(GONE_IN_TITLE, title) {
        return Some(phrase);
    }
    if title == "error" {
        return Some(title);
    }
    let parts = title.split(['|', '–', '—', '»', '·']);
    parts
        .flat_map(|part| part.split(" - "))
        .flat_map(|part| part.split(": "))
        .map(str::trim)
        .find(|part| {
            let part = part.trim_end_matches(['!', '.']);
            section(PHRASES, GONE_AS_PART).any(|gone| gone == part)
        })
}

/// A wall or a reader's warning in the title or the first words of a short page.
fn by_first_words(title: &str, text: &str, length: usize) -> Option<Decision> {
    let opening: String = text.chars().take(OPENING).collect();
    // Readers such as Jina write the status of the page above its text.
    if let Some((_, warning)) = opening.split_once("target url returned error ")
        && let Some(status) = status_in(&format!("status {warning}"))
    {
        return Some((refusal_or_gone(status), format!("status {status}")));
    }
    if length >= WALL {
        return None;
    }
    let phrase = first_of(WALLS, title).or_else(|| first_of(WALLS, &opening))?;
    Some((PageState::Blocked, format!("the page says \"{phrase}\"")))
}

/// Whether so much of the text is not readable that it is something else than text.
fn is_garbled(text: &str) -> bool {
    let mut length = 0;
    let mut broken = 0;
    for c in text.chars() {
        length += 1;
        if c == char::REPLACEMENT_CHARACTER || c.is_control() {
            broken += 1;
        }
    }
    broken * 10 > length
}

fn first_of(list: &str, text: &str) -> Option<&'static str> {
    section(PHRASES, list).find(|phrase| text.contains(phrase))
}

/// Lower case, one space between words, plain apostrophes: phrases are written in this form.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase().replace('’', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(title: &str, text: &str) -> PageState {
        let page = PageSigns {
            url: "https://example.org/a",
            title,
            text,
            ..PageSigns::default()
        };
        state_of(&page).0
    }

    fn long(text: &str, characters: usize) -> String {
        let mut long = text.to_owned();
        while long.chars().count() < characters {
            long.push_str(" The ice of the sea grows in winter and shrinks in summer.");
        }
        long
    }

    #[test]
    fn walls_are_short_and_say_what_they_are_at_once() {
        for (title, text) in [
            (
                "Just a moment...",
                "example.org needs to review the security of your connection.",
            ),
            (
                "",
                "Checking your browser. Click the box below before proceeding, please.",
            ),
            (
                "Attention Required! | Shield",
                "Sorry, you have been blocked. You are unable to see this site.",
            ),
            (
                "Robot check",
                "We have noticed unusual traffic from your network. Solve the puzzle below.",
            ),
            (
                "Sign in",
                "Please sign in to your account. Password forgotten? Ask the library.",
            ),
            (
                "",
                "Your cookies are disabled. This site stores a cookie to remember you.",
            ),
            (
                "Journal of Ice",
                "Prove you’re not a robot by choosing all the pictures of penguins.",
            ),
        ] {
            assert_eq!(state(title, text), PageState::Blocked, "{title}: {text}");
            let about = long(&format!("A history of walls. {text}"), WALL);
            assert_eq!(state("A history of walls", &about), PageState::Ok, "{text}");
        }
    }

    #[test]
    fn soft_404s_are_known_by_their_title_at_any_length() {
        let text = long("Try the search, or read one of our other stories.", 4_000);
        for title in [
            "Page not found | Example News",
            "404",
            "404 - Example",
            "Example: Not Found",
            "Error 404: this went wrong",
            "404 Not Found",
            "503 Service Temporarily Unavailable",
            "Oops! That page can’t be found.",
            "DOI Not Found",
        ] {
            assert_eq!(state(title, &text), PageState::Unreachable, "{title}");
        }
        for title in [
            "404 Media",
            "Room 404: a novel",
            "Why methane was not found on Mars",
            "Errors in thermometers - Example",
            "The error of the mean",
            "scholareval_core::error - Documentation",
            "How to fix a 404 error on your site",
            "Why cheap flights are no longer available",
            "Error - A library",
        ] {
            assert_eq!(state(title, &text), PageState::Ok, "{title}");
        }
    }

    #[test]
    fn shells_and_pages_without_words_are_empty() {
        let shell = "You need to enable JavaScript to run this app.";
        assert_eq!(state("App", shell), PageState::Empty);
        let page = PageSigns {
            url: "https://example.org/a",
            text: "Menu Home About Contact Terms Privacy",
            noscript: "This site requires JavaScript.",
            ..PageSigns::default()
        };
        assert_eq!(state_of(&page).0, PageState::Empty);
        let text = long("The page of a site that also has a note.", SHELL);
        let with_note = PageSigns {
            text: &text,
            ..page
        };
        assert_eq!(state_of(&with_note).0, PageState::Ok);
        assert_eq!(state("A picture", " . | - "), PageState::Empty);
        assert_eq!(
            state("", &"\u{fffd}ab\u{fffd}".repeat(40)),
            PageState::Empty
        );
        let pdf = PageSigns {
            url: "https://example.org/a.pdf",
            is_pdf: true,
            ..PageSigns::default()
        };
        let decision = state_of(&pdf);
        assert_eq!(decision.0, PageState::Empty);
        assert!(decision.1.contains("pdftotext"), "{decision:?}");
    }

    #[test]
    fn a_teaser_is_readable_and_flagged() {
        let teaser = long("Ice melts faster than thought.", 900)
            + " Subscribe to continue reading this story.";
        assert_eq!(state("Ice", &teaser), PageState::Teaser);
        assert!(PageState::Teaser.is_readable());
        let whole = long(&teaser, TEASER);
        assert_eq!(state("Ice", &whole), PageState::Ok);
    }

    #[test]
    fn a_status_decides_and_refusals_are_not_missing_pages() {
        let of = |status| {
            let text = long("Whatever a server sends with it.", 5_000);
            let page = PageSigns {
                url: "https://example.org/a",
                status: Some(status),
                text: &text,
                ..PageSigns::default()
            };
            state_of(&page).0
        };
        assert_eq!([200, 206, 304].map(of), [PageState::Ok; 3]);
        assert_eq!(
            [401, 402, 403, 407, 429, 451].map(of),
            [PageState::Blocked; 6]
        );
        assert_eq!(
            [400, 404, 410, 500, 503].map(of),
            [PageState::Unreachable; 5]
        );
    }

    #[test]
    fn messages_of_scrapers_may_name_the_status() {
        let of = |message| {
            let page = PageSigns {
                url: "https://example.org/a",
                failure: Some(message),
                ..PageSigns::default()
            };
            state_of(&page)
        };
        assert_eq!(of("HTTP 403 Forbidden").0, PageState::Blocked);
        assert_eq!(
            of("Reader failed for u: status code 429").0,
            PageState::Blocked
        );
        assert_eq!(of("403 Client Error").0, PageState::Blocked);
        assert_eq!(
            of("Target URL returned error 404: Not Found").0,
            PageState::Unreachable
        );
        assert_eq!(of("timed out after 403 seconds").0, PageState::Unreachable);
        assert_eq!(of("'url'"), (PageState::Unreachable, "'url'".to_owned()));
        let text =
            "Title: a Warning: Target URL returned error 403: Forbidden and some text of the page";
        assert_eq!(state("", text), PageState::Blocked);
    }

    #[test]
    fn redirects_away_from_the_page_are_walls_or_errors() {
        let of = |url, to| redirected(url, to).map(|decision| decision.0);
        let page = "https://example.org/news/1";
        assert_eq!(
            of(page, "https://example.org/"),
            Some(PageState::Unreachable)
        );
        assert_eq!(
            of(page, "https://login.example.org/?next=1"),
            Some(PageState::Blocked)
        );
        assert_eq!(
            of(page, "https://example.org/user/signin"),
            Some(PageState::Blocked)
        );
        assert_eq!(
            of("https://doi.org/10.1000/x", "https://publisher.example/"),
            Some(PageState::Unreachable)
        );
        for to in [
            "http://www.example.org/news/1/",
            "https://example.org/news/1-title",
            "https://other.example/",
        ] {
            assert_eq!(of(page, to), None, "{to}");
        }
        assert_eq!(
            of("https://example.org/login", "https://example.org/login/2"),
            None
        );
    }
}
