"""Triton's IR text to a tile program, so that each stage of the model can be held against the compiler's own pass.

``parse_module`` reads what ``str(module)`` or ``module.str_nodebug()`` prints (Triton 3.5 to 3.9); ``print_module`` writes a
tile program for people to read; ``difference`` says where two programs part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from smem_lint.tile import types as ty
from smem_lint.tile.ir import Block, Module, Op, Region, Value
from smem_lint.verify.ir_attributes import Attributes, find_top, split_top
from smem_lint.verify.ir_results import NO_RESULT, float_from_bits, implied_types, scales_last, segments_of

_LOC = re.compile(r" loc\((?:#\w+|unknown|callsite.*|\"[^\"]*\".*)\)$")
_INNER_LOC = re.compile(r' loc\((?:#\w+|unknown|callsite\((?:[^()]|\([^()]*\))*\)|"[^"]*"(?:\([^()]*\)|:\d+:\d+)?)\)')
_WORDS = {
    "arith.cmpi": ("predicate",),
    "arith.cmpf": ("predicate",),
    "tt.get_program_id": ("axis",),
    "tt.get_num_programs": ("axis",),
    "tt.atomic_rmw": ("rmw_op", "sem", "scope"),
    "tt.atomic_cas": ("sem", "scope"),
    "tt.descriptor_reduce": ("kind",),
    "ttg.barrier": ("address_space",),
}
_TOKEN = {"ttg.async_wait", "ttg.async_commit_group", "ttg.async_copy_global_to_local", "ttg.async_tma_copy_global_to_local"}


class IRTextError(ValueError):
    """The text is not IR that this parser knows; the message holds the line."""


def parse_module(text: str) -> Module:
    """The tile program of a module's text; raises IRTextError."""
    return _Parser(text).module()


class _Lines:
    """The lines that hold operations, without locations and comments."""

    def __init__(self, text: str) -> None:
        self.aliases: dict[str, str] = {}
        self.lines: list[str] = []
        self.at = 0
        for raw in text.splitlines():
            line = _LOC.sub("", raw).strip()
            if line.startswith("#"):
                name, _, value = line.partition(" = ")
                self.aliases[name] = value
            elif line and not line.startswith(("//", "{-#", "#-}")):
                line = _INNER_LOC.sub("", line) if " loc(" in line else line
                self.lines.append(line)

    def peek(self) -> str:
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def next(self) -> str:
        line = self.peek()
        self.at += 1
        return line


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = _Lines(text)
        self.attributes = Attributes(self.lines.aliases)
        self.values: dict[str, Value] = {}
        self.forward: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}

    def module(self) -> Module:
        module = Module()
        head = self.lines.next()
        if not head.startswith("module"):
            raise IRTextError(f"expected a module, got {head[:80]!r}")
        brace = head.find("attributes {")
        if brace >= 0:
            attrs = self.attributes.dictionary(head[brace + 12 : head.rindex("}")])
            module.num_warps = attrs.get("ttg.num-warps", 4)
            module.num_ctas = attrs.get("ttg.num-ctas", 1)
            module.capability = int(attrs.get("ttg.target", "cuda:120").split(":")[1])
            module.attrs = attrs
        while self.lines.peek().startswith("tt.func"):
            module.functions.append(self.function(self.lines.next()))
        return module

    def function(self, line: str) -> Op:
        match = re.match(r'tt\.func (public |private )?@("[^"]*"|[\w.$]+)\(', line)
        if match is None:
            raise IRTextError(f"not a function: {line[:120]}")
        close = match.end() + find_top(line[match.end() :], ")")
        names, types, arg_attrs = [], [], []
        for part in split_top(line[match.end() : close]):
            name, _, rest = part.partition(": ")
            type_text, _, attrs = rest.partition(" {")
            names.append(name)
            types.append(self.attributes.type(type_text))
            arg_attrs.append(self.attributes.dictionary(attrs.rstrip("}")) if attrs else {})
        op = Op("tt.func", regions=1)
        tail = line[close + 1 :]
        found = re.search(r"noinline = (\w+)", tail)
        arrow = re.match(r" -> (.*?)(?: attributes .*)?(?: \{)$", tail)
        op.attrs = {
            "name": match.group(2).strip('"'), "visibility": (match.group(1) or "public").strip(), "arg_attrs": tuple(arg_attrs),
            "noinline": bool(found and found.group(1) == "true"),
            "result_types": tuple(self._types(arrow.group(1))) if arrow else (),
        }  # fmt: skip
        found = re.search(r"allocation\.offset = (\d+)", tail)
        if found:
            op.attrs["allocation.offset"] = int(found.group(1))
        self.values, self.forward = {}, {}
        self.region(op.regions[0], names, types)
        for name, value in self.forward.items():
            raise IRTextError(f"{name} is never defined ({value!r})")
        return op

    def region(self, region: Region, names: list[str], types: list[Any]) -> str:
        """Read up to the line that closes the region, and return that line."""
        outer = self.blocks
        self.blocks = {}
        block = None
        if not self.lines.peek().startswith("^"):
            block = region.add_block(types)
            self._bind(names, block.args)
        while True:
            line = self.lines.next()
            if not line:
                raise IRTextError("the text ends within a region")
            if line.startswith("}"):
                self.blocks = outer
                return line
            if line.startswith("^"):
                block = self._label(region, line, names, types)
                continue
            assert block is not None
            self.operation(block, line)

    def _label(self, region: Region, line: str, names: list[str], types: list[Any]) -> Block:
        match = re.match(r"\^(\w+)(?:\((.*)\))?:", line)
        assert match is not None
        block = self._block(match.group(1))
        block.region = region
        region.blocks.append(block)
        if match.group(2):
            pairs = [part.partition(": ") for part in split_top(match.group(2))]
            for _, _, type_text in pairs:
                block.add_arg(self.attributes.type(type_text))
            self._bind([name for name, _, _ in pairs], block.args)
        elif len(region.blocks) == 1 and types:
            for type_ in types:
                block.add_arg(type_)
            self._bind(names, block.args)
        return block

    def _block(self, name: str) -> Block:
        return self.blocks.setdefault(name, Block())

    def _bind(self, names: list[str], values: list[Value]) -> None:
        for name, value in zip(names, values, strict=True):
            value.name = name.lstrip("%")
            self.values[name] = value
            early = self.forward.pop(name, None)
            if early is not None:
                early.replace_all_uses(value)

    def _value(self, name: str, type_: Any = None) -> Value:
        found = self.values.get(name) or self.forward.get(name)
        if found is None:
            found = self.forward[name] = Value(type_ or ty.Opaque("?"), None, Block(), 0)
        return found

    def _types(self, text: str) -> list[Any]:
        text = text.strip()
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1]
        return [self.attributes.type(part) for part in split_top(text)]

    def operation(self, block: Block, line: str) -> None:
        match = re.match(r"((?:%[\w$.#-]+(?::\d+)?(?:, )?)+) = (.*)$", line, re.S)
        names: list[str] = []
        rest = line
        if match is not None:
            for part in match.group(1).split(", "):
                name, _, count = part.partition(":")
                names += [f"{name}#{i}" for i in range(int(count))] if count else [name]
            rest = match.group(2)
        op = self._body(rest)
        block.append(op)
        if names and len(names) != len(op.results):
            raise IRTextError(f"{len(op.results)} results for {line[:160]}")
        self._bind(names, op.results)
        if match is not None and ":" in match.group(1) and len(op.results) == 1:
            self.values[names[0].split("#")[0]] = op.results[0]

    def _body(self, text: str) -> Op:
        name = re.match(r'"?([\w.]+)"?', text)
        if name is None:
            raise IRTextError(f"no operation in {text[:120]}")
        special = {
            "scf.for": self._for, "scf.if": self._if, "scf.while": self._while, "arith.constant": self._constant,
            "cf.br": self._branch, "cf.cond_br": self._branch, "ttg.warp_specialize": self._unknown_region,
        }.get(name.group(1))  # fmt: skip
        if special is not None:
            return special(name.group(1), text[name.end() :].strip())
        if text.startswith('"') and text.rstrip().endswith("({"):
            return self._generic(name.group(1), text[name.end() :])
        return self._plain(name.group(1), text[name.end() :].strip())

    def _unknown_region(self, name: str, text: str) -> Op:
        raise IRTextError(f"{name} is not read")

    def _constant(self, name: str, text: str) -> Op:
        if text.startswith("{"):
            text = text[find_top(text[1:], "}") + 2 :].strip()
        cut = find_top(text, " : ")
        value_text, type_ = (text, ty.I1) if cut < 0 else (text[:cut], self.attributes.type(text[cut + 3 :]))
        value = self.attributes.value(value_text)
        element = ty.element_of(type_)
        if getattr(element, "is_float", False) and isinstance(value, int):
            value = float_from_bits(value, element)
        return Op(name, (), (type_,), {"value": value})

    def _assigned(self, text: str) -> tuple[list[str], list[Value]]:
        names, values = [], []
        for part in split_top(text):
            left, _, right = part.partition(" = ")
            names.append(left)
            values.append(self._value(right))
        return names, values

    def _for(self, name: str, text: str) -> Op:
        match = re.match(r"(unsigned )?(%[\w$.-]+) = (%[\w#$.-]+) to (%[\w#$.-]+) step (%[\w#$.-]+)(.*)\{$", text, re.S)
        if match is None:
            raise IRTextError(f"scf.for {text[:120]}")
        rest, names, result_types = match.group(6).strip(), [match.group(2)], []
        inits: list[Value] = []
        if rest.startswith("iter_args("):
            close = 10 + find_top(rest[10:], ")")
            carried, inits = self._assigned(rest[10:close])
            names += carried
            rest = rest[close + 1 :].strip()
            cut = find_top(rest, " : ")
            arrow = rest if cut < 0 else rest[:cut]
            rest = "" if cut < 0 else rest[cut:]
            result_types = self._types(arrow.strip()[2:].strip())
        induction = self.attributes.type(rest.strip()[1:].strip()) if rest.strip().startswith(":") else ty.I32
        bounds = [self._value(match.group(i)) for i in (3, 4, 5)]
        op = Op(name, [*bounds, *inits], result_types, regions=1)
        if match.group(1):
            op.attrs["unsigned"] = True
        closing = self.region(op.regions[0], names, [induction, *result_types])
        self._closing_attributes(op, closing)
        self._implied_yield(op)
        return op

    def _implied_yield(self, op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                if block.last is None or not block.last.name.endswith(("yield", "return", "condition", "br")):
                    block.append(Op("scf.yield"))

    def _closing_attributes(self, op: Op, closing: str) -> None:
        match = re.search(r"\{(.*)\}", closing[1:])
        if match is not None:
            op.attrs.update(self.attributes.dictionary(match.group(1)))

    def _if(self, name: str, text: str) -> Op:
        match = re.match(r"(%[\w#$.-]+)(?: -> \((.*)\))? \{$", text, re.S)
        if match is None:
            raise IRTextError(f"scf.if {text[:120]}")
        op = Op(name, [self._value(match.group(1))], self._types(match.group(2) or ""), regions=2)
        closing = self.region(op.regions[0], [], [])
        if closing.startswith("} else {"):
            closing = self.region(op.regions[1], [], [])
        self._closing_attributes(op, closing)
        self._implied_yield(op)
        return op

    def _while(self, name: str, text: str) -> Op:
        names: list[str] = []
        inits: list[Value] = []
        if text.startswith("("):
            close = 1 + find_top(text[1:], ")")
            names, inits = self._assigned(text[1:close])
            text = text[close + 1 :].strip()
        match = re.match(r": \((.*?)\) -> (.*) \{$", text, re.S)
        if match is None:
            raise IRTextError(f"scf.while {text[:120]}")
        op = Op(name, inits, self._types(match.group(2)), regions=2)
        self.region(op.regions[0], names, self._types(match.group(1)))
        closing = self.region(op.regions[1], [], [])
        self._closing_attributes(op, closing)
        self._implied_yield(op)
        return op

    def _branch(self, name: str, text: str) -> Op:
        operands: list[Value] = []
        segments = []
        if name == "cf.cond_br":
            condition, _, text = text.partition(", ")
            operands.append(self._value(condition))
            segments.append(1)
        op_blocks = []
        for part in split_top(re.sub(r"\{[^{}]*\}$", "", text).strip()):
            match = re.match(r"\^(\w+)(?:\((.*)\))?$", part, re.S)
            assert match is not None, part
            op_blocks.append(self._block(match.group(1)))
            given = []
            if match.group(2):
                given = [self._value(v) for v in split_top(match.group(2)[: find_top(match.group(2), " : ")])]
            operands += given
            segments.append(len(given))
        op = Op(name, operands, (), {"segments": tuple(segments)})
        op.successors = tuple(op_blocks)
        return op

    def _generic(self, name: str, text: str) -> Op:
        match = re.match(r"\((.*?)\) ?(?:<\{(.*)\}>)? ?\(\{$", text.strip(), re.S)
        if match is None:
            raise IRTextError(f"{name} {text[:120]}")
        op = Op(name, [self._value(v) for v in split_top(match.group(1))], (), regions=1)
        if match.group(2):
            op.attrs.update(self.attributes.dictionary(match.group(2)))
        closing = self.region(op.regions[0], [], [])
        match = re.match(r"\}\)(?: \{(.*)\})? : \((.*)\) -> (.*)$", closing, re.S)
        if match is None:
            raise IRTextError(f"{name} closes with {closing[:120]}")
        if match.group(1):
            op.attrs.update(self.attributes.dictionary(match.group(1)))
        op.results = [Value(type_, op, None, i) for i, type_ in enumerate(self._types(match.group(3)))]
        return op

    def _plain(self, name: str, text: str) -> Op:
        cut = find_top(text, " : ")
        if cut < 0 and text.startswith(": "):
            head, signature = "", text[2:]
        elif cut < 0:
            arrow = find_top(text, "-> ")
            head, signature = (text, "") if arrow < 0 else (text[:arrow], text[arrow:])
        else:
            head, signature = text[:cut], text[cut + 3 :]
        attrs, head = self._head_attributes(head)
        offsets = re.search(r"\[([-\d, ]+)\]", head) if name == "ttg.memdesc_subslice" else None
        if offsets is not None:
            attrs["offsets"] = tuple(int(part) for part in split_top(offsets.group(1)))
        if name in ("tt.call",):
            attrs["callee"] = re.match(r'@("[^"]*"|[\w.$]+)', head).group(1).strip('"')  # type: ignore[union-attr]
            head = head[head.index("(") :]
        if name == "scf.condition":
            head = head.replace("(", "").replace(")", " ")
        parts = split_top(head)
        for word, part in zip(_WORDS.get(name, ()), parts, strict=False):
            attrs[word] = part
        operands = [self._value(v) for v in re.findall(r"%[\w$.#-]+", head)]
        segments = segments_of(name, head)
        if segments is not None:
            attrs["segments"] = segments
        if name == "tt.dot_scaled" and segments is not None:
            operands = scales_last(operands, *segments[3:])
        if name in ("tt.descriptor_store", "tt.descriptor_reduce"):
            operands = [operands[0], operands[-1], *operands[1:-1]]  # the definition has the indices last
        if name == "tt.print" and signature:
            operands = [self._value(v) for v in re.findall(r"%[\w$.#-]+", signature)]
        if name == "tt.reshape":
            attrs.update((flag, True) for flag in ("allow_reorder", "efficient_layout") if flag in head.split())
        op = Op(name, operands, (), attrs)
        types = self._result_types(name, signature, operands)
        op.results = [Value(type_, op, None, i) for i, type_ in enumerate(types)]
        return op

    def _head_attributes(self, head: str) -> tuple[dict[str, Any], str]:
        attrs: dict[str, Any] = {}
        brace = find_top(head, "{")
        while brace >= 0:
            close = brace + 1 + find_top(head[brace + 1 :], "}")
            attrs.update(self.attributes.dictionary(head[brace + 1 : close]))
            head = head[:brace] + head[close + 1 :]
            brace = find_top(head, "{")
        for match in list(re.finditer(r"\b(\w+) = ([\w.]+)", head)):
            attrs[match.group(1)] = self.attributes.value(match.group(2))
        head = re.sub(r"\b(\w+) = ([\w.]+)", "", head)
        text = re.match(r'"((?:[^"\\]|\\.)*)"', head)
        if text is not None:
            attrs["text"] = text.group(1)
            head = head[text.end() :]
        return attrs, head.strip()

    def _result_types(self, name: str, signature: str, operands: list[Value]) -> list[Any]:
        if name in _TOKEN:
            return [ty.ASYNC_TOKEN]
        arrow = find_top(signature, "-> ")
        if arrow >= 0:
            if name in ("ttg.local_store", "ttng.async_tma_copy_global_to_local", "ttng.tmem_store", "ttng.tmem_copy"):
                return []
            found = self._types(signature[arrow + 3 :])
            return found * 2 if name == "tt.split" else found
        if not signature or name in NO_RESULT:
            return []
        to = find_top(signature, " to ")
        if to >= 0:
            return [self.attributes.type(signature[to + 4 :])]
        types = [self.attributes.type(part) for part in split_top(signature)]
        return implied_types(name, types)


def print_module(module: Module) -> str:
    """The program as text, close to MLIR's, for people."""
    from smem_lint.verify.ir_print import printed

    return printed(module)


def difference(ours: Module, theirs: Module) -> str | None:
    """Where two programs first part, or None; see ``ir_difference``."""
    from smem_lint.verify.ir_difference import first_difference

    return first_difference(ours, theirs)


def operations(module: Module) -> Iterator[Op]:
    return module.walk()
