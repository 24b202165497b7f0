"""Files on disk: encodings, compression, limits, errors a person understands; pasted logs inside a question."""

import gzip
import io
import json
import subprocess
import sys

import pytest

from advisor.errors import BadRequest, NotFound
from advisor.reasoning.diagnose import looks_like_diagnostic, run_files

LOG = (
    "a:1:2 [0] NCCL INFO Using network Socket\nb:1:2 [0] NCCL INFO Using network Socket\n"
    "b:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:192.0.2.1<0>\n"
)


def test_missing_file(tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        run_files([tmp_path / "no.log"])


def test_folder_and_nothing(tmp_path):
    with pytest.raises(BadRequest, match="folder"):
        run_files([tmp_path])
    with pytest.raises(BadRequest, match="no file"):
        run_files([])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "x.log"
    path.write_bytes(("é\n" + LOG).encode(encoding))
    assert run_files([path]).transport == "socket"


def test_gzip_and_broken_gzip(tmp_path):
    path = tmp_path / "x.log.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    assert run_files([path]).transport == "socket"
    path.write_bytes(gzip.compress(LOG.encode())[:-12])
    with pytest.raises(BadRequest, match="cannot be read"):
        run_files([path])


def test_binary_is_read_as_nothing(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(range(256)) * 400)
    found = run_files([path])
    assert found.problems == () and "No known output" in found.summary


def test_standard_input():
    found = run_files(["-"], stdin=io.BytesIO(LOG.encode()))
    assert found.transport == "socket" and found.problems[0].evidence.file == "-"


def test_files_are_read_together(tmp_path):
    (tmp_path / "a.log").write_text(LOG.splitlines()[0] + "\n")
    (tmp_path / "b.log").write_text("\n".join(LOG.splitlines()[1:]) + "\n")
    found = run_files([tmp_path / "a.log", tmp_path / "b.log"])
    assert {p.code for p in found.problems if p.severity != "info"} == {"socket_fallback"}


def test_module_prints_one_json_object(tmp_path):
    path = tmp_path / "x.log"
    path.write_text(LOG)
    run = subprocess.run(
        [sys.executable, "-m", "advisor.reasoning.diagnose", str(path), "--json", "--lang", "ja"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(run.stdout)["transport"] == "socket"
    wrong = subprocess.run(
        [sys.executable, "-m", "advisor.reasoning.diagnose", str(tmp_path / "none")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert wrong.returncode == 2 and "Traceback" not in wrong.stderr


def test_reading_needs_no_heavy_package():
    code = (
        "import sys, advisor.reasoning.diagnose as d; d.diagnose({'a': 'x'});"
        "print([m for m in ('duckdb', 'chromadb', 'gradio', 'langchain', 'numpy', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Why is this slow?\n" + LOG, True),
        ("        GPU0    GPU1\nGPU0     X      NV4\nGPU1    NV4      X", True),
        ("\t Link 0: 25 GB/s", True),
        ("CA 'mlx5_0'\n\tCA type: MT4129", True),
        ("   1073741824   268435456  float  sum  -1  4619.3  232.44  465.20  0", True),
        ("NVLink と InfiniBand の違いは何ですか", False),
        ("What does nvidia-smi topo -m show, and what is NCCL?", False),
        ("8 GPUs, 2 nodes, H100, budget 100 USD", False),
        ("", False),
    ],
)
def test_pasted_logs_are_recognised(text, expected):
    assert looks_like_diagnostic(text) is expected
