// Package chat writes conversations as a server does before it counts them: in
// the model's own chat template. In goes the folder of a model, out comes a
// Template; in go the messages and tools of a request, out comes the prompt,
// special tokens included.
//
// A template is found where transformers finds it: chat_template.jinja, else
// chat_template.json, else tokenizer_config.json. Where the template chooses by
// tools or by names, so does Render.
package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/jinja"
)

// Template is safe for concurrent use.
type Template struct {
	plain, withTools *jinja.Template // the second for requests with tools
	special          map[string]any  // bos_token and the like
	now              func() time.Time
}

// maxFile bounds a file of a model's folder, in bytes.
const maxFile = 16 << 20

// Open reads the chat template of the model whose files are in dir.
func Open(dir string) (*Template, error) {
	t := &Template{special: map[string]any{}, now: time.Now}
	texts, err := t.read(dir)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	text, ok := texts["default"]
	if !ok {
		return nil, diag.Errorf("chat template: %s has none (%s)", dir, strings.Join(holders, ", ")).
			Try("leave out apply_chat_template, or name a tokenizer's folder that has one")
	}
	if t.plain, err = t.parse(text); err != nil {
		return nil, fmt.Errorf("chat template of %s: %w", dir, err)
	}
	t.withTools = t.plain
	if text, ok = texts["tool_use"]; ok {
		if t.withTools, err = t.parse(text); err != nil {
			return nil, fmt.Errorf("chat template tool_use of %s: %w", dir, err)
		}
	}
	return t, nil
}

func (t *Template) parse(text string) (*jinja.Template, error) {
	return jinja.ParseChat(text, func() time.Time { return t.now() })
}

// holders are the files that may hold a template, the best last.
var holders = []string{"tokenizer_config.json", "chat_template.json", "chat_template.jinja"}

// read gathers the templates by their names, and the special tokens.
func (t *Template) read(dir string) (map[string]string, error) {
	texts := map[string]string{}
	for _, name := range append([]string{"special_tokens_map.json"}, holders...) {
		b, err := readFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if name == "chat_template.jinja" {
			texts["default"] = string(b)
			continue
		}
		var config map[string]json.RawMessage
		if err := json.Unmarshal(b, &config); err != nil {
			return nil, fmt.Errorf("%s: not a JSON object: %w", filepath.Join(dir, name), err)
		}
		t.specials(config)
		maps.Copy(texts, templates(config["chat_template"]))
	}
	more, err := filepath.Glob(filepath.Join(dir, "additional_chat_templates", "*.jinja"))
	for _, path := range more {
		b, err := readFile(path)
		if err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(filepath.Base(path), ".jinja")] = string(b)
	}
	return texts, err
}

func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxFile || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a file of at most %d MiB", path, maxFile>>20)
	}
	return os.ReadFile(path)
}

// templates are one template, or several by their names.
func templates(raw json.RawMessage) map[string]string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return map[string]string{"default": one}
	}
	var several []struct{ Name, Template string }
	out := map[string]string{}
	if json.Unmarshal(raw, &several) == nil {
		for _, s := range several {
			out[s.Name] = s.Template
		}
	}
	return out
}

// specials files the tokens that templates write: bos_token, eos_token, ….
func (t *Template) specials(config map[string]json.RawMessage) {
	for name, raw := range config {
		if !strings.HasSuffix(name, "_token") {
			continue
		}
		var text string
		var token struct{ Content *string }
		switch {
		case json.Unmarshal(raw, &text) == nil && string(raw) != "null":
			t.special[name] = text
		case json.Unmarshal(raw, &token) == nil && token.Content != nil:
			t.special[name] = *token.Content
		}
	}
}

// Render is the prompt that a server makes of messages and tools, two lists in
// JSON; tools may be nil. more are the variables that the request itself gives
// the template (chat_template_kwargs). The model's turn is begun, unless more
// has add_generation_prompt false.
func (t *Template) Render(messages, tools []byte, more map[string]any) (string, error) {
	list, err := jinja.FromJSON(messages)
	if err != nil {
		return "", fmt.Errorf("messages: %w", err)
	}
	values := map[string]any{"messages": list, "tools": nil, "documents": nil, "add_generation_prompt": true}
	maps.Copy(values, t.special)
	tpl := t.plain
	if len(tools) > 0 {
		if values["tools"], err = jinja.FromJSON(tools); err != nil {
			return "", fmt.Errorf("tools: %w", err)
		}
		tpl = t.withTools
	}
	maps.Copy(values, more)
	parseArguments(list)
	text, err := tpl.Run(values)
	if err == nil || !flatten(list) {
		return text, err
	}
	return tpl.Run(values) // a template that takes texts only
}

// parseArguments makes objects of the arguments of tool calls, which the API
// carries as texts: so do vLLM and SGLang, since templates want objects.
func parseArguments(messages any) {
	jinja.Each(messages, func(message *jinja.Dict) {
		calls, _ := message.Get("tool_calls")
		jinja.Each(calls, func(call *jinja.Dict) {
			f, _ := call.Get("function")
			function, ok := f.(*jinja.Dict)
			if !ok {
				return
			}
			arguments, _ := function.Get("arguments")
			text, ok := arguments.(string)
			if !ok {
				return
			}
			if text == "" {
				text = "{}"
			}
			if v, err := jinja.FromJSON([]byte(text)); err == nil {
				function.Set("arguments", v)
			}
		})
	})
}

// flatten makes one text of contents that are lists of parts, and says whether
// there were any: a server does so for templates that know no parts.
func flatten(messages any) (found bool) {
	jinja.Each(messages, func(message *jinja.Dict) {
		content, _ := message.Get("content")
		var texts []string
		parts := 0
		jinja.Each(content, func(part *jinja.Dict) {
			parts++
			if text, _ := part.Get("text"); text != nil {
				texts = append(texts, fmt.Sprint(text))
			}
		})
		if parts > 0 {
			message.Set("content", strings.Join(texts, "\n"))
			found = true
		}
	})
	return found
}
