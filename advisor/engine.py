"""What every front end shares: the stores and the pure functions over them, opened once, lazily and thread-safely."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from advisor.errors import AdvisorError, BadRequest, Unavailable
from advisor.settings import Settings

if TYPE_CHECKING:
    from advisor.answer import Constraints, Lang, Workload
    from advisor.reasoning.diagnose import Diagnosis, VerifyPlan
    from advisor.reasoning.recommend import Recommendation
    from knowledge.facts import Facts
    from knowledge.offers import OfferStore
    from knowledge.passages import PassageStore
    from knowledge.published import PublishedPassages


KEPT_RECOMMENDATIONS = 128
"""Recommendations kept: the same job asked again (an example, a shared link, a retry, another language switch) is not worked
out anew. Each is some tens of kilobytes."""


class Engine:
    """Offers, passages and facts under one `ADVISOR_HOME`, built from what the package ships where they are absent."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self._lock = threading.RLock()
        self._kept_lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], tuple[object, Recommendation]] = OrderedDict()

    @cached_property
    def facts(self) -> Facts:
        """GPU and language-model specifications."""
        from knowledge.facts import load_facts

        return load_facts()

    @cached_property
    def offers(self) -> OfferStore:
        """The offers table. Raises Unavailable where the home cannot be written or the table cannot be read."""
        from knowledge.offers import OfferStore

        with self._lock:
            self._check_home()
            return OfferStore(self.settings.home, source=self.settings.offers)

    @property
    def passages(self) -> PassageStore:
        """The passages: what was published where `ADVISOR_KNOWLEDGE` is set, else this home's own, built on first use."""
        return self._published.current() if self.settings.knowledge else self.own_passages

    @cached_property
    def _published(self) -> PublishedPassages:
        from knowledge.published import PublishedPassages

        s = self.settings
        if s.knowledge is None or s.chroma_url is None:
            raise BadRequest(
                "ADVISOR_KNOWLEDGE needs ADVISOR_CHROMA_URL: the vectors are shared through a Chroma server."
            )
        with self._lock:
            self._check_home()
            return PublishedPassages(s.knowledge, s.home, {**self.passage_options(), "reranker": s.reranker})

    @cached_property
    def own_passages(self) -> PassageStore:
        """The passages of this home, built on first use."""
        from ingest.build import ensure_built
        from knowledge.passages import PassageStore

        with self._lock:
            self._check_home()
            options = self.passage_options()
            ensure_built(self.settings.home, **options)
            return PassageStore.open(self.settings.home, reranker=self.settings.reranker, **options)

    def passage_options(self) -> dict[str, Any]:
        """The settings that decide where and how passages are embedded, as the store and the ingestion take them."""
        s = self.settings
        return {
            "embeddings": s.embeddings,
            "embeddings_base_url": s.embeddings_base_url,
            "embeddings_api_key": s.embeddings_api_key.get_secret_value() if s.embeddings_api_key else None,
            "chroma_url": s.chroma_url,
            "chroma_token": s.chroma_token.get_secret_value() if s.chroma_token else None,
        }

    def _check_home(self) -> None:
        home = self.settings.home
        try:
            home.mkdir(parents=True, exist_ok=True)
            probe = home / ".write-test"
            probe.touch()
            probe.unlink(missing_ok=True)
        except OSError as error:
            raise Unavailable(
                f"ADVISOR_HOME={str(home)!r} cannot be written ({error.strerror}). "
                "Set ADVISOR_HOME to a folder that you may write to."
            ) from None

    def recommend(self, workload: Workload, constraints: Constraints, lang: Lang) -> Recommendation:
        """Size the workload on the offers that meet the constraints, and pick; kept for as long as the offers stay the same."""
        from advisor.selection import recommend_from_store

        key = (workload.model_dump_json(), constraints.model_dump_json(), lang)
        state = self.offers.state
        with self._kept_lock:
            kept = self._kept.get(key)
            if kept is not None and kept[0] is state:
                self._kept.move_to_end(key)
                return kept[1]
        found = recommend_from_store(self.offers, self.facts, workload, constraints, lang)
        with self._kept_lock:
            self._kept[key] = (state, found)
            while len(self._kept) > KEPT_RECOMMENDATIONS:
                self._kept.popitem(last=False)
        return found

    def diagnose(
        self, texts: Mapping[str, str], lang: Lang, instance_type: str | None = None, gpu: str | None = None
    ) -> Diagnosis:
        """Read pasted outputs of a rented machine; `gpu` is the promised card and board where the text names none."""
        from advisor.reasoning.diagnose import diagnose

        lookup = self.offers.by_instance_type
        return diagnose(texts, lang=lang, instance_type=instance_type, offers_lookup=lookup, gpu=gpu)

    def verify(self, instance_type: str, lang: Lang) -> VerifyPlan:
        """The commands for the first five minutes on an instance type."""
        from advisor.reasoning.diagnose import verify_plan

        return verify_plan(instance_type, lang=lang, offers_lookup=self.offers.by_instance_type)

    def estimate(self, request: dict[str, Any]) -> dict[str, Any]:
        """Memory, throughput or scaling of one described run."""
        from advisor.reasoning.estimate import estimate

        return estimate(request, self.facts)

    def ingest_documents(self, paths: Sequence[str], **options: Any) -> Any:
        """Add documents; see `ingest.documents`. Returns a Report. Where knowledge is shared, publishes the new state."""
        from ingest.documents import ingest_documents

        self._check_home()
        report = ingest_documents(list(paths), home=self.settings.home, **self.passage_options(), **options)
        if self.settings.knowledge:
            self.publish()
        return report

    def ingest_offers(self, paths: Sequence[str], **options: Any) -> Any:
        """Add a catalogue of offers; see `ingest.offers`. Returns a Report."""
        from ingest.offers import ingest_offers

        self._check_home()
        report = ingest_offers(list(paths), home=self.settings.home, **options)
        if self.settings.knowledge:
            self.publish()
        return report

    def publish(self) -> dict[str, Any]:
        """Build what the package ships where it is absent, then publish passages and offers to `ADVISOR_KNOWLEDGE`.

        Raises BadRequest where that is not set, StoreUnavailable where the folder cannot be written.
        """
        import shutil
        import uuid

        from ingest.documents.store import locked
        from knowledge.errors import StoreUnavailable
        from knowledge.offers import OfferStore
        from knowledge.published import publish

        folder = self.settings.knowledge
        if folder is None:
            raise BadRequest("ADVISOR_KNOWLEDGE is not set; set it to the folder that the web processes read.")
        passages = self.own_passages
        with locked(self.settings.home):
            manifest = publish(self.settings.home, folder)
        offers = OfferStore(self.settings.home)
        part = folder / f".offers-{uuid.uuid4().hex[:8]}"
        try:
            shutil.copyfile(self.settings.home / "offers" / "offers.parquet", part)
            part.replace(folder / "offers.parquet")
        except OSError as error:
            part.unlink(missing_ok=True)
            raise StoreUnavailable(f"The offers cannot be published to {folder} ({error}).") from error
        return {
            "folder": str(folder),
            "version": manifest.version,
            "passages": passages.count,
            "offers": offers.count,
            "offers_as_of": offers.as_of,
        }

    def degraded(self) -> str | None:
        """What searches do without now: "lexical_only" without Chroma, "no_guides" without any passage; None when all is well."""
        from knowledge.errors import KnowledgeError

        try:
            return "lexical_only" if self.passages.dense_failure else None
        except (AdvisorError, KnowledgeError):
            return "no_guides"

    def health(self) -> dict[str, Any]:
        """What `/healthz` says. Without Chroma the process still answers, so it is "ok" and names what is missing."""
        found = {
            "status": "ok",
            "offers": self.offers.count,
            "passages": self.passages.count,
            "offers_as_of": self.offers.as_of,
            "knowledge_version": self.passages.version,
        }
        degraded = self.degraded()
        return {**found, "degraded": degraded} if degraded else found
