"""Every oddity of the real SkyPilot catalogues, on small files of ours in the same form: a rule each."""

from __future__ import annotations

import pytest

from ingest.offers.gpuinfo import GpuInfo, memory_mode, memory_of_one, parse_gpu_info
from ingest.offers.rows import to_offers
from ingest.offers.skypilot import read_skypilot
from ingest.report import Report

HEADER = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice"


def info(name="A100", count="1", size=40960, total=None):
    return (
        f"\"{{'Gpus': [{{'Name': '{name}', 'Manufacturer': 'NVIDIA', 'Count': {count}, "
        f"'MemoryInfo': {{'SizeInMiB': {size}}}}}], 'TotalGpuMemoryInMiB': {total or size}}}\""
    )


def read(provider, *lines, header=HEADER, end="\n"):
    report = Report()
    text = end.join([header, *lines]) + end
    offers = to_offers(read_skypilot(text, provider, f"{provider}/vms.csv", "a catalogue", report), report)
    return offers, report


def only(offers):
    assert len(offers) == 1, offers
    return offers[0]


# 1-5: layout


def test_01_columns_by_name_in_any_order_with_extras():
    offers, _ = read(
        "verda",
        "1B300.30V,up,30.0,275.0,B300,1.0," + info("B300", "1", 268288) + ",FIN-03,6.99,2.5,more",
        header="InstanceType,UpstreamCloudId,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,Price,SpotPrice,LocalDiskSize",
    )
    assert {(offer.spot, offer.price_usd_hour) for offer in offers} == {(False, 6.99), (True, 2.5)}
    assert offers[0].gpu_memory_gb == 288


def test_01_no_spot_column():
    offers, _ = read(
        "simplepod", "g,RTX3060,2,14,64,0.12,Europe-NO," + info("RTX 3060", "2", 12288), header=HEADER.rsplit(",", 1)[0]
    )
    assert only(offers).spot is False


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_03_line_ends_and_no_final_newline(end):
    report = Report()
    text = f"{HEADER}{end}t,A100,1,8,60,1.5,US,{info()},"
    offers = to_offers(read_skypilot(text, "yotta", "yotta/vms.csv", "s", report), report)
    assert only(offers).price_usd_hour == 1.5
    assert report.rejected == []


def test_04_ragged_rows_with_an_unquoted_list_at_the_end():
    offers, report = read(
        "azure",
        "Standard_NV36ads_A10_v5,A10,1,36,440,A10,4.2,0.8,japaneast,V1,V2",
        "Standard_NV72ads_A10_v5,A10,2,72,880,A10,8.4,1.6,japaneast,V2",
        header="InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,Generation",
    )
    assert len(offers) == 4
    assert report.rejected == []
    assert {offer.region for offer in offers} == {"japaneast"}


def test_04_a_row_with_too_few_values_is_refused_and_the_rest_goes_in():
    offers, report = read("lambda", "gpu_1x_a10,A10,1.0,30", "gpu_1x_a10,A10,1.0,30,200,1.29,us-east-1,,")
    assert only(offers).gpu == "A10"
    refused = report.rejected[0]
    assert (refused.source, refused.row) == ("lambda/vms.csv", 2)
    assert "4 values under 9 columns" in refused.reason


@pytest.mark.parametrize(
    ("text", "price"), [("1", 1.0), ("23.60", 23.6), ("5.8854999999999995", 5.8855), ("1.677600", 1.6776)]
)
def test_05_numbers_in_any_form(text, price):
    offers, _ = read("cudo", f"x,A40,8.0,8,32.0,{text},no-kristiansand-1,{info('A40', '8.0', 49152)},")
    assert only(offers).price_usd_hour == price
    assert only(offers).gpu_count == 8


def test_05_what_is_no_number_is_told_with_its_field():
    offers, report = read("cudo", f"x,A40,1,8,32,cheap,no-kristiansand-1,{info('A40', '1', 49152)},0.2")
    assert [offer.spot for offer in offers] == [True]
    refused = report.rejected[0]
    assert (refused.field, refused.value, refused.reason) == ("Price", "cheap", "not a number")


# 6-12: GpuInfo


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{'Gpus': [{'Name': 'H100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 81920}}], 'TotalGpuMemoryInMiB': 655360}", ("H100", 8, 81920, 655360)),
        ('{"Gpus":[{"Name":"H100","Count":8.0,"MemoryInfo":{"SizeInMiB":81920}}],"TotalGpuMemoryInMiB":655360}', ("H100", 8, 81920, 655360)),
        ("{'Gpus': [{'Name': 'A100', 'Manufacturer': null, 'Count': 1, 'MemoryInfo': {'SizeInMiB': 81920}}]}", ("A100", 1, 81920, None)),
        ("{'Gpus': [{'Name': 'L4', 'Shared': true, 'Count': '1.0', 'MemoryInfo': {'SizeInMiB': 24576}}]}", ("L4", 1, 24576, None)),
        ("{'gpus': [{'name': 'h100', 'count': 1, 'memoryinfo': {'sizeinmib': 81920}}], 'totalgpumemoryinmib': 81920}", ("h100", 1, 81920, 81920)),
        ("{'Gpus': [{'Name': 'A6000', 'Count': 8.0, 'MemoryInfo': {'SizeInMiB': 48}, 'TotalGpuMemoryInMiB': 384}]}", ("A6000", 8, 48, 384)),
        ("{'Gpus': [{'MemoryInfo': {'SizeInMiB': 0}, 'Name': 'x', 'Count': 0}]}", ("x", None, None, None)),
        ("{'Gpus': [{'MemoryInfo': {'SizeInMiB': 40960}}]}", (None, None, 40960, None)),
        ("V100", ("V100", None, None, None)),
        ("tpu-v6e-1", ("tpu-v6e-1", None, None, None)),
    ],
)  # fmt: skip
def test_06_07_08_forms_of_gpuinfo(text, expected):
    assert parse_gpu_info(text) == GpuInfo(*expected)


def test_06_an_empty_cell_and_a_broken_one():
    assert parse_gpu_info("  ") is None
    with pytest.raises(ValueError, match="neither JSON"):
        parse_gpu_info("{'Gpus': [")
    with pytest.raises(ValueError, match="neither JSON"):
        parse_gpu_info("{__import__('os').getcwd()}")


def test_06_a_broken_gpuinfo_is_told_and_the_row_goes_in():
    offers, report = read("cudo", "x,L40S,1,8,32,1.0,no-kristiansand-1,\"{'Gpus': [\",")
    assert only(offers).gpu_memory_gb == 48
    assert report.rejected[0].field == "GpuInfo"


@pytest.mark.parametrize(
    ("name", "count", "size", "total", "mode", "memory"),
    [
        ("A6000", 8, 48, 384, "unknown", 48),
        ("A100 PCIe", 1, 80, 80, "unknown", 80),
        ("A100-80GB", 8, 655360, 5242880, "unknown", 80),
        ("RTX5090", 4, 130428, 130428, "unknown", 32),
        ("A100", 2, 81920, 81920, "total", 40),
        ("A100", 2, 81920, 163840, "each", 80),
        ("H200", 8, 1155072, 1155072, "unknown", 141),
        ("H100", 8, 81559, 81559, "unknown", 80),
        ("L4", 1, 22888, 22888, "unknown", 24),
        ("L40S", 4, 45776, 183104, "unknown", 48),
        ("B300", 1, 268288, 268288, "unknown", 288),
        ("RTX PRO 6000 96GB", 8, None, None, "unknown", 96),
        ("V100", 4, None, None, "unknown", 16),
        ("V100-32GB", 4, None, None, "unknown", 32),
        ("A100-80GB", 1, None, None, "unknown", 80),
        ("L4", 0.25, 5722, 5722, "unknown", 6),
        ("A10", 0.167, None, None, "unknown", 4),
        ("Novel X9", 1, 65536, 65536, "unknown", 64),
    ],
)
def test_09_11_memory_of_one_gpu(name, count, size, total, mode, memory):
    assert memory_of_one(name, count, GpuInfo(name, 1, size, total), mode) == memory


def test_09_a_file_of_totals_is_recognised_by_its_unambiguous_rows():
    cells = [("RTX5090", 2, GpuInfo(size=65214)), ("A100", 2, GpuInfo(size=81920)), ("A100", 1, GpuInfo(size=40960))]
    assert memory_mode(cells) == "total"
    assert memory_mode([("RTX5090", 2, GpuInfo(size=32607))]) == "each"
    assert memory_mode([("RTX5090", 1, GpuInfo(size=32607))]) == "unknown"
    line = "{}x-A100_SXM4,A100,{},32,64.0,{},US,{},0.00"
    offers, _ = read(
        "vast",
        "2x-RTX_5090,RTX5090,2,32,64,0.9,US," + info("RTX5090", "2", 65214) + ",0.00",
        line.format(2, 2, 1.87, info("A100", "2", 163840)),
        line.format(2, 2, 1.5, info("A100", "2", 81920)),
    )
    assert sorted(offer.gpu_memory_gb for offer in offers if offer.gpu == "A100") == [40, 80]


def test_10_the_count_column_wins_over_gpuinfo():
    offers, _ = read("yotta", "4x,RTX5090,4.0,56,476,2.6,us-east-2," + info("RTX5090", "1", 32607, 130428) + ",")
    assert only(offers).gpu_count == 4


def test_12_the_order_inside_gpuinfo_does_not_matter():
    one = "{'Gpus': [{'Name': 'L4', 'Workloads': ['a', 'b'], 'Count': 1, 'MemoryInfo': {'SizeInMiB': 22888}}]}"
    two = "{'Gpus': [{'Name': 'L4', 'Workloads': ['b', 'a'], 'Count': 1, 'MemoryInfo': {'SizeInMiB': 22888}}]}"
    offers, report = read(
        "aws", f'g6.xlarge,L4,1,4,16,0.8,us-east-1,"{one}",', f'g6.xlarge,L4,1,4,16,0.8,us-east-1,"{two}",'
    )
    assert only(offers).gpu_memory_gb == 24
    assert report.merged == 1


# 13-19: names and counts


@pytest.mark.parametrize(
    ("provider", "instance_type", "name", "form"),
    [
        ("aws", "p5.48xlarge", "H100", "SXM"),
        ("gcp", "a3-highgpu-8g", "H100", "SXM"),
        ("nebius", "gpu-h100-sxm_8gpu-128vcpu-1600gb", "H100", "SXM"),
        ("fluidstack", "H100_PCIE_80GB::8", "H100", "PCIe"),
        ("scaleway", "H100-2-80G", "H100", "PCIe"),
        ("azure", "Standard_NC40ads_H100_v5", "H100", "NVL"),
        ("hyperstack", "n3-H100x8", "H100-80G-PCIe", "PCIe"),
        ("vast", "1x-H100_NVL-32-65536", "H100", "NVL"),
        ("paperspace", "H100x8", "H100", "unknown"),
        ("runpod", "1x_A100-80GB_SECURE", "A100-80GB", "PCIe"),
        ("runpod", "1x_A100-80GB-SXM_SECURE", "A100-80GB-SXM", "SXM"),
        ("lambda", "gpu_1x_a100_sxm4", "A100", "SXM"),
        ("lambda", "gpu_1x_a100", "A100", "PCIe"),
        ("cudo", "intel-ice-lake-a100-pci_1x12v24gb", "A100", "PCIe"),
    ],
)
def test_13_14_board_form(provider, instance_type, name, form):
    offers, _ = read(provider, f"{instance_type},{name},1,8,32,2.0,somewhere,,")
    assert only(offers).gpu_variant == form


@pytest.mark.parametrize(
    ("name", "size", "gpu"),
    [
        ("RTX6000", 24576, "RTX 6000 (Turing)"),
        ("RTX6000-Ada", 49152, "RTX 6000 Ada"),
        ("RTX-PRO-6000", 97887, "RTX PRO 6000"),
        ("A6000", 49152, "RTX A6000"),
        ("Radeon MI25", 16384, "MI25"),
        ("RTX 3070", 8192, "RTX 3070"),
    ],
)
def test_15_cards_of_like_names(name, size, gpu):
    offers, _ = read("vast", f"t,{name},1,8,32,0.5,US,{info(name, '1', size)},")
    assert only(offers).gpu == gpu


def test_16_a_number_in_the_type_is_no_count():
    offers, _ = read("seeweb", "ECS3GPU2,RTXA6000,4,32,128,2.9,it-fr2," + info("RTXA6000", "4.0", 48384) + ",")
    assert only(offers).gpu_count == 4


def test_16_names_that_contradict_each_other_leave_the_form_unknown():
    offers, report = read(
        "spheron", "gpu_1x_a100_SXM4_x,A100_80G_PCIE,1,8,32,1.2,us-central-3," + info("A100_80G_PCIE", "1", 81920) + ","
    )
    assert only(offers).gpu_variant == "unknown"
    assert any("at once" in warning for warning in report.warnings)


def test_16_a_label_that_claims_more_memory_than_the_type_is_not_believed():
    host = "0123456789abcdef01234567"
    lines = [
        f"A100_sxm4_80G_{host}_x-usa-1,A100_80G_SXM4,1,8,32,1.6,x-usa-1,{info('A100_80G_SXM4', '1', 81920)},",
        f"A100_sxm4x8_{host}_calgary-canada-1,A100_80G_SXM4,8,8,32,13.2,calgary-canada-1,{info('A100_80G_SXM4', '8', 81920)},",
    ]
    offers, _ = read("spheron", *lines)
    assert {offer.gpu_count: offer.gpu_memory_gb for offer in offers} == {1: 80, 8: None}


def test_17_accelerators_that_are_no_gpu_keep_their_names():
    offers, _ = read("aws", "dl1.24xlarge,Gaudi HL-205,8,96,768,13.1,us-east-1,,")
    assert (only(offers).gpu, only(offers).nvlink) == ("Gaudi", "no")


def test_18_fractions():
    header = HEADER
    offers, _ = read(
        "azure",
        "Standard_NV6ads_A10_v5,A10,0.167,6,55,0.65,japaneast,A10,",
        "Standard_NV8as_v4,MI25,1,8,28,0.9,japaneast,MI25,",
        header=header,
    )
    slices = {offer.gpu: offer for offer in offers}
    assert (slices["A10"].gpu_count, slices["A10"].gpu_memory_gb) == (0.167, 4)
    assert (slices["MI25"].gpu_count, slices["MI25"].gpu_memory_gb) == (0.25, 4)
    assert slices["A10"].nvlink == "no"


def test_19_machines_without_a_gpu_are_counted_and_left_out():
    offers, report = read(
        "nebius", "cpu-d3,,0,4,16,0.1,eu-north1,,", "cpu-e2,,0.0,4,16,0.1,eu-north1,,", "bx2,,,4,16,0.1,eu-north1,,"
    )
    assert offers == []
    assert report.skipped == {"no GPU": 3}


def test_19_a_gpu_machine_without_the_name_is_known_by_its_type():
    offers, _ = read(
        "azure",
        "Standard_ND96is_MI300X_v5,,,96,1850,67.2,japaneast,,",
        "Standard_ND128isr_NDR_GB200_v6,,,128,864,156.8,japaneast,,",
    )
    assert {(o.gpu, o.gpu_count, o.gpu_memory_gb) for o in offers} == {("MI300X", 8, 192), ("GB200", 4, 186)}


def test_an_unmatched_name_is_kept_and_the_nearest_told():
    offers, report = read("vast", "t,H1O0,1,8,32,0.5,US,,")
    assert only(offers).gpu == "H1O0"
    assert any("H1O0" in warning and "nearest known: H100" in warning for warning in report.warnings)


# 20-26: prices


def test_20_spot_only_and_neither():
    offers, report = read(
        "aws", "p5e.48xlarge,H200,8,192,2048,,us-east-2,,62.9", "p5e.48xlarge,H200,8,192,2048,,ap-southeast-2,,"
    )
    assert (only(offers).spot, only(offers).price_usd_hour) == (True, 62.9)
    assert report.rejected[0].reason == "neither a price nor a spot price"
    assert report.rejected[0].row == 3


def test_20_a_spot_row_is_the_same_machine():
    offers, _ = read(
        "primeintellect",
        "datacrunch__1xV100_16GB__6__23,V100,1,6,23,0.14,FI,,",
        "datacrunch__1xV100_16GB__6__23__SPOT,V100,1,6,23,,FI,,0.05",
    )
    assert {offer.instance_type for offer in offers} == {"datacrunch__1xV100_16GB__6__23"}
    assert {offer.spot for offer in offers} == {True, False}


def test_20_a_spot_price_of_zero_is_none():
    offers, report = read("vast", "t,RTX5090,1,8,32,0.44,US,,0.00")
    assert only(offers).spot is False
    assert report.rejected == []


def test_21_a_spot_price_equal_to_the_price_is_no_spot():
    offers, report = read("runpod", "t,L40S,1,8,32,0.79,US,,0.79")
    assert only(offers).spot is False
    assert report.details["runpod"]["spot_equal_to_price"] == 1


def test_21_a_spot_price_a_little_above_is_told_and_one_far_above_refused():
    offers, report = read("aws", "g6.xlarge,L4,1,4,16,1.0,us-east-1,,1.06", "g6.xlarge,L4,1,4,16,2.7,us-east-2,,700")
    above = next(offer for offer in offers if offer.spot)
    assert "above the on-demand price" in above.price_note
    assert len(offers) == 3
    assert [entry.reason for entry in report.rejected] == ["spot price far above the on-demand price"]


def test_24_one_price_a_gpu_for_every_model_is_a_placeholder():
    offers, report = read(
        "mithril", "h100.8x,H100,8,168,1814,8.0,us-central2-a,,8.0", "h200.1x,H200,1,20,200,1.0,us-central2-b,,1.0"
    )
    assert offers == []
    assert {entry.reason for entry in report.rejected if entry.field == "Price"} == {
        "placeholder: the same price a GPU for every model of the catalogue"
    }


def test_24_one_model_at_one_rate_is_a_real_price():
    offers, report = read("hyperbolic", "1x,H100,1,75,722,1.29,default,,", "2x,H100,2,149,1443,2.58,default,,")
    assert len(offers) == 2
    assert report.rejected == []


def test_24_one_price_for_any_number_is_a_placeholder():
    offers, report = read("cudo", "a,L40S,1,8,32,5.0,US,,", "b,L40S,8,64,256,5.0,US,,", "c,A40,1,8,32,0.4,US,,")
    assert [offer.gpu for offer in offers] == ["A40"]
    assert "any number of GPUs" in report.rejected[0].reason


def test_24_a_price_of_zero_is_refused_with_its_value():
    offers, report = read("cudo", "a,L40S,1,8,32,0.0,US,,", "c,A40,1,8,32,0.4,US,,")
    assert [offer.gpu for offer in offers] == ["A40"]
    assert (report.rejected[0].row, report.rejected[0].reason) == (2, "a price of zero is no price")


@pytest.mark.parametrize("provider", ["seeweb", "scaleway"])
def test_25_a_price_in_a_currency_nobody_states_gives_no_dollar_price(provider):
    offers, _ = read(provider, "x,L40S,1,8,32,0.85,it-fr2,,")
    offer = only(offers)
    assert (offer.price_usd_hour, offer.currency, offer.price_original_hour) == (None, "EUR?", 0.85)
    assert "does not state the currency" in offer.price_note


def test_26_zones_of_a_region_are_one_offer_at_the_lowest_price():
    header = HEADER + ",AvailabilityZone"
    lines = [
        f"p4d.24xlarge,A100,8,96,1152,{price},us-east-1,,{spot},{zone}"
        for price, spot, zone in (("21.957642", "9.1", "use1-az1"), ("21.95764", "7.3", "use1-az2"))
    ]
    offers, report = read("aws", *lines, header=header)
    assert {offer.spot: offer.price_usd_hour for offer in offers} == {False: 21.95764, True: 7.3}
    assert "up to 9.1" in next(offer for offer in offers if offer.spot).price_note
    assert report.merged == 2


def test_26_local_zones_are_places_of_their_own():
    header = HEADER + ",AvailabilityZone"
    offers, _ = read(
        "aws",
        "g6.xlarge,L4,1,4,16,0.8,us-east-1,,,use1-az1",
        "g6.xlarge,L4,1,4,16,0.97,us-east-1,,,use1-atl2-az1",
        header=header,
    )
    assert {(offer.region, offer.city) for offer in offers} == {("us-east-1", "Virginia"), ("use1-atl2", "Atlanta")}


def test_28_twins_are_one_offer_with_the_other_price_told():
    offers, _ = read(
        "simplepod",
        "gpu_4x_rtx4090_128,RTX4090,4,128,512,1.36,Europe-PL,,",
        "gpu_4x_rtx4090_128,RTX4090,4,128,512,1.28,Europe-PL,,",
    )
    assert only(offers).price_usd_hour == 1.28
    assert "up to 1.36" in only(offers).price_note


# 29-31: regions and memory


@pytest.mark.parametrize(
    ("provider", "region", "zone", "expected", "country"),
    [
        ("primeintellect", "IS", "me-west-1", "me-west-1", "IL"),
        ("primeintellect", "US", "a3111bd4-550a-47d0-838a-0a52bff2ae3f", "US", "US"),
        ("runpod", "JP", "AP-JP-1", "JP", "JP"),
        ("ibm", "", "jp-tok-2", "jp-tok", "JP"),
        ("hyperbolic", "default", "", "default", None),
        ("vast", '", CA, NA"', "", ", CA, NA", "CA"),
    ],
)
def test_29_30_regions(provider, region, zone, expected, country):
    offers, _ = read(
        provider, f"lambdalabs__1xH100_80GB,H100,1,8,32,2.0,{region},,,{zone}", header=HEADER + ",AvailabilityZone"
    )
    assert (only(offers).region, only(offers).country) == (expected, country)


def test_30_no_region_at_all_is_unknown():
    offers, _ = read("jarvislabs", "x,L4,1,8,32,0.4,,,")
    assert (only(offers).region, only(offers).country) == ("unknown", None)


def test_31_ram_that_is_the_gpu_memory_again_is_not_ram():
    offers, _ = read(
        "paperspace",
        "H100x8,H100,8.0,128,640.0,47.6,East Coast (NY2),H100,",
        "V100-32G,V100-32GB,1.0,8,30.0,2.3,East Coast (NY2),V100-32GB,",
    )
    assert {offer.gpu: offer.ram_gb for offer in offers} == {"H100": None, "V100": 30}


def test_brokers_name_the_maker_of_the_machine():
    offers, _ = read(
        "shadeform",
        "lambdalabs_H100-sxm5x8,H100,8,208,1800,31.9,dallas-usa-3,,",
        "excesssupply_L40x8,L40,8,8,32,11,casper-usa-2,,",
    )
    assert {(offer.provider, offer.broker) for offer in offers} == {
        ("lambda", "shadeform"),
        ("excesssupply", "shadeform"),
    }
    offers, _ = read(
        "primeintellect",
        "hyperstack__8xA100_80GB__252__1920__NVLINK,A100-80GB,8,252,1920,11.2,CA,,,CANADA-1,n3-A100x8-NVLink",
        header=HEADER + ",AvailabilityZone,UpstreamCloudId",
    )
    assert (only(offers).provider, only(offers).broker, only(offers).nvlink) == (
        "hyperstack",
        "primeintellect",
        "partial",
    )
