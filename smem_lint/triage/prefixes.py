"""What loggers, containers and supervisors put before a line: taken off, with the process and the level that it told.

Formats: vLLM and SGLang loggers, torch's rank and glog prefixes, Ray actors, Python's ``logging``, docker compose, Kubernetes (CRI),
journald and syslog, the kernel's ring buffer, ISO time stamps, Rust's ``tracing``, llama.cpp, Go's ``key=value``, and tags of any
name (a rank of mpirun or srun, a MIG slice) where a traceback or an exception follows them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from smem_lint.triage.reading import Line


class Entry(NamedTuple):
    """A line without its prefixes; ``level`` is upper case and empty where none was told.

    ``process`` tells writers apart whose every line has a prefix: of actors within actors, the inner one. SGLang's rank is none: it
    stands on a record's first line only.
    """

    number: int
    text: str
    process: str
    level: str
    source: str


_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE)"
_NAMED_LEVEL = _LEVEL.replace("?P<level>", "?:")
_TIME = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_WRITERS = "EngineCore|APIServer|ApiServer|Worker|VllmWorker|RayWorker|Ray|DPCoordinator|ServeReplica|Engine|pid=|rank"
_ACTOR = r"[A-Za-z_][\w.:<>-]{0,60} pid=\d+[^()]{0,60}"  # Ray's, of any name
_PROCESS = re.compile(rf"\s*(?:\((?P<named>(?:{_WRITERS})[^()]{{0,80}}|{_ACTOR})\) ?|\[(?P<rank>(?:rank|default|dp|tp)_?\d+)\]: ?)")
_CRI = re.compile(rf"{_TIME} (?:stdout|stderr) [FP] ")
_POD = re.compile(r"\[pod/[\w.-]{1,120}/[\w.-]{1,120}\] ")  # kubectl logs --prefix
_STERN = re.compile(
    r"(?=[\w.-]{0,120}\d)[a-z0-9][a-z0-9.-]{0,120}-[a-z0-9]{1,10} [a-z0-9][a-z0-9-]{0,60} "
    rf"(?=[(\[]|  |{_NAMED_LEVEL}|Traceback|[\w.]+(?:Error|Exception|OutOfResources)\b|$)"
)
_COMPOSE = re.compile(r"(?:\d+\|)?[\w./-]{1,60}\s+\| ")
_SYSLOG = re.compile(rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d|{_TIME}) [\w.-]+ [\w./@-]+(?:\[\d+\]|(?<=kernel)): ")
_KERNEL = re.compile(r"\[ *\d{1,8}\.\d{6}\] ")  # dmesg
_STAMP = re.compile(rf"\[?{_TIME}\]?:? (?: (?={_NAMED_LEVEL}\b))?(?=[^\s|-]|--|  )")
_PIPED = re.compile(rf"{_TIME} \| (?!{_NAMED_LEVEL}\s+\|)")
_TAGGED = re.compile(
    rf"(?:\[(?P<tag>(?!pod/|\d{{4}}-|[\d:. ]*[:.][\d:. ]*\]|{_NAMED_LEVEL}\])[^\[\]]{{1,80}})\](?:<std(?:err|out)>)?:?"
    r"|(?P<task>\d{1,4}):) (?=Traceback|  |(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|OutOfResources): )"
)
_COLLECTED = re.compile(  # whatever else a collector puts before a line of vLLM's
    r"(?=[^(]{0,100}\d\d:\d\d)[^(]{1,120}(?=\((?:EngineCore|APIServer|Worker|VllmWorker)[^()]{0,60}pid=\d+[^()]{0,40}\) )"
)
_GROUP = re.compile(r"(?: {2}){1,8}\| ")  # the margin of an exception group
_SGLANG = re.compile(rf"\[(?:{_TIME}|\d\d:\d\d:\d\d)(?: (?:DP|TP|PP|EP)\d[^\]]*)?\](?: {_LEVEL}(?::\s{{0,8}})?)? ?")
_LOGGERS = (
    re.compile(rf"{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?:\[(?P<source>[^\]\s]+)\]|(?P<source2>[\w.]+:\d+\])) ?"),  # vLLM
    _SGLANG,
    re.compile(r"(?P<glog>[IWEF])(?:\d{4}|\d{8}) \d\d:\d\d:\d\d\.\d+ +\d+ (?P<source>[\w./-]+:\d+)\](?: \[[^\]]*\])* ?"),  # torch
    re.compile(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\](?: \[RANK \d+\])? \[(?P<glog>[IWEFVD])\] ?"),  # TensorRT-LLM
    re.compile(r"\[(?P<glog>[IWEF])\d{3,4} \d\d:\d\d:\d\d\.\d+ (?P<source>[\w./-]+:\d+)\] "),  # torch's C++
    re.compile(r"\[(?P<glog>[VIWEF]):onnxruntime:[^\],]*, (?P<source>[\w./-]+:\d+)[^\]]*\] "),
    re.compile(r"\d{1,4}\.\d\d\.\d{3}\.\d{3} (?P<glog>[IWED]) "),  # llama.cpp
    re.compile(rf"\[{_LEVEL}\]:? (?:\[(?P<source>[\w./-]+:\d+)(?::\w+)?\] )?"),  # DeepSpeed and others
    re.compile(rf"{_LEVEL}:(?P<source>[\w.]+):(?=\S) ?"),  # logging.basicConfig
    re.compile(rf"{_LEVEL}:?\s{{1,8}}(?=\S)"),  # uvicorn
    re.compile(rf"(?:{_TIME} )?\| {_LEVEL}\s+\| (?P<source>\S+) - "),  # loguru
    re.compile(rf"(?:{_TIME} )?(?:[\w.]{{1,60}} )?- (?:[\w.]{{1,60}} - )?{_LEVEL} - "),  # a common format
)
_GLOG = {"V": "DEBUG", "D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
_PAIRS = re.compile(r'time=(?:"[^"]{0,60}"|\S+) level=(?P<level>\w+) (?:source=\S+ )?msg=(?P<text>.*)')
_KEYED = re.compile(r'\s*"[^"\\]{1,60}"\s*:\s*"')
_BAR = re.compile(r"[^|]{0,80}\d%\|[^|]{0,200}\|[^\]]{0,160}\] ?(?=\(|\[rank|(?:INFO|WARNING|ERROR) )")  # a progress bar, left open
_QUOTE = re.compile(r"(?:> )+")
MILD = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "TRACE"})


def entry(line: Line) -> Entry:
    """Take the prefixes off. What stays keeps its indentation."""
    text, process, level, source = line.text.rstrip(), "", line.level.upper(), ""
    for _ in range(6):
        first = text[:1]
        margin = _QUOTE.match(text) if first == ">" else _GROUP.match(text) if first == " " else None
        if margin:
            text = text[margin.end() :]
            continue
        matched = _PROCESS.match(text) if first in _OPENING else None
        if matched:
            process, text = matched["named"] or process or matched["rank"], text[matched.end() :]
            continue
        matched = _TAGGED.match(text) if first == "[" or first.isdigit() else None
        if matched:
            process, text = process or matched["tag"] or matched["task"], text[matched.end() :]
            continue
        end = _collected(text) or _wrapper(text) or _bar(text)
        if not end:
            break
        text = text[end:]
    first = text[:1]
    if first in _LOGGED or first.isdigit():
        for pattern in _LOGGERS:
            matched = pattern.match(text)
            if matched:
                groups = matched.groupdict()
                level = groups.get("level") or _GLOG.get(groups.get("glog") or "", "") or level
                text = text[matched.end() :]
                source = groups.get("source") or groups.get("source2") or source
                break
    pairs = _PAIRS.match(text) if text.startswith("time=") else None
    if pairs:
        level, text = pairs["level"].upper(), pairs["text"].lstrip('"')
    keyed = _KEYED.match(text) if '"' in text[:4] or text[:1] == " " else None
    if keyed:
        text = text[keyed.end() :].rstrip(',"')
    return Entry(line.number, text, process, level, source.rstrip("]"))


_OPENING = frozenset("([ ")
_LOGGED = frozenset("[DIWECFT|-")


def _bar(text: str) -> int:
    found = _BAR.match(text) if "%|" in text[:90] else None
    return found.end() if found else 0


def _collected(text: str) -> int:
    found = _COLLECTED.match(text) if "pid=" in text[:200] else None
    return found.end() if found else 0


def _wrapper(text: str) -> int:
    """Where the text begins that a container or a supervisor has put its own prefix before; 0 where none has."""
    head = text[:140]
    if not (head[:1].isalnum() or head[:1] in ("[", "_")):
        return 0
    if head.startswith("[pod/"):
        named = _POD.match(text[:280])
        return named.end() if named else 0
    if head[:1].islower() and "-" in head and (stern := _STERN.match(text[:280])):
        return stern.end()
    dated = head[:1].isdigit() or head[:1] == "["
    if head[:1] == "[" and (printed := _KERNEL.match(head)):
        return printed.end()
    matched = (dated and (_CRI.match(head) or _PIPED.match(head))) or (" | " in head and _COMPOSE.match(head))
    if not matched and ": " in head and (dated or head[6:7].isdigit() or head[5:6].isdigit()):
        matched = _SYSLOG.match(head)
    if not matched and dated:
        matched = None if _SGLANG.match(text) else _STAMP.match(head)
    return matched.end() if matched else 0
