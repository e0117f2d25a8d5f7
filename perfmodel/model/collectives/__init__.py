"""How libraries run collectives: where their ranks lie, what is learned of links, time by message size."""
