//! Looks references up in files of works.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::content::content_hash;
use super::dumps::{WorksForm, files_of, form_of, forms_hint};
use super::index::{count_in_indexes, offer_records};
use super::keys::SoughtWork;
use super::matching::kind_of;
use super::scan::{WorksDump, scan};
use super::wanted::{WantedWorks, counts_among};
use scholareval_core::domain::{CheckedReference, Fingerprint, Reference, WorkSource};
use scholareval_core::error::{InputFault, Result};

/// What the reading of the files of works did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorksReport {
    /// A hash of what the files hold; `None` before they are read, and without any.
    pub content: Option<Fingerprint>,
    /// Records read (of an index: held), by source.
    pub records: Vec<(WorkSource, u64)>,
    /// Broken lines that were left out.
    pub broken: u64,
    /// The first of them.
    pub faults: Vec<InputFault>,
}

impl WorksReport {
    /// Whether the files that were read cover works of the kind of a reference, so that one that is not found says something.
    pub fn covers(&self, reference: &Reference) -> bool {
        let kind = kind_of(reference);
        self.records.iter().any(|(source, _)| source.covers(kind))
    }
}

/// Files of works: dumps, libraries, indexes.
#[derive(Debug)]
pub struct Works {
    dumps: Vec<WorksDump>,
    indexes: Vec<PathBuf>,
    report: WorksReport,
}

impl Works {
    /// Recognizes the form of each file or directory. Nothing else is read yet.
    ///
    /// # Errors
    /// A file that does not exist or has none of the forms.
    pub fn open(sources: &[PathBuf]) -> Result<Self> {
        let mut dumps = Vec::new();
        let mut indexes = Vec::new();
        for source in sources {
            let files = files_of(source)?;
            let mut form = WorksForm::Empty;
            for file in &files {
                form = form_of(&file.path)?;
                if !matches!(form, WorksForm::Empty) {
                    break;
                }
            }
            match form {
                WorksForm::Index => indexes.push(source.clone()),
                WorksForm::Records(..) | WorksForm::Library => dumps.push(WorksDump {
                    path: source.clone(),
                    files,
                }),
                WorksForm::Empty => {
                    let fault = InputFault::new(source, "the file is empty");
                    return Err(fault.refuse(forms_hint()));
                }
            }
        }
        Ok(Self {
            dumps,
            indexes,
            report: WorksReport::default(),
        })
    }

    /// Looks the references up, in their order; dumps are read once. `on_bytes` gets the bytes read so far and all bytes
    /// there are, now and then.
    ///
    /// # Errors
    /// A file that cannot be read, or whose records are broken by more than 1%.
    pub fn check(
        &mut self,
        references: &[Reference],
        on_bytes: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<Vec<CheckedReference>> {
        let has_files = !self.dumps.is_empty() || !self.indexes.is_empty();
        let hash = || content_hash(&self.dumps, &self.indexes);
        let content = has_files.then(hash).transpose()?;
        let cited: Vec<SoughtWork> = references.iter().map(SoughtWork::new).collect();
        let mut counts = counts_among(&cited);
        if !self.indexes.is_empty() {
            count_in_indexes(&self.indexes, &mut counts)?;
        }
        let wanted = WantedWorks::new(cited, &counts);
        let take = |record| {
            wanted.offer(&record);
            Ok(())
        };
        let report = scan(&self.dumps, &take, on_bytes)?;
        let mut records: BTreeMap<WorkSource, u64> = report.records;
        for index in &self.indexes {
            for (source, count) in offer_records(index, &wanted)? {
                *records.entry(source).or_default() += count;
            }
        }
        let sources: Vec<WorkSource> = records.keys().copied().collect();
        self.report = WorksReport {
            content,
            records: records.into_iter().collect(),
            broken: report.broken,
            faults: report.faults,
        };
        Ok(wanted.decide(&sources))
    }

    /// What was read so far.
    pub fn report(&self) -> &WorksReport {
        &self.report
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use super::*;
    use crate::index_works;
    use crate::names::parse_name;
    use scholareval_core::domain::{RetractionStatus, WorkState};

    const CROSSREF: &str = r#"{"DOI":"10.1000/A1","title":["A long title about many things"],"author":[{"given":"Ann","family":"Lee"}],"issued":{"date-parts":[[2017]]},"type":"journal-article"}"#;
    const OPENALEX: &str = r#"{"id":"https://openalex.org/W1","doi":"https://doi.org/10.1000/a2","display_name":"Other things in a long title","publication_year":2018,"is_retracted":true,"authorships":[{"author":{"display_name":"Bo Ek"}}]}"#;
    const SCHOLAR: &str = r#"{"corpusid":3,"externalids":{"DOI":"10.1000/a3"},"title":"Third things in a long title","authors":[{"name":"Cy Fox"}],"year":2019}"#;
    const ARXIV: &str = r#"{"id":"2001.00004","title":"Fourth things in a\n long title","authors_parsed":[["Gee","D.",""]],"versions":[{"created":"Mon, 2 Apr 2020 19:18:42 GMT"}]}"#;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn references() -> Vec<Reference> {
        let titles = [
            "A Long Title about many Things",
            "Other things in a long title",
            "Third things in a long title",
            "Fourth things in a long title",
            "A work that none of these files has",
        ];
        let reference = |title: &&str| {
            let mut reference = Reference::new(*title, "test");
            reference.title = (*title).to_owned();
            reference
        };
        titles.iter().map(reference).collect()
    }

    fn check(sources: &[PathBuf]) -> Result<Vec<CheckedReference>> {
        Works::open(sources)?.check(&references(), &|read, all| assert!(read <= all))
    }

    fn states(sources: &[PathBuf]) -> Vec<&'static str> {
        let checked = check(sources).unwrap();
        checked
            .iter()
            .map(|reference| reference.state.name())
            .collect()
    }

    fn write(dir: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn every_form_is_read_packed_or_not_as_lines_and_as_a_list() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            "crossref/0.json.gz",
            gzip(&format!("{{\"items\": [{CROSSREF}]}}")),
        );
        write(dir.path(), "crossref/MANIFEST.txt", "nothing");
        let sources = [
            dir.path().join("crossref"),
            write(dir.path(), "works/updated_date=1/part.gz", gzip(OPENALEX)),
            write(
                dir.path(),
                "papers.jsonl",
                format!("{SCHOLAR}\n\n{SCHOLAR}"),
            ),
            write(dir.path(), "arxiv.json", ARXIV),
        ];
        let expected = ["exists", "exists", "exists", "exists", "not_in_index"];
        assert_eq!(states(&sources), expected);
        let list = write(
            dir.path(),
            "list.json",
            format!("[{CROSSREF},\n{CROSSREF}]"),
        );
        assert_eq!(states(&[list])[0], "exists");
        let checked = check(&sources).unwrap();
        assert!(matches!(checked[1].retraction, RetractionStatus::Notice(_)));
        assert_eq!(checked[0].retraction, RetractionStatus::NoNotice);
        assert_eq!(checked[2].retraction, RetractionStatus::Unknown);
        // arXiv does not have every article.
        let checked = check(&sources[3..]).unwrap();
        assert_eq!(checked[4].state, WorkState::Unchecked);
    }

    #[test]
    fn an_index_gives_what_its_sources_give() {
        let dir = tempfile::tempdir().unwrap();
        let sources = [
            write(dir.path(), "crossref.jsonl", CROSSREF),
            write(dir.path(), "works.jsonl.gz", gzip(OPENALEX)),
            write(dir.path(), "papers.jsonl", SCHOLAR),
            write(dir.path(), "arxiv.json", ARXIV),
        ];
        let out = dir.path().join("works.sqlite");
        let report = index_works(&sources[..2], &out, &|_, _| {}).unwrap();
        assert_eq!((report.total, report.known_files), (2, 0));
        let report = index_works(&sources, &out, &|_, _| {}).unwrap();
        assert_eq!((report.total, report.known_files), (4, 2));
        let mut references = references();
        // A doubtful title, a free text, and an identifier alone.
        references[0].title = "A long title about most things".to_owned();
        references[0].authors = vec![parse_name("A. Lee")];
        references.push(Reference::of_text(
            "t",
            "",
            "Fox C (2019): Third things in a long title",
        ));
        let mut alone = Reference::new("i", "");
        alone.take_identifiers("arXiv:2001.00004v3");
        references.push(alone);
        let by_index = Works::open(std::slice::from_ref(&out))
            .unwrap()
            .check(&references, &|_, _| {})
            .unwrap();
        let by_scan = Works::open(&sources)
            .unwrap()
            .check(&references, &|_, _| {})
            .unwrap();
        assert_eq!(by_index, by_scan);
        let states: Vec<&str> = by_index
            .iter()
            .map(|reference| reference.state.name())
            .collect();
        assert_eq!(
            states,
            [
                "differs",
                "exists",
                "exists",
                "exists",
                "not_in_index",
                "exists",
                "exists"
            ]
        );
        // Nothing is lost when a source is broken, and no other file is taken for an index.
        let broken = write(dir.path(), "broken.jsonl", format!("{SCHOLAR}\n{{"));
        assert!(index_works(&[broken], &out, &|_, _| {}).is_err());
        assert_eq!(index_works(&sources, &out, &|_, _| {}).unwrap().total, 4);
        let other = write(dir.path(), "other.sqlite", "text");
        let error = index_works(&sources, &other, &|_, _| {})
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("other.sqlite: the file is not an index of works"),
            "{error}"
        );
    }

    #[test]
    fn unknown_and_broken_files_are_errors_that_say_where() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: PathBuf| check(&[path]).unwrap_err().to_string();
        let unknown = error(write(dir.path(), "a.jsonl", r#"{"name": "x"}"#));
        assert!(
            unknown.contains("a.jsonl: not a file of works") && unknown.contains("OpenAlex"),
            "{unknown}"
        );
        let missing = error(dir.path().join("none.json"));
        assert!(missing.contains("none.json"), "{missing}");
        let broken = error(write(
            dir.path(),
            "b.jsonl",
            format!("{SCHOLAR}\nno JSON\n{SCHOLAR}"),
        ));
        assert!(
            broken.contains("b.jsonl:2: not a record of semantic_scholar"),
            "{broken}"
        );
        assert!(broken.contains("1 of 3 parts cannot be read"), "{broken}");
        let bomb = write(
            dir.path(),
            "bomb.jsonl.gz",
            gzip(&format!("{SCHOLAR}\n{}", " ".repeat(40 << 20))),
        );
        let bomb = error(bomb);
        assert!(bomb.contains("more than 200 times its size"), "{bomb}");
        assert!(error(write(dir.path(), "empty.jsonl", "")).contains("empty"));
        let within = write(dir.path(), "mixed/a.jsonl", SCHOLAR);
        write(dir.path(), "mixed/b.jsonl", "[1, 2]");
        let mixed = error(within.parent().unwrap().to_path_buf());
        assert!(mixed.contains("b.jsonl: not a file of works"), "{mixed}");
    }

    #[test]
    fn a_broken_record_of_a_hundred_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let mut text = format!("{SCHOLAR}\n").repeat(150).into_bytes();
        text.extend(b"{\"corpusid\": 1, \"title\": \"\xff\"}\n");
        let path = write(dir.path(), "papers.jsonl", text);
        let mut works = Works::open(&[path]).unwrap();
        works.check(&references(), &|_, _| {}).unwrap();
        assert_eq!(works.report().broken, 1);
        assert_eq!(works.report().faults[0].line, Some(151));
        assert_eq!(works.report().records, [(WorkSource::SemanticScholar, 150)]);
    }
}
