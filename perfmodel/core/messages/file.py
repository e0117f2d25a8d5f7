"""Files that cannot be read."""

MESSAGES = {
    "file.not_attached": "{path!s:.99}: no file of this request, and files of the server are not "
    "read; send what it holds under files, by this name",
    "file.missing": "cannot be read: no such file",
    "file.unreadable": "cannot be read: {reason}",
    "file.folder": "cannot be read: is a folder; name a file",
    "file.device": "cannot be read: a device, pipe or socket; name a regular file",
    "file.no_name": "{path!r} names no file: give a file's name, or leave the option out",
    "file.too_large": "{size:,} bytes; at most {most:,} are read",
    "file.not_utf8": "cannot be read: not UTF-8 text: byte {start:,} fits no letter",
    "file.too_long": "{rows:,} lines; at most {most_rows:,} are read, so split the file",
    "file.not_toml": "not TOML: {too_deep}",
    "file.malformed": "not {kind}: {too_deep}",
    "file.no_such": "no such file{hint}",
}
