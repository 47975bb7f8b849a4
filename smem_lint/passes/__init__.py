"""The compiler's decisions that can change shared memory, one file each, in the compiler's order."""
