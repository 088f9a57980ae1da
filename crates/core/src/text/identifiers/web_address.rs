//! The address of a page, taken apart.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Parameters that hold the address of the page to which a link leads.
const ADDRESS_PARAMETERS: [&str; 5] = ["url", "qurl", "q", "u", "uri"];

/// The address of a page in its parts.
pub(super) struct WebAddress<'a> {
    /// In lower case, without `www.`, port and proxy.
    pub(super) host: String,
    /// Decoded, without parameters and fragment.
    pub(super) path: Cow<'a, str>,
    query: &'a str,
}

impl<'a> WebAddress<'a> {
    /// The parts of an address, which may lack its scheme.
    pub(super) fn of(address: &'a str) -> Self {
        // A browser's fragment holds words of the page, and those may hold a DOI.
        let address = address.split('#').next().unwrap_or_default();
        let rest = without_scheme(address).unwrap_or(address);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let host = authority.rsplit('@').next().unwrap_or_default();
        let host = host
            .split(':')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let host = without_proxy(&host);
        let host = host.strip_prefix("www.").unwrap_or(&host);
        Self {
            host: host.strip_prefix("m.").unwrap_or(host).to_owned(),
            path: percent_decoded(path),
            query,
        }
    }

    /// The address of the page that an archive saved, or to which a link leads.
    pub(super) fn inner(&self) -> Option<String> {
        if self.host.ends_with("archive.org") {
            let at = self
                .path
                .find("http:/")
                .or_else(|| self.path.find("https:/"))?;
            return Some(format!("{}?{}", &self.path[at..], self.query));
        }
        let mut values = ADDRESS_PARAMETERS
            .iter()
            .filter_map(|name| self.parameter(name));
        values
            .find(|value| without_scheme(value).is_some())
            .map(Cow::into_owned)
    }

    /// The value of a parameter, decoded.
    pub(super) fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        self.query.split('&').find_map(|parameter| {
            let (key, value) = parameter.split_once('=')?;
            key.eq_ignore_ascii_case(name)
                .then(|| percent_decoded(value))
        })
    }

    /// The parts of the path.
    pub(super) fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    /// The part behind one of this name.
    pub(super) fn behind(&self, name: &str) -> Option<&str> {
        self.parts_behind(name).next()
    }

    /// The parts behind one of this name.
    pub(super) fn parts_behind(&self, name: &str) -> impl Iterator<Item = &str> {
        let mut segments = self.segments();
        segments.find(|segment| segment.eq_ignore_ascii_case(name));
        segments
    }
}

/// Whether a host is one of these, which are separated by spaces, or lies below one of them.
pub(super) fn is_at(host: &str, known: &str) -> bool {
    known.split(' ').any(|known| {
        let sub = host.strip_suffix(known);
        sub.is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    })
}

/// What follows `https://`. Archives write one slash.
fn without_scheme(address: &str) -> Option<&str> {
    ["https:/", "http:/"].iter().find_map(|scheme| {
        let head = address.get(..scheme.len())?;
        head.eq_ignore_ascii_case(scheme)
            .then(|| address[scheme.len()..].trim_start_matches('/'))
    })
}

/// The host behind the proxy of a library: `www-nature-com.ezproxy.example.edu`, `www.nature.com.ezproxy.example.edu`.
fn without_proxy(host: &str) -> Cow<'_, str> {
    if !host.contains("proxy") && !host.ends_with(".idm.oclc.org") {
        return Cow::Borrowed(host);
    }
    let first = host.split('.').next().unwrap_or_default();
    if first.contains('-') {
        // A hyphen of the host itself is doubled.
        let host = first.replace("--", "\0").replace('-', ".");
        return Cow::Owned(host.replace('\0', "-"));
    }
    let labels: Vec<&str> = host
        .split('.')
        .take_while(|label| !label.contains("proxy"))
        .collect();
    Cow::Owned(labels.join("."))
}

/// A text with the characters that `%2F` and its like stand for. What is encoded twice is decoded twice.
pub(super) fn percent_decoded(text: &str) -> Cow<'_, str> {
    match decoded(text) {
        Cow::Borrowed(plain) => Cow::Borrowed(plain),
        Cow::Owned(once) => Cow::Owned(decoded(&once).into_owned()),
    }
}

/// The text itself if nothing is encoded, or not as UTF-8.
fn decoded(text: &str) -> Cow<'_, str> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.unwrap_or(Cow::Borrowed(text))
}
