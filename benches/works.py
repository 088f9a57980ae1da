#!/usr/bin/env python3
"""Generated files of works in the forms of Crossref, OpenAlex, Semantic Scholar and arXiv, and a library to look up in them.

Measures how fast `sources index` and `sources coverage` read dumps: real ones have hundreds of gigabytes. Words follow Zipf's
law, records have the members that make real ones long (references, abstracts), so that bytes per record are like theirs.

    python3 benches/works.py --form crossref --gigabytes 1 --gzip DIR
    scholareval sources coverage DIR/library.bib --works DIR/crossref

The library has `--references` works, half of them from the files (every fourth with an altered title), half invented.
"""

import argparse
import gzip
import json
import random
from pathlib import Path

FORMS = ["crossref", "openalex", "semantic_scholar", "arxiv"]
RECORDS_OF_FILE = 50_000
SYLLABLES = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ["", "n", "r", "s"]]


def vocabulary(rng, size=60_000):
    """Words of two to four syllables, the first ones short and frequent."""
    words = {}
    while len(words) < size:
        count = 1 + (len(words) > 200) + (len(words) > 5_000) + (len(words) > 30_000)
        words["".join(rng.choices(SYLLABLES, k=count + 1))] = None
    return list(words)


class Records:
    """Records of one form."""

    def __init__(self, form, seed):
        self.form = form
        self.rng = random.Random(seed)
        self.words = vocabulary(self.rng)
        total = 0.0
        self.weights = []
        for rank in range(1, len(self.words) + 1):
            total += 1.0 / (rank + 2)
            self.weights.append(total)
        self.families = [word.capitalize() for word in self.words[300:20_300]]
        self.given = [word.capitalize() for word in self.words[:300]]

    def text(self, count):
        return " ".join(self.rng.choices(self.words, cum_weights=self.weights, k=count))

    def work(self, number):
        """Title, authors and year of a work."""
        rng = self.rng
        title = self.text(rng.randint(4, 15)).capitalize()
        if number % 4 == 0:
            title = title.replace(" ", ": ", 1)
        authors = [
            (rng.choice(self.families), rng.choice(self.given))
            for _ in range(rng.randint(1, 7))
        ]
        return title, authors, rng.randint(1990, 2026)

    def line(self, number, title, authors, year):
        """The work as JSON."""
        return getattr(self, self.form)(number, title, authors, year)

    def crossref(self, number, title, authors, year):
        cited = [
            {
                "key": f"ref{at}",
                "doi-asserted-by": "publisher",
                "DOI": f"10.5555/{self.rng.randrange(10**9)}",
                "volume-title": "Journal of " + self.words[at],
                "author": self.rng.choice(self.families),
                "year": "2001",
            }
            for at in range(number % 40)
        ]
        return {
            "URL": f"http://dx.doi.org/10.5555/work.{number}",
            "DOI": f"10.5555/WORK.{number}",
            "type": "journal-article",
            "title": [title],
            "subtitle": [],
            "author": [
                {"given": given, "family": family, "sequence": "additional", "affiliation": []}
                for family, given in authors
            ],
            "issued": {"date-parts": [[year, 3, 1]]},
            "container-title": ["Journal of Things"],
            "publisher": "A Publisher (of Things)",
            "license": [{"URL": "https://example.org/license", "delay-in-days": 0, "content-version": "vor"}],
            "reference-count": len(cited),
            "reference": cited,
            "indexed": {"date-time": "2024-01-01T00:00:00Z", "timestamp": 1704067200000},
        }

    def openalex(self, number, title, authors, year):
        abstract = self.text(120).split()
        inverted = {}
        for at, word in enumerate(abstract):
            inverted.setdefault(word, []).append(at)
        return {
            "id": f"https://openalex.org/W{number}",
            "doi": f"https://doi.org/10.5555/work.{number}",
            "title": title,
            "display_name": title,
            "publication_year": year,
            "type": "article",
            "ids": {"openalex": f"https://openalex.org/W{number}"},
            "primary_location": {"source": {"display_name": "Journal of Things"}, "landing_page_url": "https://x.example"},
            "locations": [{"landing_page_url": "https://x.example", "source": None}],
            "authorships": [
                {
                    "author_position": "middle",
                    "author": {"id": "https://openalex.org/A1", "display_name": f"{given} {family}", "orcid": None},
                    "institutions": [{"id": "https://openalex.org/I1", "display_name": "A University"}],
                }
                for family, given in authors
            ],
            "is_retracted": False,
            "concepts": [{"id": "https://openalex.org/C1", "display_name": "Things", "score": 0.5}] * 8,
            "abstract_inverted_index": inverted,
        }

    def semantic_scholar(self, number, title, authors, year):
        return {
            "corpusid": number,
            "externalids": {"ACL": None, "DBLP": None, "ArXiv": None, "MAG": str(number), "CorpusId": str(number),
                            "PubMed": None, "DOI": f"10.5555/work.{number}", "PubMedCentral": None},
            "url": f"https://www.semanticscholar.org/paper/{number:040x}",
            "title": title,
            "authors": [{"authorId": str(number), "name": f"{given} {family}"} for family, given in authors],
            "venue": "Journal of Things",
            "publicationvenueid": None,
            "year": year,
            "referencecount": 10,
            "citationcount": 3,
            "isopenaccess": True,
            "s2fieldsofstudy": [{"category": "Physics", "source": "s2-fos-model"}],
            "publicationtypes": ["JournalArticle"],
            "publicationdate": f"{year}-01-01",
            "journal": {"name": "Journal of Things", "pages": "1-10", "volume": "5"},
        }

    def arxiv(self, number, title, authors, year):
        return {
            "id": f"{year % 100:02d}01.{number % 100_000:05d}",
            "submitter": "A Person",
            "authors": ", ".join(f"{given} {family}" for family, given in authors),
            "title": title,
            "comments": "12 pages, 3 figures",
            "journal-ref": None,
            "doi": None,
            "categories": "physics.gen-ph",
            "abstract": self.text(130),
            "versions": [{"version": "v1", "created": f"Mon, 2 Apr {year} 19:18:42 GMT"}],
            "update_date": f"{year}-11-26",
            "authors_parsed": [[family, given, ""] for family, given in authors],
        }


def write_file(path, lines, is_packed, is_list):
    text = "\n".join(lines)
    if is_list:
        text = '{"items":[' + ",\n".join(lines) + "]}"
    if is_packed:
        with gzip.open(f"{path}.gz", "wt", compresslevel=1) as file:
            file.write(text + "\n")
    else:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")
    return len(text)


def bibtex(number, title, authors, year):
    names = " and ".join(f"{family}, {given}" for family, given in authors)
    return f"@article{{w{number},\n  author = {{{names}}},\n  title = {{{title}}},\n  year = {{{year}}}\n}}\n"


def altered(rng, title, words):
    parts = title.split(" ")
    parts[rng.randrange(len(parts))] = rng.choice(words)
    return " ".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--form", choices=FORMS, required=True)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--gigabytes", type=float, help="of JSON, before packing")
    size.add_argument("--records", type=int)
    parser.add_argument("--gzip", action="store_true", help="many packed files instead of one that is not")
    parser.add_argument("--references", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    records = Records(args.form, args.seed)
    folder = args.dir / args.form
    folder.mkdir(parents=True)
    limit = (args.gigabytes or 0) * 1e9
    is_list = args.form == "crossref" and args.gzip
    lines, kept = [], []
    written = number = 0
    files = 0
    while written < limit if limit else number < args.records:
        number += 1
        work = records.work(number)
        # Works at every place of the files, as many as are needed in the end.
        if len(kept) < args.references or records.rng.random() < args.references / number:
            place = len(kept) if len(kept) < args.references else records.rng.randrange(args.references)
            kept[place : place + 1] = [(number, *work)]
        lines.append(json.dumps(records.line(number, *work)))
        if len(lines) == RECORDS_OF_FILE // (10 if is_list else 1):
            name = folder / (f"part_{files:05d}.json" if args.gzip else "all.jsonl")
            written += write_file(name, lines, args.gzip, is_list)
            files += 1
            lines = []
    if lines:
        name = folder / (f"part_{files:05d}.json" if args.gzip else "all.jsonl")
        written += write_file(name, lines, args.gzip, is_list)

    rng = random.Random(args.seed + 1)
    with open(args.dir / "library.bib", "w", encoding="utf-8") as library:
        for at, (number_of, title, authors, year) in enumerate(kept[: args.references // 2]):
            if at % 4 == 3:
                title = altered(rng, title, records.words)
            library.write(bibtex(number_of, title, authors, year))
        for at in range(args.references - args.references // 2):
            library.write(bibtex(number + 1 + at, *records.work(at)))
    print(f"{number} records, {written / 1e9:.2f} GB of JSON")


if __name__ == "__main__":
    main()
