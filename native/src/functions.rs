//! The functions that Python sees: arguments in, the GIL let go around long work, values out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::append::{self, Limits, Stamp};
use crate::checksum;
use crate::codecs::{self, Unpacked};
use crate::fault::{Fault, Finding, figure};
use crate::header::{self, Header};
use crate::python::{Input, corrupt, fault, finding, header as header_value, named, names};
use crate::records;
use crate::tables;

/// `contract.UNPACKED_LIMIT`
pub const UNPACKED_LIMIT: i64 = 256 << 20;
/// Work on fewer bytes than this takes a few µs, less than letting the GIL go and taking it again can.
const LONG: usize = 32 << 10;

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(walk, module)?)?;
    module.add_function(wrap_pyfunction!(find_offset, module)?)?;
    module.add_function(wrap_pyfunction!(find_timestamp, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(stamp, module)?)?;
    module.add_function(wrap_pyfunction!(unpack, module)?)?;
    module.add_function(wrap_pyfunction!(tables::decode, module)?)?;
    module.add_function(wrap_pyfunction!(tables::encode, module)?)?;
    module.add_function(wrap_pyfunction!(compress, module)?)?;
    module.add_function(wrap_pyfunction!(decompress, module)?)?;
    Ok(())
}

/// Do the work, and let other threads run meanwhile when there is much of it.
pub fn work<T: Send>(py: Python<'_>, size: usize, work: impl FnOnce() -> T + Send) -> T {
    if size < LONG { work() } else { py.detach(work) }
}

/// A limit; below zero it is zero.
pub fn limit(number: i64) -> usize {
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}

#[pyfunction]
#[pyo3(signature = (data, crc = 0, /))]
fn crc32c(py: Python<'_>, data: Input, crc: u32) -> u32 {
    let bytes = data.bytes();
    let own = work(py, bytes.len() / 8, || checksum::crc32c(bytes));
    if crc == 0 {
        return own;
    }
    checksum::joined(crc, own, bytes.len())
}

#[pyfunction]
#[pyo3(signature = (data, position = 0, limit = i64::MAX))]
fn walk<'py>(py: Python<'py>, data: Input, position: i64, limit: i64) -> PyResult<Bound<'py, PyAny>> {
    let (headers, end, why) = header::walk(data.bytes(), data.position(position)?, self::limit(limit));
    let headers: Vec<_> = headers.iter().map(|one| header_value(py, one)).collect::<PyResult<_>>()?;
    let why = why.map(|why| fault(py, why)).transpose()?;
    named(py, &names(py)?.walk, (PyList::new(py, headers)?, end, why))
}

#[pyfunction]
#[pyo3(signature = (data, offset, position = 0))]
fn find_offset<'py>(py: Python<'py>, data: Input, offset: i64, position: i64) -> PyResult<Option<Bound<'py, PyAny>>> {
    find(py, &data, position, |header| header.last_offset() >= offset)
}

#[pyfunction]
#[pyo3(signature = (data, timestamp, position = 0))]
fn find_timestamp<'py>(
    py: Python<'py>,
    data: Input,
    timestamp: i64,
    position: i64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    find(py, &data, position, |header| header.max_timestamp >= timestamp)
}

fn find<'py>(
    py: Python<'py>,
    data: &Input,
    position: i64,
    wanted: impl Fn(&Header) -> bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = header::find(data.bytes(), data.position(position)?, wanted);
    found.map_err(|one| corrupt(py, one))?.map(|one| header_value(py, &one)).transpose()
}

#[pyfunction]
#[pyo3(signature = (data, position = 0, next_offset = 0, deep = true, unpacked_limit = UNPACKED_LIMIT))]
fn check<'py>(
    py: Python<'py>,
    data: Input,
    position: i64,
    next_offset: i64,
    deep: bool,
    unpacked_limit: i64,
) -> PyResult<Bound<'py, PyAny>> {
    let (bytes, position, limit) = (data.bytes(), data.position(position)?, limit(unpacked_limit));
    let size = bytes.len() - position;
    let checked = work(py, size, || crate::check::check(bytes, position, next_offset, deep, limit));
    let found = checked.finding.map(|one| finding(py, one)).transpose()?;
    let fields = (checked.batches, checked.records, checked.end, checked.next_offset, found);
    named(py, &names(py)?.check, fields)
}

impl<'a, 'py> FromPyObject<'a, 'py> for Limits {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Limits> {
        let (max_batch_bytes, keys_required, log_append_time, min_timestamp, max_timestamp, unpacked) =
            value.extract::<(i64, bool, bool, i64, i64, i64)>()?;
        let unpacked_limit = limit(unpacked);
        Ok(Limits { max_batch_bytes, keys_required, log_append_time, min_timestamp, max_timestamp, unpacked_limit })
    }
}

#[pyfunction]
fn validate<'py>(py: Python<'py>, data: Input, limits: Limits) -> PyResult<Bound<'py, PyAny>> {
    let bytes = data.bytes();
    match work(py, bytes.len(), || append::validate(bytes, &limits)) {
        Ok(accepted) => {
            let fields = (header_value(py, &accepted.header)?, accepted.max_timestamp, accepted.consecutive);
            named(py, &names(py)?.accepted, fields)
        }
        Err(refused) => {
            let named_records = refused.records.iter().map(|(index, why)| Ok((*index, fault(py, *why)?)));
            let records: Vec<_> = named_records.collect::<PyResult<_>>()?;
            named(py, &names(py)?.refused, (finding(py, refused.finding)?, records))
        }
    }
}

#[pyfunction]
#[pyo3(signature = (data, base_offset, leader_epoch, max_timestamp = None, log_append_time = None))]
fn stamp(
    py: Python<'_>,
    mut data: Input,
    base_offset: i64,
    leader_epoch: i32,
    max_timestamp: Option<i64>,
    log_append_time: Option<bool>,
) -> PyResult<i64> {
    let stamp = Stamp { base_offset, leader_epoch, max_timestamp, log_append_time };
    append::stamp(data.bytes_mut()?, &stamp).map_err(|one| corrupt(py, one))
}

#[pyfunction]
#[pyo3(signature = (data, position = 0, verify_crc = true, unpacked_limit = UNPACKED_LIMIT))]
fn unpack<'py>(
    py: Python<'py>,
    data: Input,
    position: i64,
    verify_crc: bool,
    unpacked_limit: i64,
) -> PyResult<Bound<'py, PyList>> {
    let (bytes, position, limit) = (data.bytes(), data.position(position)?, limit(unpacked_limit));
    let mut scratch = Vec::new();
    let opened = header::header_at(bytes, position)
        .map_err(|why| Finding::new(why, position))
        .and_then(Header::modern)
        .and_then(|header| {
            if verify_crc {
                records::verify_checksum(bytes, &header)?;
            }
            let block = work(py, header.size, || records::block(bytes, &header, limit, &mut scratch))?;
            let mut found = Vec::new();
            records::walk(block, &header, |_, record| {
                found.push(record);
                Ok(())
            })?;
            Ok((block, found))
        });
    let (block, found) = opened.map_err(|one| corrupt(py, one))?;
    let values = found.iter().map(|record| record_value(py, block, record));
    PyList::new(py, values.collect::<PyResult<Vec<_>>>()?)
}

fn record_value<'py>(py: Python<'py>, block: &[u8], record: &records::Record) -> PyResult<Bound<'py, PyAny>> {
    let bytes = |value: Option<&[u8]>| value.map(|value| PyBytes::new(py, value));
    let headers = records::headers(block, record).map(|(name, value)| (PyBytes::new(py, name), bytes(value)));
    let fields = (
        record.attributes,
        record.timestamp_delta,
        record.offset_delta,
        bytes(record.key.clone().map(|at| &block[at])),
        bytes(record.value.clone().map(|at| &block[at])),
        PyTuple::new(py, headers.collect::<Vec<_>>())?,
    );
    named(py, &names(py)?.record, fields)
}

#[pyfunction]
#[pyo3(signature = (codec, data, level = None))]
fn compress<'py>(py: Python<'py>, codec: i64, data: Input, level: Option<i32>) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = data.bytes();
    let packed =
        i16::try_from(codec).ok().and_then(|codec| work(py, bytes.len(), || codecs::compress(codec, bytes, level)));
    let packed = packed.ok_or_else(|| PyValueError::new_err(format!("no codec {codec} with such a level")))?;
    Ok(PyBytes::new(py, &packed))
}

#[pyfunction]
#[pyo3(signature = (codec, data, limit = UNPACKED_LIMIT))]
fn decompress<'py>(py: Python<'py>, codec: i64, data: Input, limit: i64) -> PyResult<Bound<'py, PyBytes>> {
    let (bytes, limit) = (data.bytes(), self::limit(limit));
    let Some(known) = i16::try_from(codec).ok().filter(|codec| (0..=header::ZSTD).contains(codec)) else {
        return Err(corrupt(py, Finding::new(Fault::Codec, 0).figures(0, codec)));
    };
    let mut out = Vec::new();
    match work(py, bytes.len(), || codecs::decompress(known, bytes, limit, &mut out)) {
        Unpacked::Whole => Ok(PyBytes::new(py, &out)),
        Unpacked::Bad => Err(corrupt(py, Finding::new(Fault::Compressed, 0))),
        Unpacked::TooLarge => Err(corrupt(py, Finding::new(Fault::UnpackedSize, 0).figures(figure(limit), 0))),
    }
}
