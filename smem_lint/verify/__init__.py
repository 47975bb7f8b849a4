"""The engines that need Triton or a GPU, and the comparison of the model with them."""
