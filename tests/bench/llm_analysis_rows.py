"""Run llm-analysis over request lines; executed by the interpreter of an environment that has it installed.

    python llm_analysis_rows.py < rows.jsonl > answers.jsonl

A line has shape, card, degrees, batch and the efficiency that llm-analysis must be given; an answer has seconds a step and
GB a GPU, or the reason why it cannot answer.
"""

import contextlib
import io
import json
import sys


def answer(row):
    """Seconds and GB of one row, by the library's own defaults."""
    from llm_analysis.analysis import ActivationRecomputation, DSZeRO, LLMAnalysis, ModelConfig, ParallelismConfig
    from llm_analysis.config import get_dtype_config_by_name, get_gpu_config_by_name

    model = ModelConfig(
        name=row["name"],
        num_layers=row["layers"],
        n_head=row["heads"],
        hidden_dim=row["hidden"],
        vocab_size=row["vocab"],
        max_seq_len=row["seq_len"],
        num_key_value_heads=row["kv_heads"],
    )
    analysis = LLMAnalysis(
        model,
        get_gpu_config_by_name(row["card"]),
        get_dtype_config_by_name("w16a16e16"),
        ParallelismConfig(tp_size=row["tp"], pp_size=row["pp"], dp_size=row["dp"]),
        flops_efficiency=row["flops_efficiency"],
    )
    found = analysis.training(
        batch_size_per_gpu=row["micro_batch"],
        gradient_accumulation_steps=row["grad_accum"],
        seq_len=row["seq_len"],
        activation_recomputation=ActivationRecomputation({"none": 0, "selective": 1, "full": 2}[row["recompute"]]),
        ds_zero=DSZeRO(row["zero"]),
        flash_attn=True,
    )
    tokens = found["global_batch_size"] * row["seq_len"]
    return {
        "tokens_per_s_per_gpu": tokens / found["latency_per_iter"] / found["total_num_gpus"],
        "memory_gb": found["(weight+op_state+grad+act)_memory_per_gpu"] / 1e9,
    }


def main():
    """One answer a line."""
    for line in sys.stdin:
        row = json.loads(line)
        out = {"id": row["id"]}
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                out |= answer(row)
            except (AssertionError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
                out["error"] = str(error)[:120] or type(error).__name__
        print(json.dumps(out))


if __name__ == "__main__":
    main()
