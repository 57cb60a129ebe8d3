"""Entries say in what format they are; in SQLite no insert takes the place of one that is there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

# INSERT OR REPLACE removes what is in its way without asking the trigger on deletions
_SQLITE = """
CREATE TRIGGER ledger_entry_insert BEFORE INSERT ON ledger_entry
WHEN EXISTS (
    SELECT 1 FROM ledger_entry WHERE rowid = NEW.rowid OR (
        dataset_id = NEW.dataset_id
        AND (number = NEW.number OR key = NEW.key OR refers = NEW.refers)
    )
)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END
"""
_SQLITE_DATASET = """
CREATE TRIGGER ledger_dataset_delete BEFORE DELETE ON ledger_dataset
BEGIN SELECT RAISE(ABORT, 'a data set of a ledger is never removed'); END
"""
_POSTGRESQL = (
    """
    CREATE FUNCTION ledger_dataset_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'a data set of a ledger is never removed'; END $$
    """,
    """
    CREATE TRIGGER ledger_dataset_kept BEFORE DELETE OR TRUNCATE ON ledger_dataset
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_dataset_refuse()
    """,
)


def upgrade() -> None:
    """Add the columns and the triggers."""
    op.add_column("ledger_entry", sa.Column("format", sa.Integer))
    op.add_column("ledger_entry", sa.Column("token", sa.String(32)))
    op.add_column("ledger_entry", sa.Column("state", sa.String(64)))
    if op.get_context().dialect.name == "sqlite":
        op.execute(_SQLITE)
        op.execute(_SQLITE_DATASET)
    else:
        for statement in _POSTGRESQL:
            op.execute(statement)
