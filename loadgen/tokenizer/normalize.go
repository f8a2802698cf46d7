package tokenizer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer changes text before it is split.
type normalizer func(string) string

func newNormalizers(list []component, t *trouble) ([]normalizer, error) {
	var all []normalizer
	for i := range list {
		n, err := newNormalizer(&list[i], t)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func newNormalizer(c *component, t *trouble) (normalizer, error) {
	switch c.Type {
	case "NFC":
		return normalForm(norm.NFC), nil
	case "NFD":
		return normalForm(norm.NFD), nil
	case "NFKC":
		return normalForm(norm.NFKC), nil
	case "NFKD":
		return normalForm(norm.NFKD), nil
	case "Lowercase":
		return lowered, nil
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
		if c.Pattern.Regex == "" {
			return nil, errors.New("normalizer Replace: no pattern")
		}
		m, err := newMatcher("normalizer Replace", c.Pattern.Regex, t)
		if err != nil {
			return nil, err
		}
		return func(s string) string {
			var out strings.Builder
			for _, p := range m.pieces(s) {
				if p.match {
					out.WriteString(c.text())
				} else {
					out.WriteString(p.text)
				}
			}
			return out.String()
		}, nil
	case "StripAccents":
		return without(combiningSet), nil
	case "BertNormalizer":
		return bertNormalizer(c), nil
	case "Nmt":
		return nmt, nil
	case "Precompiled":
		if c.CharsMap == "" {
			return func(s string) string { return s }, nil
		}
		m, err := decodeCharsMap(c.CharsMap)
		if err != nil {
			return nil, err
		}
		return m.normalize, nil
	case "ByteLevel":
		return func(s string) string { return s }, nil // the vocabulary is kept by bytes
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
