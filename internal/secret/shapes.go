package secret

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// shape is a text that is a credential by the look of it, whoever says it and
// wherever. A text without any of the literals, which are in lower case, holds none.
type shape struct {
	literals []string
	match    *regexp.Regexp // its last group is masked; all of it where it has none
	// real tells of the groups whether they are a credential; nil: each is.
	real func(groups []string) bool
}

var shapes = []shape{
	// JSON Web Token, signed or encrypted
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*`), nil},
	// OpenAI, Anthropic, OpenRouter
	{[]string{"sk-", "pk-", "rk-", "xk-"}, regexp.MustCompile(`\b[sprx]k-[A-Za-z0-9_-]{16,}`), nil},
	// Stripe
	{[]string{"k_live_"}, regexp.MustCompile(`\b[sr]k_live_[A-Za-z0-9]{10,}`), nil},
	// Hugging Face
	{[]string{"hf_"}, regexp.MustCompile(`\bhf_[A-Za-z0-9]{16,}`), nil},
	// GitHub
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{16,}`), nil},
	{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{16,}`), nil},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`), nil},   // GitLab
	{[]string{"nvapi-"}, regexp.MustCompile(`\bnvapi-[A-Za-z0-9_-]{16,}`), nil},   // NVIDIA
	{[]string{"gsk_"}, regexp.MustCompile(`\bgsk_[A-Za-z0-9]{16,}`), nil},         // Groq
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,}`), nil}, // Slack
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`), nil},       // Google
	{[]string{"ya29."}, regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{16,}`), nil},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\bA(?:KIA|SIA)[A-Z0-9]{16}\b`), nil}, // AWS
	{
		[]string{"private key"},
		regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*-----)?`),
		nil,
	},
	{
		[]string{"bearer"},
		regexp.MustCompile(`(?i)\bbearer(?:\s|%20|\+)+([^\s"'\\,;<>]+)`),
		func(g []string) bool { return len(g[0]) >= 24 || len(g[0]) >= shortest && anyDigit(g[0]) },
	},
	{
		[]string{"basic"},
		regexp.MustCompile(`(?i)\bbasic(?:\s|%20|\+)+([A-Za-z0-9+/_-]{4,}={0,2})`),
		func(g []string) bool { return userAndPassword(decoded(g[0])) != nil },
	},
	{[]string{"://"}, regexp.MustCompile(`://([^\s/?#"'<>\\]+)@`), nil},
	{
		[]string{"="},
		regexp.MustCompile(`[?&]([A-Za-z0-9_.%-]+)=([^&\s"'\\;<>]+)`),
		func(g []string) bool { return paramIs(g[0], g[1]) },
	},
}

// Shapes is text with what looks like a credential masked.
func Shapes(text string) string {
	lower := strings.ToLower(text)
	for _, s := range shapes {
		if s.mayBeIn(lower) {
			text = s.masked(text)
		}
	}
	return text
}

// Tokens are the pieces of text that Shapes masks.
func Tokens(text string) (out []string) {
	lower := strings.ToLower(text)
	for _, s := range shapes {
		if s.mayBeIn(lower) {
			for _, at := range s.find(text) {
				out = append(out, text[at[0]:at[1]])
			}
		}
	}
	return out
}

func (s shape) mayBeIn(lower string) bool {
	return slices.ContainsFunc(s.literals, func(l string) bool { return strings.Contains(lower, l) })
}

func (s shape) masked(text string) string {
	var out strings.Builder
	from := 0
	for _, at := range s.find(text) {
		out.WriteString(text[from:at[0]] + Gap)
		from = at[1]
	}
	return out.String() + text[from:]
}

// find is where the credentials of this shape stand in text.
func (s shape) find(text string) (out [][2]int) {
	for _, m := range s.match.FindAllStringSubmatchIndex(text, -1) {
		var groups []string
		for i := 2; i < len(m); i += 2 {
			groups = append(groups, text[m[i]:m[i+1]])
		}
		at := [2]int{m[len(m)-2], m[len(m)-1]}
		if (s.real == nil || s.real(groups)) && !Masked(text[at[0]:at[1]]) {
			out = append(out, at)
		}
	}
	return out
}

func anyDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// decoded is what base64 text in any of its alphabets stands for, "" for other text.
func decoded(text string) string {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	plain, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(plain)
}
