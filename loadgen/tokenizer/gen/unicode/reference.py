"""Writes what the reference library (PyPI tokenizers) holds of Unicode into reference.json: character classes as its regular
expressions see them, normal forms of single characters, which characters are reordered. Then: go run ./gen/unicode reference.json"""
import json
from tokenizers import Regex, normalizers

points = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
every = "".join(map(chr, points))
out = {}
for name, pattern in {
    "L": r"[^\p{L}]", "N": r"[^\p{N}]", "M": r"[^\p{M}]", "Lu": r"[^\p{Lu}]", "Ll": r"[^\p{Ll}]", "Lt": r"[^\p{Lt}]", "Lm": r"[^\p{Lm}]",
    "Lo": r"[^\p{Lo}]", "P": r"[^\p{P}]", "S": r"[^\p{S}]", "space": r"[^\s]", "word": r"[^\w]",
}.items():
    out[name] = [ord(c) for c in normalizers.Replace(Regex(pattern), "").normalize_str(every)]
for form in ["NFC", "NFD", "NFKC", "NFKD"]:
    n = getattr(normalizers, form)()
    out[form] = {c: n.normalize_str(chr(c)) for c in points}
nfd = normalizers.NFD()
out["reordered"] = [
    c for c in points
    if nfd.normalize_str("a\u0301" + chr(c))[1:2] != "\u0301" or nfd.normalize_str("a" + chr(c) + "\u0334")[1:2] == "\u0334"
]
only = dict(handle_chinese_chars=False, lowercase=False)
bert = normalizers.BertNormalizer(clean_text=False, strip_accents=True, **only)
out["combining"] = [c for c in points if normalizers.StripAccents().normalize_str(chr(c)) == ""]
out["nonspacing"] = [c for c in points if nfd.normalize_str(chr(c)) == chr(c) and bert.normalize_str(chr(c)) == ""]
tidy = normalizers.BertNormalizer(clean_text=True, strip_accents=False, **only)
out["control"] = [c for c in points if tidy.normalize_str(chr(c)) == ""]
from tokenizers import pre_tokenizers

cut = pre_tokenizers.Punctuation()
out["punct"] = [c for c in points if len(cut.pre_tokenize_str("a" + chr(c) + "a")) > 1]
json.dump(out, open("reference.json", "w"))
