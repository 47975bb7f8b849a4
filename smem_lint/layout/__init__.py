"""Linear layouts over GF(2), and the encodings that name them."""
