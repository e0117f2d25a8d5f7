"""The equations of one prediction with its numbers in them, and the sources it stands on."""
