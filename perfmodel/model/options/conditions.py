"""Prices, power and failures of a run."""

from typing import Annotated

from perfmodel.core.choices import SYNONYMS, PriceKind
from perfmodel.core.records.options import Described, OptionInfo, declared
from perfmodel.core.records.record import Within

LARGEST = 1e12
LARGEST_BANDWIDTH = 1e15
MOST_TOKENS = 1e18
MOST_INTERRUPTIONS = 60.0
"""Of a machine in an hour: one a minute."""

_Above = Annotated[float, Within(gt=0, le=LARGEST)]
_From = Annotated[float, Within(ge=0, le=LARGEST)]
_Share = Annotated[float, Within(gt=0, le=1)]
_Building = Annotated[float, Within(ge=1, le=10)]
_TIME = OptionInfo(unit="s")


class Conditions(Described, heading="Prices, power and failures"):
    """Prices, power and failures of a run; None means unknown.

    Parameters
    ----------
    epochs : [1] Passes over the data set in the run whose cost is computed.
    samples : [count of samples] Samples of the whole run, instead of epochs, e.g. 5e6.
    tokens : [count of tokens] Tokens of the whole run, instead of epochs or samples, e.g. 15T.
    pricing : Kind of price: on demand, spot (with its interruptions), reserved for a term, or owned.
        [default: owned with --purchase-price, else on-demand]
    price : [USD/h] Rent of one node with all its accelerators, USD per hour.
        [default: the lowest known of its kind]
    purchase_price : [USD] Price to buy one node, instead of a rent, e.g. $300,000.
    server_price : [USD/h] Rent of one parameter server's machine, USD per hour.
        [default: the node's price for the same machine, else on demand]
    region : Region of the cloud provider, e.g. us-east-1.  [default: the cheapest known]
    service_years : [years] Years until a purchased node is written off.  [default: 4]
    used_fraction : [1] Share of its life in which a purchased node works, from 0 to 1.  [default: 1]
    electricity_price : [USD/kWh] Price of electricity for a purchased node, USD per kWh; a rent includes it.
    pue : [1] Power of the building over the power of its machines (PUE).  [default: 1]
    host_power : [W] Power of a node without its accelerators, e.g. 2kW.  [default: 0]
    carbon_intensity : [g CO2/kWh] Grams of CO2 per kWh of electricity.
        [default: that of the offer's region, if known]
    node_failure_interval : [s] Mean time between failures of one node, e.g. 6000h.
    checkpoint_time : [s] Time to write one checkpoint, e.g. 60s.
    checkpoint_bandwidth : [B/s] Rate at which one node writes its share of a checkpoint, instead of a time,
        e.g. 2GB/s.
    restart_time : [s] Time from a failure until training resumes.
        [default: 0; at spot prices until machines are back, as measured]
    interruptions : [1/h] How often a machine at a spot price is taken back: per machine and hour, e.g. 0.02.
        [default: as measured]

    Raises
    ------
    InputError : an unknown option, or a value that is out of its range
    """

    epochs: _Above | None = None
    samples: Annotated[_Above | None, OptionInfo(label="Samples of the run", unit="count of samples")] = None
    tokens: Annotated[
        Annotated[float, Within(gt=0, le=MOST_TOKENS)] | None,
        OptionInfo(label="Tokens of the run", unit="count of tokens"),
    ] = None
    pricing: Annotated[PriceKind | None, OptionInfo(label="Kind of price", synonyms=SYNONYMS["pricing"])] = (
        None
    )
    price: Annotated[_Above | None, OptionInfo(label="Price of a machine")] = None
    purchase_price: Annotated[_Above | None, OptionInfo(label="Purchase of a machine", unit="USD")] = None
    server_price: Annotated[_Above | None, OptionInfo(label="Price of a parameter server's machine")] = None
    region: str | None = None
    service_years: Annotated[_Above | None, OptionInfo(label="Until written off")] = None
    used_fraction: Annotated[_Share | None, OptionInfo(label="Share of its life at work")] = None
    electricity_price: Annotated[_Above | None, OptionInfo(label="Electricity")] = None
    pue: Annotated[_Building | None, OptionInfo(label="Power of the building over its machines' (PUE)")] = (
        None
    )
    host_power: Annotated[_From | None, OptionInfo(label="Power of a machine without its GPUs", unit="W")] = (
        None
    )
    carbon_intensity: Annotated[_From | None, OptionInfo(label="Carbon intensity")] = None
    node_failure_interval: Annotated[
        _From | None,
        OptionInfo(label="Time between failures of a machine", name="node-mtbf", unit="s"),
    ] = None
    checkpoint_time: Annotated[_From | None, _TIME] = None
    checkpoint_bandwidth: Annotated[
        Annotated[float, Within(gt=0, le=LARGEST_BANDWIDTH)] | None, OptionInfo(unit="B/s")
    ] = None
    restart_time: Annotated[_From | None, _TIME] = None
    interruptions: Annotated[
        Annotated[float, Within(gt=0, le=MOST_INTERRUPTIONS)] | None,
        OptionInfo(label="Interruptions of a spot machine in an hour"),
    ] = None


OF_ONE_JOB = ("epochs", "samples", "tokens", "pricing", "price", "purchase_price", "server_price")
"""Conditions of one run, or of one type of machine; the others hold for all machines of a search."""

OF_OWNED = ("purchase_price", "service_years", "used_fraction", "electricity_price")
"""Conditions of machines that are owned."""


def condition_of(key: str) -> str | None:
    """Return the field of ``Conditions`` that a key means; None of another option.

    >>> condition_of("pricing"), condition_of("node-mtbf"), condition_of("gpus")
    ('pricing', 'node_failure_interval', None)
    """
    name = key.replace("_", "-")
    names = {one.name: field for field, one in declared(Conditions).items()}
    names |= {field.replace("_", "-"): field for field in Conditions.model_fields}
    return names.get(name)
