"""Types, encodings and attributes of Triton's IR text: the leaves that ``ir_text`` is built from."""

from __future__ import annotations

import re
from typing import Any

from smem_lint.layout import encodings as enc
from smem_lint.tile import types as ty

_OPEN, _CLOSE = "<([{", ">)]}"


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split at separators that stand in no bracket and no string; parts are stripped, empty ones dropped."""
    parts, depth, start, at, in_string = [], 0, 0, 0, False
    while at < len(text):
        char = text[at]
        if in_string:
            at += 2 if char == "\\" else 1
            in_string = char != '"'
            continue
        if char == '"':
            in_string = True
        elif text.startswith("->", at):
            at += 2
            continue
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        elif depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at].strip())
            at += len(separator)
            start = at
            continue
        at += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def find_top(text: str, needle: str) -> int:
    """Where ``needle`` first stands outside brackets and strings, or -1."""
    depth, at, in_string = 0, 0, False
    while at < len(text):
        char = text[at]
        if in_string:
            at += 2 if char == "\\" else 1
            in_string = char != '"'
            continue
        if depth == 0 and text.startswith(needle, at):
            return at
        if char == '"':
            in_string = True
        elif text.startswith("->", at):
            at += 2
            continue
        elif char in _OPEN:
            depth += 1
        elif char in _CLOSE:
            depth -= 1
        at += 1
    return -1


def _fields(body: str) -> dict[str, str]:
    fields = {}
    for part in split_top(body):
        name, _, value = part.partition("=")
        fields[name.strip()] = value.strip()
    return fields


def _nested(text: str) -> Any:
    """``[[1, 0], [2, 0]]`` as nested tuples of ints."""
    text = text.strip()
    if text.startswith("["):
        return tuple(_nested(part) for part in split_top(text[1:-1]))
    return int(text)


class Attributes:
    """Reads types and encodings, with the aliases (``#blocked = …``) of one module."""

    def __init__(self, aliases: dict[str, str]) -> None:
        self.aliases = aliases
        self._encodings: dict[str, Any] = {}
        self._types: dict[str, Any] = {}

    def encoding(self, text: str) -> Any:
        text = text.strip()
        found = self._encodings.get(text)
        if found is None:
            found = self._encodings[text] = self._encoding(text)
        return found

    def _encoding(self, text: str) -> Any:
        if text in self.aliases:
            return self.encoding(self.aliases[text])
        match = re.match(r"#(?:ttg|ttng)\.(\w+)<\{(.*)\}(?:, *\{.*\})?>$", text, re.S)
        if match is None:
            return enc.OpaqueEncoding(text)
        kind, fields = match.group(1), _fields(match.group(2))
        build = getattr(self, f"_{kind}", None)
        return build(fields) if build is not None else enc.OpaqueEncoding(text)

    def _blocked(self, f: dict[str, str]) -> Any:
        return enc.Blocked(*(_nested(f[name]) for name in ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")))

    def _slice(self, f: dict[str, str]) -> Any:
        return enc.Slice(int(f["dim"]), self.encoding(f["parent"]))

    def _nvidia_mma(self, f: dict[str, str]) -> Any:
        return enc.Mma(int(f["versionMajor"]), int(f["versionMinor"]), _nested(f["warpsPerCTA"]), _nested(f["instrShape"]))

    def _dot_op(self, f: dict[str, str]) -> Any:
        return enc.DotOperand(int(f["opIdx"]), self.encoding(f["parent"]), int(f.get("kWidth", "0")))

    def _linear(self, f: dict[str, str]) -> Any:
        return enc.Linear(*(_nested(f[name]) for name in ("register", "lane", "warp", "block")))

    def _swizzled_shared(self, f: dict[str, str]) -> Any:
        return enc.SwizzledShared(int(f["vec"]), int(f["perPhase"]), int(f["maxPhase"]), _nested(f["order"]))

    def _nvmma_shared(self, f: dict[str, str]) -> Any:
        width, bits = int(f["swizzlingByteWidth"]), int(f["elementBitWidth"])
        return enc.NvmmaShared(width, f["transposed"] == "true", bits, f.get("fp4Padded") == "true")

    def type(self, text: str) -> Any:
        text = text.strip()
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = self._type(text)
        return found

    def _shaped(self, body: str) -> tuple[tuple[int, ...], list[str]]:
        match = re.match(r"((?:\d+x)*)(.*)$", body, re.S)
        assert match is not None
        shape = tuple(int(size) for size in match.group(1).split("x") if size)
        return shape, split_top(match.group(2))

    def _type(self, text: str) -> Any:
        match = re.match(r"(!?[\w.]+)?<(.*)>$", text, re.S)
        if match is None:
            return self._simple(text)
        kind, body = match.group(1) or "", match.group(2)
        if kind in ("!tt.ptr", "!llvm.ptr"):
            parts = split_top(body)
            return ty.Pointer(self.type(parts[0])) if kind == "!tt.ptr" else ty.Opaque(text)
        if kind == "tensor":
            shape, parts = self._shaped(body)
            return ty.Tensor(shape, self.type(parts[0]), self.encoding(parts[1]) if len(parts) > 1 else None)
        if kind == "" and len(self._shaped(body)[1]) == 1:  # a descriptor's block, printed without its keyword
            return ty.TensorDesc(*self._shaped(body)[:1], self.type(self._shaped(body)[1][0]))
        if kind in ("!ttg.memdesc", ""):
            return self._memdesc(*self._shaped(body))
        if kind == "!tt.tensordesc":
            shape, parts = self._shaped(body)
            if parts[0].startswith("tensor<"):
                inner = self.type(parts[0])
                return ty.TensorDesc(inner.shape, inner.element, inner.encoding)
            return ty.TensorDesc(shape, self.type(parts[0]), self.encoding(parts[1]) if len(parts) > 1 else None)
        return ty.Opaque(text)

    def _memdesc(self, shape: tuple[int, ...], parts: list[str]) -> Any:
        element, alloc, mutable, space = self.type(parts[0]), None, False, "smem"
        for part in parts[2:]:
            if part == "mutable":
                mutable = True
            elif re.fullmatch(r"(\d+x)*\d+", part):
                alloc = tuple(map(int, part.split("x")))
            elif "tensor_memory" in part or "tmem" in part:
                space = "tmem"
        return ty.MemDesc(shape, element, self.encoding(parts[1]), space, mutable, alloc)

    def _simple(self, text: str) -> Any:
        if re.fullmatch(r"[su]i\d+", text):  # only a descriptor's element has a sign, which decides nothing
            text = text[1:]
        try:
            return ty.Scalar(text)
        except (ValueError, IndexError):
            return ty.Opaque(text)

    def value(self, text: str) -> Any:
        """An attribute's value: a number, text, truth value, tuple, type or encoding."""
        text = text.strip()
        if text in ("true", "false"):
            return text == "true"
        if text.startswith('"'):
            return text[1 : text.rindex('"')]
        if text.startswith("array<"):
            inner = text[text.index("<") + 1 : -1].partition(":")[2]
            return tuple(self.value(part) for part in split_top(inner))
        if text.startswith("dense<"):
            return self.dense(text)
        if text.startswith("["):
            return tuple(self.value(part) for part in split_top(text[1:-1]))
        number, _, _ = text.partition(" : ")
        return _number(number)

    def dense(self, text: str) -> Any:
        inner = text[text.index("<") + 1 :]
        body = inner[: find_top(inner, ">")]
        if body.startswith("["):
            return tuple(self.value(part) for part in split_top(body[1:-1]))
        return self.value(body)

    def dictionary(self, text: str) -> dict[str, Any]:
        """``{axis = 1 : i32, unit}`` (without its braces)."""
        result = {}
        for part in split_top(text):
            name, sign, value = part.partition(" = ")
            result[name.strip().strip('"')] = self.value(value) if sign else True
        return result


def _number(text: str) -> Any:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
