"""Typed operations on handles, deciding as Triton's ``TritonSemantic`` does (``triton/language/semantic.py``, 3.8.0).

Each function takes the context first, then handles or plain Python numbers, and emits the operations that Triton's front end
emits, in its order. What Triton refuses raises ``KernelError``.
"""
