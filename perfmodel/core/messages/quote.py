"""Quotes and their claims."""

MESSAGES = {
    "quote.report_of_examples": "--report: is of a quote, not of a list of examples; leave one of them out",
    "quote.one_or_examples": "a quote and --examples: give one of them",
    "quote.none": "give a quote's file, or one of the examples: {known}",
    "quote.not_json": "quote: expected a table of what JSON can hold",
    "quote.convention": "convention = '{convention}': {what}; leave it out",
    "quote.quantity": "quantity = '{quantity}': a sample of {workload} is no {sample}",
    "quote.one_accelerator": "{kind} needs at least two accelerators: gpus in the scenario",
    "quote.no_tokens": "{workload} has no tokens; claim samples_per_second",
    "quote.from_gpus": "from_gpus = {m}: expected fewer than the job's {n}",
    "quote.from_replicas": "from_gpus = {m}: one replica takes {replica} accelerators; expected a "
    "multiple of it",
    "quote.key_of_claim": "{field} is a key of a claim: write it under [[claims]], next to quantity",
    "quote.length": "{quantity} needs epochs, e.g. epochs = 90, or samples, or tokens = '1T', or "
    "recipe = 'tokens' of networks that predict the next token: no epochs to a target are published "
    "for {workload}, as they are for {with_target}",
    "quote.data_set": "the size of {workload}'s data set is not known: claim samples_per_second, or "
    "give samples or tokens",
    "quote.price": "no known price of {node}: give price, US dollars for an hour of one node",
    "quote.no_prediction": "no prediction of {each!r}: {memory}",
    "quote.no_layout": "no layout of {workload} on {world_size} accelerators: {why}",
}
