"""Random tile programs as IR text: arithmetic that invites folding, tiles, loads and stores, loops, branches.

``program(seed)`` is one module of one function. Every value that nothing else reads is stored, so that passes keep it.
"""

from __future__ import annotations

import random

_INTEGERS = ("i1", "i8", "i16", "i32", "i64")
_FLOATS = ("f16", "bf16", "f32")
_BINARY = (
    "addi", "subi", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "minsi",
    "maxui", "minui", "ceildivsi", "floordivsi",
)  # fmt: skip
_FLOAT_BINARY = ("addf", "subf", "mulf", "divf", "maxnumf", "minnumf", "maximumf", "minimumf", "remf")
_COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_FLOAT_COMPARISONS = ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno")
_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32}


def _tile(element: str, shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _parts(type_: str) -> tuple[str, tuple[int, ...]]:
    if not type_.startswith("tensor<"):
        return type_, ()
    *sizes, element = type_[7:-1].split("x")
    return element, tuple(map(int, sizes))


class _Program:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []
        self.depth = 1
        self.known: list[tuple[str, str]] = []
        self.read: set[str] = set()
        self.types = [self.random.choice(_INTEGERS), self.random.choice(("i32", "i64")), self.random.choice(_FLOATS), "i1", "i32"]
        tiles = ((16,), (16, 1), (1, 16), (16, 16), (1,))
        self.types += [_tile(self.random.choice((*_INTEGERS, *_FLOATS)), self.random.choice(tiles)) for _ in range(3)]
        self.types += [_tile("i32", (16,)), _tile("i1", (16,))]

    def text(self) -> str:
        args = [(f"%a{number}", type_) for number, type_ in enumerate(self.types)]
        pointers = {type_: f"%p{number}" for number, type_ in enumerate(dict.fromkeys(self._storable()))}
        self.pointers = pointers
        self.known = list(args)
        self.block(self.random.randint(6, 40))
        for name, type_ in self.known:
            if name not in self.read and name.startswith("%v"):
                self.store(name, type_)
        given = [f"{name}: {type_}" for name, type_ in args] + [f"{name}: {_pointer(type_)}" for type_, name in pointers.items()]
        body = "\n".join(self.lines)
        return f"module {{\n  tt.func public @f({', '.join(given)}) {{\n{body}\n    tt.return\n  }}\n}}\n"

    def _storable(self) -> list[str]:
        shapes = ((), (16,), (16, 1), (1, 16), (16, 16), (1,))
        elements = (*_INTEGERS, *_FLOATS)
        return [_tile(element, shape) if shape else element for element in elements for shape in shapes]

    def emit(self, text: str) -> None:
        self.lines.append("  " * (self.depth + 1) + text)

    def new(self, type_: str, text: str) -> str:
        name = f"%v{self.count}"
        self.count += 1
        self.emit(f"{name} = {text}")
        self.known.append((name, type_))
        return name

    def store(self, name: str, type_: str) -> None:
        if type_ in self.pointers:
            self.emit(f"tt.store {self.pointers[type_]}, {name} : {_pointer(type_)}")

    def constant(self, type_: str) -> str:
        element, shape = _parts(type_)
        name = f"%c{self.count}"
        self.count += 1
        if element in _FLOATS:
            number = self.random.choice(("0.000000e+00", "-0.000000e+00", "1.000000e+00", "-1.000000e+00", "5.000000e-01", "3.000000e+00"))
        elif element == "i1":
            number = self.random.choice(("true", "false"))
        else:
            number = str(self.random.choice((0, 0, 1, 1, -1, 2, 3, 4, 7, 16, 31, 64, 127, -128, -2)))
        if shape:
            self.emit(f"{name} = arith.constant dense<{number}> : {type_}")
        else:
            self.emit(f"{name} = arith.constant {number}" + ("" if element == "i1" else f" : {type_}"))
        return name

    def value(self, type_: str) -> str:
        found = [name for name, known in self.known if known == type_]
        if not found or self.random.random() < 0.3:
            return self.constant(type_)
        name = self.random.choice(found[-6:])
        self.read.add(name)
        return name

    def any_type(self, *elements: str) -> str:
        found = [type_ for _, type_ in self.known if not elements or _parts(type_)[0] in elements]
        return self.random.choice(found) if found else self.random.choice(elements)

    def block(self, length: int) -> None:
        for _ in range(length):
            kinds = [
                self.integer, self.integer, self.integer, self.compare, self.select, self.extend, self.truncate, self.floating,
                self.convert, self.widen, self.expand, self.load, self.store_some, self.bitwise, self.minmax_same,
            ]  # fmt: skip
            if self.depth < 4:
                kinds += [self.branch, self.branch, self.loop, self.while_loop]
            self.random.choice(kinds)()

    def integer(self) -> None:
        type_ = self.any_type(*_INTEGERS)
        a, b = self.value(type_), self.value(type_)
        self.new(type_, f"arith.{self.random.choice(_BINARY)} {a}, {b} : {type_}")

    def bitwise(self) -> None:
        type_ = self.any_type(*_INTEGERS)
        a, b = self.value(type_), self.value(type_)
        if self.random.random() < 0.4:
            b = a
        self.new(type_, f"arith.{self.random.choice(('andi', 'ori', 'xori', 'subi', 'addi'))} {a}, {b} : {type_}")

    def minmax_same(self) -> None:
        type_ = self.any_type(*_INTEGERS)
        a, b = self.value(type_), self.value(type_)
        inner = self.new(type_, f"arith.{self.random.choice(('addi', 'subi', 'xori', 'muli', 'andi'))} {a}, {b} : {type_}")
        self.read.add(inner)
        operands = [inner, self.random.choice((a, b))]
        self.random.shuffle(operands)
        name = self.random.choice(("addi", "subi", "xori", "muli", "andi", "divsi", "remsi"))
        self.new(type_, f"arith.{name} {operands[0]}, {operands[1]} : {type_}")

    def compare(self) -> None:
        if self.random.random() < 0.3:
            type_ = self.any_type(*_FLOATS)
            name, predicate = "cmpf", self.random.choice(_FLOAT_COMPARISONS)
        else:
            type_ = self.any_type(*_INTEGERS)
            name, predicate = "cmpi", self.random.choice(_COMPARISONS)
        a, b = self.value(type_), self.value(type_)
        shape = _parts(type_)[1]
        self.new(_tile("i1", shape) if shape else "i1", f"arith.{name} {predicate}, {a}, {b} : {type_}")

    def select(self) -> None:
        type_ = self.any_type()
        shape = _parts(type_)[1]
        condition_type = _tile("i1", shape) if shape and self.random.random() < 0.6 else "i1"
        condition, a, b = self.value(condition_type), self.value(type_), self.value(type_)
        written = f"{condition_type}, {type_}" if condition_type != "i1" or not shape else type_
        self.new(type_, f"arith.select {condition}, {a}, {b} : {written}")

    def extend(self) -> None:
        type_ = self.any_type("i1", "i8", "i16", "i32")
        element, shape = _parts(type_)
        wide = self.random.choice([name for name in _INTEGERS if _BITS[name] > _BITS[element]])
        result = _tile(wide, shape) if shape else wide
        self.new(result, f"arith.{self.random.choice(('extsi', 'extui'))} {self.value(type_)} : {type_} to {result}")

    def truncate(self) -> None:
        type_ = self.any_type("i8", "i16", "i32", "i64")
        element, shape = _parts(type_)
        narrow = self.random.choice([name for name in _INTEGERS if _BITS[name] < _BITS[element]])
        result = _tile(narrow, shape) if shape else narrow
        self.new(result, f"arith.trunci {self.value(type_)} : {type_} to {result}")

    def floating(self) -> None:
        type_ = self.any_type(*_FLOATS)
        if self.random.random() < 0.2:
            self.new(type_, f"arith.negf {self.value(type_)} : {type_}")
            return
        a, b = self.value(type_), self.value(type_)
        self.new(type_, f"arith.{self.random.choice(_FLOAT_BINARY)} {a}, {b} : {type_}")

    def convert(self) -> None:
        if self.random.random() < 0.5:
            type_ = self.any_type(*_INTEGERS)
            shape = _parts(type_)[1]
            result = _tile(self.random.choice(_FLOATS), shape) if shape else self.random.choice(_FLOATS)
            self.new(result, f"arith.{self.random.choice(('sitofp', 'uitofp'))} {self.value(type_)} : {type_} to {result}")
            return
        type_ = self.any_type(*_FLOATS)
        element, shape = _parts(type_)
        if element == "f32":
            name, other = "truncf", self.random.choice(("f16", "bf16"))
        else:
            name, other = "extf", "f32"
        result = _tile(other, shape) if shape else other
        self.new(result, f"arith.{name} {self.value(type_)} : {type_} to {result}")

    def widen(self) -> None:
        element = self.random.choice((*_INTEGERS, *_FLOATS))
        shape = self.random.choice(((16,), (16, 1), (1, 16), (16, 16)))
        result = _tile(element, shape)
        self.new(result, f"tt.splat {self.value(element)} : {element} -> {result}")

    def expand(self) -> None:
        found = [(name, type_) for name, type_ in self.known if type_.startswith("tensor<")]
        if not found:
            return
        name, type_ = self.random.choice(found)
        element, shape = _parts(type_)
        self.read.add(name)
        if shape == (16,):
            axis = self.random.choice((0, 1))
            result = _tile(element, (1, 16) if axis == 0 else (16, 1))
            self.new(result, f"tt.expand_dims {name} {{axis = {axis} : i32}} : {type_} -> {result}")
        elif shape in ((16, 1), (1, 16)):
            result = _tile(element, self.random.choice(((16, 16), shape)))
            self.new(result, f"tt.broadcast {name} : {type_} -> {result}")
        elif shape == (16, 16):
            if self.random.random() < 0.5:
                self.new(type_, f"tt.trans {name} {{order = array<i32: {self.random.choice(('1, 0', '0, 1'))}>}} : {type_} -> {type_}")
            else:
                result = _tile(element, self.random.choice(((256,), (16, 16))))
                self.new(result, f"tt.reshape {name} : {type_} -> {result}")

    def load(self) -> None:
        type_ = self.any_type()
        if type_ in self.pointers:
            self.new(type_, f"tt.load {self.pointers[type_]} : {_pointer(type_)}")

    def store_some(self) -> None:
        type_ = self.any_type()
        if type_ in self.pointers:
            self.store(self.value(type_), type_)

    def nested(self, length: int, results: list[str], handed: str) -> None:
        """Operations of an inner block, and its terminator with values of the types ``results``."""
        outer, self.depth = list(self.known), self.depth + 1
        self.block(length)
        values = [self.value(type_) for type_ in results]
        self.emit(handed.replace("VALUES", ", ".join(values)).replace("TYPES", ", ".join(results)))
        self.known, self.depth = outer, self.depth - 1

    def _names(self, types: list[str]) -> str:
        name = f"%v{self.count}"
        self.count += 1
        self.known += [(f"{name}#{number}" if len(types) > 1 else name, type_) for number, type_ in enumerate(types)]
        return f"{name}:{len(types)}" if len(types) > 1 else name

    def _carried(self) -> list[str]:
        return [self.any_type() for _ in range(self.random.choice((0, 1, 1, 2, 3)))]

    def branch(self) -> None:
        results = self._carried()
        condition = self.value("i1")
        before = list(self.known)
        name = self._names(results) if results else ""
        after, self.known = self.known, before
        handed = "scf.yield VALUES : TYPES" if results else "scf.yield"
        self.emit(f"{name + ' = ' if name else ''}scf.if {condition}{' -> (' + ', '.join(results) + ')' if results else ''} {{")
        self.nested(self.random.randint(0, 4), results, handed)
        if results or self.random.random() < 0.5:
            self.emit("} else {")
            self.nested(self.random.randint(0, 3), results, handed)
        self.emit("}")
        self.known = after

    def loop(self) -> None:
        results = self._carried()
        bounds = [self.value("i32") if self.random.random() < 0.4 else self.constant_bound(number) for number in range(3)]
        inits = [self.value(type_) for type_ in results]
        induction = f"%i{self.count}"
        self.count += 1
        args = [f"%x{self.count}_{number}" for number in range(len(results))]
        before = list(self.known)
        name = self._names(results) if results else ""
        after, self.known = self.known, [*before, (induction, "i32"), *zip(args, results, strict=True)]
        carried = ", ".join(f"{arg} = {init}" for arg, init in zip(args, inits, strict=True))
        head = f"scf.for {induction} = {bounds[0]} to {bounds[1]} step {bounds[2]}"
        if results:
            head = f"{name} = {head} iter_args({carried}) -> ({', '.join(results)})"
        self.emit(f"{head} : i32 {{")
        self.nested(self.random.randint(0, 6), results, "scf.yield VALUES : TYPES" if results else "scf.yield")
        self.emit("}")
        self.known = after

    def constant_bound(self, number: int) -> str:
        name = f"%c{self.count}"
        self.count += 1
        self.emit(f"{name} = arith.constant {self.random.choice(((0, 0, 1), (1, 2, 4, 8, 0), (1, 1, 2, 4))[number])} : i32")
        return name

    def while_loop(self) -> None:
        types = self._carried()
        inits = [self.value(type_) for type_ in types]
        handed = [self.random.choice(types) for _ in types] if types else []
        args = [f"%w{self.count}_{number}" for number in range(len(types))]
        inner = [f"%y{self.count}_{number}" for number in range(len(handed))]
        before = list(self.known)
        name = self._names(handed) if handed else ""
        after, self.known = self.known, [*before, *zip(args, types, strict=True)]
        carried = ", ".join(f"{arg} = {init}" for arg, init in zip(args, inits, strict=True))
        start = f"({carried}) " if types else ""
        self.emit(f"{name + ' = ' if name else ''}scf.while {start}: ({', '.join(types)}) -> ({', '.join(handed)}) {{")
        self.depth += 1
        self.block(self.random.randint(0, 2))
        condition = self.value("i1")
        values = [self.value(type_) for type_ in handed]
        self.emit(f"scf.condition({condition})" + (f" {', '.join(values)} : {', '.join(handed)}" if handed else ""))
        self.depth -= 1
        self.emit("} do {")
        self.emit(f"^bb0({', '.join(f'{arg}: {type_}' for arg, type_ in zip(inner, handed, strict=True))}):" if handed else "^bb0:")
        self.known = [*before, *zip(inner, handed, strict=True)]
        self.nested(self.random.randint(0, 3), types, "scf.yield VALUES : TYPES" if types else "scf.yield")
        self.emit("}")
        self.known = after


def _pointer(type_: str) -> str:
    element, shape = _parts(type_)
    return _tile(f"!tt.ptr<{element}>", shape) if shape else f"!tt.ptr<{element}>"


def program(seed: int) -> str:
    """The module's text, the same for the same seed."""
    return _Program(seed).text()
