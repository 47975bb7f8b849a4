"""A kernel's arguments bound as its specialization says, and its body visited."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from smem_lint.source.modules import Repository
from smem_lint.specialization import Specialization
from smem_lint.tile import dtypes
from smem_lint.tile.cleanup import inliner
from smem_lint.tile.frontend import branches, calls, expressions, loops, statements
from smem_lint.tile.frontend.calls import close_function, open_function
from smem_lint.tile.frontend.session import Session
from smem_lint.tile.frontend.visitor import Visitor
from smem_lint.tile.ir import Module
from smem_lint.tile.semantic.context import Options, ir_type
from smem_lint.tile.semantic.descriptor import Descriptor
from smem_lint.tile.types import I32, I64
from smem_lint.tile.unsupported import KernelError, TooLarge, Unsupported
from smem_lint.tile.values import Handle, flatten
from smem_lint.tile.versions import Version, decisions

_HANDLERS = (branches, calls, expressions, loops, statements)
"""Imported for the kinds of nodes that they enter."""


def build(repository: Repository, specialization: Specialization, version: Version = (3, 8), largest: int = 0) -> Module:
    """The tile program of one specialization, as Triton's front end and inliner make it. Nothing is cleaned up yet, unless
    functions were kept apart (see ``calls``): what the inliner then does begins with a clean-up of each.

    Raises KernelError where Triton refuses the kernel, Unsupported for what is not modelled, LookupError where the file or
    the kernel is not in the repository, TooLarge where ``largest`` (0: none) operations are not enough.
    """
    source = repository.module(specialization.file)
    if source is None:
        raise LookupError(f"{specialization.file} is not in the repository or cannot be read")
    node = source.find_function(specialization.kernel)
    if node is None:
        raise LookupError(f"{specialization.file} has no function {specialization.kernel}")
    spec = specialization
    module = Module(spec.num_warps, spec.num_stages, spec.num_ctas, spec.capability)
    module.version = version
    options = Options(spec.capability, spec.num_warps, spec.num_ctas, decisions=decisions(version))
    session = Session(repository, options, source, module, largest)
    visitor = Visitor(session, source, node, 0, None)
    visitor.builder.line = node.lineno
    try:
        _visit_kernel(visitor, node, spec)
    except (KernelError, Unsupported) as error:
        error.line, error.file = error.line or visitor.builder.line, error.file or source.file
        raise
    except RecursionError:
        raise Unsupported("expressions or calls that are nested too deeply", visitor.builder.line, source.file) from None
    if len(module.functions) > 1:
        inliner.run(module)
        if largest and sum(1 for _ in module.walk()) > largest:
            raise TooLarge(largest)
    return module


def _visit_kernel(v: Visitor, node: ast.FunctionDef, spec: Specialization) -> None:
    arguments = _arguments(v, node, spec)
    types: list[Any] = []
    attrs: list[Mapping[str, int]] = []
    for name, type_ in arguments.items():
        if type_ is not None:
            parts = _ir_types(v, type_)
            types += parts
            attrs += [spec.attrs.get(name, {}), *({} for _ in parts[1:])]
    op = open_function(v, spec.kernel, "public", False, types)
    op.attrs["arg_attrs"] = tuple(attrs)
    source = iter(op.body.args)
    keyword_only = {parameter.arg for parameter in node.args.kwonlyargs}
    for name, type_ in arguments.items():
        if type_ is None:
            value = constant_argument(spec.constexprs.get(name))
        else:
            value = _argument(type_, source)
            for part in flatten(value):
                part.name = part.name or name
        if name not in keyword_only:  # Triton does not bind these: the name is unknown in the body
            v.define(name, value)
    v.run(node.body)
    if any(flatten(value) for value, _ in v.returns):
        raise KernelError("a kernel cannot return a value")
    close_function(v)


def _arguments(v: Visitor, node: ast.FunctionDef, spec: Specialization) -> dict[str, Any]:
    """Type of each parameter, None for a compile-time one."""
    found: dict[str, Any] = {}
    for parameter in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
        name = parameter.arg
        if name not in spec.signature:
            raise KernelError(f"the specialization has no type for the argument {name}", node.lineno)
        text = spec.signature[name]
        try:
            found[name] = None if text == "constexpr" else dtypes.parse_signature(text)
        except ValueError as error:
            raise Unsupported(str(error), node.lineno) from None
    if node.args.vararg is not None:
        raise Unsupported("a kernel with variadic arguments", node.lineno)
    return found


def _ir_types(v: Visitor, type_: Any) -> list[Any]:
    """IR types of the function's arguments; a descriptor brings the tensor's sizes and strides along."""
    if isinstance(type_, dtypes.DescriptorType):
        ir_type(v, type_.block_type)
        return [type_.ir, *[I32] * type_.rank, *[I64] * type_.rank]
    return [ir_type(v, type_)]


def _argument(type_: Any, source: Any) -> Any:
    if isinstance(type_, dtypes.DescriptorType):
        handle = next(source)
        sizes = tuple(Handle(next(source), dtypes.INT32) for _ in range(type_.rank))
        strides = tuple(Handle(next(source), dtypes.INT64) for _ in range(type_.rank))
        return Descriptor(handle, type_.block_type, sizes, strides)
    return Handle(next(source), type_)


def constant_argument(value: Any) -> Any:
    """A ``constexprs`` entry of a specialization as the front end holds it; raises Unsupported for ``{"repr": …}``."""
    if isinstance(value, dict):
        if "dtype" in value:
            return dtypes.named(str(value["dtype"]))
        raise Unsupported(f"a compile-time argument {value.get('repr', value)}")
    if isinstance(value, list | tuple):
        return tuple(constant_argument(item) for item in value)
    return value
