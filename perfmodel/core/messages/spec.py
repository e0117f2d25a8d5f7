"""Specs of hardware and software."""

MESSAGES = {
    "spec.left_out": "{removesuffix} {id} has no spec, as {reason}; a spec of your own would do "
    "(--specs, see hardware_specs/README.md)",
    "spec.tables": "specs.{kind}: expected a table of at most {most_specs:,} specs by their ids",
    "spec.id_of_table": "id is {id!r:.60}; expected {right!r}, the key of its table",
    "spec.not_json": "expected a table of what JSON can hold",
    "spec.id_of_file": "id is {id!r}; expected {stem!r}, the name of the file",
    "spec.no_folders": "folders of the server are not read; send specs with the request",
    "spec.missing": "no such file or folder of hardware specs",
    "spec.device": "a device, pipe or socket; expected a file or folder of hardware specs",
    "spec.empty_folder": "no .toml file; expected spec files, or folders {folders}",
    "spec.catalogue": "catalogue = {catalogue!r:.60}: expected a perfmodel.Catalogue",
}
