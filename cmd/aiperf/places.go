package main

import (
	"errors"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// located gives mistakes that later stations found in doc the place where the
// field was written.
func located(doc *schema.Document, err error) error {
	var many schema.Errors
	if !errors.As(err, &many) {
		return err
	}
	for _, e := range many {
		if e.Place == "" && e.Path != "" {
			e.Place = placeAt(doc.Said(), strings.Split(e.Path, "."))
		}
	}
	return many
}

// placeAt is where the field at path was written, or the nearest one around
// it; "" if nobody wrote any of them.
func placeAt(s schema.Said, path []string) string {
	here := s.Origin.Where
	if s.Origin.Source == "default" {
		here = ""
	}
	if len(path) == 0 {
		return here
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i < len(s.Items) {
		return placeAt(s.Items[i], path[1:])
	}
	for _, x := range s.Fields {
		if x.Name == path[0] {
			return placeAt(x, path[1:])
		}
	}
	return here
}

// placeOf is where the leaf name was given value, "" if nobody did.
func placeOf(s schema.Said, name, value string) string {
	if s.Name == name && s.Value == value {
		return s.Origin.Where
	}
	for _, below := range [][]schema.Said{s.Fields, s.Items} {
		for _, x := range below {
			if at := placeOf(x, name, value); at != "" {
				return at
			}
		}
	}
	return ""
}
