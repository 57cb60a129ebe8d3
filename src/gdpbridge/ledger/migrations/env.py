"""Run by alembic: takes the steps on the connection that the store hands over."""

from __future__ import annotations

from alembic import context

from gdpbridge.ledger.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
