"""Networks that are no language models, simulations over several nodes, and double precision."""

import pytest
from made_offers import NVLINK4, RDMA, market, offer

from advisor.answer import Constraints, Workload
from advisor.named_machines import assess
from advisor.planner.reading import read
from advisor.reasoning.joint import STRONG_FP64, strong_fp64
from advisor.reasoning.recommend import recommend
from advisor.reasoning.workload import complete
from advisor.selection import names_other_vendors, offer_filter
from knowledge.facts import load_facts

FACTS = load_facts()
MARKET = [
    *market(),
    offer("hotel", "V100", "SXM", 1, 16, 0.3, nvlink="no"),
    offer("hotel", "V100", "SXM", 8, 16, 4.0, nvlink="yes", nvlink_gb_s_per_gpu=300, nvlink_domain_gpus=8),
    offer("hotel", "B300", "SXM", 1, 288, 5.0, nvlink="no"),
    offer("hotel", "A100", "SXM", 8, 80, 9.0, **NVLINK4, **RDMA),
]


def ask(kind, constraints=None, offers=None, lang="en", **fields):
    rows = MARKET if offers is None else offers
    return recommend(Workload(kind=kind, **fields), constraints or Constraints(), rows, facts=FACTS, lang=lang)


def says(lines, *words):
    return any(all(word in line for word in words) for line in lines)


@pytest.mark.parametrize(
    ("question", "model"),
    [
        ("I want to train YOLOv8. One GPU is enough, right?", "YOLOv8"),
        ("YOLOv8の学習をしたい。GPU1枚で十分ですよね？", "YOLOv8"),
        ("train YOLO on my own images", "YOLO11"),
        ("ResNet-50をImageNetで学習します", "ResNet-50"),
        ("train a ResNet on CIFAR", "ResNet-50"),
        ("Train a U-Net for segmentation", "U-Net"),
        ("U-Netで医用画像のセグメンテーションを学習", "U-Net"),
        ("ViTを300Mパラメータで学習したい", "ViT-L16"),
        ("fine-tune BERT for classification", "BERT-base"),
        ("日本語BERTをファインチューニングしたい", "BERT-base"),
        ("train a graph neural network", "Graph neural network"),
        ("XGBoostをGPUで学習したい", "XGBoost"),
        ("画像分類モデルを学習したい", "Convolutional network"),
        ("fine-tune Whisper small", "Whisper small"),
        ("train EfficientNet", "EfficientNet"),
        ("LSTMで時系列予測を学習", "LSTM"),
    ],
)
def test_a_network_that_is_no_language_model_needs_one_small_card(question, model):
    job = read(question).workload
    assert job is not None and job.model == model
    found = recommend(job, Constraints(), MARKET, facts=FACTS, lang="en")
    first = found.picks[0]
    assert first.total_gpus == 1 and first.gpu_memory_gb <= 48 and first.total_usd_hour < 2
    assert found.needs.nvlink == "no" and found.needs.internode_rdma == "no" and found.needs.gpus_min == 1


@pytest.mark.parametrize(
    ("question", "params"),
    [
        ("5000万パラメータのTransformerを学習", 0.05),
        ("a Transformer with 50 million parameters, training", 0.05),
        ("train a 25M parameter model", 0.025),
        ("300万パラメータのモデルを学習", 0.003),
        ("3億パラメータのモデルを学習", 0.3),
    ],
)
def test_a_small_size_is_read_and_trained_on_one_card(question, params):
    job = read(question).workload
    assert job.params_b == pytest.approx(params)
    found = recommend(job, Constraints(), MARKET, facts=FACTS, lang="ja")
    assert found.picks[0].total_gpus == 1 and found.picks[0].gpu_memory_gb <= 48


@pytest.mark.parametrize(
    "text", ["予算は500万円で7Bを学習", "5000万件の文書を要約", "clip the gradients and train a 7B"]
)
def test_amounts_of_other_things_are_no_size_and_no_model(text):
    job = read(text).workload
    assert job is None or (job.params_b in (None, 7.0) and job.model is None)


@pytest.mark.parametrize("row", FACTS.model_memory.values(), ids=lambda row: row.kind)
def test_training_takes_more_than_running_and_grows_with_the_size(row):
    assert row.need_gb(0.3, trains=True) > row.need_gb(0.3, trains=False)
    assert row.need_gb(None, trains=True) <= row.need_gb(0.5, trains=True)
    assert row.source.startswith("http") and row.as_of


def test_every_kind_that_no_shape_describes_has_its_memory():
    kinds = {m.kind for m in FACTS.models} - {"dense_lm", "moe_lm", "vlm", "embedding", "reranker"}
    assert kinds - {"diffusion_image", "diffusion_video"} == set(FACTS.model_memory)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_small_network_on_eight_cards_is_one_machine_that_needs_no_nvlink(lang):
    found = ask("full_ft", Constraints(gpu_count=8), lang=lang, model="ResNet-50")
    assert all(p.nodes == 1 and p.total_gpus == 8 for p in found.picks)
    assert found.needs.nvlink == "no" and says(found.needs.reasons, "PCIe")


@pytest.mark.parametrize("model", ["HunyuanVideo 13B", "Wan 2.1 T2V 14B"])
def test_training_a_video_model_is_no_set_of_lone_cards(model):
    found = ask("diffusion_train", Constraints(gpu_count=8, gpus=("H100",)), model=model)
    assert found.picks and all(p.nodes == 1 and p.nvlink == "yes" for p in found.picks)
    assert found.needs.nvlink in ("yes", "helpful") and found.needs.total_gpu_memory_gb > 16 * 13
    assert says(found.picks[0].caveats, "not modelled")


@pytest.mark.parametrize(
    "question", ["I want to fine-tune HunyuanVideo on 8 H100s.", "HunyuanVideoのファインチューニング"]
)
def test_tuning_a_video_model_is_training(question):
    assert read(question).workload.kind == "diffusion_train"


@pytest.mark.parametrize("question", ["Wan2.1 14Bで動画生成をしたい", "generate videos with Wan2.1 14B"])
def test_making_videos_is_no_training(question):
    assert read(question).workload.kind == "video"


def test_a_video_model_is_sized_at_its_stated_or_assumed_precision():
    plain = complete(Workload(kind="video", model="Wan 2.1 T2V 14B"), FACTS)
    small = complete(Workload(kind="video", model="Wan 2.1 T2V 14B", precision="fp8"), FACTS)
    assert plain.card_gb > 28 > small.card_gb and plain.workload.sources["precision"] == "assumed"
    limited = ask("video", Constraints(budget_usd_month=300), model="Wan 2.1 T2V 14B")
    assert limited.workload.precision == "fp8" and says(limited.assumptions, "fp8")


@pytest.mark.parametrize("gpu", ["V100", "A100", "H100", "H200", "B200", "GB200", "MI300X", "MI250X", "A30", "P100"])
def test_cards_with_units_for_double_precision(gpu):
    assert all(strong_fp64(spec) for spec in FACTS.gpus if spec.gpu == gpu)


@pytest.mark.parametrize(
    "gpu", ["B300", "GB300", "H20", "H800", "L40S", "RTX 4090", "RTX PRO 6000", "A10", "A40", "T4", "RTX A4000"]
)
def test_cards_without_units_for_double_precision(gpu):
    rows = [spec for spec in FACTS.gpus if spec.gpu == gpu]
    assert rows and all(spec.fp64_tflops is not None and spec.fp64_tflops < STRONG_FP64 for spec in rows)


@pytest.mark.parametrize(
    "text", ["倍精度が必要です。流体解析", "CFD in double precision", "FP64のシミュレーション", "VASPを回したい"]
)
def test_double_precision_is_read(text):
    assert read(text).workload.fp64 is True


def test_double_precision_leaves_out_the_cards_that_lack_it():
    found = ask("hpc", fp64=True)
    assert found.picks and {p.gpu for p in found.picks} <= {"V100", "A100", "H100", "H200", "MI300X", "GH200"}
    assert says(found.needs.reasons, "FP64", found.picks[0].gpu)
    named = ask("hpc", Constraints(gpus=("RTX 4090",)), [o for o in MARKET if o.gpu == "RTX 4090"], fp64=True)
    assert says(named.picks[0].caveats, "FP64")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_one_simulation_over_several_nodes_needs_rdma(lang):
    found = ask("hpc", Constraints(nodes=4), lang=lang)
    assert found.picks and all(p.nodes == 4 and p.internode_rdma == "yes" for p in found.picks)
    assert found.needs.internode_rdma == "yes" and says(found.needs.reasons, "InfiniBand", "4")
    alone = ask("hpc", Constraints(gpu_count=4), lang=lang, independent_jobs=4)
    assert alone.needs.internode_rdma == "no"


@pytest.mark.parametrize(
    ("question", "only"),
    [
        ("Spot only, 8 H100s for 70B inference", True),
        ("On RunPod, what is the cheapest on spot?", True),
        ("スポットだけでH100を8枚", True),
        ("RunPodでスポットで一番安いのは？", True),
        ("7B LoRA, spot is fine", None),
        ("スポットでもOK。7BのLoRA", None),
        ("7B LoRA without spot", None),
    ],
)
def test_only_spot_is_told_from_spot_as_well(question, only):
    constraints = read(question).constraints
    assert constraints.spot_only is only
    assert offer_filter(constraints).spot is (True if only else False if constraints.spot is False else None)


@pytest.mark.parametrize(
    ("question", "welcome"),
    [
        ("Serve Gemma 3 27B. Non-NVIDIA is fine too.", True),
        ("Gemma 3 27Bを動かしたい。NVIDIA以外でもいいです。", True),
        ("AMD GPUs are OK too, serve 70B", True),
        ("Can I run 405B inference on 8 MI300X?", True),
        ("Serve 70B on H100", None),
    ],
)
def test_other_makers_are_let_in_where_they_are_welcome_or_named(question, welcome):
    constraints = read(question).constraints
    assert constraints.any_vendor is welcome and names_other_vendors(constraints) is bool(welcome)


@pytest.mark.parametrize(
    ("job", "gpus", "kind", "first"),
    [
        (Workload(kind="full_ft", model="ResNet-50"), (("V100", 8), ("A100 80GB", 4)), "peak", "A100 80GB"),
        (Workload(kind="hpc", fp64=True, memory_gb=16), (("GB200", 1), ("B300", 1)), "fp64", "GB200"),
        (Workload(kind="hpc", fp64=True, memory_gb=16), (("RTX 4090", 4), ("A100 80GB", 1)), "fp64", "A100 80GB"),
    ],
)
def test_machines_whose_speed_is_not_modelled_are_compared_by_their_rate(job, gpus, kind, first):
    rows = {gpu: assess(FACTS, job, gpu=gpu, gpus=count) for gpu, count in gpus}
    assert {row["rate"] for row in rows.values()} == {kind}
    assert max(rows, key=lambda gpu: rows[gpu]["rate_tflops"]) == first
    assert "rate" not in assess(FACTS, Workload(kind="lora", params_b=8), gpu="A100 80GB", gpus=1)
