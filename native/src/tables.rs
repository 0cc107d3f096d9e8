//! `decode` and `encode` as Python sees them: selections, encodings, columns and lists.

use std::cell::Cell;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySequence, PyTuple};

use crate::arrow::Binary;
use crate::columns::{self, Bytes, Columns, Selection};
use crate::encode::{Encoding, Refusal, encode as encode_source};
use crate::functions::{UNPACKED_LIMIT, limit, work};
use crate::header::ZSTD;
use crate::python::{Block, Input, corrupt, is_instance, named, names};
use crate::sources::{Arrays, BinaryArray, HeaderArray, Lists, Offsets, numbers};

/// `contract.DECODED_BYTES_MAX`
const DECODED_BYTES_MAX: i64 = (i32::MAX / 3) as i64;

/// What a thread keeps of the memory that it encodes into. Asked for anew each time, its pages would come from the
/// system each time, which costs more than the encoding.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static OUT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn refused(refusal: Refusal) -> PyErr {
    PyValueError::new_err(refusal)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Selection {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Selection> {
        let (columns, first_offset, end_offset, aborted, views, verify_crc, max_records, max_bytes, unpacked) =
            value.extract::<(u8, i64, i64, Vec<(i64, i64, i64)>, bool, bool, i64, i64, i64)>()?;
        if max_bytes.saturating_add(unpacked) > DECODED_BYTES_MAX {
            let said = format!("max_bytes + unpacked_limit may be at most {DECODED_BYTES_MAX}");
            return Err(PyValueError::new_err(said));
        }
        Ok(Selection {
            columns,
            first_offset,
            end_offset,
            aborted,
            views,
            verify_crc,
            max_records: limit(max_records),
            max_bytes: limit(max_bytes),
            unpacked_limit: limit(unpacked),
        })
    }
}

impl Default for Selection {
    /// `contract.EVERYTHING`
    fn default() -> Selection {
        Selection {
            columns: u8::MAX,
            first_offset: 0,
            end_offset: i64::MAX,
            aborted: Vec::new(),
            views: false,
            verify_crc: true,
            max_records: usize::MAX,
            max_bytes: 256 << 20,
            unpacked_limit: limit(UNPACKED_LIMIT),
        }
    }
}

#[pyfunction]
#[pyo3(signature = (data, position = 0, selection = None))]
pub fn decode<'py>(
    py: Python<'py>,
    data: Bound<'py, PyAny>,
    position: i64,
    selection: Option<Selection>,
) -> PyResult<Bound<'py, PyAny>> {
    let input: Input = data.extract()?;
    let selection = selection.unwrap_or_default();
    let (bytes, position) = (input.bytes(), input.position(position)?);
    if selection.views && i32::try_from(bytes.len()).is_err() {
        return Err(refused("views reach 2 GiB at most: give a part of the buffer"));
    }
    let size = bytes.len() - position;
    let decoded = work(py, size, || columns::decode(bytes, position, &selection)).map_err(|one| corrupt(py, one))?;
    columns_value(py, data, decoded)
}

fn columns_value<'py>(py: Python<'py>, data: Bound<'py, PyAny>, decoded: Columns) -> PyResult<Bound<'py, PyAny>> {
    let unpacked = Block::from(decoded.unpacked).into_pyobject(py)?.into_any();
    let buffers = [data, unpacked];
    let bytes = |column: Option<Bytes>| column.map(|column| bytes_value(py, column, &buffers)).transpose();
    let headers = decoded.headers.map(|lists| {
        let (keys, values) = (binary_value(py, lists.keys)?, binary_value(py, lists.values)?);
        named(py, &names(py)?.header_lists, (Block::from(lists.offsets), keys, values))
    });
    let fields = (
        decoded.count,
        decoded.end,
        decoded.next_offset,
        decoded.offset.map(Block::from),
        decoded.timestamp.map(Block::from),
        decoded.timestamp_type.map(Block::from),
        bytes(decoded.key)?,
        bytes(decoded.value)?,
        headers.transpose()?,
    );
    named(py, &names(py)?.columns, fields)
}

fn bytes_value<'py>(py: Python<'py>, column: Bytes, buffers: &[Bound<'py, PyAny>; 2]) -> PyResult<Bound<'py, PyAny>> {
    match column {
        Bytes::Copied(binary) => binary_value(py, binary),
        Bytes::Viewed(views) => {
            let nulls = views.validity.nulls;
            let validity = views.validity.finish().map(Block::from);
            let fields = (validity, nulls, Block::from(views.views), PyList::new(py, buffers)?);
            named(py, &names(py)?.binary_view, fields)
        }
    }
}

fn binary_value(py: Python<'_>, binary: Binary) -> PyResult<Bound<'_, PyAny>> {
    let nulls = binary.validity.nulls;
    let validity = binary.validity.finish().map(Block::from);
    let fields = (validity, nulls, Block::from(binary.offsets), Block::from(binary.data));
    named(py, &names(py)?.binary, fields)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Encoding {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Encoding> {
        let (codec, level, attributes, leader_epoch, producer_id, producer_epoch, base_sequence, batch_bytes, ..) =
            value.extract::<(i16, _, _, _, _, _, _, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>)>(
            )?;
        let last = |name| value.getattr(name)?.extract::<Option<i64>>();
        if !(0..=ZSTD).contains(&codec) {
            return Err(PyValueError::new_err(format!("no codec has the number {codec}")));
        }
        Ok(Encoding {
            codec,
            level,
            attributes,
            leader_epoch,
            producer_id,
            producer_epoch,
            base_sequence,
            batch_bytes: batch_bytes.map(limit),
            base_offset: last("base_offset")?,
            last_offset: last("last_offset")?,
            base_timestamp: last("base_timestamp")?,
            max_timestamp: last("max_timestamp")?,
        })
    }
}

impl Default for Encoding {
    /// `contract.PLAIN`
    fn default() -> Encoding {
        Encoding {
            codec: 0,
            level: None,
            attributes: 0,
            leader_epoch: -1,
            producer_id: -1,
            producer_epoch: -1,
            base_sequence: -1,
            batch_bytes: None,
            base_offset: None,
            last_offset: None,
            base_timestamp: None,
            max_timestamp: None,
        }
    }
}

#[pyfunction]
#[pyo3(signature = (records, encoding = None))]
pub fn encode<'py>(
    py: Python<'py>,
    records: Bound<'py, PyAny>,
    encoding: Option<Encoding>,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoding = encoding.unwrap_or_default();
    // Taken out meanwhile: a sequence written in Python may call us again from its own methods.
    let mut out = OUT.take();
    out.clear();
    if is_instance(&records, &names(py)?.rows)? {
        encode_rows(&records, &encoding, &mut out)?;
    } else {
        encode_columns(&records, &encoding, &mut out)?;
    }
    let batches = PyBytes::new(py, &out);
    out.shrink_to(KEPT_BYTES);
    OUT.set(out);
    Ok(batches)
}

/// A Python sequence as a tuple of its own: its bytes stay where they are while we read them.
fn own<'py>(records: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyTuple>> {
    records.getattr(name)?.cast::<PySequence>()?.to_tuple()
}

fn integers(sequence: &Bound<'_, PyTuple>) -> PyResult<Vec<i64>> {
    sequence.iter_borrowed().map(|number| number.extract()).collect()
}

fn fields<'a>(sequence: &'a Bound<'_, PyTuple>) -> PyResult<Vec<Option<&'a [u8]>>> {
    sequence.iter_borrowed().map(|value| Ok(value.extract()?)).collect()
}

fn encode_rows(records: &Bound<'_, PyAny>, encoding: &Encoding, out: &mut Vec<u8>) -> PyResult<()> {
    let py = records.py();
    let (keys, values) = (own(records, "keys")?, own(records, "values")?);
    let headers: Option<Vec<Vec<HeaderPair<'_>>>> = records.getattr("headers")?.extract()?;
    let offsets = if records.getattr("offsets")?.is_none() { None } else { Some(own(records, "offsets")?) };
    let offsets = offsets.map(|offsets| integers(&offsets)).transpose()?;
    let lists = Lists {
        offsets: Offsets { given: offsets.map(Into::into), first: encoding.base_offset.unwrap_or(0) },
        timestamps: integers(&own(records, "timestamps")?)?,
        keys: fields(&keys)?,
        values: fields(&values)?,
        headers: headers.as_ref().map(|headers| headers.iter().map(|one| header_fields(one)).collect()),
    };
    lists.verify().map_err(refused)?;
    let size = lists.timestamps.len().saturating_mul(64);
    work(py, size, || encode_source(&lists, encoding, out)).map_err(refused)
}

type HeaderPair<'py> = (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>);

fn header_fields<'a>(headers: &'a [HeaderPair<'_>]) -> Vec<(&'a [u8], Option<&'a [u8]>)> {
    headers.iter().map(|(name, value)| (name.as_bytes(), value.as_ref().map(|value| value.as_bytes()))).collect()
}

/// The buffers of one Binary.
struct BinaryInput {
    validity: Option<Input>,
    offsets: Input,
    data: Input,
}

impl BinaryInput {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<BinaryInput> {
        if is_instance(value, &names(value.py())?.binary_view)? {
            return Err(refused("columns of views cannot be encoded: decode without views"));
        }
        Ok(BinaryInput {
            validity: value.getattr("validity")?.extract()?,
            offsets: value.getattr("offsets")?.extract()?,
            data: value.getattr("data")?.extract()?,
        })
    }

    fn array(&self, count: usize) -> Result<BinaryArray<'_>, Refusal> {
        let validity = self.validity.as_ref().map(Input::bytes);
        BinaryArray::new(count, validity, self.offsets.bytes(), self.data.bytes())
    }

    /// How many values the offsets speak of.
    fn count(&self) -> Result<usize, Refusal> {
        (self.offsets.bytes().len() / size_of::<i32>()).checked_sub(1).ok_or("a column has no offsets")
    }
}

fn encode_columns(records: &Bound<'_, PyAny>, encoding: &Encoding, out: &mut Vec<u8>) -> PyResult<()> {
    let py = records.py();
    let part = |name| Ok::<_, PyErr>(records.getattr(name)?.extract::<Option<Bound<'_, PyAny>>>()?);
    let binary = |name| part(name)?.map(|value| BinaryInput::of(&value)).transpose();
    let count: usize = records.getattr("record_count")?.extract()?;
    let timestamp: Option<Input> = records.getattr("timestamp")?.extract()?;
    let timestamp = timestamp.ok_or_else(|| refused("to encode, the timestamp column is needed"))?;
    let offset: Option<Input> = records.getattr("offset")?.extract()?;
    let (key, value) = (binary("key")?, binary("value")?);
    let headers = part("headers")?.map(|lists| {
        let offsets: Input = lists.getattr("offsets")?.extract()?;
        let (keys, values) = (BinaryInput::of(&lists.getattr("keys")?)?, BinaryInput::of(&lists.getattr("values")?)?);
        Ok::<_, PyErr>((offsets, keys, values))
    });
    let headers = headers.transpose()?;
    let arrays = || {
        let headers = headers.as_ref().map(|(offsets, keys, values)| {
            let flat = keys.count()?;
            HeaderArray::new(count, offsets.bytes(), keys.array(flat)?, values.array(flat)?)
        });
        Ok(Arrays {
            offsets: Offsets {
                given: offset.as_ref().map(|offset| numbers(offset.bytes(), count)).transpose()?,
                first: encoding.base_offset.unwrap_or(0),
            },
            timestamps: numbers(timestamp.bytes(), count)?,
            keys: key.as_ref().map(|key| key.array(count)).transpose()?,
            values: value.as_ref().map(|value| value.array(count)).transpose()?,
            headers: headers.transpose()?,
        })
    };
    let arrays = arrays().map_err(refused)?;
    work(py, count.saturating_mul(64), || encode_source(&arrays, encoding, out)).map_err(refused)
}
