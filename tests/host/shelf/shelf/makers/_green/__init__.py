from about import About

about = About(name="green", device="cuda", tool="nvidia-smi")
GENERATIONS = {"9": "hopper"}
