"""The promise page names its proofs, and they exist."""

import re

from tidy.checkout import ROOT

PAGE = ROOT / "docs" / "durability.md"
PROOF = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_proof_on_the_page_is_a_test() -> None:
    named = PROOF.findall(PAGE.read_text())
    assert len(named) >= 10
    for path, name in named:
        assert f"\ndef {name}(" in (ROOT / path).read_text(), f"{path}::{name}"


def test_every_setting_in_the_table_has_its_proof() -> None:
    table = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]
    assert table
    assert all(re.search("[¹²³⁴⁵⁶]", line) for line in table)
