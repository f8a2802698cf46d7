package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// The splitters below equal the regular expressions that define the encodings,
// written out by hand because a backtracking matcher spends ten times the time
// of everything else. Each takes a text and a position and says where the
// piece that begins there ends; alternatives are tried in the order of the
// expression, which stands above each.

// splitR50k is
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func splitR50k(s string, i int) int {
	if end := contraction(s, i, false); end > i {
		return end
	}
	j := i
	if s[i] == ' ' {
		j++
	}
	if j < len(s) {
		switch k, _ := classAt(s, j); {
		case k&letter != 0:
			return run(s, j, letter)
		case k&number != 0:
			return run(s, j, number)
		case k&space == 0:
			return runNot(s, j, other)
		}
	}
	return blanks(s, i, false)
}

// splitCL100k is
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//	 ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCL100k(s string, i int) int { return splitByDigits(s, i, 3) }

// splitOneDigit is splitCL100k with \p{N} in place of \p{N}{1,3}.
func splitOneDigit(s string, i int) int { return splitByDigits(s, i, 1) }

func splitByDigits(s string, i, most int) int {
	if end := contraction(s, i, true); end > i {
		return end
	}
	k, w := classAt(s, i)
	if k&letter != 0 {
		return run(s, i, letter)
	}
	if k&(word|newline) == 0 {
		if end := run(s, i+w, letter); end > i+w {
			return end
		}
	}
	if k&number != 0 {
		return digits(s, i, most)
	}
	if end := symbols(s, i); end > i {
		return run(s, end, newline)
	}
	return blanks(s, i, true)
}

// splitO200k is
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitO200k(s string, i int) int {
	if end := cased(s, i, len(s)); end > i {
		return contraction(s, end, true)
	}
	if k, _ := classAt(s, i); k&number != 0 {
		return digits(s, i, 3)
	}
	if end := symbols(s, i); end > i {
		return runSlashes(s, end)
	}
	return blanks(s, i, true)
}

// cased is the end of a word at i that goes on to limit at most, with the one
// character that may stand before it: small letters behind capitals, else
// capitals. It is i where there is none.
func cased(s string, i, limit int) int {
	k, w := classAt(s, i)
	lead := k&(word|newline) == 0 // may stand before a word
	for _, match := range [...]func(string, int) int{wordEndingLow, wordStartingHigh} {
		if lead && i+w < limit {
			if end := match(s[:limit], i+w); end > i+w {
				return end
			}
		}
		if k&(upper|lower) != 0 {
			if end := match(s[:limit], i); end > i {
				return end
			}
		}
	}
	return i
}

// runSlashes is the end of [\r\n/]* at i.
func runSlashes(s string, i int) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == '/') {
		i++
	}
	return i
}

// splitMarks is splitOneDigit with [\p{L}\p{M}] for words and marks among what
// is no symbol: Qwen's since 3.5.
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}|
//	 ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitMarks(s string, i int) int {
	if end := contraction(s, i, true); end > i {
		return end
	}
	k, w := classAt(s, i)
	if k&(upper|lower) != 0 {
		return run(s, i, upper|lower)
	}
	if k&(word|newline) == 0 {
		if end := run(s, i+w, upper|lower); end > i+w {
			return end
		}
	}
	if k&number != 0 {
		return digits(s, i, 1)
	}
	j := i
	if s[j] == ' ' {
		j++
	}
	if end := runNot(s, j, other|upper|lower); end > j {
		return run(s, end, newline)
	}
	return blanks(s, i, true)
}

// splitTekken is Mistral's: splitO200k without contractions, and with \p{N} in
// place of \p{N}{1,3}.
func splitTekken(s string, i int) int {
	if end := cased(s, i, len(s)); end > i {
		return end
	}
	if k, _ := classAt(s, i); k&number != 0 {
		return digits(s, i, 1)
	}
	if end := symbols(s, i); end > i {
		return runSlashes(s, end)
	}
	return blanks(s, i, true)
}

// splitKimi is
//
//	[\p{Han}]+|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
//	\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitKimi(s string, i int) int {
	if end := runHan(s, i); end > i {
		return end
	}
	_, w := classAt(s, i)
	if end := cased(s, i, beforeHan(s, i+w)); end > i {
		return contraction(s, end, true)
	}
	if k, _ := classAt(s, i); k&number != 0 {
		return digits(s, i, 3)
	}
	if end := symbols(s, i); end > i {
		return run(s, end, newline)
	}
	return blanks(s, i, true)
}

// runHan is the end of the Chinese characters at i.
func runHan(s string, i int) int {
	for i < len(s) && s[i] >= utf8.RuneSelf {
		r, w := utf8.DecodeRuneInString(s[i:])
		if !unicode.Is(unicode.Han, r) {
			break
		}
		i += w
	}
	return i
}

// beforeHan is the end of letters and marks at i, up to a Chinese one.
func beforeHan(s string, i int) int {
	for i < len(s) {
		k, w := classAt(s, i)
		if k&(upper|lower) == 0 || runHan(s, i) > i {
			break
		}
		i += w
	}
	return i
}

// splitThreeDigits is \p{N}{1,3}. Like the two after it, it gives back i where
// the expression does not match.
func splitThreeDigits(s string, i int) int { return digits(s, i, 3) }

// splitCJK is [一-龥぀-ゟ゠-ヿ]+: Chinese characters and the two Japanese syllabaries.
func splitCJK(s string, i int) int {
	for i < len(s) && s[i] >= 0xE3 { // the first byte of U+3040
		r, w := utf8.DecodeRuneInString(s[i:])
		if (r < 0x3040 || r > 0x30FF) && (r < 0x4E00 || r > 0x9FA5) {
			break
		}
		i += w
	}
	return i
}

// splitDeepSeek is
//
//	[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
//	 ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitDeepSeek(s string, i int) int {
	k, w := classAt(s, i)
	if k&sign != 0 && s[i] < utf8.RuneSelf {
		j := i + 1
		for j < len(s) && (s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z') {
			j++
		}
		if j > i+1 {
			return j
		}
	}
	if k&(letter|sign|newline) == 0 { // may stand before a word
		if end := run(s, i+w, upper|lower); end > i+w {
			return end
		}
	}
	if k&(upper|lower) != 0 {
		return run(s, i, upper|lower)
	}
	j := i
	if s[j] == ' ' {
		j++
	}
	if end := run(s, j, sign); end > j {
		return run(s, end, newline)
	}
	if k&space != 0 {
		return blanks(s, i, true)
	}
	return i
}

// wordEndingLow is [upper]*[lower]+: the end of the match, i if there is none.
// The first run is greedy and gives back characters that are in both sets.
func wordEndingLow(s string, i int) int {
	both := i // behind the last character of the run that is also in lower
	j := i
	for j < len(s) {
		k, w := classAt(s, j)
		if k&upper == 0 {
			if k&lower != 0 {
				return run(s, j, lower)
			}
			break
		}
		j += w
		if k&lower != 0 {
			both = j
		}
	}
	return both
}

// wordStartingHigh is [upper]+[lower]*, where wordEndingLow did not match.
func wordStartingHigh(s string, i int) int {
	if j := run(s, i, upper); j > i {
		return run(s, j, lower)
	}
	return i
}

// contraction is the end of an English contraction ('s, 'll, …) at i, i if
// there is none. Folding knows the long s (ſ), as the encodings' own
// expressions do.
func contraction(s string, i int, fold bool) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return i
	}
	at := func(j int) byte {
		if j >= len(s) {
			return 0
		}
		if fold && s[j] >= 'A' && s[j] <= 'Z' {
			return s[j] + 'a' - 'A'
		}
		return s[j]
	}
	switch a, b := at(i+1), at(i+2); {
	case a == 's' || a == 't' || a == 'm' || a == 'd':
		return i + 2
	case (a == 'r' || a == 'v') && b == 'e', a == 'l' && b == 'l':
		return i + 3
	case fold && a == 0xC5 && b == 0xBF: // ſ
		return i + 3
	}
	return i
}

// digits is the end of up to most numbers at i.
func digits(s string, i, most int) int {
	for range most {
		if i == len(s) {
			break
		}
		k, w := classAt(s, i)
		if k&number == 0 {
			break
		}
		i += w
	}
	return i
}

// symbols is the end of " ?[^\s\p{L}\p{N}]+" at i, i if it does not match.
func symbols(s string, i int) int {
	j := i
	if s[j] == ' ' {
		j++
	}
	if end := runNot(s, j, other); end > j {
		return end
	}
	return i
}

// blanks is the end of white space at i: through the last line break if lines
// is set and there is one; else all of it at the end of the text; else all but
// the last character, which belongs to the word that follows; else that one.
func blanks(s string, i int, lines bool) int {
	end, last, line := i, i, i
	for end < len(s) {
		k, w := classAt(s, end)
		if k&space == 0 {
			break
		}
		last = end
		end += w
		if k&newline != 0 {
			line = end
		}
	}
	switch {
	case lines && line > i:
		return line
	case end < len(s) && last > i:
		return last
	}
	return end
}
