"""Writes ../../testdata/components.json, what the reference library (pip install tokenizers==0.22.1) makes of each component that a
tokenizer.json can have. A normalizer or an added token is seen through a model that spells bytes; a pre-tokenizer through one that
gives one token per word of at most a few characters. Per component: the hash of its ids on all strings."""
import json, pathlib, random
from tokenizers import Tokenizer

out = pathlib.Path(__file__).parent.parent.parent / "testdata" / "components.json"


def strings(n):
    r = random.Random(5)
    words = "the a It'S IT's we'LL don't hello HELLO İstanbul ẞtraße ſo'ſ naïve ΑΣ x² ½¼ 12,345 007 ٣٤٥ ①② Ⅷ 日本語 〇々 ⺀ 한국어 हिन्दी க்ஷ ไทย ﬁ e\u0301 \uA7DC <mask> <MASK> [MASK] <|end|> a\u200db _x __ $ % ...!? 漢字かな \u1b7f".split(" ")
    spaces = [" ", "  ", "\n", "\n\n", "\t", "\u00a0", "\u3000", "\u200b", "\u2028", "\r\n", ""]
    fixed = ["", " ", "\n", "  x", "x  ", "\na\n", "it'ſ", "IT'S", "'ſ", "1234567", "a\nb\n", " \u0301a"]
    return fixed + ["".join(r.choice(words) + r.choice(spaces) for _ in range(r.randrange(1, 9))) for _ in range(n - len(fixed))]


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def seq(*list):
    return {"type": "Sequence", "pretokenizers": [*list]}


def nseq(*list):
    return {"type": "Sequence", "normalizers": [*list]}


def bert(**more):
    return {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True, **more}


def metaspace(scheme, whole=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": whole}


def replace(pattern, content, kind="Regex"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def token(id, content, **more):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **more}


byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
gpt2 = {**byte_level, "use_regex": True}
digits = {"type": "Digits", "individual_digits": True}
cased = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
kimi = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?" + cased + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
tekken = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
marks = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
possessive = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"

normalizers = {
    "lowercase": {"type": "Lowercase"}, "NFC": {"type": "NFC"}, "NFD": {"type": "NFD"}, "NFKC": {"type": "NFKC"}, "NFKD": {"type": "NFKD"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True}, "strip left": {"type": "Strip", "strip_left": True, "strip_right": False},
    "accents": nseq({"type": "NFD"}, {"type": "StripAccents"}), "BERT": bert(), "BERT, cased": bert(lowercase=False),
    "BERT, accents": bert(lowercase=False, strip_accents=True), "nmt": {"type": "Nmt"}, "replace": replace(r"\s+", " "),
    "replace text": replace(" ", "▁", "String"), "replace at line ends": replace(r"\s$|^[\p{P}a]", "X"), "prepend": {"type": "Prepend", "prepend": "▁"},
    "CLIP": nseq({"type": "NFC"}, replace(r"\s+", " "), {"type": "Lowercase"}),
}
pre_tokenizers = {
    "whitespace": {"type": "Whitespace"}, "whitespace split": {"type": "WhitespaceSplit"}, "BERT": {"type": "BertPreTokenizer"},
    "punctuation": {"type": "Punctuation", "behavior": "Isolated"}, "punctuation in runs": {"type": "Punctuation", "behavior": "Contiguous"},
    "digits": digits, "digits in runs": {"type": "Digits", "individual_digits": False}, "delimiter": {"type": "CharDelimiterSplit", "delimiter": "e"},
    "metaspace": metaspace("always"), "metaspace, first": metaspace("first"), "metaspace, never": metaspace("never"), "metaspace, whole": metaspace("always", False),
    "T5": seq({"type": "WhitespaceSplit"}, metaspace("always")), "words, metaspace first": seq({"type": "WhitespaceSplit"}, metaspace("first")),
    "fixed": {"type": "FixedLength", "length": 3}, "words": split(r"\w+"), "words only": split(r"\w+", "Removed", True), "no words": split(r"[\w]", "Removed"),
    "boundaries": split(r"\b\w"), "no boundaries": split(r"\B."), "hexadecimal": split(r"\h+|[\x{4e00}-\x{9fff}]"), "line ends": split(r"\W$|^\w"),
    "named": split(r"[[:space:]]|[[:digit:]]+"), "interval": split(r"x{,2}a|\p{N}{2}+"), "small or capital": split(r"(?i:[it]'s|ſ|k|z)"), "negated": split(r"\P{L}+|\p{^Lu}"),
    "nothing but a place": split(r"(?=(\d{3})+(?!\d))"), "text": split("'s", "MergedWithNext", kind="String"), "merged": split(r"\s", "MergedWithPrevious"),
}
byte_pre_tokenizers = {
    "GPT-2": {**gpt2, "add_prefix_space": True}, "StarCoder": seq(digits, gpt2),
    "Falcon": seq({"type": "Punctuation", "behavior": "Contiguous"}, gpt2, {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")),
    "BLOOM": seq(split(" ?[^(\\s|[.,!?…。，、।۔،])]+"), byte_level), "possessive": seq(split(possessive), byte_level), "Kimi": seq(split(kimi), byte_level),
    "Tekken": seq(split(tekken), byte_level), "Qwen 3.5": seq(split(marks), byte_level),
}
blanks = nseq({"type": "Prepend", "prepend": "▁"}, replace(" ", "▁", "String"))
added = {
    "taken with blanks": (blanks, [token(0, "<mask>", lstrip=True), token(0, "[MASK]", rstrip=True), token(0, "<|end|>", lstrip=True, rstrip=True), token(0, "\n\n")]),
    "whole words": (None, [token(0, "the", single_word=True), token(0, "12", single_word=True), token(0, "a", single_word=True, normalized=True)]),
    "normalized": ({"type": "Lowercase"}, [token(0, "<MASK>", normalized=True), token(0, "[MASK]", normalized=True, lstrip=True), token(0, "Hello", normalized=True), token(0, "hello")]),
    "normalized, with a prefix": (blanks, [token(0, "<mask>", normalized=True), token(0, "hello", normalized=True), token(0, "  x", normalized=True)]),
    "normalized away": ({"type": "NFKC"}, [token(0, "ﬁ", normalized=True), token(0, "①", normalized=True), token(0, "½")]),
}


def letters():
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) if b in own else chr(256 + sum(x not in own for x in range(b))) for b in range(256)]


# Bytes, and every pair of equal or neighbouring small letters: where words are cut shows in what is merged.
spelled = {"type": "BPE", "vocab": {"<0x%02X>" % b: b for b in range(256)}, "merges": [], "unk_token": None, "byte_fallback": True}
cut = {"type": "BPE", "vocab": {c: i for i, c in enumerate(letters())}, "merges": []}
for a in letters():
    for b in "aehlost 'ĠĊ":
        if b in cut["vocab"] and a + b not in cut["vocab"]:
            cut["vocab"][a + b] = len(cut["vocab"])
            cut["merges"].append([a, b])
words = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
models = {"spelled": spelled, "cut": cut, "words": words}


def fnv(data):
    h = 2166136261
    for b in data:
        h = (h ^ b) * 16777619 & 0xFFFFFFFF
    return "%08x" % h


texts, cases = strings(220), []


def case(name, model, **parts):
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts, "model": models[model]}
    t = Tokenizer.from_str(json.dumps(file))
    lines = [",".join(map(str, e.ids)) for e in t.encode_batch(texts, add_special_tokens=False)]
    cases.append({"name": name, "model": model, "parts": parts, "want": fnv("\n".join(lines).encode())})


for name, n in normalizers.items():
    case("normalizer " + name, "spelled", normalizer=n)
for name, p in pre_tokenizers.items():
    case("pre-tokenizer " + name, "words", pre_tokenizer=p)
for name, p in byte_pre_tokenizers.items():
    case("pre-tokenizer " + name, "cut", pre_tokenizer=p)
case("normalizer ByteLevel", "cut", normalizer={"type": "ByteLevel"}, pre_tokenizer=split(r"\p{L}+|\d"))
for name, (n, tokens) in added.items():
    case("added tokens " + name, "spelled", normalizer=n, added_tokens=[{**t, "id": 256 + i} for i, t in enumerate(tokens)])
out.write_text(json.dumps({"strings": texts, "models": models, "cases": cases}, ensure_ascii=False, separators=(",", ":")) + "\n")
