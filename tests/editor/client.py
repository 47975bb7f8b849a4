"""A small client of the Language Server Protocol: messages over the standard streams of a server's process."""

import json
import queue
import subprocess
import sys
import threading
from pathlib import Path


class Client:
    """Starts ``smem-lint server`` in ``folder`` and speaks to it; ``opened`` and ``changed`` return the diagnostics that follow."""

    def __init__(self, folder, *arguments, encodings=("utf-16",), timeout=120):
        self.folder, self.timeout = Path(folder), timeout
        self.process = subprocess.Popen(
            [sys.executable, "-m", "smem_lint", "server", *arguments],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self._messages = queue.Queue()
        self._number = 0
        self._versions = {}
        threading.Thread(target=self._read, daemon=True).start()
        self.errors = []
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()
        capabilities = {
            "general": {"positionEncodings": list(encodings)},
            "textDocument": {"codeAction": {"disabledSupport": True, "codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}},
        }
        folders = [{"uri": self.folder.as_uri(), "name": "project"}]
        self.capabilities = self.ask(
            "initialize", processId=None, rootUri=self.folder.as_uri(), capabilities=capabilities, workspaceFolders=folders
        )["capabilities"]
        self.tell("initialized")

    def uri(self, name):
        return (self.folder / name).as_uri()

    def tell(self, method, **params):
        self._send({"method": method, "params": params})

    def ask(self, method, **params):
        """A request's result; an error of the server is raised."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        answer = self._until(lambda message: message.get("id") == self._number)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer.get("result")

    def opened(self, name, text=None):
        path = self.folder / name
        text = path.read_bytes().decode() if text is None else text
        self._versions[name] = 1
        document = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.tell("textDocument/didOpen", textDocument=document)
        return self.diagnostics(name)

    def changed(self, name, text):
        self._versions[name] += 1
        document = {"uri": self.uri(name), "version": self._versions[name]}
        self.tell("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])
        return self.diagnostics(name)

    def diagnostics(self, name):
        """The next diagnostics of a file, of its newest version."""
        def newest(message):
            params = message.get("params", {})
            known = params.get("uri") == self.uri(name) and params.get("version") in (self._versions.get(name), None)
            return message.get("method") == "textDocument/publishDiagnostics" and known

        return self._until(newest)["params"]["diagnostics"]

    def hover(self, name, line):
        found = self.ask("textDocument/hover", textDocument={"uri": self.uri(name)}, position={"line": line, "character": 4})
        return found and found["contents"]["value"]

    def actions(self, name, diagnostic, only=None):
        context = {"diagnostics": [diagnostic], **({"only": only} if only else {})}
        return self.ask("textDocument/codeAction", textDocument={"uri": self.uri(name)}, range=diagnostic["range"], context=context)

    def close(self):
        """End the server as editors do; its exit code."""
        self.ask("shutdown")
        self.tell("exit")
        code = self.process.wait(20)
        self.process.stdin.close()
        return code

    def _send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _read(self):
        stream = self.process.stdout
        while head := stream.readline():
            length = int(head.split(b":")[1])
            while stream.readline().strip():
                pass
            self._messages.put(json.loads(stream.read(length)))

    def _until(self, wanted):
        while True:
            message = self._messages.get(timeout=self.timeout)
            if wanted(message):
                return message


def applied(text, edits):
    """A text after the edits of an action, whose places are in UTF-16."""
    lines = text.splitlines(keepends=True)

    def offset(place):
        before = sum(len(line.encode("utf-16-le")) for line in lines[: place["line"]])
        return before + 2 * place["character"]

    data = text.encode("utf-16-le")
    for edit in sorted(edits, key=lambda edit: offset(edit["range"]["start"]), reverse=True):
        data = data[: offset(edit["range"]["start"])] + edit["newText"].encode("utf-16-le") + data[offset(edit["range"]["end"]) :]
    return data.decode("utf-16-le")
