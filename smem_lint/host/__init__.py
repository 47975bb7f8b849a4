"""Host Python evaluated abstractly, never executed: values, branches and unknowns to configs."""
