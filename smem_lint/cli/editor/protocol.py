"""The Language Server Protocol, by pygls: texts come in, diagnostics, hovers and code actions go out.

Checks run one after the other in a thread of their own. A text that changes while it is checked is checked again, and only what was found
in its newest version is told. The whole text is synchronised at each change, since editors and Python disagree on what ends a line.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from smem_lint import __version__
from smem_lint.cli.editor.actions import Action, fixes, silences
from smem_lint.cli.editor.analysis import Analysis, analyse
from smem_lint.cli.editor.hover import hover
from smem_lint.cli.editor.places import Encoding, Place, Places
from smem_lint.findings import Finding
from smem_lint.report.grouping import Group, grouped
from smem_lint.report.sarif import help_of

T = TypeVar("T")

FIX_ALL = f"{lsp.CodeActionKind.SourceFixAll.value}.smem-lint"
_KINDS = (lsp.CodeActionKind.QuickFix, FIX_ALL)
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning, "info": lsp.DiagnosticSeverity.Information,
}  # fmt: skip
_PAUSE = 0.4
_STACK_BYTES = 64 << 20


@dataclass(eq=False)
class Session:
    """The texts of one editor and what is known of them, by address: ``known`` with the version that it was found in."""

    server: LanguageServer
    arguments: argparse.Namespace
    known: dict[str, tuple[int, Analysis]] = field(default_factory=dict)
    exact: dict[str, tuple[int, Analysis]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        threading.stack_size(_STACK_BYTES)  # the model follows nested expressions
        self._worker = ThreadPoolExecutor(1, "smem-lint")
        self._lock = asyncio.Lock()

    async def _work(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, job)

    @property
    def _encoding(self) -> Encoding:
        chosen = self.server.workspace.position_encoding
        return {"utf-8": "utf-8", "utf-32": "utf-32"}.get(getattr(chosen, "value", str(chosen)), "utf-16")  # type: ignore[return-value]

    def _version(self, uri: str) -> int | None:
        document = self.server.workspace.text_documents.get(uri)
        return None if document is None else document.version or 0

    def places(self, uri: str, analysis: Analysis) -> Places:
        return Places(analysis.text, self._encoding)

    async def changed(self, uri: str, pause: float = 0.0) -> None:
        """Check a text and tell what was found, unless it changes again in the meantime."""
        version = self._version(uri)
        await asyncio.sleep(pause)
        if version is None or self._version(uri) != version:
            return
        analysis = await self.analysis(uri)
        if analysis is not None and self._version(uri) == version:
            found = [*self._diagnostics(uri, analysis)]
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version))

    async def saved(self) -> None:
        """What one file holds can change what is said of the others."""
        self.known.clear()
        self.exact.clear()
        for uri in list(self.server.workspace.text_documents):
            await self.changed(uri)

    def closed(self, uri: str) -> None:
        self.known.pop(uri, None)
        self.exact.pop(uri, None)
        self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    async def analysis(self, uri: str, *, exact: bool = False) -> Analysis | None:
        """What is known of the newest version of a text; None where it is no file."""
        held = self.exact if exact else self.known
        async with self._lock:
            version, path = self._version(uri), _path(uri)
            if version is None or path is None:
                return None
            if uri not in held or held[uri][0] != version:
                open_texts = {other: one.source for key, one in self.server.workspace.text_documents.items() if (other := _path(key))}
                folders = [folder for one in self.server.workspace.folders.values() if (folder := _path(one.uri))]
                root = self.server.workspace.root_path
                folders += [Path(root)] if root and not folders else []
                held[uri] = version, await self._work(lambda: analyse(self.arguments, path, open_texts, folders, exact=exact))
            return held[uri][1]

    def _diagnostics(self, uri: str, analysis: Analysis) -> list[lsp.Diagnostic]:
        if analysis.failure:
            return [_plain(0, f"smem-lint cannot check this file: {analysis.failure}", lsp.DiagnosticSeverity.Error)]
        places = self.places(uri, analysis)
        found = [self._diagnostic(group, analysis, places) for group in grouped(analysis.findings)]
        last = len(places.lines) - 1
        for problem in analysis.report.problems:
            if problem.file == analysis.file:
                found.append(_plain(min((problem.line or 1) - 1, last), problem.message, lsp.DiagnosticSeverity.Information))
        return found

    def _diagnostic(self, group: Group, analysis: Analysis, places: Places) -> lsp.Diagnostic:
        one = group.first
        related = [
            lsp.DiagnosticRelatedInformation(lsp.Location(uri, _whole_line(other.line)), other.message)
            for other in one.related if (uri := self._uri(other.file, analysis))
        ]  # fmt: skip
        return lsp.Diagnostic(
            range=_range(one, places),
            message=_message(group),
            severity=_SEVERITIES[one.severity],
            code=one.rule,
            code_description=lsp.CodeDescription(help_of(one.rule)) if one.rule.startswith("SMEM") else None,
            source="smem-lint",
            tags=[lsp.DiagnosticTag.Unnecessary] if one.rule == "SMEM011" else None,
            related_information=related or None,
            data=one.fingerprint,
        )

    def _uri(self, file: str, analysis: Analysis) -> str | None:
        roots = analysis.lint.roots if analysis.lint is not None else []
        found = next((root / file for root in roots if (root / file).is_file()), None)
        return uris.from_fs_path(str(found)) if found is not None else None

    async def hover(self, uri: str, line: int) -> lsp.Hover | None:
        analysis = await self.analysis(uri)
        told = await self._work(lambda: hover(analysis, line + 1)) if analysis is not None else None
        if told is None or analysis is None:
            return None
        text, lines = told
        end = self.places(uri, analysis).end(lines[-1])
        span = lsp.Range(lsp.Position(lines[0] - 1, 0), lsp.Position(end.line, end.character))
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), span)

    async def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Fixes and suppressions for the findings in a range."""
        uri, wanted = params.text_document.uri, params.context.only
        lines = range(params.range.start.line + 1, params.range.end.line + 2)
        known = await self.analysis(uri)
        if known is None or not known.findings:
            return []
        found: list[Action] = []
        quick = _asked(lsp.CodeActionKind.QuickFix, wanted)
        whole = wanted is not None and _asked(FIX_ALL, wanted)
        if (quick and any(one.fix and one.line in lines for one in known.findings)) or whole:
            exact = await self.analysis(uri, exact=True)
            if exact is not None:
                places = self.places(uri, exact)
                found += await self._work(lambda: fixes(exact, places, lines, whole=False)) if quick else []
                found += await self._work(lambda: fixes(exact, places, lines, whole=True)) if whole else []
        if quick:
            found += silences(known, self.places(uri, known), lines)
        given = [self._action(one, uri, params.context.diagnostics) for one in found]
        return [one for one in given if one.disabled is None or self._knows_disabled()]

    def _knows_disabled(self) -> bool:
        document = self.server.client_capabilities.text_document
        return bool(document and document.code_action and document.code_action.disabled_support)

    def _action(self, one: Action, uri: str, diagnostics: Sequence[lsp.Diagnostic]) -> lsp.CodeAction:
        prints = {finding.fingerprint for finding in one.findings}
        rules = {(finding.rule, finding.line - 1) for finding in one.findings}
        mine = [other for other in diagnostics if other.data in prints or (other.code, other.range.start.line) in rules]
        edits = [lsp.TextEdit(lsp.Range(_position(change.start), _position(change.end)), change.text) for change in one.changes]
        return lsp.CodeAction(
            title=one.title,
            kind=FIX_ALL if one.whole else lsp.CodeActionKind.QuickFix,
            diagnostics=mine or None,
            is_preferred=one.preferred or None,
            disabled=lsp.CodeActionDisabled(one.disabled) if one.disabled else None,
            edit=None if one.disabled else lsp.WorkspaceEdit(document_changes=[self._edit(uri, edits)]),
        )

    def _edit(self, uri: str, edits: Sequence[lsp.TextEdit]) -> lsp.TextDocumentEdit:
        return lsp.TextDocumentEdit(lsp.OptionalVersionedTextDocumentIdentifier(uri, self._version(uri)), list(edits))


def serve(arguments: argparse.Namespace) -> LanguageServer:
    """The server, ready to be started on the streams of its process."""
    server = LanguageServer("smem-lint", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
    session = Session(server, arguments)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await session.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        await session.changed(params.text_document.uri, _PAUSE)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        await session.saved()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        session.closed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        return await session.hover(params.text_document.uri, params.position.line)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=list(_KINDS)))
    async def acted(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await session.actions(params)

    return server


def _asked(kind: lsp.CodeActionKind | str, wanted: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    """Whether a kind, or one that it is a part of, is asked for; all are where nothing is said."""
    name = str(getattr(kind, "value", kind))
    return wanted is None or any(f"{name}.".startswith(f"{getattr(one, 'value', one)}.") for one in wanted)


def _message(group: Group) -> str:
    """The finding, what would fit, and the other numbers of the same launch."""
    parts = [group.first.message]
    if group.first.fits:
        parts.append(f"Fits: {'; '.join(map(str, group.first.fits))}")
    for one in group.others[:3]:
        parts.append(f"Also {one.bytes:,} bytes" + (f" when {'; '.join(one.because)}" if one.because else "") if one.bytes else one.message)
    return "\n".join(parts)


def _range(one: Finding, places: Places) -> lsp.Range:
    return lsp.Range(_position(places.at(one.line, one.column)), _position(places.end(min(one.line, len(places.lines)))))


def _position(place: Place) -> lsp.Position:
    return lsp.Position(place.line, place.character)


def _whole_line(line: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line - 1, 0), lsp.Position(line, 0))


def _plain(line: int, message: str, severity: lsp.DiagnosticSeverity) -> lsp.Diagnostic:
    return lsp.Diagnostic(range=_whole_line(line + 1), message=message, severity=severity, source="smem-lint")


def _path(uri: str) -> Path | None:
    """The file of an address; None for texts that are no file."""
    found = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(found) if found else None
