"""What stands in a repository: files, imports, jit functions, autotune lists, launch sites. Text in, records out."""
