"""Networks read from ONNX, Hugging Face and CSV files count as the built-in tables do."""

import json
import random

import pytest

from perfmodel.core.errors import InputError
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.workloads import workload, workload_from_file

onnx = pytest.importorskip("onnx")
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


class Graph:
    """Writes an ONNX graph; its weights have a shape and no data."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, name, *dims, data_type=FLOAT):
        tensor = onnx.TensorProto(name=name, data_type=data_type, dims=dims)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="absent.bin")
        self.weights.append(tensor)
        return name

    def values(self, name, numbers, data_type=INT64):
        self.weights.append(onnx.helper.make_tensor(name, data_type, [len(numbers)], numbers))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(onnx.helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, inputs, output):
        def info(name, shape):
            data_type = INT64 if name == "ids" else FLOAT
            return onnx.helper.make_tensor_value_info(name, data_type, shape)

        graph = onnx.helper.make_graph(
            self.nodes, "g", [info(*i) for i in inputs], [info(output, None)], self.weights
        )
        opset = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("custom", 1)]
        path.write_bytes(onnx.helper.make_model(graph, opset_imports=opset).SerializeToString())
        return path


def resnet18(path, batch="N"):
    g = Graph()

    def conv_norm(x, c_in, c_out, kernel, stride):
        n = len(g.nodes)
        pad = kernel // 2
        w = g.weight(f"w{n}", c_out, c_in, kernel, kernel)
        y = g.op("Conv", x, w, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        stats = [g.weight(f"{s}{n}", c_out) for s in ("gamma", "beta", "mean", "var")]
        return g.op("BatchNormalization", y, *stats)

    x = g.op("Relu", conv_norm("image", 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    before = 64
    for stage in range(4):
        width = 64 << stage
        for block in range(2):
            stride = 2 if stage and not block else 1
            y = g.op("Relu", conv_norm(x, before, width, 3, stride))
            y = conv_norm(y, width, width, 3, 1)
            if stride != 1:
                x = conv_norm(x, before, width, 1, stride)
            x = g.op("Relu", g.op("Add", y, x))
            before = width
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    x = g.op("Gemm", x, g.weight("fc.weight", 1000, 512), g.weight("fc.bias", 1000), transB=1)
    return g.save(path, [("image", [batch, 3, 224, 224])], x)


@pytest.mark.parametrize("batch", ["N", 1, 8])
def test_resnet18_from_onnx_is_the_built_in_table(tmp_path, batch):
    ours, read = workload("resnet18"), workload_from_file(resnet18(tmp_path / "r18.onnx", batch))
    assert read.parameters == ours.parameters == 11_689_512
    assert read.forward_flops == ours.forward_flops
    assert read.training_flops == ours.training_flops
    assert read.family == "cnn"
    assert read.input_elements == ours.input_elements
    for field in ("forward_elements", "backward_elements", "saved_elements", "forward_kernels"):
        assert sum(getattr(a, field) for a in read.layers) == sum(getattr(a, field) for a in ours.layers)
    products = [[tuple(a[10:14]) for a in w.layers if a.kind == "conv"] for w in (ours, read)]
    assert products[0] == products[1]


def attention_network(path, extra=False):
    """Embedding, one head of attention over 8 features, a tied product with 100 words."""
    g = Graph()
    words = g.weight("words", 100, 8)
    x = g.op("Gather", words, "ids")
    q = g.op("Add", g.op("MatMul", x, g.weight("wq", 8, 8)), g.weight("bq", 8))
    k = g.op("Transpose", g.op("MatMul", x, g.weight("wk", 8, 8)), perm=[0, 2, 1])
    scores = g.op("Softmax", g.op("MatMul", q, k))
    x = g.op("LayerNormalization", g.op("MatMul", scores, x), g.weight("g", 8), g.weight("b", 8))
    if extra:
        x = g.op("Mystery", x, domain="custom")
    x = g.op("MatMul", x, g.op("Transpose", words, perm=[1, 0]))
    return g.save(path, [("ids", ["N", "tokens"])], x)


def test_attention_from_onnx_by_hand(tmp_path):
    read = workload_from_file(attention_network(tmp_path / "a.onnx"), sequence_length=16)
    # words, wq, bq, wk, two of the norm; the words are not counted again for the output
    assert read.parameters == 800 + 64 + 8 + 64 + 16
    # two products with 8 x 8 weights, scores and weighted sum of 16 x 16, 100 words
    assert read.forward_flops == 2 * (2 * 16 * 64 + 2 * 16 * 16 * 8 + 16 * 8 * 100)
    assert read.family == "transformer"
    assert read.sequence_length == 16


def test_onnx_open_sequence_is_asked_for(tmp_path):
    path = attention_network(tmp_path / "a.onnx")
    with pytest.raises(InputError, match=r"input 'ids' leaves dimension 1 \(tokens\) open"):
        workload_from_file(path)


def test_onnx_unknown_operator_without_shape(tmp_path):
    path = attention_network(tmp_path / "a.onnx", extra=True)
    with pytest.raises(InputError, match=r"shape of 'Mystery_.*' cannot be inferred"):
        workload_from_file(path, 16)


def test_onnx_unknown_operator_is_named(tmp_path):
    g = Graph()
    x = g.op("Conv", "image", g.weight("w", 4, 3, 3, 3), kernel_shape=[3, 3])
    x = g.op("Hardmax", x)
    path = g.save(tmp_path / "h.onnx", [("image", [1, 3, 8, 8])], x)
    read = workload_from_file(path)
    assert "Hardmax" in read.variant
    assert "Hardmax" in read.remarks[0]
    assert read.remarks[0] in predict(Scenario(workload=str(path))).warnings
    assert [layer.kind for layer in read.layers] == ["conv", "other", "loss"]
    assert read.layers[1].forward_elements == 2 * 4 * 6 * 6


@pytest.mark.parametrize("content", [b"", b"hello, I am no network\n", b"\x00\xff" * 100, b'{"a": 1}'])
def test_not_onnx(tmp_path, content):
    path = tmp_path / "x.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not an ONNX file") as error:
        workload_from_file(path)
    assert "\n" not in str(error.value)


def test_onnx_of_impossible_shapes(tmp_path):
    g = Graph()
    path = g.save(tmp_path / "s.onnx", [("image", [1, 3, 8, 8])], g.op("MatMul", "image", g.weight("w")))
    with pytest.raises(InputError, match=r"s\.onnx: "):
        workload_from_file(path)


@pytest.mark.parametrize("seed", range(40))
def test_onnx_with_damage_is_read_or_refused(tmp_path, seed):
    """Whatever byte is wrong, the answer is a table or one line."""
    path = attention_network(tmp_path / "a.onnx") if seed % 2 else resnet18(tmp_path / "r.onnx")
    content, rng = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(3):
        content[rng.randrange(len(content))] = rng.choice([0, 1, 255, rng.randrange(256)])
    path.write_bytes(content)
    answer = read_or_refused(path)
    assert answer
    assert "\n" not in answer


def read_or_refused(path):
    try:
        return workload_from_file(path, 16).layers[0].name
    except InputError as error:
        return str(error)


LLAMA2_7B = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 32,
    "vocab_size": 32000,
    "max_position_embeddings": 4096,
    "tie_word_embeddings": False,
}
LLAMA3_8B = LLAMA2_7B | {
    "intermediate_size": 14336,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}
MISTRAL_7B = LLAMA2_7B | {"model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8}
QWEN2_0_5B = {
    "model_type": "qwen2",
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_attention_heads": 14,
    "num_hidden_layers": 24,
    "num_key_value_heads": 2,
    "vocab_size": 151936,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
}
GPT2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_head": 12,
    "n_layer": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}
BERT = {
    "model_type": "bert",
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


def config(tmp_path, values):
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))
    return folder / "config.json"


@pytest.mark.published("parameters of the safetensors files on the Hugging Face model pages")
@pytest.mark.parametrize(
    ("values", "parameters"),
    [
        (LLAMA2_7B, 6_738_415_616),
        (LLAMA3_8B, 8_030_261_248),
        (MISTRAL_7B, 7_241_732_096),
        (QWEN2_0_5B, 494_032_768),
        (GPT2, 124_439_808),
        (BERT, 109_482_240),
        (BERT | {"architectures": ["BertForPreTraining"]}, 110_106_428),
        (BERT | {"architectures": ["BertForMaskedLM"]}, 109_514_298),
    ],
)
def test_huggingface_parameters(tmp_path, values, parameters):
    assert workload_from_file(config(tmp_path, values), 64).parameters == parameters


def test_huggingface_bert_is_the_built_in_table(tmp_path):
    path = config(tmp_path, BERT | {"architectures": ["BertForPreTraining"]})
    read = workload_from_file(path, 128)
    assert read.layers == workload("bert-base").layers
    assert read.id == "model"
    assert workload(str(path), 128).layers == read.layers


def test_grouped_queries_cost_less(tmp_path):
    # keys and values of 8 of 32 heads: 2 x (1 - 1/4) x 4096^2 fewer weights in each of 32 layers
    whole = workload_from_file(config(tmp_path, LLAMA2_7B), 1024)
    grouped = workload_from_file(config(tmp_path, LLAMA2_7B | {"num_key_value_heads": 8}), 1024)
    fewer = 32 * 2 * 4096 * 3072
    assert whole.parameters - grouped.parameters == fewer
    assert whole.forward_flops - grouped.forward_flops == 2 * 1024 * fewer


@pytest.mark.parametrize(
    ("values", "sequence_length", "message"),
    [
        ({"model_type": "mamba"}, None, "model_type 'mamba' is not known; known: bert, bloom"),
        ({"hidden_size": 3}, None, "no model_type"),
        ([1, 2], None, "no model_type"),
        (GPT2 | {"n_layer": "12"}, None, "n_layer is '12'; expected a whole number above 0"),
        (GPT2 | {"n_layer": True}, None, "n_layer is True"),
        (GPT2 | {"n_layer": 10**12}, None, "n_layer is 1000000000000"),
        (GPT2 | {"n_head": 7}, None, "hidden size 768; expected a multiple of 7"),
        ({k: v for k, v in GPT2.items() if k != "n_embd"}, None, "n_embd is missing"),
        (GPT2, 2048, "beyond its 1024 position embeddings"),
        (LLAMA2_7B, 8192, "beyond max_position_embeddings, 4096"),
        (LLAMA2_7B | {"num_key_value_heads": 5}, None, "expected a divisor of 32"),
        (GPT2, 0, "sequence length 0: must be at least 1"),
    ],
)
def test_bad_config(tmp_path, values, sequence_length, message):
    with pytest.raises(InputError, match=message):
        workload_from_file(config(tmp_path, values), sequence_length)


def test_not_json(tmp_path):
    (tmp_path / "x.json").write_text("model_type: llama")
    with pytest.raises(InputError, match="not JSON"):
        workload_from_file(tmp_path / "x.json")


def table(tmp_path, text):
    path = tmp_path / "net.csv"
    path.write_text(text)
    return path


def test_csv(tmp_path):
    path = table(
        tmp_path,
        "# two layers\nname,kind,tensors,forward_flops,backward_flops,forward_elements,kernel_size\n"
        "first,conv,9408 64,236027904,236027904,953344,7x7\n\nlast,linear,500000,1e6,,2000,\n",
    )
    read = workload_from_file(path)
    first, last = read.layers
    assert (first.gemm_rows, first.gemm_columns, first.gemm_depth) == (112 * 112, 64, 147)
    assert first.saved_elements == 112 * 112 * 3
    assert last.gemm_rows == pytest.approx(1)
    assert last.gemm_columns == pytest.approx(last.gemm_depth) == pytest.approx(500000**0.5)
    assert read.remarks == ("last: as many outputs as inputs, as no column says",)
    assert read.parameters == 9472 + 500000
    assert read.layers[0].kernel_size == (7, 7)
    assert read.layers[0].backward_flops == 236027904
    assert read.layers[1].backward_flops == 2e6
    assert read.layers[1].backward_elements == 4000
    assert read.id == "net"
    assert read.training_flops == 2 * 236027904 + 3e6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; expected a first line of column names"),
        ("name,kind\n", "no layer below"),
        ("name,forward_flops\na,1\n", "line 1: column 'kind' is missing"),
        ("name,kind,flops\n", "line 1: unknown column 'flops'"),
        ("name,kind,forward_flop\n", "did you mean forward_flops"),
        ("name,kind,kind\n", "column 'kind' twice"),
        ("name,kind\na,convolution\n", "line 2, column kind: 'convolution'; expected one of conv"),
        ("name,kind\na,con\n", r"line 2, column kind: 'con'; expected conv\?"),
        ("name,kind,forward_flops\na,conv,1 GFLOP\n", "column forward_flops: '1 GFLOP'; expected a number"),
        ("name,kind,forward_flops\na,conv,nan\n", "column forward_flops: 'nan'; expected a number"),
        ("name,kind,forward_flops\na,conv,-1\n", "column forward_flops: '-1'"),
        ("name,kind,tensors\na,conv,64 x\n", "column tensors: '64 x'; expected whole numbers"),
        ("name,kind,stride\na,conv,0\n", "column stride: '0'; expected a whole number above 0"),
        ("name,kind,kernel_size\na,conv,3x3x3\n", "column kernel_size: '3x3x3'; expected a filter size"),
        ("name,kind\na,conv,3\n", "line 2: 3 fields; expected 2"),
        (
            "name,kind,forward_flops\na,linear,5e6\n",
            r"line 2 \(a\): without gemm_rows, gemm_columns, gemm_depth; ",
        ),
        (
            "name,kind,gemm_rows,gemm_columns\na,matmul,4,4\n",
            "without gemm_depth; a matmul is a matrix product",
        ),
        (
            "name,kind,forward_flops,gemm_rows,gemm_columns,gemm_depth\na,linear,64,1,8,8\n",
            "forward_flops is 64; its shape has 2 x rows x columns x depth x count = 128",
        ),
        (
            "name,kind,tensors,forward_flops\na,linear,2500000,7e6\n",
            r"forward_flops is 7e\+06, which makes gemm_rows 1.4; expected those of a whole number, e.g. "
            r"5e\+06 for 1 or 1e\+07 for 2",
        ),
        (
            "name,kind,tensors,forward_flops\na,linear,64 8,60\n",
            "makes gemm_rows 0.4688; .* 128 for 1 or 256",
        ),
        (
            "name,kind,forward_flops,gemm_rows,gemm_columns\na,matmul,100,4,4\n",
            "which makes gemm_depth 3.125; expected those of a whole number, e.g. 96 for 3 or 128 for 4",
        ),
        (
            "name,kind,tensors,gemm_rows,gemm_columns\na,linear,100,1,8\n",
            "its 100 weights over 8 make gemm_depth 12.5; expected a whole number",
        ),
        (
            "name,kind,tensors,gemm_rows,gemm_depth\na,linear,100,1,8\n",
            "its 100 weights over 8 make gemm_columns 12.5",
        ),
        (
            "name,kind,tensors,gemm_rows,kernel_size\na,depthwise-conv,100,49,3\n",
            "its 100 weights over 9 make gemm_count 11.1111",
        ),
        ("name,kind,tensors,gemm_rows\na,linear,64,0\n", "gemm_rows is 0; a linear is a matrix product"),
        ("name,kind\na,norm\n", "forward_elements is missing; expected the elements a norm reads and writes"),
        ("name,kind,forward_elements\na,norm,100\n", "no convolution or matrix product in it"),
        (
            "name,kind,tensors,gemm_rows,gemm_columns,gemm_depth\na,matmul,,4,4,4\n",
            "no layer has a parameter, so nothing is trained; expected the column tensors",
        ),
        ("name,kind\n,conv\n", "line 2, column name: empty"),
        ('name,kind\n"a,conv\n', "line 2: unexpected end of data"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        workload_from_file(table(tmp_path, text))


def test_csv_round_trip(tmp_path):
    ours = workload("resnet18")
    rows = ["name,kind,tensors,forward_flops,backward_flops,forward_elements,backward_elements"]
    rows += [
        f"{a.name},{a.kind},{' '.join(map(str, a.tensors))},{a.forward_flops},{a.backward_flops},"
        f"{a.forward_elements},{a.backward_elements}"
        for a in ours.layers
    ]
    read = workload_from_file(table(tmp_path, "\n".join(rows)))
    assert (read.parameters, read.training_flops) == (ours.parameters, ours.training_flops)


def test_files_that_are_none(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        workload_from_file(tmp_path / "absent.onnx")
    with pytest.raises(InputError, match="no such file"):
        workload("./absent")
    (tmp_path / "net.pt").write_text("")
    with pytest.raises(InputError, match=r"expected .onnx, .json"):
        workload_from_file(tmp_path / "net.pt")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        workload_from_file(tmp_path / "folder.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8 text"):
        workload_from_file(tmp_path / "binary.csv")
    with pytest.raises(InputError, match="leave the option out"):
        workload_from_file(table(tmp_path, "name,kind\na,add\n"), 128)


def test_of_known_operators_there_is_nothing_to_remark(tmp_path):
    assert workload_from_file(resnet18(tmp_path / "r18.onnx")).remarks == ()


WHOLE = "name,kind,tensors,forward_flops,gemm_rows,gemm_columns,gemm_depth,gemm_count,kernel_size\n"


@pytest.mark.parametrize(
    ("cells", "shape", "tensors", "flops"),
    [
        ("linear,64 8,128,,,,,", (1, 8, 8, 1), (64, 8), 128),
        ("linear,64 4,,1,,,,", (1, 4, 16, 1), (64, 4), 128),
        ("linear,96,,3,,8,,", (3, 12, 8, 1), (96,), 576),
        ("conv,288,57600,,32,,,3x3", (100, 32, 9, 1), (288,), 57600),
        ("conv,2304 16,,50,,,,3", (50, 16, 144, 1), (2304, 16), 230400),
        ("depthwise-conv,288,,100,,,,3", (100, 1, 9, 32), (288,), 57600),
        ("matmul,,1024,4,4,,2,", (4, 4, 16, 2), (), 1024),
    ],
)
def test_what_a_table_leaves_out_follows_from_the_rest(cells, shape, tensors, flops, tmp_path):
    text = f"{WHOLE}a,{cells}\nb,linear,100 10,200,,,,,\n"
    read = workload_from_file(table(tmp_path, text))
    layer = read.layers[0]
    assert (layer.gemm_rows, layer.gemm_columns, layer.gemm_depth, layer.gemm_count) == shape
    assert (layer.tensors, layer.forward_flops, layer.backward_flops) == (tensors, flops, 2 * flops)
    assert layer.forward_elements > layer.saved_elements > 0
    assert read.remarks == ()


def test_without_the_column_weights_are_those_of_the_products(tmp_path):
    text = "name,kind,gemm_rows,gemm_columns,gemm_depth,forward_elements\na,linear,1,64,32,\nb,norm,,,,100\n"
    read = workload_from_file(table(tmp_path, text))
    assert read.layers[0].tensors == (2048,)
    assert read.layers[1].saved_elements == 50


@pytest.mark.parametrize("name", ["resnet18", "bert-base", "mobilenet-v2"])
def test_a_table_without_shapes_takes_about_as_long_as_one_with_them(name, tmp_path):
    """Without columns of shape products took up to 800 times as long, and any batch fitted."""
    given = [layer for layer in workload(name).layers if layer.kind != "matmul"]
    rows = ["name,kind,tensors,forward_flops,forward_elements,kernel_size"]
    for layer in given:
        kernel = "x".join(map(str, layer.kernel_size[:2]))
        tensors = " ".join(map(str, layer.tensors))
        if layer.kind in ("conv", "depthwise-conv", "linear") and layer.gemm_rows:
            tensors = str(round(layer.gemm_columns * layer.gemm_depth * layer.gemm_count))
        flops = layer.forward_flops or ""
        rows.append(f"{layer.name},{layer.kind},{tensors},{flops},{layer.forward_elements},{kernel}")
    bare = table(tmp_path, "\n".join(rows))
    whole = tmp_path / "whole.csv"
    fields = (*rows[0].split(","), "gemm_rows", "gemm_columns", "gemm_depth", "gemm_count")
    lines = [
        f"{row},{layer.gemm_rows},{layer.gemm_columns},{layer.gemm_depth},{layer.gemm_count}"
        for row, layer in zip(rows[1:], given, strict=True)
    ]
    whole.write_text("\n".join([",".join(fields), *lines]))
    one, other = (predict(Scenario(workload=str(path))) for path in (bare, whole))
    assert one.iteration_time == pytest.approx(other.iteration_time, rel=0.25)
    ratio = one.memory.largest_local_batch_size / other.memory.largest_local_batch_size
    assert 0.5 < ratio < 2


def test_onnx_products_with_weights_of_three_dimensions_are_counted(tmp_path):
    g = Graph()
    x = g.op("MatMul", "x", g.weight("w", 4, 16, 8))
    read = workload_from_file(g.save(tmp_path / "e.onnx", [("x", [1, 4, 10, 16])], x))
    layer = read.layers[0]
    assert (layer.kind, layer.forward_flops, layer.tensors) == ("matmul", 2 * 4 * 10 * 16 * 8, (512,))
    assert read.remarks == ()


def test_onnx_without_its_weights_is_refused(tmp_path):
    g = Graph()
    x = g.op("Gemm", "x", "w", transB=1)
    path = g.save(tmp_path / "m.onnx", [("x", [1, 16]), ("w", [8, 16])], x)
    with pytest.raises(InputError, match="nothing is trained; export it with its weights"):
        workload_from_file(path)


def test_onnx_operators_whose_products_nobody_counts_are_refused(tmp_path):
    g = Graph()
    x = g.op("Conv", "image", g.weight("w", 4, 3, 3, 3), kernel_shape=[3, 3])
    x = g.op("Einsum", x, x, equation="abcd,abcd->abcd")
    path = g.save(tmp_path / "e.onnx", [("image", [1, 3, 8, 8])], x)
    with pytest.raises(InputError, match=r"\(Einsum\) computes matrix products that are not counted"):
        workload_from_file(path)
