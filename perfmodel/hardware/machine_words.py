"""Accelerators, links and machines as people call them, from the names of their specs."""

import re
from collections import Counter
from collections.abc import Iterable

from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node

_BRANDS = re.compile(r"\b(?:Instinct|Tesla|GeForce|AWS) ")
"""Words of a vendor's name for a product that nobody needs to tell it from others."""
_FORM = re.compile(r" (?:SXM\d?|PCIe|OAM|NVL|Grace Hopper|GPU|\d+ GB)(?![\w-]).*")
"""Form and memory of an accelerator, from which a title is free."""
_LEFT_OUT = (_FORM, re.compile(r" (?:SXM\d?|PCIe|OAM|NVL)(?![\w-])"), re.compile(r" SXM\d?(?![\w-])"))
"""What a short name leaves out: form and memory, the form alone, the usual form alone."""
_ONE = re.compile(r"\((?:one )?([^)]*)\)")
"""An addition in parentheses."""
_PORT = re.compile(r"Ethernet (\d+ Gbit/s) (?:over kernel|with) (TCP|RDMA).*")
"""Name of a port by its rate and what carries its messages."""


def accelerator_words(accelerator: Accelerator) -> str:
    """Return what people call an accelerator: the name of its spec without vendor, brand and parentheses.

    >>> from perfmodel import Catalogue
    >>> find = Catalogue.built_in().accelerator
    >>> [accelerator_words(find(id)) for id in ("h100-sxm5-80gb", "mi250x", "v100-sxm2-16gb")]
    ['H100 SXM5 80 GB', 'MI250X die', 'V100 SXM2 16 GB']
    """
    name = _ONE.sub(r"\1", accelerator.name)
    vendor = f"{accelerator.vendor} "
    return _BRANDS.sub("", name.removeprefix(vendor))


def link_words(link: Link) -> str:
    """Return what people call a link: the name of its spec, of Ethernet its rate first.

    >>> from perfmodel import Catalogue
    >>> find = Catalogue.built_in().link
    >>> [link_words(find(id)) for id in ("ethernet-25g-tcp", "ethernet-100g-rdma", "ib-edr-100g")]
    ['25 Gbit/s Ethernet with TCP', '100 Gbit/s Ethernet with RDMA', 'InfiniBand EDR 100 Gbit/s']
    """
    return _PORT.sub(r"\1 Ethernet with \2", link.name)


def node_words(node: Node) -> str:
    """Return what people call a machine, for parentheses: the name of its spec without an addition.

    >>> from perfmodel import Catalogue
    >>> find = Catalogue.built_in().node
    >>> node_words(find("aws-p5.48xlarge")), node_words(find("dgx-1v"))
    ('AWS p5.48xlarge', 'NVIDIA DGX-1')
    """
    return node.name.partition(" (")[0]


def machine_words(node: Node, accelerator: Accelerator | None) -> str:
    """Return what people call a machine in a list: its name, and the accelerators unless it has them.

    Parameters
    ----------
    node : the machine
    accelerator : that it comes with; None of one that takes any card

    Examples
    --------
    >>> from perfmodel import Catalogue
    >>> find = Catalogue.built_in()
    >>> machine_words(find.node("dgx-1v"), find.accelerator("v100-sxm2-16gb"))
    'DGX-1, 8 x V100 SXM2 16 GB'
    >>> machine_words(find.node("jean-zay-v100"), find.accelerator("v100-sxm2-32gb"))
    'Jean Zay, 4 x V100 32 GB'
    """
    name = node_words(node).removeprefix("NVIDIA ")
    if accelerator is None or f"{node.accelerators} x " in name:
        return name
    return f"{name}, {node.accelerators} x {accelerator_words(accelerator)}"


def machines_words(nodes: int, used: int, accelerators: int, accelerator: str, node: str) -> str:
    """Return machines as people call them: their number, the accelerators of each, and whose they are.

    Parameters
    ----------
    nodes : number of machines
    used : number of accelerators of all of them that work
    accelerators : number of accelerators of one machine
    accelerator, node : as of ``accelerator_words`` and ``node_words``

    Examples
    --------
    >>> machines_words(15, 120, 8, "H100 SXM5 80 GB", "AWS p5.48xlarge")
    '15 machines of 8 x H100 SXM5 80 GB (AWS p5.48xlarge)'
    >>> machines_words(1, 8, 8, "H100 SXM5 80 GB", "AWS p5.48xlarge")
    '8 x H100 SXM5 80 GB (AWS p5.48xlarge)'
    >>> machines_words(1, 2, 8, "H100 SXM5 80 GB", "AWS p5.48xlarge")
    '2 of 8 x H100 SXM5 80 GB (AWS p5.48xlarge)'
    """
    part = f"{used} of " if nodes == 1 and used < accelerators else ""
    count = "" if nodes == 1 else f"{nodes:,} machines of "
    return f"{part}{count}{accelerators} x {accelerator} ({node})"


def several_words(count: int, accelerator: str) -> str:
    """Return a number of accelerators as a title names them, without form and memory.

    Parameters
    ----------
    count : of accelerators
    accelerator : as of ``accelerator_words``

    Examples
    --------
    >>> several_words(32, "V100 SXM2 16 GB"), several_words(2, "RTX 4090"), several_words(1, "H100 NVL 94 GB")
    ('32 V100s', '2 RTX 4090s', '1 H100')
    >>> several_words(8, "my-own-gpu")  # an id has no plural
    '8 x my-own-gpu'
    """
    if accelerator.islower():
        return f"{count:,} x {accelerator}"
    return f"{count:,} {_FORM.sub('', accelerator)}" if count == 1 else f"{count:,} {kind_words(accelerator)}"


def distinct_names(accelerators: Iterable[str]) -> dict[str, str]:
    """Return accelerators -> their names without form and memory, or with as much as tells them apart.

    >>> list(distinct_names(["A100 SXM4 40 GB", "A100 SXM4 80 GB", "B200 SXM 180 GB"]).values())
    ['A100 40 GB', 'A100 80 GB', 'B200']
    >>> list(distinct_names(["H100 PCIe 80 GB", "H100 SXM5 80 GB"]).values())
    ['H100 PCIe 80 GB', 'H100 80 GB']
    """
    left = dict.fromkeys(accelerators)
    names: dict[str, str] = {}
    for pattern in _LEFT_OUT:
        short = {name: pattern.sub("", name) for name in left}
        often = Counter(short.values())
        names |= {name: words for name, words in short.items() if name not in names and often[words] == 1}
    return {name: names.get(name, name) for name in left}


def kind_words(accelerator: str) -> str:
    """Return what accelerators of a kind are called, without form and memory.

    >>> kind_words("V100 SXM2 16 GB"), kind_words("my-own-gpu")  # an id has no plural
    ('V100s', 'my-own-gpu')
    """
    return accelerator if accelerator.islower() else f"{_FORM.sub('', accelerator)}s"
