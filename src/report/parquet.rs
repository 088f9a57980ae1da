//! A flat table as a Parquet file, written row group by row group.
//!
//! Only built with the cargo feature `parquet`. What is held in memory is one row group, however long the table is.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

/// What a Parquet file (open, or its bytes) tells of itself, by key; keys without a value are left out.
///
/// # Errors
/// When it cannot be read or is no Parquet file.
pub fn parquet_metadata<R: ChunkReader + 'static>(file: R) -> io::Result<Vec<(String, String)>> {
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
pub enum ColumnType {
    /// UTF-8 text.
    Text,
    /// A double.
    Number,
    /// A 64-bit integer.
    Whole,
    /// True or false.
    Flag,
}

/// A value, or null.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// Of a text column.
    Text(&'a str),
    /// Of a number column.
    Number(f64),
    /// Of a column of whole numbers.
    Whole(i64),
    /// Of a flag column.
    Flag(bool),
}

impl<'a> Cell<'a> {
    /// A text, or null.
    pub fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::Text)
    }

    /// A number, or null.
    pub fn number(number: Option<f64>) -> Self {
        number.map_or(Self::Null, Self::Number)
    }

    /// A count; one beyond 64 bits with sign (there is none) would be the greatest.
    pub fn count(count: u64) -> Self {
        Self::Whole(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// The values of one column that are not written yet, without the nulls.
enum Values {
    Text(Vec<ByteArray>),
    Number(Vec<f64>),
    Whole(Vec<i64>),
    Flag(Vec<bool>),
}

struct Column {
    name: &'static str,
    values: Values,
    /// 1 for a value, 0 for a null.
    levels: Vec<i16>,
}

/// A table on its way into a file.
pub struct ParquetTable<W: Write + Send> {
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
    pub fn new(out: W, columns: &[(&'static str, ColumnType)], about: &[(&str, &str)]) -> io::Result<Self> {
        let fields = columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<Vec<_>, _>>();
        let schema = Type::group_type_builder("schema").with_fields(fields.map_err(error)?).build().map_err(error)?;
        let about = about.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("scholareval {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(about))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(error)?;
        let column = |(name, kind): &(&'static str, ColumnType)| Column {
            name,
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

    /// Adds a row: a cell a column, in their order.
    ///
    /// # Errors
    /// When the file cannot be written, or a cell is not of its column's type.
    pub fn push(&mut self, row: &[Cell<'_>]) -> io::Result<()> {
        if row.len() != self.columns.len() {
            let what = format!("a row of {} cells for {} columns", row.len(), self.columns.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        for (column, cell) in self.columns.iter_mut().zip(row) {
            column.push(cell)?;
            if let Cell::Text(text) = cell {
                self.bytes += text.len();
            }
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
    pub fn finish(mut self) -> io::Result<u64> {
        self.flush()?;
        self.writer.close().map_err(error)?;
        Ok(self.written)
    }
}

impl Column {
    fn push(&mut self, cell: &Cell<'_>) -> io::Result<()> {
        match (&mut self.values, cell) {
            (_, Cell::Null) => {}
            (Values::Text(values), Cell::Text(text)) => values.push(ByteArray::from(*text)),
            (Values::Number(values), Cell::Number(number)) => values.push(*number),
            (Values::Whole(values), Cell::Whole(number)) => values.push(*number),
            (Values::Flag(values), Cell::Flag(flag)) => values.push(*flag),
            _ => {
                let what = format!("{cell:?} is not of the type of column {}", self.name);
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        }
        self.levels.push(i16::from(*cell != Cell::Null));
        Ok(())
    }

    fn write(&mut self, writer: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
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

fn field(name: &str, kind: ColumnType) -> Result<TypePtr, ParquetError> {
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
    use super::*;
    use parquet::record::RowAccessor;

    const COLUMNS: [(&str, ColumnType); 4] = [
        ("name", ColumnType::Text),
        ("value", ColumnType::Number),
        ("count", ColumnType::Whole),
        ("flag", ColumnType::Flag),
    ];

    fn written(rows: usize) -> (bytes::Bytes, u64) {
        let mut out = Vec::new();
        let mut table = ParquetTable::new(&mut out, &COLUMNS, &[("run", "r")]).expect("a table");
        for row in 0..rows {
            let name = format!("row {row}");
            let value = if row % 3 == 0 { Cell::Null } else { Cell::Number(row as f64 / 4.0) };
            table.push(&[Cell::Text(&name), value, Cell::count(row as u64), Cell::Flag(row % 2 == 0)]).expect("a row");
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
            table.push(&[Cell::Text(&text)]).expect("a row");
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
    fn a_cell_of_another_type_and_a_short_row_are_refused() {
        let mut table = ParquetTable::new(Vec::new(), &COLUMNS, &[]).expect("a table");
        let wrong = table.push(&[Cell::Flag(true), Cell::Null, Cell::Null, Cell::Null]).expect_err("a type");
        assert!(wrong.to_string().contains("column name"), "{wrong}");
        assert!(table.push(&[Cell::Null]).is_err());
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
