//! Scores and calls of a run as Parquet tables, written row group by row group.
//!
//! Only built with the cargo feature `parquet`. What is held in memory is one row group, however long a table is.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde::Serialize;
use serde_json::Value;

use super::rows::component_rows;
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::{RecordedRun, SCHEMA_VERSION, for_each_call, write_whole};

use ColumnType::{Flag, Number, Text, Whole};

const SCORES: [ColumnSpec; 14] = [
    ("run", Text, "/run"),
    ("system", Text, "/system"),
    ("case_id", Text, "/case_id"),
    ("scorer", Text, "/scorer"),
    ("component", Text, "/component"),
    ("kind", Text, "/kind"),
    ("unit", Text, "/unit"),
    ("question", Text, "/question"),
    ("text", Text, "/text"),
    ("weight", Number, "/weight"),
    ("value", Number, "/value"),
    ("reason_kind", Text, "/reason_kind"),
    ("reason", Text, "/reason"),
    ("feedback", Text, "/feedback"),
];

const CALLS: [ColumnSpec; 23] = [
    ("call_id", Text, "/call_id"),
    ("system", Text, "/system"),
    ("case_id", Text, "/case_id"),
    ("item", Text, "/item"),
    ("kind", Text, "/kind"),
    ("role", Text, "/role"),
    ("judge", Text, "/judge"),
    ("draw", Whole, "/draw"),
    ("attempt", Whole, "/attempt"),
    ("fingerprint", Text, "/fingerprint"),
    ("raw", Text, "/reply/content"),
    ("finish_reason", Text, "/reply/finish_reason"),
    ("model", Text, "/reply/model"),
    ("verdict", Text, "/verdict"),
    ("reason", Text, "/unscored/message"),
    ("reason_kind", Text, "/unscored/kind"),
    ("cached", Flag, "/reply/cached"),
    ("prompt_tokens", Whole, "/reply/usage/prompt_tokens"),
    ("cached_prompt_tokens", Whole, "/reply/usage/cached_prompt_tokens"),
    ("completion_tokens", Whole, "/reply/usage/completion_tokens"),
    ("latency_ms", Whole, "/reply/latency_ms"),
    ("logprobs", Text, "/reply/logprobs"),
    ("note", Text, "/reply/note"),
];

/// Writes `scores.parquet` and `calls.parquet` into a directory; gives the numbers of their rows. Tables of another run are
/// replaced only with `overwrite`.
///
/// # Errors
/// When a file cannot be read or written, or is there and is no table of this run.
pub fn write_parquet_tables(run: &RecordedRun, out: &Path, overwrite: bool) -> Result<[u64; 2]> {
    let [scores, calls] = ["scores.parquet", "calls.parquet"].map(|name| out.join(name));
    if !overwrite {
        refuse_tables_of_others(&[&scores, &calls], run)?;
    }
    let score_count = write_table(&scores, &SCORES, run, |table| {
        let mut rows = run.scored.iter().flat_map(|scored| component_rows(&run.name, scored));
        rows.try_for_each(|row| table.push(&row).map_err(Error::io(&scores, "write")))
    })?;
    let call_count = write_table(&calls, &CALLS, run, |table| {
        for_each_call(&run.path.join("calls.jsonl"), |call| table.push(&call).map_err(Error::io(&calls, "write")))
    })?;
    Ok([score_count, call_count])
}

type FileTable<'a> = ParquetTable<&'a mut BufWriter<File>>;

/// Writes the table at `path`; gives the number of its rows.
fn write_table(
    path: &Path,
    columns: &[ColumnSpec],
    run: &RecordedRun,
    fill: impl FnOnce(&mut FileTable<'_>) -> Result<()>,
) -> Result<u64> {
    let about = about(run);
    let about: Vec<(&str, &str)> = about.iter().map(|(key, value)| (*key, value.as_str())).collect();
    write_whole(path, |out| {
        let mut table = ParquetTable::new(out, columns, &about).map_err(Error::io(path, "write"))?;
        fill(&mut table)?;
        table.finish().map_err(Error::io(path, "write"))
    })
}

/// The metadata of a table.
fn about(run: &RecordedRun) -> [(&'static str, String); 4] {
    [
        ("scholareval.schema_version", SCHEMA_VERSION.to_string()),
        ("scholareval.run", run.name.clone()),
        ("scholareval.judge", run.manifest.judge_id().to_owned()),
        ("scholareval.started_at", run.manifest.started_at.clone()),
    ]
}

/// # Errors
/// Where one of these files is there and is no table of this run.
fn refuse_tables_of_others(paths: &[&Path], run: &RecordedRun) -> Result<()> {
    let own = about(run);
    for path in paths.iter().filter(|path| path.exists()) {
        // What cannot be read is no table of this run either.
        let there = File::open(path).and_then(metadata).unwrap_or_default();
        let value = |key: &str| there.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str());
        if own.iter().skip(1).any(|(key, own)| value(key) != Some(own)) {
            let what = match value("scholareval.run") {
                Some(other) => format!("holds a table of another run ({})", other.escape_debug()),
                None => "is there and is no table of this run".to_owned(),
            };
            let hint = "name another place with --out, or add --overwrite";
            return Err(InputFault::new(path, what).hint(hint).into());
        }
    }
    Ok(())
}

/// The metadata of a Parquet file, by key; keys without a value are left out.
fn metadata<R: ChunkReader + 'static>(file: R) -> io::Result<Vec<(String, String)>> {
    let reader = SerializedFileReader::new(file).map_err(error)?;
    let pairs = reader.metadata().file_metadata().key_value_metadata().into_iter().flatten();
    Ok(pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect())
}

/// A row group is closed at so many rows.
const ROWS_OF_A_GROUP: usize = 1 << 17;

/// And at so many bytes of text.
const BYTES_OF_A_GROUP: usize = 32 << 20;

/// What a column holds; every column may have nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnType {
    /// UTF-8 text.
    Text,
    /// A double.
    Number,
    /// A 64-bit integer.
    Whole,
    /// True or false.
    Flag,
}

/// A column: its name, what it holds, and where its value stands in a row (a JSON pointer).
type ColumnSpec = (&'static str, ColumnType, &'static str);

/// The values of one column that are not written yet, without the nulls.
enum Values {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Whole(Vec<i64>),
    Flag(Vec<bool>),
}

struct Column {
    name: &'static str,
    pointer: &'static str,
    values: Values,
    /// 1 for a value, 0 for a null.
    levels: Vec<i16>,
}

/// A table on its way into a file.
struct ParquetTable<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
    rows: usize,
    bytes: usize,
    written: u64,
}

impl<W: Write + Send> ParquetTable<W> {
    /// Begins a file with these columns; `about` is kept in its metadata.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn new(out: W, columns: &[ColumnSpec], about: &[(&str, &str)]) -> io::Result<Self> {
        let fields =
            columns.iter().map(|(name, kind, _)| field(name, *kind)).collect::<std::result::Result<Vec<_>, _>>();
        let schema = Type::group_type_builder("schema").with_fields(fields.map_err(error)?).build().map_err(error)?;
        let about = about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("scholareval {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(error)?;
        let column = |(name, kind, pointer): &ColumnSpec| Column {
            name,
            pointer,
            values: match kind {
                ColumnType::Text => Values::Text(Vec::new()),
                ColumnType::Number => Values::Number(Vec::new()),
                ColumnType::Whole => Values::Whole(Vec::new()),
                ColumnType::Flag => Values::Flag(Vec::new()),
            },
            levels: Vec::new(),
        };
        Ok(Self { writer, columns: columns.iter().map(column).collect(), rows: 0, bytes: 0, written: 0 })
    }

    /// Adds a row. A text column holds other values as their JSON; what is missing in the row is null.
    ///
    /// # Errors
    /// When the file cannot be written, or a value is not of its column's type.
    fn push(&mut self, row: &impl Serialize) -> io::Result<()> {
        let row = serde_json::to_value(row)?;
        for column in &mut self.columns {
            self.bytes += column.push(row.pointer(column.pointer).unwrap_or(&Value::Null))?;
        }
        self.rows += 1;
        if self.rows >= ROWS_OF_A_GROUP || self.bytes >= BYTES_OF_A_GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(error)?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column().map_err(error)? {
                column.write(&mut writer).map_err(error)?;
                writer.close().map_err(error)?;
            }
        }
        group.close().map_err(error)?;
        self.written += self.rows as u64;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    /// Ends the file; gives the number of its rows.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.writer.close().map_err(error)?;
        Ok(self.written)
    }
}

impl Column {
    /// Adds a value; gives its bytes of text.
    fn push(&mut self, value: &Value) -> io::Result<usize> {
        self.levels.push(i16::from(!value.is_null()));
        if value.is_null() {
            return Ok(0);
        }
        let other_type = || {
            let what = format!("{value} is not of the type of column {}", self.name);
            io::Error::new(io::ErrorKind::InvalidInput, what)
        };
        match &mut self.values {
            Values::Text(values) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                values.push(ByteArray::from(text.as_str()));
                return Ok(text.len());
            }
            Values::Number(values) => values.push(value.as_f64().ok_or_else(other_type)?),
            Values::Whole(values) => values.push(value.as_i64().ok_or_else(other_type)?),
            Values::Flag(values) => values.push(value.as_bool().ok_or_else(other_type)?),
        }
        Ok(0)
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> std::result::Result<(), ParquetError> {
        let levels = Some(self.levels.as_slice());
        match &mut self.values {
            Values::Text(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Number(values) => {
                writer.typed::<DoubleType>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Whole(values) => {
                writer.typed::<Int64Type>().write_batch(values, levels, None)?;
                values.clear();
            }
            Values::Flag(values) => {
                writer.typed::<BoolType>().write_batch(values, levels, None)?;
                values.clear();
            }
        }
        self.levels.clear();
        Ok(())
    }
}

fn field(name: &str, kind: ColumnType) -> std::result::Result<TypePtr, ParquetError> {
    let physical = match kind {
        ColumnType::Text => Physical::BYTE_ARRAY,
        ColumnType::Number => Physical::DOUBLE,
        ColumnType::Whole => Physical::INT64,
        ColumnType::Flag => Physical::BOOLEAN,
    };
    let mut builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    if kind == ColumnType::Text {
        builder = builder.with_converted_type(ConvertedType::UTF8).with_logical_type(Some(LogicalType::String));
    }
    builder.build().map(Arc::new)
}

/// The system's own error where one is behind it, so that a full disk is told as one.
fn error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use parquet::record::RowAccessor;

    const COLUMNS: [ColumnSpec; 4] = [
        ("name", ColumnType::Text, "/name"),
        ("value", ColumnType::Number, "/value"),
        ("count", ColumnType::Whole, "/count"),
        ("flag", ColumnType::Flag, "/flag"),
    ];

    fn written(rows: usize) -> (bytes::Bytes, u64) {
        let mut out = Vec::new();
        let mut table = ParquetTable::new(&mut out, &COLUMNS, &[("run", "r")]).expect("a table");
        for row in 0..rows {
            let name = format!("row {row}");
            let value = (row % 3 != 0).then_some(row as f64 / 4.0);
            table.push(&json!({"name": name, "value": value, "count": row, "flag": row % 2 == 0})).expect("a row");
        }
        let count = table.finish().expect("an end");
        (bytes::Bytes::from(out), count)
    }

    #[test]
    fn rows_and_nulls_are_read_back_over_several_row_groups() {
        let rows = ROWS_OF_A_GROUP + 5;
        let (bytes, count) = written(rows);
        assert_eq!(count, rows as u64);
        let reader = SerializedFileReader::new(bytes).expect("a file");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let last = reader.get_row_iter(None).expect("rows").last().expect("a row").expect("a row");
        let at = rows - 1;
        assert_eq!(last.get_string(0).expect("text"), &format!("row {at}"));
        assert_eq!(last.get_long(2).expect("a count"), at as i64);
        let nulls = reader.get_row_iter(None).expect("rows").flatten().filter(|row| row.get_double(1).is_err()).count();
        // every third row, the first among them
        assert_eq!(nulls, rows.div_ceil(3));
    }

    #[test]
    fn long_texts_close_a_row_group_early_so_that_memory_stays_small() {
        let text = "x".repeat(BYTES_OF_A_GROUP / 2);
        let mut out = Vec::new();
        let mut table = ParquetTable::new(&mut out, &COLUMNS[..1], &[]).expect("a table");
        for _ in 0..3 {
            table.push(&json!({"name": text})).expect("a row");
        }
        assert_eq!(table.finish().expect("an end"), 3);
        let reader = SerializedFileReader::new(bytes::Bytes::from(out)).expect("a file");
        assert_eq!(reader.metadata().num_row_groups(), 2);
    }

    #[test]
    fn an_empty_table_is_a_file_with_columns() {
        let (bytes, count) = written(0);
        let reader = SerializedFileReader::new(bytes).expect("a file");
        assert_eq!((count, reader.metadata().file_metadata().schema_descr().num_columns()), (0, 4));
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let mut table = ParquetTable::new(Vec::new(), &COLUMNS, &[]).expect("a table");
        let wrong = table.push(&json!({"flag": "yes"})).expect_err("a type");
        assert!(wrong.to_string().contains("column flag"), "{wrong}");
    }

    #[test]
    fn a_full_disk_is_told_as_such() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::StorageFull.into())
            }
        }
        let outcome = ParquetTable::new(Full, &COLUMNS, &[]).and_then(ParquetTable::finish);
        assert_eq!(outcome.expect_err("a full disk").kind(), io::ErrorKind::StorageFull);
    }
}
