"""A kernel as a program over tiles: types, operations, the front end and its clean-up."""
