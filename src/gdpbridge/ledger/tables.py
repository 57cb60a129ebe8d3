"""The tables of a ledger. Amounts are exact decimals or fractions as text."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["SCHEMA", "VERSION_TABLE", "account", "dataset", "entry", "metadata", "reservation"]

# the newest migration, and the table that says which one a database is at
SCHEMA = "0003"
VERSION_TABLE = "ledger_version"

metadata = MetaData()

# budget, count and head repeat what the last entry says
dataset = Table(
    "ledger_dataset",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("unit", String(100), nullable=False),
    Column("neighbours", String(20), nullable=False),
    Column("budget_mu_squared", Text),
    Column("budget_failure", Text),
    Column("count", Integer, nullable=False),
    Column("head", String(64), nullable=False),
)

# running totals: one row for the whole, and one for each part of each partition
account = Table(
    "ledger_account",
    metadata,
    Column("dataset_id", Integer, ForeignKey("ledger_dataset.id"), primary_key=True),
    Column("partition", String(100), primary_key=True),
    Column("part", String(100), primary_key=True),
    Column("mu_squared", Text, nullable=False),
    Column("failure", Text, nullable=False),
)

entry = Table(
    "ledger_entry",
    metadata,
    Column("dataset_id", Integer, ForeignKey("ledger_dataset.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), nullable=False),
    Column("time", String(40), nullable=False),
    Column("key", String(200), nullable=False),
    Column("request", String(64), nullable=False),
    Column("actor", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("partition", String(100), nullable=False),
    Column("part", String(100), nullable=False),
    Column("mechanism", Text),
    Column("statement", String(20)),
    Column("mu", Text),
    Column("mu_squared", Text),
    Column("failure", Text),
    Column("certified", Boolean),
    Column("certificate", String(64)),
    Column("refers", Integer),
    Column("expires", String(40)),
    Column("details", Text, nullable=False),
    Column("total_mu_squared", Text, nullable=False),
    Column("total_failure", Text, nullable=False),
    Column("budget_mu_squared", Text),
    Column("budget_failure", Text),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    # entries of the first format have none of these
    Column("format", Integer),
    Column("token", String(32)),
    Column("state", String(64)),
    UniqueConstraint("dataset_id", "key", name="ledger_entry_key"),
    # a reservation ends once
    UniqueConstraint("dataset_id", "refers", name="ledger_entry_refers"),
)

# reservations that are neither committed nor cancelled
reservation = Table(
    "ledger_reservation",
    metadata,
    Column("dataset_id", Integer, ForeignKey("ledger_dataset.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
)
