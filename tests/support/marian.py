"""Tiny, untrained translators of transformers, and the same converted by CTranslate2."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

WORDS = 20
POSITIONS = 64


def sentences(letter: str, number: int, seed: int = 1) -> list[str]:
    """Sentences of the words a0 to a19, or b0 to b19."""
    generator = random.Random(f"{letter}{seed}")
    lengths = (generator.randint(1, 9) for _ in range(number))
    return [
        " ".join(f"{letter}{generator.randrange(WORDS)}" for _ in range(length))
        for length in lengths
    ]


def sentencepiece_model(texts: list[str]) -> bytes:
    """A model of all pieces of some texts."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, vocab_size=60, hard_vocab_limit=False,
        minloglevel=2,
    )  # fmt: skip
    return model.getvalue()


def marian_folder(folder: Path, seed: int = 1) -> Path:
    """Write a MarianMTModel of a few wide numbers, with its tokenizer, as OPUS-MT models are."""
    import sentencepiece
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    folder.mkdir(parents=True)
    vocabulary = {"</s>": 0, "<unk>": 1}
    for letter, side in (("a", "source"), ("b", "target")):
        content = sentencepiece_model(sentences(letter, 200))
        (folder / f"{side}.spm").write_bytes(content)
        pieces = sentencepiece.SentencePieceProcessor(model_proto=content)
        for number in range(3, len(pieces)):
            vocabulary.setdefault(pieces.id_to_piece(number), len(vocabulary))
    vocabulary |= {">>bb<<": len(vocabulary), "<pad>": len(vocabulary) + 1}
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    paths = (str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))
    MarianTokenizer(*paths).save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {
        f"{part}_{name}": number
        for part in ("encoder", "decoder")
        for name, number in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    size, pad = len(vocabulary), vocabulary["<pad>"]
    marks = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0}
    made = MarianMTModel(
        MarianConfig(
            vocab_size=size, decoder_vocab_size=size, d_model=16, max_position_embeddings=POSITIONS,
            forced_eos_token_id=0, activation_function="swish", scale_embedding=True, init_std=0.5,
            **sizes, **marks,
        )
    )  # fmt: skip
    with torch.no_grad():
        made.final_logits_bias.add_(torch.randn_like(made.final_logits_bias))
    made.save_pretrained(folder)
    return folder


def converted(marian: Path, folder: Path, kind: str | None = None, *languages: str) -> Path:
    """Convert a MarianMTModel; *kind*: of its numbers, such as int8; name the *languages*."""
    from ctranslate2.converters import TransformersConverter

    copied = ["source.spm", "target.spm"]
    TransformersConverter(str(marian), copy_files=copied).convert(str(folder), quantization=kind)
    if languages:
        settings(folder, languages=list(languages))
    return folder


def settings(folder: Path, **values: Any) -> Path:
    """Write our own settings into a folder of another library."""
    (folder / "bitextfilter.json").write_text(json.dumps(values))
    return folder
