//! Esker's native kernel: loops over the bytes of record batches, nothing else. No files, no clock, no settings, no
//! policy. What each function does is said once, in `esker/kernel/contract.py`; `esker/kernel/reference` says the same
//! in plain Python, and a property test holds the two together.

mod append;
mod arrow;
mod check;
mod checksum;
mod codecs;
mod columns;
mod encode;
mod fault;
mod functions;
mod header;
mod python;
mod records;
mod sources;
mod tables;
mod varint;
mod xerial;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("NAME", "native")?;
    functions::add(module)
}
