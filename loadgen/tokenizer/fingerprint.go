package tokenizer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// probe has what tokenizers differ in: digits, spaces, case, code, scripts, signs.
const probe = "The quick brown fox, 12345678 and 3.14159e-7;\r\n\tif (x_1 != y2) { return fooBarBaz(\"a\\n\"); }   \n\n" +
	"Übergrößenträger naïve façade — “quotes” … Ελληνικά русский язык 中文字符 日本語テスト 한국어 العربية עברית हिन्दी " +
	"ไทย 🙂👩‍👩‍👧‍👦 HTTP/1.1 https://example.com/path?q=1&r=2 don't I'll THEY'RE <|endoftext|> 0x7fffffff"

// Fingerprint is the SHA-256 of the ids that tok gives a fixed text: tokenizers that differ in
// it count differently.
func Fingerprint(tok Tokenizer) string {
	sum := sha256.Sum256(fmt.Append(nil, tok.Encode(nil, probe)))
	return hex.EncodeToString(sum[:])
}
