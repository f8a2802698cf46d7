package tokenizer

import (
	"fmt"
	"strings"
)

// decoder turns the pieces of tokens into text, step by step.
type decoder func([]string) []string

func newDecoders(list []component) ([]decoder, error) {
	var all []decoder
	for i := range list {
		d, err := newDecoder(&list[i])
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, d)
		}
	}
	return all, nil
}

func newDecoder(c *component) (decoder, error) {
	switch c.Type {
	case "ByteLevel":
		return nil, nil // the vocabulary is kept by bytes
	case "Fuse":
		return func(pieces []string) []string { return []string{strings.Join(pieces, "")} }, nil
	case "ByteFallback":
		return withoutByteMarks, nil
	case "Replace":
		if c.Pattern.String != "" {
			return eachPiece(func(s string) string { return strings.ReplaceAll(s, c.Pattern.String, c.text()) }), nil
		}
	case "Strip":
		return eachPiece(func(s string) string {
			for range c.Start {
				s = strings.TrimPrefix(s, c.text())
			}
			for range c.Stop {
				s = strings.TrimSuffix(s, c.text())
			}
			return s
		}), nil
	case "Metaspace":
		return metaspaceDecoder(c), nil
	case "WordPiece":
		return wordPieceDecoder(c), nil
	case "BPEDecoder":
		return func(pieces []string) []string {
			for i := range pieces {
				by := " "
				if i == len(pieces)-1 {
					by = ""
				}
				pieces[i] = strings.ReplaceAll(pieces[i], c.Suffix, by)
			}
			return pieces
		}, nil
	case "CTC":
		return ctcDecoder(c), nil
	}
	return nil, fmt.Errorf("decoder %s%s: not supported", c.Type, c.Pattern.shown())
}

func eachPiece(change func(string) string) decoder {
	return func(pieces []string) []string {
		for i := range pieces {
			pieces[i] = change(pieces[i])
		}
		return pieces
	}
}

// metaspaceDecoder writes marks as spaces and drops the one put in front.
func metaspaceDecoder(c *component) decoder {
	mark := c.Replacement
	if mark == "" {
		mark = "▁"
	}
	return func(pieces []string) []string {
		for i := range pieces {
			if i == 0 && c.PrependScheme != "never" {
				pieces[i] = strings.TrimPrefix(pieces[i], mark)
			}
			pieces[i] = strings.ReplaceAll(pieces[i], mark, " ")
		}
		return pieces
	}
}

// wordPieceDecoder joins what carries the mark to what is before it, and puts
// a space before all else.
func wordPieceDecoder(c *component) decoder {
	mark := c.Prefix
	if mark == "" {
		mark = "##"
	}
	tidy := c.Cleanup == nil || *c.Cleanup
	return func(pieces []string) []string {
		for i, p := range pieces {
			if i > 0 {
				if rest, ok := strings.CutPrefix(p, mark); ok {
					p = rest
				} else {
					p = " " + p
				}
			}
			if tidy {
				p = tidied.Replace(p)
			}
			pieces[i] = p
		}
		return pieces
	}
}

// tidied undoes the spaces that BERT puts around punctuation.
var tidied = strings.NewReplacer(" .", ".", " ?", "?", " !", "!", " ,", ",", " ' ", "'", " n't", "n't", " 'm", "'m",
	" do not", " don't", " 's", "'s", " 've", "'ve", " 're", "'re")

// ctcDecoder drops repetitions and padding.
func ctcDecoder(c *component) decoder {
	return func(pieces []string) (out []string) {
		last := ""
		for i, p := range pieces {
			if i > 0 && p == last {
				continue
			}
			if last = p; p != c.PadToken {
				out = append(out, strings.ReplaceAll(p, c.WordDelimiter, " "))
			}
		}
		return out
	}
}
