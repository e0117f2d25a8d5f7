"""What a thing is: hardware, links, nodes, workloads and the plan for running them."""
