"""A small way to write ONNX graphs: values with arithmetic, constants kept once, bodies of If and Scan.

Nothing here knows a model. Names inside the file are numbers, so that no column or class name can meet one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import TensorProto, helper, numpy_helper

from ..._arrays import IN_MEMORY, NDArray, np, rows_within

OPSET = 21
ML_DOMAIN, ML_OPSET = "ai.onnx.ml", 4
IR_VERSION = 10  # the newest that the runtimes of the last years read
FLOATS = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT}


def _operator(kind: str, swapped: bool = False) -> Callable[[Value, object], Value]:
    def operate(own: Value, other: object) -> Value:
        return own.graph.op(kind, *((other, own) if swapped else (own, other)))

    return operate


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in a graph; arithmetic with it adds nodes."""

    graph: Graph
    name: str
    __array_ufunc__ = None  # arrays leave arithmetic with a value to the value
    __add__, __radd__ = _operator("Add"), _operator("Add", swapped=True)
    __sub__, __rsub__ = _operator("Sub"), _operator("Sub", swapped=True)
    __mul__, __rmul__ = _operator("Mul"), _operator("Mul", swapped=True)
    __truediv__, __rtruediv__ = _operator("Div"), _operator("Div", swapped=True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", swapped=True)


@dataclass(frozen=True, slots=True)
class Exact:
    """A constant in float64 whatever the graph's floats are."""

    array: object


class Graph:
    """Nodes in the order they are asked for, in floats of one `dtype`; floating constants take it."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._scopes: list[list[onnx.NodeProto]] = [[]]
        self._initializers: list[onnx.TensorProto] = []
        self._known: dict[Hashable, Value] = {}
        self._count = 0
        self._reserved: frozenset[str] = frozenset()

    def reserve(self, names: Sequence[str]) -> None:
        """Keep these names for inputs and outputs."""
        self._reserved = frozenset(names)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def op(self, kind: str, *inputs: object, domain: str = "", **attributes: Any) -> Value:
        """Return the output of a new node; inputs that are no values become constants, None is left out."""
        return self.ops(kind, 1, *inputs, domain=domain, **attributes)[0]

    def ops(self, kind: str, outputs: int, *inputs: object, domain: str = "", **attributes: Any) -> list[Value]:
        """Return all outputs of a new node."""
        names = ["" if item is None else self.value(item).name for item in inputs]
        made = [self._fresh() for _ in range(outputs)]
        # onnxruntime before 1.22 names what it makes of nodes after them, and cannot tell two without names apart
        node = helper.make_node(kind, names, [v.name for v in made], made[0].name, domain=domain, **attributes)
        self._scopes[-1].append(node)
        return made

    def value(self, item: object) -> Value:
        """Return a value as it is, and anything else as a constant of its kind; floats in this graph's dtype."""
        if isinstance(item, Value):
            return item
        array = np.asarray(item.array if isinstance(item, Exact) else item)
        if array.dtype.kind == "f" and not isinstance(item, Exact):
            array = array.astype(self.dtype)
        elif array.dtype.kind in "iu":
            array = array.astype(np.int64)
        return self._constant(np.ascontiguousarray(array).reshape(array.shape))

    def _constant(self, array: NDArray[np.generic]) -> Value:
        if array.dtype.kind in "OU":
            key: Hashable = ("text", array.shape, tuple(array.ravel().tolist()))
        else:
            key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            found = self._known[key] = self._fresh()
            if array.dtype.kind in "OU":
                texts = [str(text).encode() for text in array.ravel().tolist()]
                tensor = TensorProto(name=found.name, data_type=TensorProto.STRING, dims=array.shape, string_data=texts)
            else:
                tensor = numpy_helper.from_array(array, found.name)
            self._initializers.append(tensor)
        return self._known[key]

    def _fresh(self) -> Value:
        self._count += 1
        while f"v{self._count}" in self._reserved:
            self._count += 1
        return Value(self, f"v{self._count}")

    @contextmanager
    def floats(self, dtype: str) -> Iterator[None]:
        """Take floating constants in another dtype for a while."""
        before, self.dtype = self.dtype, dtype
        try:
            yield
        finally:
            self.dtype = before

    # --- bodies -------------------------------------------------------------------------------------------------------

    def either(self, condition: Value, then: Callable[[], Value], other: Callable[[], Value]) -> Value:
        """Return `then()` or `other()`, only one of which is computed."""
        return self.op("If", condition, then_branch=self._body(then), else_branch=self._body(other))

    def scan(self, body: Callable[..., Value], *sequences: Value) -> Value:
        """Return body(…) of each entry of the sequences' first axes, stacked along a new first axis.

        onnxruntime before 1.24 must see how many axes the body's value has: let it end in a `reshape`.
        """
        entries = [self._fresh() for _ in sequences]
        graph = self._body(lambda: body(*entries), entries)
        return self.op("Scan", *sequences, body=graph, num_scan_inputs=len(sequences))

    def bounded(self, body: Callable[[Value], Value], x: Value, columns: int, cells: int) -> Value:
        """Return body(x) (n, k) of a matrix x (n, columns), in chunks of rows where n is large.

        `cells` is how many numbers the body makes of one row; zeros fill up the last chunk.
        """
        n, rows = self.rows(x), rows_within(8 * cells, IN_MEMORY, least=64)

        def chunked() -> Value:
            chunks = self.op("Div", n + (rows - 1), rows)
            pads = self.join([np.array([0, 0]), self.shape(chunks * rows - n), np.array([0])], 0)
            parts = self.reshape(self.op("Pad", x, pads), chunks, rows, columns)
            found = self.scan(lambda part: self.reshape(body(part), rows, -1), parts)
            flat = self.reshape(found, chunks * rows, self.size(found, 2))
            return self.op("Slice", flat, np.array([0]), self.shape(n), np.array([0]))

        return self.either(self.op("Greater", n, rows), chunked, lambda: body(x))

    def _body(self, make: Callable[[], Value], inputs: Sequence[Value] = ()) -> onnx.GraphProto:
        self._scopes.append([])
        result = self.op("Identity", make())  # an output must be made inside
        nodes = self._scopes.pop()
        infos = [_untyped(v.name) for v in inputs]
        return helper.make_graph(nodes, self._fresh().name, infos, [_untyped(result.name)])

    # --- shapes and sums ----------------------------------------------------------------------------------------------

    def reshape(self, x: Value, *shape: int | Value) -> Value:
        """Return x in another shape; entries are whole numbers (−1: what is left) or scalar values."""
        return self.op("Reshape", x, self.shape(*shape))

    def shape(self, *sizes: int | Value) -> Value:
        """Return a shape; sizes are whole numbers or values of one entry."""
        if not any(isinstance(size, Value) for size in sizes):
            return self.value(np.array(sizes))
        one = np.array([1])
        return self.join(
            [self.op("Reshape", size, one) if isinstance(size, Value) else np.array([size]) for size in sizes], 0
        )

    def filled(self, value: object, *sizes: int | Value) -> Value:
        """Return a tensor of one value."""
        return self.op("Expand", value, self.shape(*sizes))

    def join(self, parts: Sequence[object], axis: int) -> Value:
        """Return the parts one after the other along an axis."""
        return self.value(parts[0]) if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def size(self, x: Value, axis: int) -> Value:
        """Return the length of an axis, (1,)."""
        return self.op("Shape", x, start=axis, end=axis + 1)

    def take(self, x: object, index: object, axis: int = 0) -> Value:
        """Return entries of an axis by number."""
        return self.op("Gather", x, index, axis=axis)

    def cut(self, x: Value, axis: int, start: int, stop: int | None = None) -> Value:
        """Return a slice of an axis."""
        end = np.iinfo(np.int64).max if stop is None else stop
        return self.op("Slice", x, np.array([start]), np.array([end]), np.array([axis]))

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """Return x with axes of length one."""
        return self.op("Unsqueeze", x, np.array(axes))

    def squeeze(self, x: Value, *axes: int) -> Value:
        """Return x without axes of length one."""
        return self.op("Squeeze", x, np.array(axes))

    def rows(self, x: Value) -> Value:
        """Return the length of the first axis, a scalar."""
        return self.op("Squeeze", self.op("Shape", x, start=0, end=1), np.array([0]))

    def sum(self, x: Value, axis: int, keep: bool = False) -> Value:
        """Return sums along an axis."""
        return self.op("ReduceSum", x, np.array([axis]), keepdims=int(keep))

    def squares(self, x: Value, axis: int) -> Value:
        """Return sums of squares along an axis."""
        return self.op("ReduceSumSquare", x, np.array([axis]), keepdims=0)

    def max(self, x: Value, axis: int, keep: bool = True) -> Value:
        """Return maxima along an axis."""
        return self.op("ReduceMax", x, np.array([axis]), keepdims=int(keep))

    def min(self, x: Value, axis: int, keep: bool = True) -> Value:
        """Return minima along an axis."""
        return self.op("ReduceMin", x, np.array([axis]), keepdims=int(keep))

    def any(self, condition: Value) -> Value:
        """Return whether any entry holds, a scalar; False of none."""
        number = self.op("ReduceSum", self.op("Cast", condition, to=TensorProto.INT64), keepdims=0)
        return self.op("Greater", number, 0)

    def where(self, condition: object, x: object, y: object) -> Value:
        """Return x where the condition holds, else y."""
        return self.op("Where", condition, x, y)

    def known_or(self, x: Value, value: object) -> Value:
        """Return x with NaN replaced."""
        return self.where(self.op("IsNaN", x), value, x)

    def cast(self, x: Value, dtype: str | None = None) -> Value:
        """Return x as floats of a dtype, this graph's if not given."""
        return self.op("Cast", x, to=FLOATS[dtype or self.dtype])

    def integers(self, x: Value) -> Value:
        """Return x as 64-bit integers."""
        return self.op("Cast", x, to=TensorProto.INT64)

    def log1p(self, x: Value) -> Value:
        """Return log(1 + x) to full precision for x ≥ 0 (Higham, Accuracy and Stability, section 1.14.1)."""
        whole = x + 1.0
        same = self.op("Equal", whole, 1.0)
        return self.where(same, x, self.op("Log", whole) * (x / self.where(same, 1.0, whole - 1.0)))

    def logsumexp(self, x: Value, axis: int) -> Value:
        """Return log Σ exp(x) along an axis; −∞ where all are."""
        peak = self.max(x, axis)
        base = self.where(self.op("IsInf", peak), 0.0, peak)
        total = self.op("Log", self.sum(self.op("Exp", x - base), axis, keep=True))
        return self.squeeze(total + base, axis)

    def output(self, name: str, x: Value, kind: int, shape: Sequence[str | int]) -> onnx.ValueInfoProto:
        """Give a value the name of an output and return its declaration."""
        self._scopes[0].append(helper.make_node("Identity", [x.name], [name]))
        return helper.make_tensor_value_info(name, kind, shape)

    # --- the file -----------------------------------------------------------------------------------------------------

    def model(
        self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto], **facts: Any
    ) -> onnx.ModelProto:
        """Return the whole as a model; `facts` are fields of the file."""
        graph = helper.make_graph(self._scopes[0], "suffice", inputs, outputs, self._initializers)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML_DOMAIN, ML_OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, **facts)


def _untyped(name: str) -> onnx.ValueInfoProto:
    info = onnx.ValueInfoProto()
    info.name = name
    return info
