"""Fleets: machines that exist, and purchases."""

MESSAGES = {
    "fleet.needless": "{option}: has no effect with --have; leave it out",
    "fleet.price_range": "{field} = {given!r:.60}: expected a number above 0, at most {largest:g}",
    "fleet.machine_twice": "{option}: {machine} is given twice, as {node}",
    "fleet.link_twice": "{option}: {link} is given twice",
    "fleet.given_twice": "{option}: {value} given twice",
    "fleet.bought": "--buy {option_}: {reason}",
    "fleet.strategy": "--strategy {strategy}: fleets train by all-reduce; leave it out",
    "fleet.reason": "{reason}: {workload} on {gpus} x {accelerator}, {batch:,} samples a step "
    "(--global-batch-size){kinds}",
    "fleet.no_option": "{option} {name}: no option has it; expected one of {known}",
    "fleet.shares": "{together} by all replicas together at every micro-batch ({sharding}), so that "
    "none can run more of them than another",
    "fleet.tables": "embedding tables sharded over unlike machines are not predicted; "
    "give --embedding replicated, or machines of one kind",
    "fleet.batch": "{batch} samples do not fit on one {accelerator}: {hint}",
    "fleet.have": "--have {text!r:.60}: expected machines, such as '{example}'",
    "fleet.malformed": "{option} {text!r:.60}: expected for example '4 x dgx-h100' or 'ib-ndr-400g'",
    "fleet.list": "{option} {text!r:.60}: is one option each time: {right}; what is bought "
    "together is joined by +",
    "fleet.two_networks": "{option} {text!r:.60}: names two networks; give each an option of its own",
    "fleet.no_count": "{option} {part}: say how many machines, e.g. '4 x {node}'",
    "fleet.uncounted": "{option} {part!r:.60}: write a count in digits and a machine, as in '{example}'",
    "fleet.count": "{option} {part}: expected 1 to {most_machines:,} machines",
    "fleet.no_link": "{option} {part}: expected a link after @, e.g. '{example}'",
    "fleet.any_accelerator": "{option} {part}: {node} takes any accelerator; say which: '{machines} "
    "x {node}/NAME'",
    "fleet.other_accelerator": "{option} {part}: {node} holds {accelerator}, not {held}",
    "fleet.one_machine": "one machine has no use for a network between machines",
    "fleet.no_usual_network": "{missing} has no usual network: name it, e.g. '{missing}@ib-hdr-200g'",
    "fleet.not_joined": "{one} and {other} do not join: name one network for all machines, e.g. '+ "
    "{other}', or the bought machines' with @{one}",
    "fleet.goes_without": "{option}: goes without --have{why}. Leave it out; with --have go {known}, "
    "and options of the job",
    "fleet.give_one": "{option}: with --have give one, not {count}",
    "fleet.say_have": "{option}: say what you have, e.g. --have '8 x dgx-a100-80gb'",
}
