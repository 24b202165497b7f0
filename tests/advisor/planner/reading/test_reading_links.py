import pytest

from advisor.planner.reading import read


@pytest.mark.parametrize(
    ("text", "nvlink", "internode"),
    [
        ("4x A100 with NVLink, cheapest", True, None),
        ("H100 8枚、NVLink必須、InfiniBand付きで一番安いの", True, "infiniband"),
        ("16 H100 with InfiniBand or equivalent, list them", None, "rdma"),
        ("GCP machine types with RDMA, list them", None, "rdma"),
        ("Do I need InfiniBand for LoRA of 7B? Which GPU should I rent?", None, None),
        ("NVLinkは不要。7BのLoRAに安いGPUは？", None, None),
        ("I ticked the NVLink filter and got nothing. 8x MI300X under $3 per GPU-hour?", None, None),
    ],
)
def test_links_as_conditions(text, nvlink, internode):
    reading = read(text)
    assert (reading.constraints.nvlink, reading.constraints.internode) == (nvlink, internode)


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Someone said the RTX 4090 supports NVLink. Right?", ("RTX 4090", "has", "nvlink")),
        ("L40SにはNVLinkが付いてますよね？", ("L40S", "has", "nvlink")),
        ("The A10 has no NVLink, correct?", ("A10", "lacks", "nvlink")),
        ("Does AWS have InfiniBand?", ("aws", "has", "infiniband")),
        ("EFAはInfiniBandと同じもの？", ("efa", "same_as", "infiniband")),
        ("4x MI300X with NVLink please", ("MI300X", "has", "nvlink")),
    ],
)
def test_claims_that_facts_can_check(text, claim):
    assert claim in {(p.subject, p.relation, p.object) for p in read(text).premises}


def test_fabrics_are_named():
    assert set(read("EFAとRoCEとTCPXOの違いは？").mentions.fabrics) == {"efa", "roce", "tcpxo"}
