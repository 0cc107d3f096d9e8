//! Between Python's values and ours: buffers in, named tuples and buffers out.

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use crate::fault::{Fault, Finding};
use crate::header::Header;

/// Python's classes that results are made of.
pub struct Names {
    tuple_new: Py<PyAny>,
    fault: Py<PyAny>,
    finding: Py<PyAny>,
    corrupt: Py<PyAny>,
    batch_header: Py<PyAny>,
    pub walk: Py<PyAny>,
    pub check: Py<PyAny>,
    pub record: Py<PyAny>,
    pub accepted: Py<PyAny>,
    pub refused: Py<PyAny>,
    pub columns: Py<PyAny>,
    pub binary: Py<PyAny>,
    pub binary_view: Py<PyAny>,
    pub header_lists: Py<PyAny>,
    pub rows: Py<PyAny>,
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

pub fn names(py: Python<'_>) -> PyResult<&Names> {
    NAMES.get_or_try_init(py, || {
        let contract = py.import("esker.kernel.contract")?;
        let faults = py.import("esker.base.faults")?;
        let class = |name: &str| contract.getattr(name).map(Bound::unbind);
        Ok(Names {
            tuple_new: py.get_type::<PyTuple>().getattr("__new__")?.unbind(),
            fault: faults.getattr("Fault")?.unbind(),
            finding: faults.getattr("Finding")?.unbind(),
            corrupt: py.import("esker.base.errors")?.getattr("Corrupt")?.unbind(),
            batch_header: class("BatchHeader")?,
            walk: class("Walk")?,
            check: class("Check")?,
            record: class("Record")?,
            accepted: class("Accepted")?,
            refused: class("Refused")?,
            columns: class("Columns")?,
            binary: class("Binary")?,
            binary_view: class("BinaryView")?,
            header_lists: class("HeaderLists")?,
            rows: class("Rows")?,
        })
    })
}

/// A value of a NamedTuple's class. Not by calling the class: its `__new__` is Python and costs four times as much.
pub fn named<'py, Fields>(py: Python<'py>, class: &Py<PyAny>, fields: Fields) -> PyResult<Bound<'py, PyAny>>
where
    Fields: IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>>,
    PyErr: From<Fields::Error>,
{
    let fields = fields.into_pyobject(py).map_err(PyErr::from)?;
    names(py)?.tuple_new.bind(py).call1((class, fields))
}

pub fn fault(py: Python<'_>, fault: Fault) -> PyResult<Bound<'_, PyAny>> {
    names(py)?.fault.bind(py).call1((fault as u8,))
}

pub fn finding(py: Python<'_>, one: Finding) -> PyResult<Bound<'_, PyAny>> {
    let fields = (fault(py, one.fault)?, one.position, one.record, one.expected, one.found);
    named(py, &names(py)?.finding, fields)
}

/// The error that says so: `esker.base.errors.Corrupt`.
pub fn corrupt(py: Python<'_>, one: Finding) -> PyErr {
    let raised = finding(py, one).and_then(|finding| names(py)?.corrupt.bind(py).call1((finding,)));
    raised.map_or_else(|error| error, PyErr::from_value)
}

pub fn header<'py>(py: Python<'py>, header: &Header) -> PyResult<Bound<'py, PyAny>> {
    let fields = [
        header.position.into_pyobject(py)?,
        header.base_offset.into_pyobject(py)?,
        header.size.into_pyobject(py)?,
        header.leader_epoch.into_pyobject(py)?,
        header.magic.into_pyobject(py)?,
        header.crc.into_pyobject(py)?,
        header.attributes.into_pyobject(py)?,
        header.last_offset_delta.into_pyobject(py)?,
        header.base_timestamp.into_pyobject(py)?,
        header.max_timestamp.into_pyobject(py)?,
        header.producer_id.into_pyobject(py)?,
        header.producer_epoch.into_pyobject(py)?,
        header.base_sequence.into_pyobject(py)?,
        header.record_count.into_pyobject(py)?,
    ];
    named(py, &names(py)?.batch_header, PyTuple::new(py, fields)?)
}

/// The bytes of a Python buffer of any item type, held while this lives.
pub struct Input(PyUntypedBuffer);

impl<'a, 'py> FromPyObject<'a, 'py> for Input {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Input> {
        let buffer = PyUntypedBuffer::get(&object)?;
        if buffer.is_c_contiguous() { Ok(Input(buffer)) } else { Err(PyBufferError::new_err("the buffer has gaps")) }
    }
}

impl Input {
    pub fn bytes(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the exporter keeps pointer and length valid until the buffer is released, which is when `self` is
        // dropped. That nobody writes meanwhile is the contract's demand on the caller; a write in spite of it shows
        // as damaged bytes, since every length read here is checked against the slice before it is used.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast(), self.0.len_bytes()) }
    }

    /// The bytes to write into; the exporter must allow it.
    pub fn bytes_mut(&mut self) -> PyResult<&mut [u8]> {
        if self.0.readonly() {
            return Err(PyBufferError::new_err("the buffer cannot be written to"));
        }
        if self.0.len_bytes() == 0 {
            return Ok(&mut []);
        }
        // SAFETY: as above, and the exporter has said that the memory is writable. The GIL is held all the while.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.buf_ptr().cast(), self.0.len_bytes()) })
    }

    pub fn position(&self, position: i64) -> PyResult<usize> {
        let size = self.0.len_bytes();
        usize::try_from(position)
            .ok()
            .filter(|position| *position <= size)
            .ok_or_else(|| PyValueError::new_err(format!("position {position} is outside the {size} bytes given")))
    }
}

/// A buffer of ours that Python reads in place.
#[pyclass(frozen, module = "esker.kernel._native")]
pub struct Block(Memory);

enum Memory {
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Views(Vec<u128>),
}

impl From<Vec<u8>> for Block {
    fn from(memory: Vec<u8>) -> Block {
        Block(Memory::Bytes(memory))
    }
}

impl From<Vec<i32>> for Block {
    fn from(memory: Vec<i32>) -> Block {
        Block(Memory::Ints(memory))
    }
}

impl From<Vec<i64>> for Block {
    fn from(memory: Vec<i64>) -> Block {
        Block(Memory::Longs(memory))
    }
}

impl From<Vec<u128>> for Block {
    fn from(memory: Vec<u128>) -> Block {
        Block(Memory::Views(memory))
    }
}

impl Block {
    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Memory::Bytes(memory) => memory,
            Memory::Ints(memory) => bytemuck::cast_slice(memory),
            Memory::Longs(memory) => bytemuck::cast_slice(memory),
            Memory::Views(memory) => bytemuck::cast_slice(memory),
        }
    }
}

#[pymethods]
impl Block {
    fn __len__(&self) -> usize {
        self.bytes().len()
    }

    /// # Safety
    /// Called by Python alone, with a view that it has made for this.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: i32) -> PyResult<()> {
        let bytes = slf.get().bytes();
        let (start, size) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: the memory belongs to `slf`, never moves or changes (the class is frozen), and the view keeps a
        // reference to `slf`; it is given out as read-only.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, size, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}

/// For a class check without the cost of an import.
pub fn is_instance(value: &Bound<'_, PyAny>, class: &Py<PyAny>) -> PyResult<bool> {
    value.is_instance(class.bind(value.py()).cast::<PyType>()?)
}
