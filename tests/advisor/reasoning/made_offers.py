"""Offers made up for tests: the shapes of real machines, invented sellers and prices."""

from knowledge.offer_model import Offer

RDMA = {
    "internode_fabric": "infiniband",
    "internode_gbit_s_per_node": 3200,
    "internode_rdma": "yes",
    "orderable_as_cluster": "yes",
}
NVLINK4 = {"nvlink": "yes", "nvlink_gb_s_per_gpu": 900, "nvlink_domain_gpus": 8}


def offer(seller, gpu, variant, count, memory, price, **more):
    """One offer; `price` is dollars an hour for the instance."""
    name = f"{gpu.lower().replace(' ', '')}-{variant.lower()}-x{count}"
    return Offer(
        offer_id=f"{seller}/{name}/{more.get('region', 'r1')}/{more.get('spot', False)}",
        provider=seller,
        instance_type=name,
        gpu=gpu,
        gpu_variant=variant,
        gpu_count=count,
        gpu_memory_gb=memory,
        price_usd_hour=price,
        price_usd_gpu_hour=None if price is None else price / count,
        source="made up",
        **more,
    )


def market():
    """A small market: consumer cards, one-GPU machines, nodes with and without NVLink, clusters with and without RDMA."""
    return [
        offer("bolt", "RTX 4090", "PCIe", 1, 24, 0.6, nvlink="no"),
        offer("bolt", "RTX 4090", "PCIe", 8, 24, 4.8, nvlink="no", internode_fabric="ethernet", orderable_as_cluster="no"),
        offer("bolt", "L40S", "PCIe", 1, 48, 1.2, nvlink="no"),
        offer("bolt", "RTX A6000", "PCIe", 1, 48, 0.8, nvlink="no"),
        offer("cirrus", "L4", "PCIe", 1, 24, 0.7, nvlink="no"),
        offer("cirrus", "T4", "PCIe", 1, 16, 0.35, nvlink="no"),
        offer("cirrus", "A100", "SXM", 8, 80, 14.0, nvlink="yes", nvlink_gb_s_per_gpu=600, nvlink_domain_gpus=8,
              internode_fabric="ethernet", internode_gbit_s_per_node=100, internode_rdma="no", orderable_as_cluster="yes"),
        offer("cirrus", "A100", "PCIe", 8, 80, 11.0, nvlink="no", internode_fabric="none", orderable_as_cluster="no"),
        offer("cirrus", "A100", "PCIe", 4, 80, 5.5, nvlink="unknown"),
        offer("delta", "H100", "SXM", 1, 80, 2.4, nvlink="no"),
        offer("delta", "H100", "SXM", 8, 80, 20.0, **NVLINK4, **RDMA),
        offer("delta", "H200", "SXM", 8, 141, 28.0, **NVLINK4, **RDMA),
        offer("echo", "H100", "SXM", 8, 80, 18.0, **NVLINK4),
        offer("echo", "H100", "SXM", 8, 80, 8.0, spot=True, **NVLINK4),
        offer("foxtrot", "MI300X", "OAM", 8, 192, 16.0, nvlink="no", internode_fabric="roce",
              internode_gbit_s_per_node=3200, internode_rdma="yes", orderable_as_cluster="yes"),
        offer("foxtrot", "H100", "PCIe", 2, 80, 4.0, nvlink="unknown"),
        offer("golf", "H999", "SXM", 8, 80, 1.0, nvlink="yes"),
        offer("golf", "L40S", "PCIe", 1, 48, None, nvlink="no"),
    ]  # fmt: skip
