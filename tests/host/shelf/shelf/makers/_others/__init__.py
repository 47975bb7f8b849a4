from about import About

about = About(name="others", device="cpu", tool="rocm-smi")
