//! Scores and calls of a run as Parquet tables, written row group by row group.
//!
//! Requires the cargo feature `parquet`. One row group is in memory at a time.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use serde::Serialize;
use serde_json::Value;

use super::export::{RunExport, WrittenExport};
use super::rows::component_rows;
use super::{CsvText, answer_warnings};
use crate::error::{self, Error};
use crate::files::write_whole;
use crate::record::{RecordedRun, SCHEMA_VERSION, for_each_call};
use crate::text::names::counted;

use ColumnKind::{Flag, Number, Text, Whole};

/// Type of a column; all are nullable. Text columns hold other values as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnKind {
    Text,
    Number,
    Whole,
    Flag,
}

/// A column: its name, its type, and the JSON pointer to its value in a row.
type ParquetColumn = (&'static str, ColumnKind, &'static str);

const SCORES: [ParquetColumn; 14] = [
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

const CALLS: [ParquetColumn; 26] = [
    ("call_id", Text, "/call_id"),
    ("system", Text, "/system"),
    ("case_id", Text, "/case_id"),
    ("item", Text, "/item"),
    ("kind", Text, "/kind"),
    ("role", Text, "/role"),
    ("judge", Text, "/judge"),
    ("sample", Whole, "/sample"),
    ("attempt", Whole, "/attempt"),
    ("fingerprint", Text, "/fingerprint"),
    ("raw", Text, "/reply/content"),
    ("reasoning", Text, "/reply/reasoning"),
    ("finish_reason", Text, "/reply/finish_reason"),
    ("model", Text, "/reply/model"),
    ("system_fingerprint", Text, "/reply/system_fingerprint"),
    ("verdict", Text, "/verdict"),
    ("reason", Text, "/unscored/message"),
    ("reason_kind", Text, "/unscored/kind"),
    ("cached", Flag, "/reply/cached"),
    ("prompt_tokens", Whole, "/reply/usage/prompt_tokens"),
    (
        "cached_prompt_tokens",
        Whole,
        "/reply/usage/cached_prompt_tokens",
    ),
    ("completion_tokens", Whole, "/reply/usage/completion_tokens"),
    ("reasoning_tokens", Whole, "/reply/usage/reasoning_tokens"),
    ("latency_ms", Whole, "/reply/latency_ms"),
    ("logprobs", Text, "/reply/logprobs"),
    ("note", Text, "/reply/note"),
];

/// `scores.parquet` and `calls.parquet`.
#[derive(Debug, Clone, Copy)]
pub struct ParquetTables;

impl RunExport for ParquetTables {
    fn write(&self, run: &RecordedRun, out: &Path) -> error::Result<WrittenExport> {
        let [scores, calls] = write_tables(run, out)?;
        Ok(WrittenExport::new(format!(
            "{} of scores and {}",
            counted(scores as usize, "row"),
            counted(calls as usize, "call")
        )))
    }
}

/// Writes the tables; returns their row counts.
fn write_tables(run: &RecordedRun, out: &Path) -> error::Result<[u64; 2]> {
    let [scores, calls] = ["scores.parquet", "calls.parquet"].map(|name| out.join(name));
    let score_count = write_table(&scores, &SCORES, run, |push| {
        run.scored
            .iter()
            .flat_map(|scored| component_rows(&run.name, scored, CsvText::Unchanged))
            .try_for_each(|row| push(json(&row)))
    })?;
    let call_count = write_table(&calls, &CALLS, run, |push| {
        for_each_call(&run.path, &run.manifest, |call| push(json(&call)))
    })?;
    Ok([score_count, call_count])
}

fn json(row: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::to_value(row)
}

/// Writes the table at `path`; returns its row count.
fn write_table(
    path: &Path,
    columns: &[ParquetColumn],
    run: &RecordedRun,
    fill: impl FnOnce(
        &mut dyn FnMut(serde_json::Result<Value>) -> error::Result<()>,
    ) -> error::Result<()>,
) -> error::Result<u64> {
    write_whole(path, |out| {
        let table = ParquetTable::new(out, columns, &about(run));
        let mut table = table.map_err(|error| not_written(path, error))?;
        fill(&mut |row| {
            let row = row.map_err(|error| {
                Error::Internal(format!("a row of {}: {error}", path.display()))
            })?;
            table.push(row).map_err(|error| not_written(path, error))
        })?;
        table.finish().map_err(|error| not_written(path, error))
    })
}

fn not_written(path: &Path, error: ParquetError) -> Error {
    Error::io(path, "write")(io_error(error))
}

/// The metadata of a table.
fn about(run: &RecordedRun) -> [(&'static str, String); 6] {
    let judge = run
        .manifest
        .roles
        .get("rubric")
        .and_then(|entry| entry.judges.first())
        .map_or("", |judge| &judge.id);
    [
        ("scholareval.schema_version", SCHEMA_VERSION.to_string()),
        ("scholareval.run", run.name.clone()),
        ("scholareval.judge", judge.to_owned()),
        ("scholareval.answered_by", answered_by(run)),
        ("scholareval.warnings", answer_warnings(run).join("\n")),
        ("scholareval.started_at", run.manifest.started_at.clone()),
    ]
}

/// The judges with the models that answered for them, as JSON.
fn answered_by(run: &RecordedRun) -> String {
    json(&run.manifest.answered_judges()).map_or_else(|_| String::new(), |json| json.to_string())
}

/// Bytes of text and other values in a row group.
// By bytes and not by rows: replies differ a thousandfold in length, and a group is held in memory.
// Tests write several.
const BYTES_OF_A_GROUP: usize = if cfg!(test) { 1 << 12 } else { 32 << 20 };

/// A table that is being written.
struct ParquetTable<'a, W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: &'a [ParquetColumn],
    /// For each column the values of unwritten rows.
    values: Vec<Vec<Value>>,
    bytes: usize,
    written: u64,
}

impl<'a, W: Write + Send> ParquetTable<'a, W> {
    /// Creates a file with these columns; `about` is its metadata.
    fn new(out: W, columns: &'a [ParquetColumn], about: &[(&str, String)]) -> Result<Self> {
        let fields = columns
            .iter()
            .map(|(name, kind, _)| field(name, *kind))
            .collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("schema")
            .with_fields(fields)
            .build()?;
        let about = about
            .iter()
            .map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()))
            .collect();
        let properties = WriterProperties::builder()
            // Every reader has it, without a dependency on a C library.
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("scholareval {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self {
            writer,
            columns,
            values: vec![Vec::new(); columns.len()],
            bytes: 0,
            written: 0,
        })
    }

    /// Adds a row; missing values are null.
    fn push(&mut self, mut row: Value) -> Result<()> {
        for ((_, kind, pointer), values) in self.columns.iter().zip(&mut self.values) {
            let value = row.pointer_mut(pointer).map_or(Value::Null, Value::take);
            let value = match (kind, value) {
                (Text, Value::Null) => Value::Null,
                (Text, Value::String(text)) => Value::String(text),
                // Verdicts are numbers, labels or objects; a column has one type.
                (Text, other) => Value::String(other.to_string()),
                (_, other) => other,
            };
            self.bytes += value.as_str().map_or(size_of::<Value>(), str::len);
            values.push(value);
        }
        self.written += 1;
        if self.bytes >= BYTES_OF_A_GROUP {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for ((_, kind, _), values) in self.columns.iter().zip(&mut self.values) {
            if let Some(mut writer) = group.next_column()? {
                write_column(&mut writer, *kind, &std::mem::take(values))?;
                writer.close()?;
            }
        }
        group.close()?;
        self.bytes = 0;
        Ok(())
    }

    /// Finishes the file; returns its row count.
    fn finish(mut self) -> Result<u64> {
        if self.bytes > 0 {
            self.flush()?;
        }
        self.writer.close()?;
        Ok(self.written)
    }
}

/// Writes the values of a column; a value of another type is an error.
fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    kind: ColumnKind,
    values: &[Value],
) -> Result<usize> {
    let levels: Vec<i16> = values
        .iter()
        .map(|value| i16::from(!value.is_null()))
        .collect();
    let levels = Some(levels.as_slice());
    let present = values.iter().filter(|value| !value.is_null());
    match kind {
        Text => {
            let texts: Vec<ByteArray> = present
                .filter_map(|value| value.as_str().map(ByteArray::from))
                .collect();
            writer
                .typed::<ByteArrayType>()
                .write_batch(&texts, levels, None)
        }
        Number => {
            let numbers: Vec<f64> = present.filter_map(Value::as_f64).collect();
            writer
                .typed::<DoubleType>()
                .write_batch(&numbers, levels, None)
        }
        Whole => {
            let numbers: Vec<i64> = present.filter_map(Value::as_i64).collect();
            writer
                .typed::<Int64Type>()
                .write_batch(&numbers, levels, None)
        }
        Flag => {
            let flags: Vec<bool> = present.filter_map(Value::as_bool).collect();
            writer.typed::<BoolType>().write_batch(&flags, levels, None)
        }
    }
}

fn field(name: &str, kind: ColumnKind) -> Result<TypePtr> {
    let physical = match kind {
        Text => Physical::BYTE_ARRAY,
        Number => Physical::DOUBLE,
        Whole => Physical::INT64,
        Flag => Physical::BOOLEAN,
    };
    let mut builder =
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    if kind == Text {
        builder = builder
            .with_converted_type(ConvertedType::UTF8)
            .with_logical_type(Some(LogicalType::String));
    }
    builder.build().map(Arc::new)
}

/// The underlying system error, if any, so that a full disk is reported as such.
fn io_error(error: ParquetError) -> io::Error {
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
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    const COLUMNS: [ParquetColumn; 4] = [
        ("name", Text, "/name"),
        ("value", Number, "/value"),
        ("count", Whole, "/count"),
        ("flag", Flag, "/flag"),
    ];

    fn written(rows: usize, name: &str) -> (bytes::Bytes, u64) {
        let mut out = Vec::new();
        let mut table =
            ParquetTable::new(&mut out, &COLUMNS, &[("run", "r".to_owned())]).expect("a table");
        for row in 0..rows {
            let value = (row % 3 != 0).then_some(row as f64 / 4.0);
            table
                .push(json!({"name": name, "value": value, "count": row, "flag": row % 2 == 0}))
                .expect("a row");
        }
        let count = table.finish().expect("an end");
        (bytes::Bytes::from(out), count)
    }

    #[test]
    fn rows_and_nulls_are_read_back_over_several_row_groups() {
        let text = "x".repeat(BYTES_OF_A_GROUP / 2);
        let (bytes, count) = written(5, &text);
        assert_eq!(count, 5);
        let reader = SerializedFileReader::new(bytes).expect("a file");
        assert_eq!(
            reader.metadata().num_row_groups(),
            3,
            "two rows a group, so that memory stays small"
        );
        let rows: Vec<_> = reader.get_row_iter(None).expect("rows").flatten().collect();
        assert_eq!(rows[4].get_string(0).expect("text").len(), text.len());
        assert_eq!(rows[4].get_long(2).expect("a count"), 4);
        let nulls: Vec<bool> = rows.iter().map(|row| row.get_double(1).is_err()).collect();
        assert_eq!(nulls, [true, false, false, true, false]);
    }

    #[test]
    fn an_empty_table_is_a_file_with_columns() {
        let (bytes, count) = written(0, "");
        let reader = SerializedFileReader::new(bytes).expect("a file");
        assert_eq!(
            (
                count,
                reader
                    .metadata()
                    .file_metadata()
                    .schema_descr()
                    .num_columns()
            ),
            (0, 4)
        );
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let mut table = ParquetTable::new(Vec::new(), &COLUMNS, &[]).expect("a table");
        let written = table
            .push(json!({"flag": "yes"}))
            .and_then(|()| table.finish());
        assert!(written.is_err(), "{written:?}");
    }

    #[test]
    fn a_full_disk_is_reported_as_one() {
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
        assert_eq!(
            io_error(outcome.expect_err("a full disk")).kind(),
            io::ErrorKind::StorageFull
        );
    }
}
