"""Nothing that names a person, a machine or a secret leaves in a masked diagnosis."""

import pytest

from advisor.reasoning.diagnose import diagnose, mask_secrets


@pytest.mark.parametrize(
    "secret, line",
    [
        ("hf_AbCdEfGhIjKlMnOpQrStUv", "export HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUv"),
        ("s3cr3t-value", "WANDB_API_KEY=s3cr3t-value python train.py"),
        ("AKIAABCDEFGHIJKLMNOP", "aws_access_key_id AKIAABCDEFGHIJKLMNOP"),
        ("hunter2", "curl https://me:hunter2@example.com/x"),
        ("eyJhbGciOiJIUzI1NiJ9", "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk"),
        ("192.0.2.77", "NET/Socket : Using [0]eth0:192.0.2.77<0>"),
        ("2001:db8::1", "peer 2001:db8::1 did not answer"),
        ("fe80::aaaa:bbff:fecc:1", "local GID fe80::aaaa:bbff:fecc:1, remote GID ::"),
        ("secret-host-7", "secret-host-7:4100:4177 [0] NCCL INFO Using network IB"),
        ("worker-abc", "#  Rank  0 Group  0 Pid   3595 on  worker-abc device  0 [0x81] NVIDIA A100-PCIE-40GB"),
        ("taro", "taro@gpu-box:~$ nvidia-smi topo -m"),
        ("taro", "/home/taro/nccl-tests/build/all_reduce_perf"),
        ("ip-10-0-3-9", "ssh ip-10-0-3-9.ec2.internal"),
        ("1f0e2d3c-4b5a", "GPU 0: NVIDIA H200 (UUID: GPU-1f0e2d3c-4b5a-6978-8796-a5b4c3d2e1f0)"),
        ("aa:bb:cc:dd:ee:ff", "link/ether aa:bb:cc:dd:ee:ff brd"),
        ("me@example.org", "mail me@example.org"),
    ],
)
def test_secret_is_hidden(secret, line):
    assert secret not in mask_secrets(line)


@pytest.mark.parametrize(
    "line",
    [
        "GPU0\t X \tNV12\tNV12\tSYS\t0-31,64-95\t0\t\tN/A",
        "\t Link 11: 26.562 GB/s",
        "pci 0000:3b:00.0 class 0x060400 x16",
        "Channel 00/0 : 16[0] -> 0[0] [receive] via NET/IBext_v8/7/GDRDMA",
        "NCCL version 2.21.5+cuda12.4",
        "   1073741824     268435456     float     sum      -1   4619.3  232.44  465.20      0",
    ],
)
def test_what_the_diagnosis_is_about_stays(line):
    assert mask_secrets(line) == line


def test_masking_twice_changes_nothing_more():
    once = mask_secrets("taro@gpu:~$ TOKEN=abc123def curl 192.0.2.1; secret-7:41:42 [0] NCCL INFO x")
    assert mask_secrets(once) == once


def test_masked_diagnosis_hides_hosts_and_keeps_the_verdict():
    text = (
        "secret-host-7:41:77 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.77<0>\n"
        "secret-host-8:41:77 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.78<0>\n"
        "secret-host-8:41:77 [0] NCCL INFO Using network Socket\n"
    )
    found = diagnose({"/home/taro/nccl.log": text})
    assert "secret-host-7" in found.model_dump_json()
    stored = found.masked().model_dump_json()
    assert "secret-host" not in stored and "192.0.2" not in stored and "taro" not in stored
    assert found.masked().transport == found.transport == "socket"
    assert [p.code for p in found.masked().problems] == [p.code for p in found.problems]
