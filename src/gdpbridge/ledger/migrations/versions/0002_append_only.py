"""Entries can be added, not changed or removed, whatever program asks the database to."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

_SQLITE = """
CREATE TRIGGER ledger_entry_{event} BEFORE {event} ON ledger_entry
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END
"""
_POSTGRESQL = (
    """
    CREATE FUNCTION ledger_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries of a ledger are never changed'; END $$
    """,
    """
    CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_entry_refuse()
    """,
)


def upgrade() -> None:
    """Create the triggers."""
    if op.get_context().dialect.name == "sqlite":
        for event in ("update", "delete"):
            op.execute(_SQLITE.format(event=event))
    else:
        for statement in _POSTGRESQL:
            op.execute(statement)
