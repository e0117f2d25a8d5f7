"""The service."""

MESSAGES = {
    "service.not_started": "the service could not start; its log says why",
    "service.address": "cannot listen on {host}, port {port}: {reason}; try another --port",
    "service.range": "{option} {value:g}: expected {least:g} to {most:g}",
    "service.open": "--host {host} can be reached by other machines: set --token-file FILE, or "
    "--without-token to answer everybody",
}
