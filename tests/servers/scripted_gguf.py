"""Generates a model with predetermined replies for a real llama.cpp server; run by a Python with gguf and numpy.

Attention and all layers are zero, so the next token depends only on the last one. Each reply (a chain) gets its own
tokens, and the chat template starts the reply with the start token of the chain that is due.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy

STARTS = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
FIRST_START, FIRST_FREE, END = 151659, 151700, "<|im_end|>"
PIECE = 5  # characters of a token, so that text and calls arrive in many pieces
WIDTH, HEADS = 128, 4
TURN = """{%- set seen = namespace(results=0) %}
{%- for message in messages if message.role == "tool" %}{%- set seen.results = seen.results + 1 %}{%- endfor %}
{{- '<|im_start|>assistant\\n' + STARTS[[seen.results, LAST] | min] }}"""


def make(vocabulary: str, template: str, place: str, chains: list[str]) -> None:
    """Write the model file. The n-th chain is the reply after n tool results."""
    fields = gguf.GGUFReader(vocabulary).fields
    tokens, kinds = (
        list(fields["tokenizer.ggml.tokens"].contents()),
        list(fields["tokenizer.ggml.token_type"].contents()),
    )
    for number, start in enumerate(STARTS):
        tokens[FIRST_START + number], kinds[FIRST_START + number] = start, gguf.TokenType.USER_DEFINED
    following: dict[int, int] = {}
    free, end = FIRST_FREE, tokens.index(END)
    known = set(tokens)
    for number, chain in enumerate(chains):
        last = FIRST_START + number
        for piece in pieces(chain, known):
            tokens[free], kinds[free] = piece, gguf.TokenType.NORMAL
            following[last] = last = free
            free += 1
        following[last] = end
    writer = gguf.GGUFWriter(place, "qwen2")
    head(writer, fields, tokens, kinds, chat_template(Path(template).read_text(encoding="utf-8"), len(chains)))
    tensors(writer, len(tokens), following)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def pieces(chain: str, known: set[str]) -> Iterator[str]:
    """Split a chain into pieces that are not tokens yet, spelled in the byte alphabet of the vocabulary."""
    spelling = alphabet()
    place = 0
    while place < len(chain):
        for size in range(PIECE, PIECE * 3):
            piece = "".join(spelling[byte] for byte in chain[place : place + size].encode())
            if piece not in known:
                break
        known.add(piece)
        yield piece
        place += size


def alphabet() -> dict[int, str]:
    """Return the character that represents each byte, as in GPT-2 vocabularies."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}


def chat_template(text: str, chains: int) -> str:
    """Return the chat template with its generation prompt replaced by the start token that is due."""
    begin = text.rindex("{%- if add_generation_prompt %}")
    turn = TURN.replace("STARTS", str(list(STARTS[:chains]))).replace("LAST", str(chains - 1))
    return text[:begin] + "{%- if add_generation_prompt %}\n" + turn + "\n{%- endif %}"


def head(writer: Any, fields: Any, tokens: list[str], kinds: list[int], template: str) -> None:
    """Write the model's metadata."""
    writer.add_name("scripted")
    writer.add_block_count(1)
    writer.add_context_length(32_768)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(fields["tokenizer.ggml.pre"].contents())
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(fields["tokenizer.ggml.merges"].contents())
    writer.add_eos_token_id(tokens.index(END))
    writer.add_bos_token_id(fields["tokenizer.ggml.bos_token_id"].contents())
    writer.add_add_bos_token(False)
    writer.add_chat_template(template)


def tensors(writer: Any, size: int, following: dict[int, int]) -> None:
    """Write the weights: each token that has a successor gets its own embedding dimension, which selects it."""
    embedding: Any = numpy.zeros((size, WIDTH), numpy.float16)
    output: Any = numpy.zeros((size, WIDTH), numpy.float16)
    for place, (token, after) in enumerate(following.items()):
        embedding[token, place] = 1
        output[after, place] = 8
    ones: Any = numpy.ones(WIDTH, numpy.float32)
    nothing: Any = numpy.zeros((WIDTH, WIDTH), numpy.float16)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", ones)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", nothing)
    for name in ("attn_q", "attn_k", "attn_v"):
        writer.add_tensor(f"blk.0.{name}.bias", numpy.zeros(WIDTH, numpy.float32))


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))
