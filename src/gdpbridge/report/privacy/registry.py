"""A report as a record of the public registry of deployments that OpenDP hosts.

Its fields are those of the registry's schema (github.com/opendp/deployments-registry-data, as of
July 2026), after Ghazi, Nanayakkara and Vadhan (arXiv 2509.13509). ``mu`` is a proposal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gdpbridge.report.privacy.basis import NOT_STATED, QUOTED, quoted
from gdpbridge.report.privacy.numbers import plain, rounded_up
from gdpbridge.report.privacy.reported import Reported

__all__ = ["deployment_yaml"]

_MODELS = ("Local", "Central", "Shuffle", "Federated")
_PROPOSED = "proposed: the registry has no such field yet, so leave the line out to submit"
_VARIANTS = {"pure-dp": "Pure DP", "laplace": "Pure DP", "zcdp": "Zero-concentrated DP"}
_VARIANTS |= {"renyi": "Renyi DP"}


def deployment_yaml(report: Reported) -> str:
    """Return the release as a record for the registry, in YAML.

    What is not stated is left out, or "not stated" in a field that the registry requires.
    """
    record = {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", report.title.lower()).strip("-") or "release",
        "status": "Draft",
        "tier": 2 if report.release["unit_of_privacy"] else 1,
        "deployment": _deployment(report),
    }
    return "".join(f"{line}\n" for line in _lines(record, ""))


def _deployment(report: Reported) -> dict[str, Any]:
    said = report.release
    model = next((one for one in _MODELS if one.lower() in (said["trust_model"] or "").lower()), "")
    basic = {
        "name": report.title,
        "data_curators": [said["organisation"] or NOT_STATED],
        "intended_use": said["intended_use"] or NOT_STATED,
        "data_product_type": said["product"] or NOT_STATED,
        "data_product_region": said["region"] or NOT_STATED,
        "description": said["description"] or NOT_STATED,
        "publication_date": said["date"] or NOT_STATED,
        "data_product_sector": said["sector"],
    }
    return {
        "basic": basic,
        "dp_variant": {
            "variant_name": _VARIANTS.get(report.found.profile.kind, "Approximate DP"),
            "data_domain": said["data"],
        },
        "privacy_loss": _privacy_loss(report),
        "deployment_model": {
            "model_name": model,
            "model_name_details": said["trust_model"],
            "actors": said["trusted_parties"],
            "release_type_details": said["release_type"],
        },
        "accounting": {
            "post_processing": said["postprocessing"],
            "composition": said["accounting"] or f"gdpbridge {report.versions['gdpbridge']}",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": said["preprocessing"],
            "mechanisms": "; ".join(filter(None, [report.mechanism, said["implementation"]])),
            "justification": said["justification"],
        },
        "administrative": {
            "sources": said["links"],
            "registry_authors": [said["contact"] or said["organisation"] or NOT_STATED],
        },
    }


def _privacy_loss(report: Reported) -> dict[str, Any]:
    found, said = report.measurement, report.release
    neighbours = found.mechanism.get("neighbours")
    parameters: dict[str, Any] = {}
    if report.found.profile.kind == "zcdp":
        parameters["rho"] = getattr(report.found.profile, "rho", None)
    epsilon = quoted(report.epsilons)
    if epsilon is not None:
        parameters |= {"epsilon": float(rounded_up(epsilon)), "delta": plain(QUOTED)}
    if report.risk is not None:
        parameters["mu"] = float(rounded_up(report.found.mu, 6))
    basis = "proved" if report.found.proof.proved else "computed, not proved"
    details = [f"{report.headline} ({basis}); {report.covers}."]
    if report.certificate.sha256:
        details.append(f"Certificate of gdpbridge, SHA-256 {report.certificate.sha256}.")
    unit = [
        neighbours and f"neighbouring data sets: {neighbours}",
        said["contribution_bound"],
    ]
    return {
        "privacy_unit": said["unit_of_privacy"],
        "privacy_unit_details": "; ".join(filter(None, unit)),
        "privacy_parameters": parameters,
        "privacy_parameters_details": " ".join(details),
    }


def _lines(record: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield YAML; each scalar as JSON, which YAML contains."""
    for name, value in record.items():
        if not value:
            continue
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            note = f"  # {_PROPOSED}" if name == "mu" else ""
            yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}{note}"
