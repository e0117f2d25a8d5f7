"""Prices."""

MESSAGES = {
    "price.exclusive_of": "--price and --purchase-price of {both}: give one",
    "price.same_machine": "{option}: {called} and {name} are the same machine; give one price",
    "price.bought_plan": "--service-years and --used-fraction need --purchase-price NODE=USD",
    "price.electricity_plan": "--electricity-price: a rent includes it; give --price or "
    "--purchase-price NODE=USD",
    "price.exclusive": "--price and --purchase-price: give one",
    "price.bought": "--service-years and --used-fraction need --purchase-price",
    "price.electricity": "--electricity-price: a rent includes it; give --price or --purchase-price with it",
    "price.owned_plan": "--pricing owned needs --purchase-price NODE=USD",
    "price.owned": "--pricing owned needs --purchase-price",
    "price.rented": "--purchase-price: not with --pricing {pricing}, which is a rent",
    "price.interruptions": "--interruptions: of machines at spot prices; give --pricing spot with it",
    "price.interruption_rate": "--pricing spot: no rate of interruptions is known; give --interruptions",
    "price.unknown": "no known price of {node} in {region!r}{kind}; {right}",
}
