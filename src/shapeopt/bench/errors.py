"""What reading records may raise."""


class RecordError(ValueError):
    """A file that is no record, or a damaged one."""
