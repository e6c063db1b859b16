"""A program as an ONNX file."""
