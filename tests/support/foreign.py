"""Small folders of encoders as other libraries write them, for the toy languages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from toys import WORDS

DIM = 24
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
TOKENS += [f"{side}{number}" for side in "ab" for number in range(WORDS)]


def word_vectors() -> np.ndarray:
    """Vectors of ``TOKENS``: words that translate each other have similar ones."""
    generator = np.random.default_rng(3)
    words = generator.standard_normal((WORDS, DIM)).astype(np.float32)
    other = words + 0.1 * generator.standard_normal((WORDS, DIM)).astype(np.float32)
    marks = generator.standard_normal((4, DIM)).astype(np.float32)
    return np.concatenate([marks, words, other])


def tokenizer(path: Path, marks: bool = False) -> Path:
    """Write a tokenizer.json of whole words, lower-cased; *marks*: with [CLS] and [SEP]."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {token: number for number, token in enumerate(TOKENS)}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    if marks:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    made.enable_padding(length=64)
    made.enable_truncation(3)
    made.save(str(path))
    return path


def static_folder(folder: Path, *, normalise: bool = False, inside: str = "") -> Path:
    """Write a StaticEmbedding of sentence-transformers, the files perhaps in a folder *inside*."""
    (folder / inside).mkdir(parents=True, exist_ok=True)
    home = "sentence_transformers.models"
    modules = [{"idx": 0, "name": "0", "path": inside, "type": f"{home}.StaticEmbedding"}]
    if normalise:
        modules.append({"idx": 1, "name": "1", "path": "1", "type": f"{home}.Normalize"})
        (folder / "1").mkdir()
    (folder / "modules.json").write_text(json.dumps(modules))
    tokenizer(folder / inside / "tokenizer.json")
    save_file({"embedding.weight": word_vectors()}, folder / inside / "model.safetensors")
    return folder


def model2vec_folder(folder: Path, **tensors: np.ndarray) -> Path:
    """Write a folder of model2vec that normalises; *tensors* instead of ``embeddings``."""
    folder.mkdir(parents=True)
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer(folder / "tokenizer.json")
    save_file(tensors or {"embeddings": word_vectors()}, folder / "model.safetensors")
    return folder


def onnx_folder(folder: Path, output: str = "last_hidden_state", types: bool = False) -> Path:
    """Write a network of ONNX that looks up word vectors; they are the states, or one is a mean.

    With *output* ``sentence_embedding`` it gives the sum over all places instead.
    """
    from onnx import TensorProto, helper, numpy_helper, save

    folder.mkdir(parents=True)
    tokenizer(folder / "tokenizer.json", marks=True)
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in names]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    shape: list[str | int] = ["n", "t", DIM]
    if output == "sentence_embedding":
        nodes.append(helper.make_node("ReduceSum", ["states", "axis"], [output], keepdims=0))
        shape = ["n", DIM]
    else:
        nodes.append(helper.make_node("Identity", ["states"], [output]))
    result = helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)
    constants = [
        numpy_helper.from_array(word_vectors(), "table"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    graph = helper.make_graph(nodes, "toy", inputs, [result], constants)
    save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        folder / "model.onnx",
    )
    return folder


def transformer_folder(folder: Path) -> Path:
    """Write a tiny, untrained BERT with mean pooling, as sentence-transformers writes it."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    inner = folder.with_name(folder.name + "-bert")
    torch.manual_seed(1)
    settings = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = BertConfig(vocab_size=len(TOKENS), intermediate_size=16, **settings)
    BertModel(config).save_pretrained(inner)
    BertTokenizerFast(
        tokenizer_file=str(tokenizer(inner / "words.json", marks=True))
    ).save_pretrained(inner)
    network = Transformer(str(inner))
    made = SentenceTransformer(modules=[network, Pooling(16)], device="cpu")
    made.save(str(folder))
    return folder


def name_languages(folder: Path, *languages: str) -> Path:
    """Write the file that names the languages of a foreign folder."""
    (folder / "bitextfilter.json").write_text(json.dumps({"languages": languages}))
    return folder
