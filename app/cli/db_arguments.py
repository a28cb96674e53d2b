"""The arguments of `journeyman doctor` and `journeyman db`."""

from app.cli.command_parser import AddCommand
from app.cli.json_option import json_option


def add_data(add: AddCommand) -> None:
    doctor = add("doctor", "Check this computer and the data, and suggest fixes.")
    rule = "Only show whether this command would be allowed, denied or asked about here, like `rules test`"
    doctor.add_argument("--rule", metavar="COMMAND", help=rule)
    json_option(doctor)
    action = add("db", "Back up, check, repair, restore or compact the database.").group()
    action("backup", "Make a verified backup of the database.")
    action("check", "Read the whole database and report damage.")
    action("repair", "Check the database, and recover what can be read if it is damaged.")
    restore = action("restore", "Restore the database from a backup. The present data is set aside.")
    restore.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="The backup (default: the newest good one)"
    )
    action("compact", "Make the database file as small as possible.")
