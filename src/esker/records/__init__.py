"""Record batches as Python values: read, checked, written again, shown as text. Pure: bytes in, values out.

`batch` is the door for reading, all three magics alike; `legacy` knows magic 0 and 1, `control` what a control
record says, `builder` writes, `text` prints. Loops over many records belong to `kernel`: here a record is an object.
"""
