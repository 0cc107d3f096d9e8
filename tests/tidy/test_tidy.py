"""The whole checkout keeps the house's rules, and each rule catches what it is there to catch."""

from collections.abc import Callable, Iterator

import pytest

from tidy import rules
from tidy.checkout import ROOT, checkout_files, is_ignored, sources
from tidy.rules import Source

Rule = Callable[[Source], Iterator[str]]

PYTHON_RULES = [
    rules.native_imports,
    rules.swallowed_errors,
    rules.long_functions,
    rules.many_parameters,
    rules.missing_types,
    rules.vague_names,
]
CODE_RULES = [rules.long_file]
TEXT_RULES = [rules.unfinished_words, rules.outside_words]
TEXTS = (".md", ".py", ".rs", ".toml", ".sh", ".yml", ".xml", "Makefile", ".ci/run", "tools/fresh", "tools/rust-style")

LONG_BODY = "def long() -> None:\n" + "    x = 1\n" * rules.FUNCTION_LINES
MANY = ", ".join(f"{name}: int" for name in "abcdefgh")

# For each rule: pieces it must catch, then pieces it must let pass.
SAMPLES: dict[Rule, tuple[list[str], list[str]]] = {
    rules.worldly_calls: (
        ["open('a')", "opener = open", "print(1)", "input()", "exec('')", "eval('1')", "t.now()", "path.open()"],
        ["reopen('a')", "'open('", "# open(", "clock.now_ms()"],
    ),
    rules.native_imports: (
        ["import esker.kernel._native", "from esker.kernel import _native", "from esker.kernel._native import check"],
        ["from esker.kernel import contract", "_native = 1"],
    ),
    rules.swallowed_errors: (
        [
            "try:\n    f()\nexcept:\n    raise",
            "try:\n    f()\nexcept Exception:\n    pass",
            "try:\n    f()\nexcept (ValueError, BaseException):\n    ...",
            "for x in y:\n    try:\n        f()\n    except Exception as e:\n        continue",
        ],
        ["try:\n    f()\nexcept ValueError:\n    pass", "try:\n    f()\nexcept Exception:\n    log()"],
    ),
    rules.long_functions: ([LONG_BODY, f"async {LONG_BODY}"], [LONG_BODY.removesuffix("    x = 1\n")]),
    rules.many_parameters: (
        [f"def f({MANY}) -> None: ...", f"def f(*, {MANY}) -> None: ..."],
        [f"def f(self, {MANY.removesuffix(', h: int')}) -> None: ..."],
    ),
    rules.missing_types: (
        [
            "def f(a) -> None: ...",
            "def f(a: int): ...",
            "def f(*a, b: int) -> None: ...",
            "async def f(**k) -> int: ...",
        ],
        ["def f(self, a: int) -> None: ...", "f = lambda a: a"],
    ),
    rules.vague_names: (
        [
            "def maybe_roll() -> None: ...",
            "def _maybe_roll() -> None: ...",
            "class LogManager: ...",
            "class FileUtils: ...",
            "class BatchImpl: ...",
            "class ReadHelper: ...",
        ],
        ["class Log: ...", "def roll() -> None: ...", "class Implied: ..."],
    ),
    rules.long_file: (["\n" * (rules.FILE_LINES + 1)], ["\n" * rules.FILE_LINES]),
    rules.unfinished_words: (["# TO" + "DO later", "// FIX" + "ME", "XX" + "X"], ["todos", "FIXMENT", "XXXL"]),
    rules.outside_words: (
        ["see /wo" + "rk/main", "in /ro" + "ot/x", "/ho" + "me/ann", "an assis" + "tant wrote", "in this sess" + "ion"],
        ["/workers/", "https://a.org/work/b", "a Spark session", "/var/root/"],
    ),
    rules.unexplained_unsafe: (
        ["let x = unsafe { y };", "// SAFETY: far above\n\nunsafe fn f() {}", "// SAFETY:\nunsafe { y }"],
        [
            "// SAFETY: y outlives x\n// and more\nlet x = unsafe { y };",
            "    /// # Safety\n    /// Python alone calls it.\n    #[inline]\n    unsafe fn f() {}",
            "// no unsafe here",
            "#![deny(unsafe_code)]",
        ],
    ),
}


def broken_by(rule: Rule, text: str) -> list[str]:
    return list(rule(Source("src/esker/rules/planted.py", text)))


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, (bad, _) in SAMPLES.items() for text in bad])
def test_rule_catches_what_breaks_it(rule: Rule, text: str) -> None:
    assert broken_by(rule, text)


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, (_, good) in SAMPLES.items() for text in good])
def test_rule_lets_what_keeps_it_pass(rule: Rule, text: str) -> None:
    assert not broken_by(rule, text)


def test_each_rule_has_samples() -> None:
    assert {rules.worldly_calls, rules.unexplained_unsafe, *PYTHON_RULES, *CODE_RULES, *TEXT_RULES} == set(SAMPLES)


@pytest.mark.parametrize("rule", PYTHON_RULES)
def test_python_keeps_the_rule(rule: Rule) -> None:
    assert not [line for source in sources(".py") for line in rule(source)]


@pytest.mark.parametrize("rule", CODE_RULES)
def test_code_keeps_the_rule(rule: Rule) -> None:
    assert not [line for source in sources(".py", ".rs") for line in rule(source)]


@pytest.mark.parametrize("rule", TEXT_RULES)
def test_texts_keep_the_rule(rule: Rule) -> None:
    assert not [line for source in sources(*TEXTS) for line in rule(source)]


def test_pure_packages_call_nothing_worldly() -> None:
    pure = [source for source in sources(".py") if rules.in_pure_package(source)]
    assert pure
    assert not [line for source in pure for line in rules.worldly_calls(source)]


def test_pure_package_is_told_by_its_folder() -> None:
    assert rules.in_pure_package(Source("src/esker/kernel/reference/walk.py", ""))
    assert not rules.in_pure_package(Source("src/esker/storage/scan.py", ""))


def test_unsafe_rust_is_rare_and_explained() -> None:
    native = [source for source in sources(".rs") if source.path.startswith("native/src/")]
    assert not [line for source in native for line in rules.unexplained_unsafe(source)]
    assert sum(map(rules.unsafe_count, native)) <= rules.UNSAFE_BLOCKS


def test_unsafe_is_counted_outside_comments() -> None:
    assert rules.unsafe_count(Source("a.rs", "unsafe { a }\n// unsafe\nunsafe fn b() {}\n")) == 2


def test_no_big_file_is_kept() -> None:
    assert not [path for path in checkout_files() if (ROOT / path).stat().st_size > rules.FILE_BYTES]


def test_the_checkout_is_seen() -> None:
    found = set(checkout_files())
    assert {"pyproject.toml", "tests/tidy/rules.py", "src/esker/__init__.py", ".ci/run"} <= found
    assert not [path for path in found if path.startswith((".venv/", ".git/"))]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".venv/", True),
        ("src/.venv/", False),
        ("src/esker/__pycache__/", True),
        ("src/esker/kernel/_native.abi3.so", True),
        ("src/esker/kernel/native.py", False),
    ],
)
def test_ignored_files_are_told_apart(path: str, *, expected: bool) -> None:
    patterns = ["/.venv/", "__pycache__/", "/src/esker/kernel/_native*.so"]
    assert is_ignored(path, patterns) == expected
