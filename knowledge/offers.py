"""Offers: what can be rented, at which price, with which links.

    store = OfferStore(home)                      # builds <home>/offers/offers.parquet from the shipped table when absent
    page = store.search(OfferFilter(gpu=("H100",), min_gpus=8, rdma=True, country=("JP",)))
    page.count, page.offers                       # all that match; the first `limit` of them, sorted
    page.unknown                                  # would match, but nobody states their NVLink / network
    page.near_misses                              # when nothing matches: which one constraint, loosened, gives how many
    store.get(offer_id), store.by_instance_type("p5.48xlarge"), store.all(), store.count
    store.as_of                                   # newest date of any row; store.sources(), store.providers()
    age_days(offer.as_of, date.today())           # how old a price is; None where nobody dates it
    store.replace(provider, catalogue, offers)    # one transaction; gives back what changed

`OfferStore(home, source="…/offers.parquet")` reads a table that a team shares (path or URL of object storage) and never writes.
Errors: `knowledge.errors.StoreUnavailable`, `UnknownOffer`.
"""

from knowledge.offer_model import CatalogueInfo, NearMiss, Offer, OfferFilter, OfferPage, age_days
from knowledge.offer_store import Changes, OfferStore, PriceMove

__all__ = [
    "CatalogueInfo",
    "Changes",
    "NearMiss",
    "Offer",
    "OfferFilter",
    "OfferPage",
    "OfferStore",
    "PriceMove",
    "age_days",
]
