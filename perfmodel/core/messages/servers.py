"""Parameter servers."""

MESSAGES = {
    "servers.gradient_size": "--gradient-size {message_bytes:g}: expected bytes above 0, e.g. 100MB",
    "servers.workers": "--workers {workers}: expected at least 2, one alone has nobody to agree with",
    "servers.inter_link": "--inter-link {link}: links accelerators of one machine; expected one "
    "between machines, e.g. {default_inter_link}",
    "servers.only": "{option} goes with --strategy parameter-server, not {strategy}",
}
