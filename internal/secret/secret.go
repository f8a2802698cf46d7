// Package secret knows which words of an experiment must never be shown: keys,
// the values of headers that carry credentials, what an address holds besides
// the place it names. In go names, addresses and settings; out come the same
// texts with secrets masked, or the words to mask wherever they turn up.
package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mask stands for a whole value that is secret.
const Mask = "<redacted>"

// Gap stands in a text where a secret stood.
const Gap = "***"

// Masked reports whether nothing can be seen of a value.
func Masked(v any) bool { return v == Mask || v == Gap }

// alarming are words of a name that make its value a credential.
var alarming = []string{
	"auth", "authorization", "token", "secret", "password", "passwd", "pwd", "cookie", "credential",
	"credentials", "signature", "sig", "jwt", "sas",
}

// harmless are words in front of "key" that make it an ordinary one.
var harmless = []string{"routing", "idempotency", "cache", "partition", "affinity", "hash"}

// Name reports whether a header, a query parameter or a key of that name carries
// a credential: X-API-Key, access_token, Set-Cookie.
func Name(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r == '-' || r == '_' || r == '.' ||
			r == ' '
	})
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

// URL is text with the user part and the secret parameters of an address, or of a
// path of a server, masked; any other text is returned as it is.
func URL(text string) string {
	if strings.HasPrefix(text, "/") {
		return query(text, paramIs)
	}
	return address(text, paramIs)
}

// NamedURL is URL without the parameters that only look like a credential.
func NamedURL(text string) string {
	return address(text, func(name, _ string) bool { return named(name) })
}

// address is the address text with what credential finds among its parameters masked.
func address(text string, credential func(name, value string) bool) string {
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
	return scheme + "://" + host + query(tail, credential)
}

// query masks the secret parameters behind the first ? of tail.
func query(tail string, credential func(name, value string) bool) string {
	path, params, ok := strings.Cut(tail, "?")
	if !ok {
		return tail
	}
	list := strings.Split(params, "&")
	for i, p := range list {
		if name, value, ok := strings.Cut(p, "="); ok && value != "" && credential(name, value) {
			list[i] = name + "=" + Mask
		}
	}
	return path + "?" + strings.Join(list, "&")
}

// named tells of a parameter, as it travels, whether its name makes its value a
// credential.
func named(name string) bool {
	plain, err := url.QueryUnescape(name)
	return err == nil && param(plain)
}

// opaqueFrom is the length from which a value that is nothing but random digits
// and letters is a credential, whatever its name.
const opaqueFrom = 32

var opaque = regexp.MustCompile(`^[A-Za-z0-9+/_=%-]*$`)

// paramIs reports whether a parameter, its name as it travels, carries a credential.
func paramIs(name, value string) bool {
	return named(name) || len(value) >= opaqueFrom && opaque.MatchString(value) && anyDigit(value)
}

// Words are the secrets of an endpoint that are told apart from other texts: those
// known to be credentials, and those that may be one. Extra is what is merged into
// every body.
func Words(key string, headers map[string]string, urls []string, extra map[string]any) (known, maybe []string) {
	add := func(words ...string) {
		for _, w := range words {
			if Telling(w, true) {
				known = append(known, w)
			}
		}
	}
	add(key)
	for name, value := range headers {
		_, token, _ := strings.Cut(value, " ") // Bearer TOKEN
		switch {
		case Name(name):
			add(value, token)
			add(userAndPassword(decoded(token))...)
		case Header(name):
			for _, w := range []string{value, token} {
				if Telling(w, false) {
					maybe = append(maybe, w)
				}
			}
		}
	}
	for _, u := range urls {
		add(ofURL(u)...)
	}
	add(Members(extra)...)
	return known, maybe
}

// Proxies are the secrets in the addresses of proxies that the environment names: a proxy may
// repeat them in its answers, and errors about it may.
func Proxies(env func(string) string) (known []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		for _, name := range []string{name, strings.ToLower(name)} {
			words, _ := Words("", nil, []string{env(name)}, nil)
			known = append(known, words...)
		}
	}
	return known
}

// Host is the scheme, the host and the port of an address.
func Host(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		scheme, rest = "", address
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
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

// Members are the values of members, at any depth, whose name says that they
// are credentials.
func Members(members map[string]any) (out []string) {
	for name, v := range members {
		switch v := v.(type) {
		case map[string]any:
			out = append(out, Members(v)...)
		case string:
			if Name(name) && len(v) >= longEnough && !strings.ContainsAny(v, " <>|") {
				out = append(out, v)
			}
		}
	}
	return out
}

// InCommand reports whether a command line says a credential: --token VALUE,
// API_KEY=VALUE, "Authorization: VALUE", an address with a password. A value that
// begins with $ is taken from somewhere else.
func InCommand(words []string) bool {
	var parts []string
	for _, w := range words {
		if URL(w) != w {
			return true
		}
		parts = append(parts, strings.FieldsFunc(w,
			func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;", r) })...)
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
