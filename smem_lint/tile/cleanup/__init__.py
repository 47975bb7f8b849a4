"""The general clean-up passes that Triton runs between its own: MLIR's canonicalizer, CSE, inliner … and Triton's TTIR passes."""
