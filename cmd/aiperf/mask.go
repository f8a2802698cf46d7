package main

import "net/url"

// maskURL hides the password of a URL on the command line.
func maskURL(w string) string {
	u, err := url.Parse(w)
	if err != nil || u.User == nil {
		return w
	}
	if _, set := u.User.Password(); !set {
		return w
	}
	u.User = url.UserPassword(u.User.Username(), "***")
	return u.String()
}
