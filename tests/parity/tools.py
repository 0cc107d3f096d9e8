"""Kafka's own command-line tools, and single-file Java programs against its jars."""

import subprocess
from pathlib import Path

from parity.jars import HERE, KAFKA, is_old, jars, java

# Short runs: the small compiler alone. The rest makes them print UTF-8 whatever the locale, under either name.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
_UTF8 = ("-Dfile.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8", "-Dsun.stderr.encoding=UTF-8")
_UTF8_TOO = ("-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8")


def java_command(version: str, log_level: str, *options: str) -> list[str]:
    """The start of a command line: java, our logging on stderr, and that Kafka's jars."""
    if is_old(version):
        logging = [f"-Dlog4j.configuration=file:{HERE / 'log4j.properties'}", "-Dzookeeper.jmx.log4j.disable=true"]
    else:
        logging = [f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}"]
    logging.append(f"-Desker.log={log_level}")
    return [java(), *options, *logging, "-cp", f"{jars(version)}/*"]


def run_tool(main: str, *args: str, version: str = KAFKA, timeout_s: float = 300, with_errors: bool = False) -> str:
    """Run a tool by its main class; gives what it prints, if asked with what it prints as errors after it."""
    return _output([*_tool_command(version), main, *args], timeout_s, with_errors)


def run_java(source: Path, version: str = KAFKA, *args: str, timeout_s: float = 600) -> str:
    """Run a program that is one .java file; Java compiles it in memory."""
    return _output([*_tool_command(version), str(source), *args], timeout_s)


def _tool_command(version: str) -> list[str]:
    return java_command(version, "error", *_QUICK, *_UTF8, *_UTF8_TOO)


def _output(command: list[str], timeout_s: float, with_errors: bool = False) -> str:
    """Decoded here and not by subprocess, which would take a carriage return in a record for a line's end."""
    done = subprocess.run(command, check=False, capture_output=True, timeout=timeout_s, stdin=subprocess.DEVNULL)
    out, errors = done.stdout.decode(), done.stderr.decode()
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[-6:])} failed ({done.returncode}):\n{(out + errors)[-6000:]}")
    return out + errors if with_errors else out
