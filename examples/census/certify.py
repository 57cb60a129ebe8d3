"""Certificates of a census file: of each query, of each level, and of the whole file.

Every level of the specification is a sequence of sets of noisy numbers, of which two are a query.
Each kind of query has one certificate; those of a level are composed, and so are all levels. μ of
each is printed.

    python examples/census/certify.py examples/census/dhc_persons.toml FOLDER [LEVEL ...]

LEVEL counts from 0; without any, all are taken.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gdpbridge as gdp

QUERY = 2  # noisy numbers


def composed(files: list[Path], target: Path) -> Path:
    """Compose certificates in one folder into one there, and print its μ."""
    certificate = gdp.compose_certificates(files)
    certificate.save(target)
    print(f"{target.name}: μ = {certificate.claim.mu.high}", flush=True)
    return target


def certify(specification: Path, folder: Path, numbers: list[int]) -> Path:
    """Write the certificates of some levels of a file, or of all; return that of all these."""
    levels = gdp.load_profile(specification).parts
    folder.mkdir(exist_ok=True)
    queries: dict[gdp.Profile, Path] = {}
    files = []
    for number in numbers or range(len(levels)):
        named = []
        for part in levels[number].parts:
            query = part.base.compose(QUERY)
            if query not in queries:
                queries[query] = folder / f"query_{len(queries)}.json"
                gdp.measure(query).certificate.save(queries[query])
            named += [queries[query]] * (part.times // QUERY)
        files.append(composed(named, folder / f"level_{number}.json"))
    return composed(files, folder / "all.json")


if __name__ == "__main__":
    try:
        certify(Path(sys.argv[1]), Path(sys.argv[2]), [int(word) for word in sys.argv[3:]])
    except gdp.UndecidedError as error:  # what was written before holds by itself
        sys.exit(f"the last composition: {error}")
