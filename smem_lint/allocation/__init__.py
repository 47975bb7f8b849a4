"""Scratch sizes, lifetimes, interference and offsets: from the last tile program to bytes."""
