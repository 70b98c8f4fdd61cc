"""A float32 graph -> the same with its weights as whole numbers of 6 or 8 bits, each with a scale, and nodes that turn them back; and the weights of such a graph.

ONNX Runtime does once, when it loads the file, what depends on constants alone: in a step, these nodes cost nothing.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

QUANTIZED_FROM = 2000  # numbers; smaller tensors stay as they are
# Convolutions with more than this have 6 bits. What the characters and the syllables are chosen by, and what is looked up, keeps 8.
SIX_BITS_FROM, SIX_BITS_ROWS = 60000, 512
MOST, SIX_BITS_MOST = 127, 31
# Of these a step picks single rows: they have a scale for each column, there are too many rows.
LOOKED_UP = "embedding.weight", "groups.weight"
SHARED = {
    "six.bits": np.array(6, np.uint8),
    "six.values": np.array(64, np.uint8),
    "six.places": np.array([[1, 4, 16]], np.uint8),
    "six.middle": np.array(32, np.float32),
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


def packed(whole: np.ndarray) -> np.ndarray:
    """Numbers from -32 to 31, four in three bytes: (3, a quarter as many). The lower six bits hold the first three quarters, the upper two the last one."""
    quarters = (whole.reshape(4, -1) + 32).astype(np.uint8)
    return quarters[:3] | ((quarters[3] >> np.array([[0], [2], [4]], np.uint8)) % 4 << 6)


def unpacked(three: np.ndarray) -> np.ndarray:
    upper = three >> 6
    last = upper[:1] + 4 * upper[1:2] + 16 * upper[2:]
    return np.concatenate([three % 64, last]).astype(np.int8) - 32


class Restored:
    """The tensors that a float tensor is stored as, and the nodes that give it back under its old name."""

    def __init__(self, tensor: onnx.TensorProto):
        self.name = tensor.name
        self.tensors: list[onnx.TensorProto] = []
        self.nodes: list[onnx.NodeProto] = []
        weight = numpy_helper.to_array(tensor)
        by_column = self.name.endswith(LOOKED_UP)
        rows = weight.T if by_column else weight.reshape(len(weight), -1)
        six = weight.ndim == 3 and weight.size > SIX_BITS_FROM and len(weight) <= SIX_BITS_ROWS
        whole, scale = rounded(rows, SIX_BITS_MOST if six else MOST)
        if six:
            number = self._cast(self._from_six_bits(whole, weight.shape), TensorProto.FLOAT)
            number = self._node("Sub", number, "six.middle")
        else:
            stored = self._stored("int8", (whole.T if by_column else whole).reshape(weight.shape))
            number = self._cast(stored, TensorProto.FLOAT)
        scales = self._stored("scale", scale if by_column else scale.reshape(-1, *[1] * (weight.ndim - 1)))
        self._node("Mul", number, scales, output=self.name)

    def _from_six_bits(self, whole: np.ndarray, shape: tuple[int, ...]) -> str:
        """In bytes as long as may be: all that these nodes give is in memory at once when the file is loaded."""
        three = self._stored("int6", packed(whole))
        upper = self._node("BitShift", three, "six.bits", direction="RIGHT")
        lower = self._node("Mod", three, "six.values")
        last = self._cast(self._node("MatMulInteger", "six.places", upper), TensorProto.UINT8)
        flat = self._node("Concat", lower, last, axis=0)
        return self._node("Reshape", flat, self._stored("shape", np.array(shape)))

    def _cast(self, number: str, kind: int) -> str:
        return self._node("Cast", number, to=kind)

    def _stored(self, kind: str, array: np.ndarray) -> str:
        self.tensors.append(numpy_helper.from_array(array, f"{self.name}.{kind}"))
        return self.tensors[-1].name

    def _node(self, operator: str, *inputs: str, output: str = "", **attributes: int | str) -> str:
        output = output or f"{self.name}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output


def quantize(model: onnx.ModelProto):
    tensors = [numpy_helper.from_array(array, name) for name, array in SHARED.items()]
    nodes: list[onnx.NodeProto] = []
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) > 1 and np.prod(tensor.dims) > QUANTIZED_FROM:
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
    return unpacked(stored[f"{name}.int6"]).reshape(stored[f"{name}.shape"]) * stored[f"{name}.scale"]
