"""The page's colours and type: system fonts only (nothing is fetched), one accent, light and dark."""

from __future__ import annotations

from typing import Any

SANS = (
    "system-ui",
    "-apple-system",
    "Segoe UI",
    "Hiragino Sans",
    "Yu Gothic UI",
    "Noto Sans JP",
    "Noto Sans CJK JP",
    "sans-serif",
)
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "Noto Sans Mono CJK JP", "monospace")


def make_theme() -> Any:
    """A Gradio theme of neutral surfaces with a green accent; contrast is at least 4.5:1 for text."""
    import gradio as gr

    accent = gr.themes.Color(
        c50="#eefaf4", c100="#d6f2e3", c200="#aee4c9", c300="#79cfa8", c400="#43b284", c500="#1f9468", c600="#117a54",
        c700="#0d6345", c800="#0c4f39", c900="#0a4130", c950="#04251b",
    )  # fmt: skip
    return gr.themes.Base(
        primary_hue=accent,
        secondary_hue=accent,
        neutral_hue=gr.themes.colors.zinc,
        spacing_size=gr.themes.sizes.spacing_md,
        radius_size=gr.themes.sizes.radius_md,
        text_size=gr.themes.sizes.text_md,
        font=list(SANS),
        font_mono=list(MONO),
    ).set(
        body_background_fill="#f7f7f8",
        body_background_fill_dark="#111214",
        block_background_fill="#ffffff",
        block_background_fill_dark="#191a1d",
        background_fill_primary_dark="#191a1d",
        background_fill_secondary_dark="#141518",
        input_background_fill="#ffffff",
        input_background_fill_dark="#202227",
        border_color_primary="#e3e3e8",
        border_color_primary_dark="#303238",
        body_text_color="#1d1e22",
        body_text_color_dark="#e9e9ec",
        body_text_color_subdued="#5d606a",
        body_text_color_subdued_dark="#a3a6b0",
        block_label_text_color="#44464f",
        block_label_text_color_dark="#c3c5cd",
        block_info_text_color="#5d606a",
        block_info_text_color_dark="#a3a6b0",
        input_placeholder_color="#6f727c",
        input_placeholder_color_dark="#969aa5",
        input_border_width="1px",
        input_border_color="#d5d5dc",
        input_border_color_dark="#3a3d45",
        input_border_color_focus="*primary_600",
        input_border_color_focus_dark="*primary_400",
        input_shadow="none",
        input_padding="7px 10px",
        button_secondary_background_fill="#ffffff",
        button_secondary_background_fill_dark="#202227",
        button_secondary_background_fill_hover="#f0f0f3",
        button_secondary_background_fill_hover_dark="#2a2c31",
        button_secondary_border_color="#d5d5dc",
        button_secondary_border_color_dark="#3a3d45",
        button_border_width="1px",
        block_shadow="none",
        block_border_width="1px",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
        link_text_color="*primary_700",
        link_text_color_dark="*primary_300",
        link_text_color_hover="*primary_800",
        link_text_color_hover_dark="*primary_200",
        link_text_color_visited="*primary_700",
        link_text_color_visited_dark="*primary_300",
    )
