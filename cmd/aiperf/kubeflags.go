package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/launch/kube"
)

// numberFlag reads a flag.
func numberFlag(p *argv.Line, name string, otherwise, least, most int, into *int) error {
	if *into = otherwise; !p.Has(name) {
		return nil
	}
	n, err := strconv.Atoi(p.Get(name))
	if err != nil || n < least || n > most {
		return diag.New(fmt.Sprintf("--%s: %s is not a number from %d to %d", name, p.Get(name), least, most), "")
	}
	*into = n
	return nil
}

// sizeFlag reads a flag such as 2,1Gi.
func sizeFlag(p *argv.Line, name string, otherwise kube.Size, into *kube.Size) error {
	if *into = otherwise; !p.Has(name) {
		return nil
	}
	cpu, memory, both := strings.Cut(p.Get(name), ",")
	if !both || !kube.IsQuantity(cpu) || !kube.IsQuantity(memory) {
		return diag.New("--"+name+": "+p.Get(name)+" is not CPU,MEMORY", "two cores and 1 GiB are --"+name+" 2,1Gi")
	}
	*into = kube.Size{CPU: cpu, Memory: memory}
	return nil
}

// pairsFlag reads a flag with KEY=VALUE, or with a JSON object of texts.
func pairsFlag(p *argv.Line, name string, into *map[string]string) error {
	for _, text := range p.Values[name] {
		found := map[string]string{}
		key, value, ok := strings.Cut(text, "=")
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			ok = json.Unmarshal([]byte(text), &found) == nil
		} else {
			found[key] = value
		}
		if !ok || key == "" {
			return diag.New("--"+name+": "+text+" is not KEY=VALUE or a JSON object of texts", "")
		}
		if *into == nil {
			*into = map[string]string{}
		}
		maps.Copy(*into, found)
	}
	return nil
}

// jsonFlag reads a flag with JSON objects, or arrays of them.
func jsonFlag[T any](p *argv.Line, name string, into *[]T) error {
	for _, text := range p.Values[name] {
		if !strings.HasPrefix(strings.TrimSpace(text), "[") {
			text = "[" + text + "]"
		}
		var found []T
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&found); err != nil {
			return diag.New("--"+name+": "+strings.TrimPrefix(err.Error(), "json: "), "it takes a JSON object, or an array of them")
		}
		*into = append(*into, found...)
	}
	return nil
}

// secretsFlag reads --env-from-secrets.
func secretsFlag(p *argv.Line, l *kube.Load) error {
	var found map[string]string
	if err := pairsFlag(p, "env-from-secrets", &found); err != nil {
		return err
	}
	for name, from := range found {
		of, key, ok := strings.Cut(from, "/")
		if !ok || of == "" || key == "" {
			return diag.New("--env-from-secrets: "+from+" is not SECRET/KEY", "as in OPENAI_API_KEY=openai/key")
		}
		if l.EnvFromSecrets == nil {
			l.EnvFromSecrets = map[string]kube.SecretKey{}
		}
		l.EnvFromSecrets[name] = kube.SecretKey{Secret: of, Key: key}
	}
	return nil
}
