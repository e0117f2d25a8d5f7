"""Files that users name, files that come with the package, tables and templates."""
