"""JUnit XML: one test case a finding, grouped by file."""

from __future__ import annotations

from xml.etree import ElementTree

from smem_lint.findings import Report
from smem_lint.report import Options


def render(report: Report, options: Options) -> str:
    failing = report.failing
    root = ElementTree.Element("testsuites", name="smem-lint", tests=str(max(len(failing), 1)), failures=str(len(failing)))
    by_file: dict[str, list[int]] = {}
    for index, finding in enumerate(failing):
        by_file.setdefault(finding.file, []).append(index)
    for file, indices in by_file.items():
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(file), tests=str(len(indices)), failures=str(len(indices)))
        for index in indices:
            finding = failing[index]
            place = {"name": finding.rule, "classname": _xml(file), "file": _xml(file), "line": str(finding.line)}
            case = ElementTree.SubElement(suite, "testcase", place)
            failure = ElementTree.SubElement(case, "failure", message=_xml(finding.message), type=finding.severity)
            failure.text = _xml(f"{file}:{finding.line}:{finding.column}: {finding.rule} {finding.message}")
    if not failing:
        suite = ElementTree.SubElement(root, "testsuite", name="smem-lint", tests="1", failures="0")
        ElementTree.SubElement(suite, "testcase", name="no findings", classname="smem-lint")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Without the characters that XML cannot hold."""
    return "".join(char if char in "\t\n\r" or (ord(char) >= 0x20 and not 0xD800 <= ord(char) <= 0xDFFF) else "?" for char in text)
