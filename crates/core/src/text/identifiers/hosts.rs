//! Hosts whose addresses stand for works, and by which rule.

use super::IdentifierScheme::{self, Acl, Arxiv, Corpusid, Doi, Hal, Openreview, Pmcid, Pmid, S2};
use super::arxiv::{id_at_start, leading_digits};
use super::doi::without_version;
use super::hal::hal_id_of_any_archive;
use super::web_address::{WebAddress, is_at};
use crate::text::tables::second_of;

/// How the addresses of some hosts give an identifier.
pub(super) struct HostRule {
    /// Hosts, separated by spaces, each with those below it.
    hosts: &'static str,
    pub(super) scheme: IdentifierScheme,
    /// What stands before the id: the prefix of a DOI.
    pub(super) prefix: &'static str,
    /// Whether no public record has proved the rule, or it holds for a part of the addresses only.
    pub(super) is_derived: bool,
    /// The id in an address.
    pub(super) id: fn(&WebAddress<'_>) -> Option<String>,
}

/// Hosts whose addresses hold DOIs and nothing else that is read.
const DOI_HOSTS: &str = "doi.org hdl.handle.net doi.ieeecomputersociety.org";

/// A rule that is proved: a public text has the address and the identifier, or the host promises it.
const fn proved(
    hosts: &'static str,
    scheme: IdentifierScheme,
    prefix: &'static str,
    id: fn(&WebAddress<'_>) -> Option<String>,
) -> HostRule {
    HostRule {
        hosts,
        scheme,
        prefix,
        is_derived: false,
        id,
    }
}

/// A rule that may find a record.
const fn derived(
    hosts: &'static str,
    prefix: &'static str,
    id: fn(&WebAddress<'_>) -> Option<String>,
) -> HostRule {
    HostRule {
        is_derived: true,
        ..proved(hosts, Doi, prefix, id)
    }
}

static RULES: [HostRule; 34] = [
    proved(
        "arxiv.org ar5iv.org alphaxiv.org arxiv-vanity.com scirate.com xxx.lanl.gov",
        Arxiv,
        "",
        |address| arxiv_id(&address.path),
    ),
    proved("hf.co huggingface.co", Arxiv, "", |page| {
        arxiv_id(page.behind("papers")?)
    }),
    proved("pubmed.ncbi.nlm.nih.gov", Pmid, "", |address| {
        number(address.segments().next()).or_else(|| number(address.parameter("term").as_deref()))
    }),
    proved("ncbi.nlm.nih.gov", Pmid, "", |address| {
        let of_pubmed =
            || address.parts_behind("pubmed").next().is_none() && address.path.contains("pubmed");
        let term = || address.parameter("term").filter(|_| of_pubmed());
        let id = address.behind("pubmed").or_else(|| address.behind("pmid"));
        number(id).or_else(|| number(term().as_deref()))
    }),
    proved("europepmc.org", Pmid, "", |page| number_behind(page, "med")),
    proved("ncbi.nlm.nih.gov europepmc.org", Pmcid, "PMC", |page| {
        number_labeled(page, "PMC").or_else(|| number(page.behind("pmc")))
    }),
    proved("semanticscholar.org", S2, "", |address| {
        let is_hash =
            |part: &&str| part.len() == 40 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_paper = !address.host.starts_with("pdfs.");
        let hash = address.segments().find(is_hash).filter(|_| is_paper);
        hash.map(str::to_ascii_lowercase)
    }),
    proved("semanticscholar.org", Corpusid, "", |page| {
        number_labeled(page, "CorpusID:")
    }),
    proved(
        "aclanthology.org aclweb.org aclanthology.info",
        Acl,
        "",
        acl_id,
    ),
    proved("openreview.net", Openreview, "", |address| {
        let is_paper =
            ["forum", "pdf", "attachment", "revisions"].contains(&address.segments().next()?);
        let id = address.parameter("id").filter(|_| is_paper)?;
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        ((5..=20).contains(&id.len()) && id.bytes().all(is_of_id)).then(|| id.into_owned())
    }),
    proved(
        "hal.science archives-ouvertes.fr hal.inria.fr hal.inrae.fr theses.hal.science",
        Hal,
        "",
        |page| Some(page.segments().find_map(hal_id_of_any_archive)?.to_owned()),
    ),
    proved("nature.com", Doi, "10.1038/", |address| {
        nature_id(address).filter(|id| dated_nature_id(id).is_none())
    }),
    derived("nature.com", "10.1038/", |address| {
        dated_nature_id(&nature_id(address)?)
    }),
    proved("elifesciences.org", Doi, "10.7554/elife.", |page| {
        number_behind(page, "articles")
    }),
    derived("elifesciences.org", "10.7554/elife.", |page| {
        number_behind(page, "reviewed-preprints")
    }),
    proved("pubs.rsc.org", Doi, "10.1039/", |address| {
        let mut parts = address
            .segments()
            .skip_while(|part| !part.starts_with("article"));
        let id = without_ending(parts.nth(3)?).to_ascii_lowercase();
        id.bytes()
            .all(|byte| byte.is_ascii_alphanumeric())
            .then_some(id)
    }),
    proved("ssrn.com", Doi, "10.2139/ssrn.", |address| {
        let mut names = ["abstract_id", "abstractid", "abstract"].iter();
        number_labeled(address, "abstract=")
            .or_else(|| names.find_map(|name| number(address.parameter(name).as_deref())))
    }),
    proved("researchsquare.com", Doi, "10.21203/rs.3.", |address| {
        let mut parts = address
            .segments()
            .skip_while(|part| number(strip(part, "rs-")).is_none());
        let paper = parts.next()?;
        let version = without_ending(parts.next()?);
        number(strip(version, "v"))?;
        Some(format!("{paper}/{version}").to_ascii_lowercase())
    }),
    proved("zenodo.org", Doi, "10.5281/zenodo.", |page| {
        number_behind(page, "record").or_else(|| number_behind(page, "records"))
    }),
    derived("copernicus.org", "10.5194/", |address| {
        let journal = address.host.strip_suffix(".copernicus.org")?;
        let mut parts = address
            .parts_behind("articles")
            .map(|part| number(Some(part)));
        let (volume, page) = (parts.next()??, parts.next()??);
        Some(format!("{journal}-{volume}-{page}-{}", parts.next()??))
    }),
    derived("hindawi.com", "10.1155/", |address| {
        let mut parts = address.parts_behind("journals").skip(1);
        let year = number(parts.next()).filter(|year| year.len() == 4)?;
        let article = number(parts.next().map(without_ending))?;
        Some(format!("{year}/{article}"))
    }),
    derived("peerj.com", "10.7717/peerj", |address| {
        let id = without_ending(address.behind("articles")?);
        match id.rsplit_once('-') {
            Some((journal, id)) => Some(format!("-{journal}.{}", number(Some(id))?)),
            None => Some(format!(".{}", number(Some(id))?)),
        }
    }),
    derived("peerj.com", "10.7287/peerj.preprints.", |page| {
        number_behind(page, "preprints")
    }),
    derived("bmj.com", "10.1136/", |address| {
        let id = address
            .segments()
            .map(without_ending)
            .find(|part| part.starts_with("bmj"))?;
        let behind = id["bmj".len()..].strip_prefix(['.', '-'])?;
        let has_digit = behind.bytes().any(|byte| byte.is_ascii_digit());
        has_digit.then(|| id.to_ascii_lowercase())
    }),
    derived("thelancet.com", "10.1016/", |address| {
        let parts = address.segments().map(without_ending);
        parts.filter_map(|part| strip(part, "PII")).find_map(pii)
    }),
    derived(
        "sciencedirect.com linkinghub.elsevier.com",
        "10.1016/",
        |address| old_pii(address.behind("pii")?),
    ),
    derived("cell.com", "10.1016/", |address| {
        let parts = address.segments();
        parts
            .map(|part| strip(part, "PII").unwrap_or(part))
            .find_map(old_pii)
    }),
    derived("osf.io psyarxiv.com", "10.", |address| {
        let server = if address.host == "osf.io" {
            address.behind("preprints")?
        } else {
            "psyarxiv"
        };
        let prefix = second_of(OSF_SERVERS, server)?;
        let id = match address.behind(server) {
            Some(id) => id,
            None => address.segments().next()?,
        };
        let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        (id.len() >= 5 && id.bytes().all(is_of_id))
            .then(|| format!("{prefix}/osf.io/{}", id.to_ascii_lowercase()))
    }),
    derived("preprints.org", "10.20944/preprints", |address| {
        let mut parts = address.parts_behind("manuscript");
        let (id, version) = (parts.next()?, without_ending(parts.next()?));
        number(strip(version, "v"))?;
        let is_id =
            leading_digits(id) == 6 && id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_id.then(|| format!("{id}/{version}"))
    }),
    derived("figshare.com", "10.6084/m9.figshare.", |address| {
        let mut parts = address.parts_behind("articles");
        parts.find_map(|part| number(Some(part)))
    }),
    derived("dl.acm.org portal.acm.org", "10.1145/", |address| {
        let id = address
            .parameter("id")
            .filter(|_| address.path.ends_with("citation.cfm"))?;
        let (proceedings, paper) = id.split_once('.')?;
        (is_number(proceedings) && is_number(paper)).then(|| id.into_owned())
    }),
    derived("biorxiv.org medrxiv.org", "10.1101/", |address| {
        let id = without_version(without_ending(address.parts_behind("early").nth(3)?));
        let is_id = id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (leading_digits(id) > 3 && is_id).then(|| id.to_owned())
    }),
    derived(
        "aclanthology.org aclweb.org aclanthology.info",
        "10.18653/v1/",
        |address| acl_id(address).map(|id| id.to_ascii_lowercase()),
    ),
    derived("mdpi.com", "10.3390/", |address| {
        let mut parts = address.segments();
        let issn = parts.next()?;
        let mut journals = MDPI_JOURNALS
            .lines()
            .filter_map(|line| line.split_once(' '));
        let (_, journal) = journals.find(|(known, _)| *known == issn)?;
        let mut numbers = parts.map(|part| part.parse::<u32>().ok());
        let (volume, issue, article) = (numbers.next()??, numbers.next()??, numbers.next()??);
        Some(format!("{journal}{volume}{issue:02}{article:04}"))
    }),
];

/// Servers of preprints at OSF, with the registrants of their DOIs.
const OSF_SERVERS: &str = "psyarxiv 31234 socarxiv 31235 osf 31219 edarxiv 35542 metaarxiv 31222 \
    engrxiv 31224 eartharxiv 31223 africarxiv 31730";

/// ISSN and code of journals of MDPI.
const MDPI_JOURNALS: &str = include_str!("mdpi_journals.txt");

/// Journals of Nature whose ids are a name and a number that is not a year.
const NUMBERED_NATURE: [&str; 3] = ["nature", "ncomms", "srep"];

/// Endings of the last part of a path that name a form of the page.
const ENDINGS: &str = ".pdf .full .html .htm .abstract .ris";

/// The rules of a host.
pub(super) fn rules_of(host: &str) -> impl Iterator<Item = &'static HostRule> {
    RULES.iter().filter(move |rule| is_at(host, rule.hosts))
}

/// Whether an address may be known without its scheme.
pub(super) fn is_known_host(host: &str) -> bool {
    is_at(host, DOI_HOSTS) || rules_of(host).next().is_some()
}

/// The number behind a part of the path of this name, without version and ending.
fn number_behind(address: &WebAddress<'_>, name: &str) -> Option<String> {
    number(
        address
            .behind(name)
            .map(without_ending)
            .map(without_version),
    )
}

/// The number behind a label in a part of the path: `PMC123`.
fn number_labeled(address: &WebAddress<'_>, label: &str) -> Option<String> {
    let mut parts = address.segments();
    parts.find_map(|part| number(strip(part, label)))
}

/// The first number of arXiv in a path.
fn arxiv_id(path: &str) -> Option<String> {
    let beginnings = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
    std::iter::once(path)
        .chain(beginnings)
        .find_map(|rest| Some(id_at_start(rest)?.1))
}

/// `2022.emnlp-main.74` or `P19-1001`.
fn acl_id(address: &WebAddress<'_>) -> Option<String> {
    address.segments().find_map(|part| {
        let id = without_version(without_ending(part));
        let (year, rest) = id.split_once('.').unwrap_or((id, ""));
        let is_new = leading_digits(year) == 4
            && year.len() == 4
            && rest
                .rsplit_once('.')
                .is_some_and(|(volume, paper)| volume.contains('-') && is_number(paper));
        let is_old = id.split_once('-').is_some_and(|(volume, paper)| {
            volume.len() == 3
                && volume.starts_with(|c: char| c.is_ascii_alphabetic())
                && is_number(&volume[1..])
                && (4..=5).contains(&paper.len())
                && is_number(paper)
        });
        let id = if is_old {
            id.to_ascii_uppercase()
        } else {
            id.to_owned()
        };
        (is_new || is_old).then_some(id)
    })
}

/// The id of an article of Nature: `s41586-022-01234-4`, `ncomms1234`, `nbt.1234`, `171234a0`.
fn nature_id(address: &WebAddress<'_>) -> Option<String> {
    let id = without_ending(address.behind("articles")?).to_ascii_lowercase();
    let is_of_id = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let has_digit = id.bytes().any(|byte| byte.is_ascii_digit());
    (has_digit && id.bytes().all(is_of_id)).then_some(id)
}

/// `sdata201618` is `sdata.2016.18`: name, year and number.
fn dated_nature_id(id: &str) -> Option<String> {
    let (name, digits) = id.split_at(id.find(|c: char| c.is_ascii_digit())?);
    let is_name =
        name.bytes().all(|byte| byte.is_ascii_lowercase()) && !NUMBERED_NATURE.contains(&name);
    let is_dated = is_number(digits) && digits.len() > 4 && matches!(&digits[..2], "19" | "20");
    (is_name && !name.is_empty() && is_dated)
        .then(|| format!("{name}.{}.{}", &digits[..4], &digits[4..]))
}

/// The identifier of an item of Elsevier, `S0140-6736(97)21234-6`, also from `S0140673697212346`.
fn pii(text: &str) -> Option<String> {
    let bare: String = text
        .chars()
        .filter(|c| !matches!(c, '-' | '(' | ')'))
        .collect();
    let bare = bare.to_ascii_lowercase();
    let rest = bare.strip_prefix('s')?;
    let is_whole = rest.len() == 16
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'x');
    is_whole.then(|| {
        let (issn, year, item, check) = (&rest[..8], &rest[8..10], &rest[10..15], &rest[15..]);
        format!("s{}-{}({year}){item}-{check}", &issn[..4], &issn[4..])
    })
}

/// One of the years in which it was the DOI, too: until 2002.
fn old_pii(text: &str) -> Option<String> {
    let pii = pii(without_ending(text))?;
    let year = pii.split(['(', ')']).nth(1)?;
    (year >= "60" || year <= "02").then_some(pii)
}

fn without_ending(part: &str) -> &str {
    let mut endings = ENDINGS.split(' ');
    match endings.find_map(|ending| part.strip_suffix(ending)) {
        Some(part) => without_ending(part),
        None => part,
    }
}

fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning)
        .then(|| &text[beginning.len()..])
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A text of digits, which are not all 0.
fn number(text: Option<&str>) -> Option<String> {
    text.filter(|text| is_number(text) && text.bytes().any(|byte| byte != b'0'))
        .map(str::to_owned)
}
