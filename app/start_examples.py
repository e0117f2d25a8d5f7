"""Example questions of the first page by heading, each with the page that answers it and its query."""

from collections.abc import Mapping

LARGER = "fleets"
"""Page that answers for whole machines, more of which are added, and whose batch grows with them."""
ETHERNET = {
    "inter-link": "ethernet-25g-tcp",
    "b-inter-link": "ethernet-100g-tcp",
    "c-inter-link": "ethernet-100g-rdma",
    "d-inter-link": "ethernet-25g-rdma",
}
ONE_CARD = {"node": "pcie-workstation-1gpu", "accelerator": "v100-sxm2-16gb"}
"""Machine of the examples of the README too."""
EXAMPLES: dict[str, Mapping[str, tuple[str, dict[str, str]]]] = {
    "Or see an example of what to decide": {
        "My run takes 18 h on eight DGX A100. With four more?": (
            LARGER,
            {
                "workload": "bert-large",
                "machine": "dgx-a100-80gb",
                "machines": "8",
                "how-many": "4",
                "run-time": "18h",
            },
        ),
        "25 or 100 Gbit/s for 4 DGX-1 (32 V100s)?": ("compare", {"node": "dgx-1v", "gpus": "32", **ETHERNET}),
    },
    "Or of how fast it is": {
        "How fast is ResNet-50 on 4 DGX-1?": (
            "predict",
            {"workload": "resnet50", "node": "dgx-1v", "gpus": "32"},
        ),
        "How far does VGG-16 scale?": ("scale", {"workload": "vgg16", "gpus": "1,2,4,8,16,32,64,128"}),
        "Parameter server or ring?": (
            "scale",
            {
                **ONE_CARD,
                "gpus": "2,4,8,16,32",
                "inter-link": "ethernet-25g-tcp",
                "strategy": "parameter-server",
                "servers": "8",
                "strategies": "all-reduce",
            },
        ),
        "Which layout for Llama 3 70B on 512 H100s?": (
            "transformers",
            {"workload": "llama-3-70b", "gpus": "512", "global-batch-size": "1024", "node": "dgx-h100"},
        ),
    },
}
"""Heading -> its questions, in the order of the menu."""
