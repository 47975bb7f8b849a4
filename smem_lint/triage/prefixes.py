"""What loggers, containers and supervisors put before a line: taken off, with the process and the level that it told.

Formats: vLLM and SGLang loggers, torch's rank and glog prefixes, Ray actors, Python's ``logging``, docker compose, Kubernetes (CRI),
journald and syslog, ISO time stamps.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from smem_lint.triage.reading import Line


class Entry(NamedTuple):
    """A line without its prefixes; ``process`` tells writers apart, ``level`` is upper case and empty where none was told."""

    number: int
    text: str
    process: str
    level: str
    source: str


_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE)"
_TIME = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_WRITERS = "EngineCore|APIServer|ApiServer|Worker|VllmWorker|RayWorker|Ray|DPCoordinator|ServeReplica|Engine|pid=|rank"
_PROCESS = re.compile(rf"\s*(?:\((?P<named>(?:{_WRITERS})[^()]{{0,80}})\) ?|\[(?P<rank>(?:rank|default|dp|tp)_?\d+)\]: ?)")
_WRAPPERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_TIME} (?:stdout|stderr) [FP] ",  # Kubernetes, CRI
        r"[\w./-]{1,60}\s+\| ",  # docker compose
        r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|" + _TIME + r") [\w.-]+ [\w./@-]+\[\d+\]: ",  # journald, syslog
        rf"\[?{_TIME}\]?:? (?=[(\[{{]|{_LEVEL.replace('?P<level>', '?:')}|Traceback|  |\w)",  # docker -t
    )
)
_LOGGERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?:\[(?P<source>[^\]\s]+)\]|(?P<source2>[\w.]+:\d+\])) ?",  # vLLM
        rf"\[(?:{_TIME})(?P<process> (?:DP|TP|PP|EP)\d[^\]]*)?\](?: {_LEVEL}:?)? ?",  # SGLang
        r"(?P<glog>[IWEF])(?:\d{4}|\d{8}) \d\d:\d\d:\d\d\.\d+ +\d+ (?P<source>[\w./-]+:\d+)\](?: \[[^\]]*\])* ?",  # torch's logger
        rf"{_LEVEL}:(?P<source>[\w.]+):(?=\S) ?",  # logging.basicConfig
        rf"{_LEVEL}:?\s{{1,8}}(?=\S)",  # uvicorn
        rf"(?:[\w.]+ )?(?:- )?[\w.]* ?-? ?{_LEVEL} - ",  # a common format
    )
)
_GLOG = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
_QUOTE = re.compile(r"(?:> )+")
MILD = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "TRACE"})


def entry(line: Line) -> Entry:
    """Take the prefixes off. What stays keeps its indentation."""
    text, process, level, source = line.text.rstrip(), "", line.level.upper(), ""
    for _ in range(4):
        if text.startswith("> "):
            text = _QUOTE.sub("", text, count=1)
        matched = _PROCESS.match(text) if text[:1] in ("(", "[", " ") else None
        if matched:
            process, text = process or (matched["named"] or matched["rank"]), text[matched.end() :]
            continue
        start = text[:1]
        if not (start.isalnum() or start in "[_"):
            break
        for pattern in _WRAPPERS:
            matched = pattern.match(text)
            if matched and not (pattern is _WRAPPERS[3] and _LOGGERS[1].match(text)):
                text = text[matched.end() :]
                break
        else:
            break
    matched = _PROCESS.match(text)
    if matched:
        process, text = process or (matched["named"] or matched["rank"]), text[matched.end() :]
    if text[:1] in "[DIWECFT" or text[:1].isalnum():
        for pattern in _LOGGERS:
            matched = pattern.match(text)
            if not matched:
                continue
            groups = matched.groupdict()
            told = groups.get("level") or _GLOG.get(groups.get("glog") or "", "")
            level, text = told or level, text[matched.end() :]
            source = groups.get("source") or groups.get("source2") or source
            process = process or (groups.get("process") or "").strip()
            break
    return Entry(line.number, text, process, level, source.rstrip("]"))
