package tokenizer

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer changes text before it is split.
type normalizer func(string) string

func newNormalizers(list []component) ([]normalizer, error) {
	var all []normalizer
	for i := range list {
		n, err := newNormalizer(&list[i])
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func newNormalizer(c *component) (normalizer, error) {
	switch c.Type {
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return strings.ToLower, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return c.Prepend + s
		}, nil
	case "Replace":
		if c.Pattern.String != "" {
			return func(s string) string { return strings.ReplaceAll(s, c.Pattern.String, c.text()) }, nil
		}
	case "Strip":
		return func(s string) string {
			if c.StripLeft {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if c.StripRight {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	}
	return nil, fmt.Errorf("normalizer %s%s: not supported", c.Type, c.Pattern.shown())
}

func (p pattern) shown() string {
	if p.Regex == "" {
		return ""
	}
	return fmt.Sprintf(" with the pattern %q", p.Regex)
}
