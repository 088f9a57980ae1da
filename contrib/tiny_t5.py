"""Writes a tiny T5 of random weights and its tokenizer, made on the spot, for tests of attrscore_server.py.

    python tiny_t5.py FOLDER

It has the parts of flan-t5 (gated feed-forward, untied output, a unigram tokenizer that ends each prompt with `</s>`)
in 100 KB, and knows nothing: what it writes is noise, but the same noise for the same prompt.
"""

import argparse
import re

SENTENCES = [
    "Claim: green tea lowers blood pressure in adults.",
    "Reference: the trial found no change of blood pressure after twelve weeks of green tea.",
    "Attributable", "Contradictory", "Extrapolatory",
    "A passage supports a claim if a reader can check the claim with it.",
    "The cells were grown for three days, and the drug was added on the second.",
    "Larger models answer more questions, but they also make up more sources.",
]  # fmt: skip
PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"
# How a unigram tokenizer writes the space before a word.
SPACE = "▁"
POSITIONS = 64


def tiny_tokenizer():
    import tokenizers
    import transformers

    # Whole words cost less than their letters one by one; the vocabulary is made, not trained: always the same.
    text = " ".join(SENTENCES)
    words = sorted({f"{SPACE}{word}" for word in re.findall(r"\w+", text)})
    letters = sorted(set(text) - {" "} | {SPACE})
    words = [word for word in words if word not in letters]
    pieces = [(name, 0.0) for name in (PAD, END, UNKNOWN)]
    pieces += [(letter, -10.0) for letter in letters] + [(word, -8.0) for word in words]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Metaspace()
    end = [(END, made.token_to_id(END))]
    made.post_processor = tokenizers.processors.TemplateProcessing(single=f"$A {END}", special_tokens=end)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token=PAD, eos_token=END, unk_token=UNKNOWN,
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def tiny_model(tokenizer, seed):
    import torch
    import transformers

    torch.manual_seed(seed)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_decoder_layers=1, num_heads=2,
        dropout_rate=0.0, feed_forward_proj="gated-gelu", tie_word_embeddings=False, n_positions=POSITIONS,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for weights in model.parameters():
            # At its usual size, what a new T5 writes hardly depends on what it reads.
            if weights.dim() == 2:
                weights.normal_(std=0.6)
    return model


def replies(tokenizer, model):
    """The token ids that the model writes greedily after each sentence, at most 12."""
    return [
        model.generate(**tokenizer(text, return_tensors="pt"), max_new_tokens=12, do_sample=False)[0].tolist()
        for text in SENTENCES
    ]


def write(folder):
    """Writes the first model of which some replies end by themselves and some do not."""
    import torch

    # On a busy machine, threads that wait for each other cost more than such a model.
    torch.set_num_threads(1)
    tokenizer = tiny_tokenizer()
    for seed in range(100):
        model = tiny_model(tokenizer, seed)
        ended = [model.config.eos_token_id in ids for ids in replies(tokenizer, model)]
        if 2 <= sum(ended) <= len(SENTENCES) - 2:
            tokenizer.save_pretrained(folder)
            model.save_pretrained(folder)
            return tokenizer, model
    raise RuntimeError("no seed gives such a model")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    write(parser.parse_args().folder)
