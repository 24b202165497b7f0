"""Documents into passages: one loader a format, cleaning, heading- and table-aware cutting."""

from ingest.documents.pipeline import ingest_documents

__all__ = ["ingest_documents"]
