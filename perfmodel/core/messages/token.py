"""Files of tokens."""

MESSAGES = {
    "token.words": "line {number} has {count} words; expected a token, or its name and the token",
    "token.short": "a token is shorter than {shortest} letters, on line {number}; e.g. openssl rand -hex 32",
    "token.none": "holds no token; expected one a line",
    "token.unreadable": "--token-file {path}: {strerror}",
    "token.no_file": "no regular file",
    "token.shared": "others may read or change it; chmod g-w,o-rwx {path}",
    "token.long": "longer than {largest_file:,} bytes",
}
