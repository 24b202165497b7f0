"""The deploy files: linters where they are installed, and the promises of the manifests read with a parser."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cluster_services import nginx_config, nginx_program

from advisor.web.diagnose_tab import MAX_FILES, UPLOAD_MB

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
WORKLOADS = ("Deployment", "StatefulSet", "CronJob")


def run(name, *arguments):
    """Run a linter that a package installs; skip where it is absent."""
    beside = Path(sys.executable).parent / name
    program = str(beside) if beside.exists() else shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed; the extra `deploy` has it")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def documents():
    return [one for path in MANIFESTS for one in yaml.safe_load_all(path.read_text()) if one]


def pods():
    for one in documents():
        if one["kind"] in WORKLOADS:
            spec = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one["spec"]
            yield one["kind"], one["metadata"]["name"], spec["template"]


def test_hadolint():
    run("hadolint", "-c", str(DEPLOY / "hadolint.yaml"), str(DEPLOY / "Dockerfile"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_kubernetes_schema(path):
    run("kubernetes-validate", "--strict", str(path))


def test_compose_schema():
    run("check-jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))


def test_gixy(tmp_path):
    path = tmp_path / "nginx.conf"
    path.write_text(nginx_config(tmp_path, [7860], 8080))
    # The Host header is passed on as it came: the page makes its addresses from it, with the port.
    run("gixy", "--skips", "host_spoofing,version_disclosure", str(path))


def test_nginx_takes_the_configuration(tmp_path):
    if nginx_program() is None:
        pytest.skip("nginx is not installed")
    path = tmp_path / "nginx.conf"
    path.write_text(nginx_config(tmp_path, [7860, 7861], 8080))
    done = subprocess.run(
        [nginx_program(), "-t", "-c", str(path), "-p", str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_nginx_lets_a_full_form_of_log_files_through_and_nothing_else_that_large(tmp_path):
    site = nginx_config(tmp_path, [7860], 8080)
    blocks = dict(re.findall(r"location ([^{]+?) \{\n(.*?)\n    \}", site, re.S))
    limits = {name: re.findall(r"client_max_body_size (\d+)m;", body) for name, body in blocks.items()}
    (upload,) = [name for name, found in limits.items() if found]
    pattern = upload.removeprefix("~ ")
    assert re.search(pattern, "/gradio_api/upload")
    assert not re.search(pattern, "/gradio_api/call/ask")
    assert int(limits[upload][0]) >= MAX_FILES * UPLOAD_MB
    # What is passed on as it comes needs no room in the container, whose writable folder is smaller than one form.
    assert "proxy_request_buffering off;" in blocks[upload]
    assert not any("upload" in name for name in blocks if name != upload), "a second rule would hide this one"


def test_every_container_is_bounded_and_locked_down():
    seen = 0
    for _, name, template in pods():
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["automountServiceAccountToken"] is False, name
        for container in spec["containers"]:
            seen += 1
            assert "memory" in container["resources"]["limits"], name
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), name
            locked = container["securityContext"]
            assert locked["allowPrivilegeEscalation"] is False, name
            assert locked["readOnlyRootFilesystem"] is True, name
            assert locked["capabilities"] == {"drop": ["ALL"]}, name
            assert not container["image"].endswith(":latest"), name
            assert ":" in container["image"], name
    assert seen >= 5


def test_every_service_has_probes_and_several_replicas_a_disruption_budget():
    budgets = [one["spec"]["selector"]["matchLabels"] for one in documents() if one["kind"] == "PodDisruptionBudget"]
    for kind, name, template in pods():
        if kind == "CronJob":
            continue
        for container in template["spec"]["containers"]:
            assert {"readinessProbe", "livenessProbe"} <= container.keys(), name
    for one in documents():
        if one["kind"] == "Deployment":
            assert one["spec"]["replicas"] >= 2
            assert one["spec"]["selector"]["matchLabels"] in budgets, one["metadata"]["name"]


def test_names_that_manifests_refer_to_exist():
    found = documents()
    names = {
        kind: {one["metadata"]["name"] for one in found if one["kind"] == kind} for kind in {x["kind"] for x in found}
    }
    for _, name, template in pods():
        text = json.dumps(template)
        for volume in template["spec"].get("volumes", []):
            if claim := volume.get("persistentVolumeClaim"):
                assert claim["claimName"] in names["PersistentVolumeClaim"], name
        mounts = {mount["name"] for c in template["spec"]["containers"] for mount in c.get("volumeMounts", [])}
        claims = {"data"} if name in ("advisor-chroma", "advisor-postgres") else set()
        assert mounts <= {volume["name"] for volume in template["spec"].get("volumes", [])} | claims, name
        if "secretKeyRef" in text:
            assert "advisor" in names["Secret"]
    config = next(one for one in found if one["kind"] == "ConfigMap")["data"]
    assert config["ADVISOR_CHROMA_URL"].split("//")[1].split(":")[0] in names["Service"]


def test_only_settings_that_exist_are_set():
    from advisor.settings import Settings

    known = {f"ADVISOR_{name.upper()}" for name in Settings.model_fields} | {
        "ADVISOR_LISTEN",
        "ADVISOR_UPSTREAM",
        "ADVISOR_PUBLISH",
    }
    import re

    for path in [*MANIFESTS, DEPLOY / "compose.yaml", DEPLOY / "Dockerfile", DEPLOY / ".env.example"]:
        used = set(re.findall(r"\bADVISOR_[A-Z_]+", path.read_text()))
        assert used <= known, (path.name, used - known)


def test_compose_services_are_locked_down():
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert {"web", "chroma", "postgres", "nginx"} <= services.keys()
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert [name for name, service in services.items() if "ports" in service] == ["nginx"]
    assert services["web"]["deploy"]["replicas"] >= 2


def test_the_image_runs_without_root_and_knows_its_health():
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    users = [line for line in lines if line.startswith("USER ")]
    assert users == ["USER 10001:10001"]
    assert any(line.startswith("HEALTHCHECK ") for line in lines)
    assert not any("latest" in line for line in lines if line.startswith("FROM"))


def test_no_password_of_ours_is_left_in():
    import re

    for path in [DEPLOY / "compose.yaml", *MANIFESTS]:
        for line in path.read_text().splitlines():
            found = re.search(r"(?i)password\S*:\s*(\S+)", line)
            if found and not line.lstrip().startswith("#"):
                assert re.match(r"(\$\{|\$\(|change-me|\{)", found.group(1).strip("\"'")) or "@" in line, line
