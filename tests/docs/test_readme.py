"""Every command and every piece of Python that the documents show runs as shown."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

# Shown, but not run from here, because it runs elsewhere.
ELSEWHERE = {
    "make test": "this test is part of it",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[str]:
    """One command a line, with `\\` going on; comments and the prompt's `$` are not part of it."""
    lines = block.replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ").split("  # ")[0].strip() for line in lines if line and not line.startswith("#")]


def shown_commands() -> list[str]:
    shown = [command for page in PAGES for block in blocks(page.read_text(), "sh") for command in commands(block)]
    return list(dict.fromkeys(shown))


def run(command: list[str]) -> None:
    """Run from the root, with the environment's commands first, as after `. .venv/bin/activate`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # A command is run as a reader would: not as part of this test run.
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE"))}
    finished = subprocess.run(
        command, cwd=ROOT, env={**outside, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.parametrize("command", [command for command in shown_commands() if command not in ELSEWHERE])
def test_shown_command_runs(command: str) -> None:
    run(["bash", "-euo", "pipefail", "-c", command])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page.read_text(), "python")], ids=lambda p: p.name)
def test_shown_python_runs(page: Path) -> None:
    run([sys.executable, "-W", "error", "-c", "\n".join(blocks(page.read_text(), "python"))])


def test_commands_that_run_elsewhere_are_still_shown() -> None:
    assert set(ELSEWHERE) <= set(shown_commands())


def test_each_target_of_the_readme_table_is_in_the_makefile_and_back() -> None:
    shown = set(re.findall(r"`make ([a-z-]+)`", (ROOT / "README.md").read_text()))
    offered = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert shown == offered - {"help"}


def test_each_link_of_a_page_leads_somewhere() -> None:
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if "://" not in target
    ]
    assert links
    assert not [f"{page.name}: {target}" for page, target in links if not (page.parent / target).exists()]


def test_blocks_and_commands_are_found() -> None:
    page = "text\n```sh\n# first\nmake demo\n$ esker dump \\\n  a.log  # shows\n\n```\n```text\nnot this\n```\n"
    assert [commands(block) for block in blocks(page, "sh")] == [["make demo", "esker dump    a.log"]]


def test_failing_command_fails() -> None:
    with pytest.raises(AssertionError):
        run(["bash", "-c", "exit 1"])
