"""A document that a person adds is found and cited where it alone holds the answer."""

from advisor.conversation import build_advisor
from advisor.settings import Settings
from ingest.documents import ingest_documents

NOTE = """# Kumquat Cloud: network of the K9 nodes

The K9 node joins eight H100 SXM GPUs by NVLink. Its InfiniBand ports are off until the tenant orders the fabric option KQ-7,
which takes nine working days and must be booked together with the placement block.
"""


def test_it_is_cited(tmp_path):
    home, note = tmp_path / "home", tmp_path / "kumquat.md"
    note.write_text(NOTE, encoding="utf-8")
    advisor = build_advisor(Settings(home=home))
    assert advisor.passages.count > 0
    report = ingest_documents([str(note)], home=home)
    assert report.added == 1
    answer = build_advisor(Settings(home=home)).ask("Which fabric option turns on InfiniBand on a Kumquat K9 node?")
    assert "KQ-7" in answer.text
    cited = [c for c in answer.citations if c.source.endswith("kumquat.md")]
    assert (cited and cited[0].quote in NOTE.replace("\n", " ")) or cited[0].quote in NOTE
