"""The built-in networks hold against what their libraries and papers print, and against each other."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.equations.transformer_memory import layer_activation_bytes
from perfmodel.workloads import built_in, names, workload
from perfmodel.workloads.builder import Network, Tensor, image, output_size
from perfmodel.workloads.networks import mobilenet
from perfmodel.workloads.workload import KINDS

TORCHVISION = {
    "alexnet": (61_100_840, 0.714),
    "vgg11": (132_863_336, 7.609),
    "vgg13": (133_047_848, 11.308),
    "vgg16": (138_357_544, 15.47),
    "vgg19": (143_667_240, 19.632),
    "googlenet-bn": (6_624_904, 1.498),
    "resnet18": (11_689_512, 1.814),
    "resnet34": (21_797_672, 3.664),
    "resnet50-v1.5": (25_557_032, 4.089),
    "resnet101-v1.5": (44_549_160, 7.801),
    "resnet152-v1.5": (60_192_808, 11.514),
    "resnext50-32x4d": (25_028_904, 4.23),
    "resnext101-32x8d": (88_791_336, 16.414),
    "resnext101-64x4d": (83_455_272, 15.46),
    "wide-resnet50-2": (68_883_240, 11.398),
    "densenet121": (7_978_856, 2.834),
    "densenet161": (28_681_000, 7.728),
    "densenet169": (14_149_480, 3.36),
    "densenet201": (20_013_928, 4.291),
    "mobilenet-v2": (3_504_872, 0.301),
    "mobilenet-v3-large": (5_483_032, 0.217),
    "squeezenet": (1_248_424, 0.819),
    "squeezenet1-1": (1_235_496, 0.349),
    "efficientnet-b0": (5_288_548, 0.386),
    "efficientnet-b4": (19_341_616, 4.394),
    "vit-base-16": (86_567_656, 17.564),
    "swin-tiny": (28_288_354, 4.491),
    "swin-small": (49_606_258, 8.741),
    "swin-base": (87_768_224, 15.431),
    "convnext-tiny": (28_589_128, 4.456),
    "regnety-3.2gf": (19_436_338, 3.176),
}
"""num_params and _ops, in 1e9 multiply-adds, as the weights' meta data of torchvision state them."""


@pytest.mark.published("torchvision, meta data of the ImageNet-1k weights: num_params and _ops")
@pytest.mark.parametrize(("name", "parameters", "macs"), [(n, *v) for n, v in TORCHVISION.items()])
def test_torchvision(name, parameters, macs):
    network = workload(name)
    assert network.parameters == parameters
    assert network.forward_flops / 2e9 == pytest.approx(macs, abs=0.0005001)


@pytest.mark.published(
    "torchvision, efficientnet_v2_s at 384 pixels and inception_v3 with its auxiliary head"
)
def test_torchvision_at_other_settings():
    assert workload("efficientnet-v2-s").parameters == 21_458_488
    assert mobilenet.build("efficientnet-v2-s", 384).forward_flops / 2e9 == pytest.approx(8.366, abs=0.0005)
    assert workload("inception-v3-aux").parameters == 27_161_264
    # its _ops is of inference, where the auxiliary head is silent
    assert workload("inception-v3").forward_flops / 2e9 == pytest.approx(5.713, abs=0.0005)


TIMM = {
    "resnet200-v1.5": (64.67, 15.07),
    "resnext101-32x4d": (44.18, 8.01),
    "se-resnet50": (28.09, 4.11),
    "se-resnext50-32x4d": (27.56, 4.26),
    "se-resnext101-32x4d": (48.96, 8.02),
    "inception-v3": (23.83, 5.73),
    "inception-v4": (42.68, 12.28),
    "xception": (22.86, 8.4),
}
"""param_count and infer_gmacs; its multiply-adds count normalisation and pooling too, up to 1 %."""


@pytest.mark.published("timm, results/benchmark-infer-amp-nchw-pt113-cu117-rtx3090.csv @aa4b5850c1")
@pytest.mark.parametrize(("name", "millions", "macs"), [(n, *v) for n, v in TIMM.items()])
def test_timm(name, millions, macs):
    network = workload(name)
    assert network.parameters / 1e6 == pytest.approx(millions, abs=0.005)
    assert network.forward_flops / 2e9 == pytest.approx(macs, rel=0.01)
    assert network.forward_flops / 2e9 < macs


@pytest.mark.published(
    "BVLC Caffe model zoo: weights of bvlc_googlenet and bvlc_alexnet without auxiliary heads"
)
def test_caffe():
    assert workload("googlenet").parameters == 6_998_552
    assert workload("alexnet-grouped").parameters == workload("caffenet").parameters == 60_965_224


@pytest.mark.published("He et al. 2016, table 1: 3.6, 3.8, 7.6 and 11.3 billion multiply-adds")
@pytest.mark.parametrize(
    ("name", "macs"), [("resnet34", 3.6), ("resnet50", 3.8), ("resnet101", 7.6), ("resnet152", 11.3)]
)
def test_resnet_paper(name, macs):
    assert workload(name).forward_flops / 2e9 == pytest.approx(macs, abs=0.1)


@pytest.mark.published(
    "Hugging Face model pages: google-bert/bert-base-uncased, openai-community/gpt2 family"
)
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("bert-base", 110_106_428),
        ("bert-large", 336_226_108),
        ("gpt2", 124_439_808),
        ("gpt2-medium", 354_823_168),
        ("gpt2-large", 774_030_080),
        ("gpt2-xl", 1_557_611_200),
    ],
)
def test_transformer_parameters(name, parameters):
    assert workload(name).parameters == parameters


@pytest.mark.published(
    "Liu et al. 2021, table 1 (b): Swin-L, 197 million parameters, 34.5 billion multiply-adds"
)
def test_swin_large():
    network = workload("swin-large")
    assert network.parameters / 1e6 == pytest.approx(197, abs=0.5)
    assert network.forward_flops / 2e9 == pytest.approx(34.5, abs=0.5)


@pytest.mark.published("Hugging Face, distilbert-base-uncased with the head that guesses words")
def test_distilbert():
    assert workload("distilbert").parameters == 66_985_530


@pytest.mark.published("Vaswani et al. 2017, table 3: 213 million, of 'about 37000' word pieces")
def test_transformer_big():
    assert workload("transformer-big").parameters == pytest.approx(213e6, rel=0.01)


@pytest.mark.published(
    "Redmon and Farhadi's model card: 140.69 billion operations at 608 pixels; 61 949 149 weights"
)
def test_yolo():
    assert workload("yolov3").parameters == 61_949_149
    assert workload("yolov3").forward_flops / 1e9 == pytest.approx(140.69, rel=1e-3)


@pytest.mark.published("TensorFlow DeepLab model zoo, xception65_coco_voc_trainaug: 54.17B multiply-adds")
def test_deeplab_is_near():
    assert workload("deeplab-v3-plus").forward_flops / 2e9 == pytest.approx(54.17, rel=0.02)


@pytest.mark.published("torchvision, maskrcnn_resnet50_fpn, 91 classes, frozen normalisation: 44 401 393")
def test_mask_rcnn_is_near():
    assert workload("mask-rcnn-r50-fpn").parameters == pytest.approx(44.4e6, rel=0.005)


def batch_norm_parameters(network):
    """Of scales and shifts; their means and variances are as many."""
    return sum(layer.parameters for layer in network.layers if layer.kind == "norm")


@pytest.mark.published("torchvision, num_params of the weights for COCO; it freezes normalisation")
@pytest.mark.parametrize(
    ("name", "parameters"), [("faster-rcnn-r50-fpn", 41_755_286), ("retinanet-r50-fpn", 34_014_999)]
)
def test_torchvision_detectors(name, parameters):
    network = workload(name)
    assert network.parameters - batch_norm_parameters(network) == parameters


@pytest.mark.published("Wang et al. 2021 (PVT), table 4: Mask R-CNN on R50, R101, X101-32x4d and X101-64x4d")
@pytest.mark.parametrize(
    ("backbone", "millions"), [("r50", 44.2), ("r101", 63.2), ("x101", 62.8), ("x101-64x4d", 101.9)]
)
def test_mask_rcnn_on_other_backbones(backbone, millions):
    assert workload(f"mask-rcnn-{backbone}-fpn").parameters / 1e6 == pytest.approx(millions, rel=0.005)


@pytest.mark.published("Carion et al. 2020, table 1: 41 and 60 million; 41 524 768 of the released DETR R50")
def test_detr():
    network = workload("detr-r50")
    frozen = sum(a.parameters for a in network.layers if a.kind == "norm" and "bn" in a.name)
    frozen += sum(a.parameters for a in network.layers if a.name.endswith("downsample.1"))
    assert network.parameters - frozen == 41_524_768
    assert workload("detr-r101").parameters / 1e6 == pytest.approx(60, abs=0.6)


@pytest.mark.published("NVIDIA DeepLearningExamples, logs of GNMT and Transformer-XL base: parameters")
@pytest.mark.parametrize(
    ("name", "parameters"), [("gnmt", 159_605_817), ("transformer-xl-base", 191_950_298)]
)
def test_recurrent_and_remembering(name, parameters):
    assert workload(name).parameters == parameters


@pytest.mark.published("Dai et al. 2019, table 1: 257 million; the tables of the code make 27 million more")
def test_transformer_xl_large():
    network = workload("transformer-xl-large")
    narrow_tables = sum(a.parameters for a in network.layers if a.name.startswith("embeddings."))
    assert network.parameters / 1e6 == pytest.approx(257, rel=0.11)
    # 18 layers of 5 h^2 in attention, 8 h^2, 5 h of biases and 4 h of norms behind
    h, words = 1024, 267_735
    layers = 18 * (13 * h * h + 5 * h + 4 * h)
    assert network.parameters == layers + narrow_tables + 2 * h + 3 * h + 3 + words


def test_gnmt_by_hand():
    network = workload("gnmt", 10)
    rows = {layer.name: layer for layer in network.layers}
    # ten steps, each of one row of 1024 times 1024 x 4096
    state = rows["decoder.0.state"]
    assert (state.gemm_rows, state.gemm_count, state.forward_flops) == (1, 10, 2 * 10 * 1024 * 4096)
    assert state.forward_kernels == 10
    # tokens see their words' tables, and products: input and state of 9 directions, attention, words
    inputs = 2 * 1024 + 2048 + 2 * 1024 + 1024 + 3 * 2048
    products = 4 * 1024 * (inputs + 9 * 1024) + 2 * 1024**2 + 10 * 1024 + 1024 * 31_800
    assert network.forward_flops == 2 * 10 * products


@pytest.mark.published(
    "Isensee et al. 2019 and MLPerf: 31.2 million parameters (nnU-Net, 3D full resolution)"
)
def test_unet3d():
    network = workload("unet3d")
    assert network.parameters / 1e6 == pytest.approx(31.2, abs=0.05)
    rows = {layer.name: layer for layer in network.layers}
    assert [rows[f"down{i}.conv1"].gemm_rows for i in range(5)] == [(128 >> i + 1) ** 3 for i in range(5)]
    first = rows["input.conv0"]
    assert first.forward_flops == 2 * 128**3 * 32 * 27
    assert rows["up4.enlarge"].parameters == 64 * 32 * 8 + 32
    assert rows["output"].gemm_rows == 128**3


@pytest.mark.published("Liu et al. 2016: 8732 boxes at 300 pixels")
@pytest.mark.parametrize("name", ["ssd300-r34", "ssd300-r50"])
def test_ssd_boxes(name):
    rows = [
        layer for layer in workload(name).layers if layer.name.startswith("edges") and layer.kind == "conv"
    ]
    assert [layer.gemm_rows for layer in rows] == [38**2, 19**2, 10**2, 5**2, 3**2, 1]
    assert sum(layer.gemm_rows * layer.gemm_columns / 4 for layer in rows) == 8732


@pytest.mark.published("MXNet Gluon, model zoo: parameters of ResNet v2, means and variances included")
@pytest.mark.parametrize(
    ("depth", "parameters"),
    [(18, 11_695_796), (34, 21_811_380), (50, 25_595_060), (101, 44_639_412), (152, 60_329_140)],
)
def test_resnet_v2(depth, parameters):
    network = workload(f"resnet{depth}-v2")
    # it normalises the pixels too: scale, shift, mean and variance of three colours
    assert network.parameters + batch_norm_parameters(network) + 12 == parameters


@pytest.mark.published(
    "Sermanet et al. 2014, table 4: 145 and 144 million parameters, 2810 and 5369 connections"
)
@pytest.mark.parametrize(
    ("name", "millions", "macs"), [("overfeat", 145, 2.810), ("overfeat-accurate", 144, 5.369)]
)
def test_overfeat(name, millions, macs):
    network = workload(name)
    assert network.parameters // 1_000_000 == millions
    assert network.forward_flops / 2e9 == pytest.approx(macs, rel=0.005)


@pytest.mark.published("pytorch/torchrec, examples/retrieval/two_tower_train.py")
def test_two_tower():
    network = workload("two-tower")
    tower = 65 * 128 + 129 * 64
    assert network.parameters == 2 * (1024**2 * 64 + tower)
    assert network.forward_flops == pytest.approx(2 * (2 * (64 * 128 + 128 * 64) + 64), rel=1e-2)


@pytest.mark.published(
    "mnchapel.github.io/deep_learning_models: LeNet-5, 61,706 parameters; jovian.ai: an MLP of 512 and 512, "
    "669,706; Caffe's layers of 20, 50, 500 and 10 by hand"
)
def test_networks_of_digits():
    counts = {name: workload(name).parameters for name in ("lenet", "lenet-caffe", "mlp-mnist")}
    by_hand = 20 * (25 + 1) + 50 * (20 * 25 + 1) + 500 * (50 * 16 + 1) + 10 * (500 + 1)
    assert counts == {"lenet": 61_706, "lenet-caffe": by_hand, "mlp-mnist": 669_706}
    assert by_hand == 431_080


@pytest.mark.published("NGC, DLRM checkpoint, frequency limit 15: 15.61 GB of fp32, in units of 2^30 bytes")
def test_dlrm():
    assert workload("dlrm").parameters * 4 / 2**30 == pytest.approx(15.61, abs=0.005)


@pytest.mark.published(
    "NVIDIA DeepLearningExamples, Wide & Deep: about 92 million, 1235 features of embeddings"
)
def test_wide_and_deep():
    network = workload("wide-and-deep")
    assert network.parameters / 1e6 == pytest.approx(92, abs=0.5)
    deep = next(layer for layer in network.layers if layer.name == "deep.0")
    assert deep.gemm_depth == 1235 + 13


def test_ncf_by_hand():
    # two tables each for users and items, of 64 and of 128; three layers, then one output of 64 + 64
    tables = (138_493 + 26_744) * (64 + 128)
    assert workload("ncf").parameters == tables + 257 * 256 + 257 * 128 + 129 * 64 + 129


def test_wide_gates_by_hand():
    """A gate of width q on e channels has 2 e q + q + e parameters; only q differs from the narrow one."""
    wide, narrow = workload("efficientnet-widese-b0"), workload("efficientnet-b0")

    def gates(network):
        return [a.gemm_columns for a in network.layers if a.name.endswith("squeeze")]

    channels = [a.gemm_columns for a in narrow.layers if a.name.endswith("se.expand")]
    assert gates(wide) == [c // 4 for c in channels]
    more = sum((q - p) * (2 * c + 1) for q, p, c in zip(gates(wide), gates(narrow), channels, strict=True))
    assert wide.parameters - narrow.parameters == more


# ResNet-50, whose totals others have counted too


def test_resnet50_totals():
    v1, v15 = workload("resnet50"), workload("resnet50-v1.5")
    assert v15.forward_flops == 2 * 4_089_184_256
    assert v1.forward_flops == 2 * 3_857_973_248
    assert v1.parameters == v15.parameters == 25_557_032
    assert v15.training_flops == 24_299_077_632
    outputs = sum(a.gemm_rows * a.gemm_columns * a.gemm_count for a in v15.layers if a.kind == "conv")
    assert outputs == 11_113_984
    # convolution outputs and what ReLU makes of them are kept, about
    assert sum(a.saved_elements for a in v15.layers) == pytest.approx(2 * outputs, rel=0.06)


def test_resnet50_gradient_buckets():
    """In reverse order, closed at 1 MiB and then at 25 MiB, never splitting a tensor."""
    sizes = [4 * t for layer in workload("resnet50").layers for t in layer.tensors][::-1]
    buckets, filled, limit = [], 0, 2**20
    for size in sizes:
        filled += size
        if filled >= limit:
            buckets.append(filled)
            filled, limit = 0, 25 * 2**20
    buckets.append(filled)
    assert buckets == [8_196_000, 31_502_336, 26_255_360, 26_550_272, 9_724_160]
    assert len(sizes) == 161


def test_first_layer_by_hand():
    conv, norm, relu, pool = workload("resnet50").layers[:4]
    pixels, out = 3 * 224 * 224, 64 * 112 * 112
    assert conv.tensors == (9408,)
    assert conv.forward_flops == conv.backward_flops == 2 * 9408 * 112 * 112
    assert conv.forward_elements == conv.backward_elements == pixels + out
    assert (conv.gemm_rows, conv.gemm_columns, conv.gemm_depth, conv.gemm_count) == (12544, 64, 147, 1)
    assert (conv.kernel_size, conv.stride, conv.forward_kernels, conv.backward_kernels) == ((7, 7), 2, 1, 1)
    assert (norm.tensors, norm.forward_elements, norm.backward_elements) == ((64, 64), 3 * out, 5 * out)
    assert (relu.forward_elements, relu.backward_elements, relu.saved_elements) == (2 * out, 3 * out, out)
    assert conv.saved_elements == pixels
    assert norm.saved_elements == out
    assert pool.saved_elements == out // 4  # positions of the maxima; the input is kept by the ReLU


def test_concatenation_copies_out_only_gradients_that_nothing_adds_to():
    net = Network()
    x = net.conv(image(8), "a", 4, 1)
    y = net.conv(x, "b", 4, 1)
    net.concat([x, y], "joined")
    joined, each = net.layers[-1], 4 * 64
    assert joined.backward_kernels == 2  # a sum for x, which b reads too, and a copy for y
    assert joined.backward_elements == 3 * each + 2 * each


def test_second_reader_adds_a_gradient():
    net = Network()
    x = net.conv(image(8), "a", 4, 1)
    y = net.conv(x, "b", 4, 1)
    z = net.conv(x, "c", 4, 1)
    net.add(y, z, "sum")
    first, b, c, total = net.layers
    assert (first.backward_kernels, b.backward_kernels, c.backward_kernels) == (1, 2, 3)
    assert c.backward_elements - b.backward_elements == 3 * 4 * 64
    assert (b.saved_elements, c.saved_elements) == (4 * 64, 0)
    assert (total.backward_elements, total.backward_kernels) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((7, 3, 2, 0), 3), ((7, 3, 2, 1), 4), ((5, 3, 1, 2, 2), 5), ((112, 3, 2, 0), 55), ((6, 2, 3, 1), 3)],
)
def test_output_size(arguments, expected):
    assert output_size(*arguments) == expected


def test_output_size_rounded_up():
    assert output_size(112, 3, 2, 0, ceil_mode=True) == 56
    # the window that would start in the right padding is dropped
    assert output_size(5, 1, 3, 1, ceil_mode=True) == 2


# transformers against their closed forms


@pytest.mark.published("Narayanan et al. 2021, eq. 2 and 3, the latter without recomputation")
@pytest.mark.parametrize("name", ["gpt2", "gpt2-xl"])
@pytest.mark.parametrize("length", [128, 1024])
def test_gpt2_is_megatrons_formula(name, length):
    network = workload(name, length)
    layers, hidden = {"gpt2": (12, 768), "gpt2-xl": (48, 1600)}[name]
    rest = 1 + length / (6 * hidden) + 50257 / (12 * layers * hidden)
    flops = 72 * length * layers * hidden**2 * rest
    assert network.training_flops == pytest.approx(flops, rel=1e-12)
    rest = 1 + 13 / (12 * hidden) + (50257 + 1024) / (12 * layers * hidden)
    parameters = 12 * layers * hidden**2 * rest
    assert network.parameters - 2 * hidden == pytest.approx(parameters, rel=1e-12)


@pytest.mark.published("Korthikanti et al. 2022, eq. 1: s b h (34 + 5 a s / h) bytes of a layer")
@pytest.mark.parametrize(
    ("name", "hidden", "heads"), [("bert-base", 768, 12), ("bert-large", 1024, 16), ("gpt2", 768, 12)]
)
@pytest.mark.parametrize("length", [128, 512])
def test_activations_of_a_layer(name, hidden, heads, length):
    network = workload(name, length)
    saved = sum(a.saved_elements for a in network.layers if a.name.startswith("layer.3."))
    assert 2 * saved == layer_activation_bytes(length, hidden, 1, 12 * hidden, 1, heads * length)


def test_longer_sequences_cost_more_than_in_proportion():
    short, long = workload("bert-large", 128), workload("bert-large", 512)
    assert short.parameters == long.parameters
    assert long.forward_flops > 4 * short.forward_flops
    assert workload("bert-base").sequence_length == 128
    assert workload("gpt2").sequence_length == 1024


# what holds for every table


@pytest.mark.any_version
@pytest.mark.parametrize("name", names())
def test_every_table(name):
    network = workload(name)
    assert network.id == name
    assert network.layers[-1].kind == "loss"
    labels = [layer.name for layer in network.layers]
    assert len(set(labels)) == len(labels)
    for layer in network.layers:
        assert layer.kind in KINDS
        assert all(isinstance(t, int) and t > 0 for t in layer.tensors)
        product = 2 * layer.gemm_rows * layer.gemm_columns * layer.gemm_depth * layer.gemm_count
        assert layer.forward_flops == product
        frozen = network.architecture and network.architecture.tower and network.architecture.tower.frozen
        assert layer.backward_flops in (product, 2 * product) or (frozen and layer.name.startswith("vision."))
        assert min(layer.forward_elements, layer.backward_elements, layer.saved_elements) >= 0
        assert layer.backward_kernels >= 0
        if layer.operation.product:
            assert product > 0
    reads_data = [a for a in network.layers if a.forward_flops and a.backward_flops == a.forward_flops]
    has_images = network.architecture is not None and network.architecture.tower is not None
    # whatever reads the pixels, or the numbers of a click, has no input to differentiate
    looks_up = network.sample == "sequence" or name in ("ncf", "ncf-ml1m", "two-tower", "wide-and-deep")
    if name in (*built_in.FIXED["dit"], *built_in.FIXED["joint_transformer"], *built_in.FIXED["latent_unet"]):
        assert len(reads_data) > 1  # also a time step, texts, sizes
    else:
        assert len(reads_data) == (0 if looks_up and not has_images else 1)
    assert network.input_elements > 0
    assert network.stored_bytes > 0
    references = tomllib.loads(
        (Path(perfmodel.__file__).parent / "equations" / "references.toml").read_text()
    )
    assert network.source in references


def test_catalogue_names_what_the_modules_build():
    for table in (built_in.FIXED, built_in.SEQUENCE):
        for module, members in table.items():
            assert set(import_module(f"perfmodel.workloads.networks.{module}").NAMES) == set(members)


def test_asked_twice_built_once():
    assert workload("vgg16") is workload("vgg16")
    assert workload("bert-base", 64) is not workload("bert-base")


def test_only_the_family_asked_for_is_imported():
    code = (
        "import sys; from perfmodel.workloads import names, workload; names();"
        "assert not any(m.startswith('perfmodel.workloads.') and m.split('.')[-1] not in"
        " ('built_in', 'catalogue', 'from_file', 'preset_names', 'workload') for m in sys.modules);"
        "workload('resnet50'); assert 'perfmodel.workloads.networks.transformer' not in sys.modules;"
        "assert 'onnx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("resnet-51",), "unknown workload 'resnet-51'; nearest: resnet50"),
        (("",), "unknown workload ''"),
        (("resnet50", 128), "takes no sequences"),
        (("bert-base", 1024), "beyond its 512 position embeddings"),
        (("gpt2", 0), "expected a whole number of at least 1"),
    ],
)
def test_bad_names(arguments, message):
    with pytest.raises(InputError, match=message):
        workload(*arguments)


def test_grouped_convolution():
    net = Network()
    net.conv(Tensor(8, 14, 14), "g", 16, 3, groups=4)
    (layer,) = net.layers
    # each of 16 outputs sees 2 of the 8 inputs through 9 weights
    assert layer.tensors == (16 * 2 * 9,)
    assert layer.forward_flops == 2 * 16 * 2 * 9 * 14 * 14
    assert (layer.gemm_columns, layer.gemm_depth, layer.gemm_count) == (4, 18, 4)
