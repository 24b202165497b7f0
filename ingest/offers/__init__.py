"""Catalogues of offers: one reader a format, names, places and prices made one."""

from ingest.offers.run import ingest_offers

__all__ = ["ingest_offers"]
