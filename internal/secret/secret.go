// Package secret knows which words of an experiment must never be shown: keys,
// the values of headers that carry credentials, what an address holds besides
// the place it names. In go names, addresses and settings; out come the same
// texts with secrets masked, or the words to mask wherever they turn up.
package secret

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// Mask stands for a whole value that is secret.
const Mask = "<redacted>"

// shortest is the length from which a word is masked in running text: shorter
// ones would garble what is innocent.
const shortest = 4

// alarming are words of a name that make its value a credential.
var alarming = []string{
	"auth", "authorization", "token", "secret", "password", "passwd", "pwd", "cookie", "credential", "credentials", "signature", "sig", "jwt", "sas",
}

// harmless are words in front of "key" that make it an ordinary one.
var harmless = []string{"routing", "idempotency", "cache", "partition", "affinity", "hash"}

// Name tells whether a header, a query parameter or a key of that name carries
// a credential: X-API-Key, access_token, Set-Cookie.
func Name(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' || r == ' ' })
	for i, w := range words {
		if slices.Contains(alarming, w) {
			return true
		}
		for _, end := range []string{"apikey", "accesskey", "secretkey", "token", "secret", "password"} {
			if strings.HasSuffix(w, end) {
				return true
			}
		}
		if w == "key" && i == len(words)-1 && (i == 0 || !slices.Contains(harmless, words[i-1])) {
			return true
		}
	}
	return false
}

// param tells it of a query parameter; "code" is how some clouds call a key.
func param(name string) bool { return Name(name) || strings.EqualFold(name, "code") }

// URL is text with the user part and the secret parameters of an address
// masked; any other text is returned as it is.
func URL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.ContainsAny(scheme, " \n") {
		return text
	}
	host, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, tail = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = Mask + host[i:]
	}
	return scheme + "://" + host + query(tail)
}

// query masks the secret parameters behind the first ? of tail.
func query(tail string) string {
	path, params, ok := strings.Cut(tail, "?")
	if !ok {
		return tail
	}
	list := strings.Split(params, "&")
	for i, p := range list {
		name, value, ok := strings.Cut(p, "=")
		if plain, err := url.QueryUnescape(name); ok && value != "" && err == nil && param(plain) {
			list[i] = name + "=" + Mask
		}
	}
	return path + "?" + strings.Join(list, "&")
}

// Words are all secrets of an endpoint in every form they travel in (plain,
// percent-encoded, base64), longest first, so that one that contains another
// is masked whole. Extra is what is merged into every body.
func Words(key string, headers map[string]string, urls []string, extra map[string]any) []string {
	var out []string
	add := func(words ...string) {
		for _, w := range words {
			if len(w) >= shortest && strings.Trim(w, "*") != "" {
				out = append(out, forms(w)...)
			}
		}
	}
	add(key)
	for name, value := range headers {
		if Name(name) {
			_, token, _ := strings.Cut(value, " ") // Bearer TOKEN
			add(value, token)
			if plain, err := base64.StdEncoding.DecodeString(token); err == nil {
				add(userAndPassword(string(plain))...)
			}
		}
	}
	for _, u := range urls {
		add(ofURL(u)...)
	}
	add(ofBody(extra)...)
	slices.SortFunc(out, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(out)
}

// userAndPassword are the secrets of what Basic authentication encodes.
func userAndPassword(text string) []string {
	_, password, ok := strings.Cut(text, ":")
	if !ok {
		return nil
	}
	return []string{text, password}
}

// ofURL are the secrets in an address.
func ofURL(raw string) []string {
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	var out []string
	if password, ok := u.User.Password(); ok {
		out = append(out, userAndPassword(u.User.Username()+":"+password)...)
	}
	for name, values := range u.Query() {
		if param(name) {
			out = append(out, values...)
		}
	}
	return out
}

// longEnough is the length from which a member of a body that is called a token
// is taken for a credential; stop tokens and the like are shorter, or marked up.
const longEnough = 8

// ofBody are the values of members, at any depth, whose name says that they
// are credentials.
func ofBody(members map[string]any) (out []string) {
	for name, v := range members {
		switch v := v.(type) {
		case map[string]any:
			out = append(out, ofBody(v)...)
		case string:
			if Name(name) && len(v) >= longEnough && !strings.ContainsAny(v, " <>|") {
				out = append(out, v)
			}
		}
	}
	return out
}

// forms are the ways a word is written where it travels.
func forms(w string) []string {
	return []string{
		w, url.QueryEscape(w), url.PathEscape(w),
		base64.StdEncoding.EncodeToString([]byte(w)), base64.RawStdEncoding.EncodeToString([]byte(w)),
		base64.URLEncoding.EncodeToString([]byte(w)), base64.RawURLEncoding.EncodeToString([]byte(w)),
	}
}

// InCommand tells whether a command line says a credential: --token VALUE,
// API_KEY=VALUE, "Authorization: VALUE", an address with a password. A value that
// begins with $ is taken from somewhere else.
func InCommand(words []string) bool {
	var parts []string
	for _, w := range words {
		if URL(w) != w {
			return true
		}
		parts = append(parts, strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;", r) })...)
	}
	for i, part := range parts {
		if URL(part) != part {
			return true
		}
		name, value := part, ""
		at := strings.IndexAny(part, "=:")
		if at >= 0 {
			name, value = part[:at], part[at+1:]
		}
		if !Name(strings.TrimLeft(name, "-")) {
			continue
		}
		asks := at >= 0 || strings.HasPrefix(part, "-") // the next word is its value
		if next := i + 1; value == "" && asks && next < len(parts) && !strings.HasPrefix(parts[next], "-") {
			value = parts[next]
		}
		if value != "" && !strings.HasPrefix(value, "$") {
			return true
		}
	}
	return false
}
