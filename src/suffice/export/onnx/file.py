"""A fitted model as an ONNX file: the graph of its program, the declarations and the facts beside it.

Opset 21 (and `ai.onnx.ml` 4 for text), IR version 10. Floats are those of `dtype`; missing cells are NaN, or the text
that the metadata names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from importlib.metadata import version
from operator import add

import onnx
from onnx import TensorProto, helper

from ..._arrays import Array, NDArray, np
from ..._derived import once
from ...errors import ExportError, either, quoted, setting
from ...schema import Level
from ...table import Table
from ..lower import compare, report_it
from ..program import Column, PiecewiseLinear, Program, Stack
from .graph import FLOATS, Exact, Graph, Value
from .readings import OUTPUTS, Readings, inputs_of, level_texts
from .terms import Score, hats, term_score

MOST_BYTES = (1 << 31) - (1 << 20)  # a protocol buffer holds no more than 2 GiB
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}  # between the answers of a file and of its model

Feed = dict[str, NDArray[np.generic]]  # inputs of a file by name


def build(program: Program, dtype: str = "float64") -> onnx.ModelProto:
    """Return a program as an ONNX model with the outputs label (n,), probabilities (n, k) and any log_density (n,).

    ExportError where labels or levels have no place in ONNX, or where the file would be too large for its format.
    """
    g = Graph(dtype)
    readings = Readings(g, program)
    g.reserve([own.name for own in readings.inputs] + list(OUTPUTS))
    scores = _Scores(g, readings)
    joint = None if program.joint is None else _joint(g, scores, program.joint)
    if program.stack is None:
        assert joint is not None
        ranked = _ranked(g, program, joint)  # ties are ties here; the exponential need not keep them
        posterior = g.op("Softmax", ranked, axis=1)
    else:
        ranked = posterior = _pooled(g, scores, program.stack)
    labels, kind = _labels(program.classes)
    k = len(program.classes)
    outputs = [
        g.output("label", g.take(labels, g.op("ArgMax", ranked, axis=1, keepdims=0)), kind, ["n"]),
        g.output("probabilities", posterior, FLOATS[dtype], ["n", k]),
    ]
    if joint is not None:
        log = joint.log if joint.order is None else g.where(g.op("Greater", joint.order, 0.0), -np.inf, joint.log)
        outputs.append(g.output("log_density", g.logsumexp(log, 1), FLOATS[dtype], ["n"]))
    model = g.model(
        readings.infos(),
        outputs,
        producer_name="suffice",
        producer_version=version("suffice"),
        domain="suffice",
        model_version=1,
        doc_string=_description(program),
    )
    helper.set_model_props(model, _facts(program, readings, dtype))
    size = model.ByteSize()
    if size > MOST_BYTES:
        raise ExportError(
            f"The ONNX file of this {program.estimator} would take {size / 2**30:.1f} GiB; the format holds 2. "
            "Next: drop columns, or export to SQL."
        )
    return model


class _Scores:
    """The terms of a program, each made when first asked for; piecewise linear ones together."""

    def __init__(self, g: Graph, readings: Readings) -> None:
        self.g, self.readings = g, readings

    def of(self, number: int) -> Score:
        """Return what one term adds."""
        return once(self, number, lambda: term_score(self.g, self.readings, self.readings.program.terms[number]))

    def weighted(self, numbers: tuple[int, ...], weight: Array) -> Value:
        """Return Σ weight × term (n, k); terms of weight 0 are left out."""
        terms = self.readings.program.terms
        used = [(terms[number], number, float(w)) for number, w in zip(numbers, weight, strict=True) if w]
        lines = [(term, w) for term, _, w in used if isinstance(term, PiecewiseLinear)]
        parts = [hats(self.g, self.readings, [term for term, _ in lines], [w for _, w in lines])] if lines else []
        for term, number, w in used:
            if not isinstance(term, PiecewiseLinear):
                parts.append(self.of(number).log if w == 1.0 else self.of(number).log * w)
        if not parts:
            return self.g.filled(0.0, self.g.size(self.readings.first(), 0), len(self.readings.program.classes))
        return reduce(add, parts)


def _joint(g: Graph, scores: _Scores, numbers: tuple[int, ...]) -> Score:
    """Return log π_k + log p(x | k), the sum of terms, with the order of its zero."""
    program = scores.readings.program
    total = scores.weighted(numbers, np.ones(len(numbers)))
    order: Value | None = None
    for number in numbers:
        own = scores.of(number).order if not isinstance(program.terms[number], PiecewiseLinear) else None
        if own is not None:
            order = own if order is None else order + own
    return Score(total + program.log_prior, order)


def _ranked(g: Graph, program: Program, joint: Score) -> Value:
    """Return the joints of the classes whose density vanishes slowest; the prior where all have density zero."""
    score = joint.log
    if joint.order is not None:
        order = g.where(_is_zero(g, score), np.inf, joint.order)
        score = g.where(g.op("Equal", order, g.min(order, 1)), score, -np.inf)
    return g.where(_is_zero(g, g.max(score, 1)), program.log_prior, score)


def _is_zero(g: Graph, score: Value) -> Value:
    return g.op("IsInf", score, detect_positive=0)


def _pooled(g: Graph, scores: _Scores, stack: Stack) -> Value:
    """Return the stack's posterior; a row that says nothing has the classes' shares."""
    readings, program = scores.readings, scores.readings.program
    known = []
    if stack.known_readings:
        known.append(g.op("Not", g.op("IsNaN", readings.block(stack.known_readings))))
    if stack.known_codes:
        codes = readings.codes(stack.known_codes)
        most = np.array([len(program.codes[number].levels) for number in stack.known_codes])  # type: ignore[union-attr]
        known.append(g.op("And", g.op("GreaterOrEqual", codes, 0), g.op("Less", codes, most)))
    count = g.sum(g.integers(g.join(known, 1)), 1, keep=True) if known else None
    each = [
        scores.weighted(stack.terms, own) + np.asarray(bias) for own, bias in zip(stack.weight, stack.bias, strict=True)
    ]
    eta = _by_known(g, each, stack, count)
    posterior = g.op("Softmax", eta + stack.offset, axis=1) * (1.0 - stack.floor) + stack.floor * stack.prior
    return posterior if count is None else g.where(g.op("Greater", count, 0), posterior, stack.shares)


def _by_known(g: Graph, parts: Sequence[Value], stack: Stack, count: Value | None) -> Value:
    """Return the sum of what the weights give, by the number of cells that are known (n, 1)."""
    if count is None or len(parts) == 1:
        return parts[0]
    row = g.squeeze(g.op("Min", count, len(stack.by_known) - 1), 1)
    shares = g.take(stack.by_known, row)
    return reduce(add, [g.cut(shares, 1, w, w + 1) * part for w, part in enumerate(parts)])


def _labels(classes: tuple[Level, ...]) -> tuple[object, int]:
    """Return the class labels as a constant and the type of the output: text, whole numbers, truth values or floats."""
    if any(isinstance(label, str) for label in classes):
        return np.array([str(label) for label in classes], dtype=object), TensorProto.STRING
    if all(isinstance(label, bool) for label in classes):
        return np.array(classes, dtype=bool), TensorProto.BOOL
    if all(isinstance(label, int) for label in classes):
        beyond = [label for label in classes if not -(2**63) <= label < 2**63]  # type: ignore[operator]
        if beyond:
            raise ExportError(
                f"The classes {quoted(beyond)} do not fit into 64-bit integers, which ONNX needs. Next: make the "
                "labels text and fit again."
            )
        return np.array(classes, dtype=np.int64), TensorProto.INT64
    return Exact(np.array([float(label) for label in classes])), TensorProto.DOUBLE


def _description(program: Program) -> str:
    density = "log_density (n,), log p(x) of the known cells in nats"
    if program.joint is None:
        density = "no log_density, as the joint density of this model is a forest's, which has no short form"
    return (
        f"{program.estimator} of suffice, {len(program.columns)} columns, {len(program.classes)} classes. Inputs: one "
        "row per entry of the first axis; a missing cell is NaN, in columns of text the text that the metadata "
        "`columns` gives. Outputs: label (n,), the most probable class; probabilities (n, k) in the order of the "
        f"metadata `classes`; {density}."
    )


def _facts(program: Program, readings: Readings, dtype: str) -> dict[str, str]:
    columns = []
    for own in readings.inputs:
        for place, position in enumerate(own.columns):
            column = program.columns[position]
            fact: dict[str, object] = {"name": column.name, "kind": column.kind, "input": own.name}
            if len(own.columns) > 1:
                fact["place"] = place
            if own.missing is not None:
                fact |= {"missing": own.missing, "levels": level_texts(column, column.levels)}
            elif column.kind == "category":
                fact["levels"] = list(column.levels)
            columns.append(fact)
    return {
        "estimator": program.estimator,
        "classes": json.dumps(list(program.classes)),
        "columns": json.dumps(columns),
        "dtype": dtype,
    }


# --- the file beside its model ---


def feeds(program: Program, table: Table, order: Sequence[int], dtype: str) -> Feed:
    """Return a table as the inputs of an ONNX file; the program's column p stands at `order[p]` of the table."""
    found = {}
    for own in inputs_of(program):
        if own.missing is not None:
            (column,) = own.columns
            levels, codes = table.categories(order[column])
            texts = np.array([*map(str, levels), own.missing], dtype=object)
            found[own.name] = texts[codes][:, None]
        else:
            cells = [_numbers(program.columns[p], table, order[p]) for p in own.columns]
            found[own.name] = np.ascontiguousarray(np.column_stack(cells).astype(dtype))
    return found


def _numbers(column: Column, table: Table, position: int) -> Array:
    if column.kind != "category":
        return np.asarray(table.numeric([position])[:, 0], dtype=np.float64)
    levels, codes = table.categories(position)
    return np.array([*map(float, levels), np.nan])[codes]


def check(
    model: bytes, feed: Feed, dtype: str, expected: tuple[Sequence[Level], Array, Array], rounding: float = 0.0
) -> tuple[float, float]:
    """Return the largest differences of posteriors and of relative log densities between a file and its model.

    `expected` are the model's labels (n,), posteriors (n, k) and log densities (n,). ExportError where posteriors
    differ by more than 1e-9 and than `rounding` (1e-4 in float32), log densities by more than that of their size, or
    labels where no two posteriors are as near; or where the file cannot be run.
    """
    label, posterior, density = _run(model, feed)
    labels, posteriors, densities = expected
    other, advice = label != np.asarray(labels, dtype=label.dtype), report_it("writes the ONNX file")
    if dtype == "float32":
        rounding, advice = 0.0, f"use {setting('dtype', 'float64')}: this model needs more digits than float32 has"
    return compare("ONNX file", posterior, density, other, (posteriors, densities), TOLERANCE[dtype], advice, rounding)


def _run(model: bytes, feed: Feed) -> tuple[NDArray[np.generic], Array, Array | None]:
    """Return labels, posteriors and log densities of the file, None in place of densities that it has not."""
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as error:
        raise ExportError(
            "Checking an ONNX file needs onnxruntime, which is not installed. Next: pip install onnxruntime, or leave "
            f"{either('the check out (check=False)', 'out --check')}."
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors only; they are raised
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        label, posterior, *density = session.run(None, feed)
    except Exception as error:  # its exceptions have no common base
        raise ExportError(
            f"onnxruntime {onnxruntime.__version__} cannot run this file: {error}. Next: upgrade onnxruntime (1.21 or "
            f"newer is needed){either(', or leave the check out (check=False)', '')}."
        ) from error
    return label, posterior, density[0] if density else None
