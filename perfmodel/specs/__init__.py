"""Models of spec files: hardware, links, nodes, prices; and of a scenario."""
