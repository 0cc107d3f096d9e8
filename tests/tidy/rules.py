"""The house's rules that no linter knows. Each is a pure function of one file: it answers what is wrong, line by line.

`test_tidy.py` runs each over the whole checkout and over a planted bad piece.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

PURE = ("base", "kernel", "records", "schema", "protocol", "rules")
WORLDLY_NAMES = {"open", "print", "input", "exec", "eval", "breakpoint", "__import__"}
WORLDLY_METHODS = {"open", "now", "utcnow", "today"}
VAGUE_ENDS = ("Manager", "Helper", "Helpers", "Util", "Utils", "Impl")
# Split, so that this file passes its own rule.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
OUTSIDE = re.compile(r"(?<![\w.])/(?:work|root)/|/home/\w|\bassist[a]nts?\b|\b(?:this|my|our|earlier) session\b")

EXPLAINED = re.compile(r"^// SAFETY: \w|^/// # Safety$", re.MULTILINE)

FUNCTION_LINES = 75
FILE_LINES = 650
PARAMETERS = 7
UNSAFE_BLOCKS = 6
FILE_BYTES = 1_000_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One text file of the checkout; `path` is relative to the root, with slashes."""

    path: str
    text: str

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(ast.parse(self.text)))

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in self.nodes if isinstance(node, Function)]

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


def in_pure_package(source: Source) -> bool:
    return source.path.startswith(tuple(f"src/esker/{room}/" for room in PURE))


def worldly_calls(source: Source) -> Iterator[str]:
    """Import contracts cannot see a built-in `open` or a `datetime.now`."""
    for node in source.nodes:
        if isinstance(node, ast.Name) and node.id in WORLDLY_NAMES:
            yield at(source, node, f"`{node.id}` in a pure package")
        if isinstance(node, ast.Attribute) and node.attr in WORLDLY_METHODS:
            yield at(source, node, f"`.{node.attr}` in a pure package")


def native_imports(source: Source) -> Iterator[str]:
    """The linter cannot see a compiled module, and one file alone chooses the kernel."""
    if source.path == "src/esker/kernel/__init__.py":
        return
    for node in source.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom) and "_native" in imported_names(node):
            yield at(source, node, "only esker.kernel chooses the native kernel")


def imported_names(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
    return {part for name in names for part in name.split(".")}


def swallowed_errors(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            yield at(source, node, "a bare except")
        elif catches_everything(node.type) and all(does_nothing(statement) for statement in node.body):
            yield at(source, node, "every error is swallowed")


def catches_everything(caught: ast.expr) -> bool:
    names = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(name, ast.Name) and name.id in {"Exception", "BaseException"} for name in names)


def does_nothing(statement: ast.stmt) -> bool:
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_constant or isinstance(statement, ast.Pass | ast.Continue)


def long_functions(source: Source) -> Iterator[str]:
    for node in source.functions:
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > FUNCTION_LINES:
            yield at(source, node, f"{node.name} has {length} lines, the limit is {FUNCTION_LINES}")


def many_parameters(source: Source) -> Iterator[str]:
    for node in source.functions:
        count = len([each for each in parameters(node) if each.arg not in {"self", "cls"}])
        if count > PARAMETERS:
            yield at(source, node, f"{node.name} takes {count} parameters, the limit is {PARAMETERS}")


def missing_types(source: Source) -> Iterator[str]:
    for node in source.functions:
        bare = [each.arg for each in parameters(node) if not each.annotation and each.arg not in {"self", "cls"}]
        if bare or node.returns is None:
            yield at(source, node, f"{node.name} lacks types: {', '.join(bare) or 'its return'}")


def parameters(node: Function) -> list[ast.arg]:
    given = node.args
    starred = [each for each in (given.vararg, given.kwarg) if each]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def vague_names(source: Source) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, Function) and node.name.lstrip("_").startswith("maybe_"):
            yield at(source, node, f"{node.name}: return what happened instead")
        if isinstance(node, ast.ClassDef) and node.name.endswith(VAGUE_ENDS):
            yield at(source, node, f"{node.name}: if only such a word fits, it is not one thing")


def long_file(source: Source) -> Iterator[str]:
    if len(source.lines) > FILE_LINES:
        yield f"{source.path}: {len(source.lines)} lines, the limit is {FILE_LINES}"


def unfinished_words(source: Source) -> Iterator[str]:
    yield from matching_lines(source, UNFINISHED, "unfinished work belongs into an issue")


def outside_words(source: Source) -> Iterator[str]:
    """A checkout says nothing of the machine or the people that it was made by."""
    yield from matching_lines(source, OUTSIDE, "this is about the making, not about Esker")


def unexplained_unsafe(source: Source) -> Iterator[str]:
    """Rust's own custom: `// SAFETY:` says why a block is sound, `# Safety` what a function asks of its caller."""
    for number, line in enumerate(source.lines, 1):
        if is_unsafe(line) and not EXPLAINED.search(words_above(source.lines, number - 1)):
            yield f"{source.path}:{number}: unsafe without its reason above"


def is_unsafe(line: str) -> bool:
    return re.search(r"\bunsafe\b", line.split("//", maxsplit=1)[0]) is not None


def words_above(lines: list[str], index: int) -> str:
    """The comments and attributes that end on the line before."""
    start = index
    while start > 0 and lines[start - 1].strip().startswith(("//", "#[")):
        start -= 1
    return "\n".join(line.strip() for line in lines[start:index])


def unsafe_count(source: Source) -> int:
    return sum(map(is_unsafe, source.lines))


def matching_lines(source: Source, pattern: re.Pattern[str], why: str) -> Iterator[str]:
    for number, line in enumerate(source.lines, 1):
        if found := pattern.search(line):
            yield f"{source.path}:{number}: `{found[0]}`: {why}"


def at(source: Source, node: ast.AST, what: str) -> str:
    return f"{source.path}:{getattr(node, 'lineno', 0)}: {what}"
