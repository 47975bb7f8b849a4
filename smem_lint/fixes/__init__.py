"""Codemods behind ``check --fix``: libcst finds the nodes and writes the new ones, which replace spans of bytes.

All that a fix does not name stays byte for byte as it was: formatting, comments, line ends, encoding. A codemod decides nothing
about shared memory: what it may change, and whether the result holds, the estimates of ``check`` tell.
"""
