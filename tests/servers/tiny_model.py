"""Generates a tiny model with random weights; run by the Python of a transformers environment."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END = "<end>"
TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant: "


def make(folder: str) -> None:
    """Write the model. Its tokens are bytes, and its replies are random."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {END: 0} | {letter: place for place, letter in enumerate(letters, 1)}
    plain = Tokenizer(models.BPE(vocab=words, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, eos_token=END, pad_token=END)
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=2048,
        eos_token_id=0,
        pad_token_id=0,
        bos_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    make(sys.argv[1])
