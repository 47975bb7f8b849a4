"""Findings as text, JSON, SARIF …: one file per output format."""
