"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "ledger_dataset",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(100), nullable=False, unique=True),
        sa.Column("unit", sa.String(100), nullable=False),
        sa.Column("neighbours", sa.String(20), nullable=False),
        sa.Column("budget_mu_squared", sa.Text),
        sa.Column("budget_failure", sa.Text),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
    )
    op.create_table(
        "ledger_account",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("ledger_dataset.id"), primary_key=True),
        sa.Column("partition", sa.String(100), primary_key=True),
        sa.Column("part", sa.String(100), primary_key=True),
        sa.Column("mu_squared", sa.Text, nullable=False),
        sa.Column("failure", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_entry",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("ledger_dataset.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("time", sa.String(40), nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("purpose", sa.Text, nullable=False),
        sa.Column("partition", sa.String(100), nullable=False),
        sa.Column("part", sa.String(100), nullable=False),
        sa.Column("mechanism", sa.Text),
        sa.Column("statement", sa.String(20)),
        sa.Column("mu", sa.Text),
        sa.Column("mu_squared", sa.Text),
        sa.Column("failure", sa.Text),
        sa.Column("certified", sa.Boolean),
        sa.Column("certificate", sa.String(64)),
        sa.Column("refers", sa.Integer),
        sa.Column("expires", sa.String(40)),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("total_mu_squared", sa.Text, nullable=False),
        sa.Column("total_failure", sa.Text, nullable=False),
        sa.Column("budget_mu_squared", sa.Text),
        sa.Column("budget_failure", sa.Text),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.UniqueConstraint("dataset_id", "key", name="ledger_entry_key"),
        sa.UniqueConstraint("dataset_id", "refers", name="ledger_entry_refers"),
    )
    op.create_table(
        "ledger_reservation",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("ledger_dataset.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    )
