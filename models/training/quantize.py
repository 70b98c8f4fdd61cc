"""A float32 graph -> the same with its weights as whole numbers of 4, 6 or 8 bits, each with a scale, and nodes that turn them back; a table that is nearly empty as what is in it;
and the weights of such a graph.

ONNX Runtime does once, when it loads the file, what depends on constants alone: in a step, these nodes cost nothing.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

QUANTIZED_FROM = 2000  # numbers; smaller tensors stay as they are
# Fewest bits that hold what rounding.py put on so few steps, 8 for the rest; the list of the spelling has 4.
MOST, SIX_BITS_MOST, FOUR_BITS_MOST = 127, 31, 7
ON_STEPS = 1e-9  # of a tensor's energy
# Of these a step picks single rows: they have a scale for each column, there are too many rows.
LOOKED_UP = "embedding.weight", "groups.weight"
LISTED = "groups.weight"
GAP_MOST = 255
SHARED = {
    "six.bits": np.array(6, np.uint8),
    "six.values": np.array(64, np.uint8),
    "six.places": np.array([[1, 4, 16]], np.uint8),
    "six.middle": np.array(32, np.float32),
    "four.bits": np.array(4, np.uint8),
    "four.values": np.array(16, np.uint8),
    "four.middle": np.array(8, np.float32),
    "flat": np.array([-1]),
    "table.axis": np.array(0),
}


def rounded(rows: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers from -most to most, and a scale for each row. Clipping a row's few largest weights often costs less than coarse steps."""
    largest = np.maximum(np.abs(rows).max(1), 1e-12)
    best, least = largest / most, np.full(len(rows), np.inf)
    for shrink in np.linspace(0.6, 1, 21):
        scale = largest * shrink / most
        error = ((np.clip(np.round(rows / scale[:, None]), -most, most) * scale[:, None] - rows) ** 2).sum(1)
        best, least = np.where(error < least, scale, best), np.minimum(error, least)
    return np.clip(np.round(rows / best[:, None]), -most, most).astype(np.int8), best.astype(np.float32)


def fewest(rows: np.ndarray) -> int:
    """Of the numbers of steps those that hold what is on so few already, else MOST."""
    for most in (FOUR_BITS_MOST, SIX_BITS_MOST):
        whole, scale = rounded(rows, most)
        if np.square(whole * scale[:, None] - rows).sum() < ON_STEPS * np.square(rows).sum():
            return most
    return MOST


def packed(whole: np.ndarray) -> np.ndarray:
    """Numbers from -32 to 31, four in three bytes: (3, a quarter as many). The lower six bits hold the first three quarters, the upper two the last one."""
    quarters = (whole.reshape(4, -1) + 32).astype(np.uint8)
    return quarters[:3] | ((quarters[3] >> np.array([[0], [2], [4]], np.uint8)) % 4 << 6)


def unpacked(three: np.ndarray) -> np.ndarray:
    upper = three >> 6
    last = upper[:1] + 4 * upper[1:2] + 16 * upper[2:]
    return np.concatenate([three % 64, last]).astype(np.int8) - 32


def packed_by_two(whole: np.ndarray) -> np.ndarray:
    """Numbers from -8 to 7: (1, half as many). The lower four bits hold the first half."""
    halves = (whole.reshape(2, 1, -1) + 8).astype(np.uint8)
    return halves[0] | halves[1] << 4


def unpacked_by_two(two: np.ndarray) -> np.ndarray:
    return np.concatenate([two % 16, two >> 4]).astype(np.int8) - 8


def sparse(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers below 64 -> the gaps in front of those that are not 0, and these. Where a gap is more than a byte holds, zeros stand in it; the last number stands there as often as makes a multiple of four of them."""
    places = np.flatnonzero(table)
    gaps = np.diff(places, prepend=0)
    whole = np.maximum(gaps - 1, 0) // GAP_MOST
    ends = np.cumsum(whole + 1)
    bytes_, numbers = np.full(ends[-1], GAP_MOST, np.uint8), np.zeros(ends[-1], np.uint8)
    bytes_[ends - 1], numbers[ends - 1] = gaps - whole * GAP_MOST, table.flat[places]
    missing = -len(numbers) % 4
    return np.pad(bytes_, (0, missing)), np.pad(numbers, (0, missing), "edge")


class Restored:
    """The tensors that a tensor is stored as, and the nodes that give it back under its old name: a float one as whole numbers with scales, a table of bytes as what is not 0 in it."""

    def __init__(self, tensor: onnx.TensorProto):
        self.name = tensor.name
        self.tensors: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        if tensor.data_type == TensorProto.FLOAT:
            self._weight(numpy_helper.to_array(tensor))
        else:
            self._table(numpy_helper.to_array(tensor))

    def _weight(self, weight: np.ndarray):
        by_column = self.name.endswith(LOOKED_UP)
        rows = weight.T if by_column else weight.reshape(len(weight), -1)
        most = FOUR_BITS_MOST if self.name.endswith(LISTED) else fewest(rows)
        whole, scale = rounded(rows, most)
        whole = (whole.T if by_column else whole).reshape(weight.shape)
        if most == MOST:
            number = self._cast(self._stored("int8", whole), TensorProto.FLOAT)
        else:
            four = most == FOUR_BITS_MOST
            flat = self._from_four_bits(whole) if four else self._from_six_bits(whole)
            positive = self._cast(self._node("Reshape", flat, self._stored("shape", np.array(weight.shape))), TensorProto.FLOAT)
            number = self._node("Sub", positive, "four.middle" if four else "six.middle")
        scales = self._stored("scale", scale if by_column else scale.reshape(-1, *[1] * (weight.ndim - 1)))
        self._node("Mul", number, scales, output=self.name)

    def _table(self, table: np.ndarray):
        gaps, numbers = sparse(table)
        places = self._node("CumSum", self._cast(self._stored("gaps", gaps), TensorProto.INT32), "table.axis")
        empty = self._node("ConstantOfShape", self._stored("shape", np.array(table.shape)), value=numpy_helper.from_array(np.zeros(1, np.uint8)))
        self._node("ScatterElements", empty, places, self._from_six_bits(numbers.astype(np.int8) - 32), output=self.name)

    def _from_six_bits(self, whole: np.ndarray) -> str:
        """In bytes as long as may be: all that these nodes give is in memory at once when the file is loaded."""
        three = self._stored("int6", packed(whole))
        upper = self._node("BitShift", three, "six.bits", direction="RIGHT")
        lower = self._node("Mod", three, "six.values")
        last = self._cast(self._node("MatMulInteger", "six.places", upper), TensorProto.UINT8)
        return self._node("Reshape", self._node("Concat", lower, last, axis=0), "flat")

    def _from_four_bits(self, whole: np.ndarray) -> str:
        two = self._stored("int4", packed_by_two(whole))
        lower, upper = self._node("Mod", two, "four.values"), self._node("BitShift", two, "four.bits", direction="RIGHT")
        return self._node("Reshape", self._node("Concat", lower, upper, axis=0), "flat")

    def _cast(self, number: str, kind: int) -> str:
        return self._node("Cast", number, to=kind)

    def _stored(self, kind: str, array: np.ndarray) -> str:
        self.tensors.append(numpy_helper.from_array(array, f"{self.name}.{kind}"))
        return self.tensors[-1].name

    def _node(self, operator: str, *inputs: str, output: str = "", **attributes: int | str | onnx.TensorProto) -> str:
        output = output or f"{self.name}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output


def quantize(model: onnx.ModelProto):
    tensors = [numpy_helper.from_array(array, name) for name, array in SHARED.items()]
    nodes: list[onnx.NodeProto] = []
    for tensor in model.graph.initializer:
        weight = tensor.data_type == TensorProto.FLOAT and len(tensor.dims) > 1
        if (weight or tensor.data_type == TensorProto.UINT8) and np.prod(tensor.dims) > QUANTIZED_FROM:
            restored = Restored(tensor)
            tensors += restored.tensors
            nodes += restored.nodes
        else:
            tensors.append(tensor)
    nodes += list(model.graph.node)
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(tensors)
    model.graph.node.extend(nodes)


def weight_of(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    """The float tensor, from all that a graph stores."""
    if name in stored:
        return stored[name]
    if f"{name}.int8" in stored:
        return stored[f"{name}.int8"] * stored[f"{name}.scale"]
    whole = unpacked(stored[f"{name}.int6"]) if f"{name}.int6" in stored else unpacked_by_two(stored[f"{name}.int4"])
    return whole.reshape(stored[f"{name}.shape"]) * stored[f"{name}.scale"]
