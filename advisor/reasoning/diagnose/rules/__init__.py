"""Rules: one a problem code. A rule speaks only with a line of the text; silence proves nothing."""

from __future__ import annotations

from . import health, network, nvlink, peer
from .base import Finding, Rule

RULES: tuple[Rule, ...] = (
    nvlink.nvlink_partial,
    nvlink.nvlink_degraded,
    nvlink.nvlink_missing,
    nvlink.topo_view_hides_nvlink,
    nvlink.rank_order,
    nvlink.cross_socket_pcie,
    peer.p2p_unsupported,
    peer.p2p_disabled_by_env,
    peer.fabric_not_ready,
    peer.nvls_unavailable,
    peer.topology_hidden_by_vm,
    network.socket_fallback,
    network.ib_disabled_by_env,
    network.rdma_device_missing,
    network.efa_device_missing,
    network.efa_completion_error,
    network.gdr_disabled,
    network.gdr_one_sided,
    network.rdma_retry_exceeded,
    network.roce_gid,
    network.nic_shared,
    network.slow_network,
    network.link_rate_low,
    health.health,
    health.gpu_missing,
    health.only_small_messages,
)

__all__ = ["RULES", "Finding", "Rule"]
