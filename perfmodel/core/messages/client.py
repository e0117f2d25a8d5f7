"""Requests that the client sends to a service."""

MESSAGES = {
    "client.value": "{value!r:.60}: cannot be sent to a service; expected numbers, texts, lists or tables",
    "client.case": "a Case was predicted on this machine: give its scenario",
    "client.token": "token: expected printable letters of ASCII, on one line",
    "client.timeout": "timeout = {timeout!r}: expected seconds above 0",
    "client.url": "{url!r:.99}: expected an address such as http://127.0.0.1:8080",
}
