package chat_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
)

// turns is a small template in the manner of ChatML, with tools and arguments.
const turns = `{{ bos_token }}{% if tools %}
[{% for t in tools %}{{ t.function.name }}{{ ' ' if not loop.last }}{% endfor %}]
{% endif %}
{%- for m in messages %}
{{ '<|' + m.role + '|>' }}{{ m.content | trim }}
{%- if m.tool_calls %}{% for c in m.tool_calls %}({{ c.function.name }} {{ c.function.arguments.city }}){% endfor %}{% endif %}<|end|>
{%- endfor %}
{%- if add_generation_prompt %}
<|assistant|>{{ '<think>' if thinking is not defined or thinking }}{% endif %}`

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func quoted(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRender(t *testing.T) {
	t.Parallel()
	config := `{"bos_token":{"content":"<s>","lstrip":false},"eos_token":null,"chat_template":` + quoted(t, turns) + `}`
	for _, c := range []struct {
		name            string
		files           map[string]string
		messages, tools string
		more            map[string]any
		want            string
	}{
		{"of the configuration", map[string]string{"tokenizer_config.json": config}, `[{"role":"user","content":" hi "}]`, "", nil, "<s><|user|>hi<|end|><|assistant|><think>"},
		{"a file of its own comes first", map[string]string{"tokenizer_config.json": config, "chat_template.jinja": "{{ messages[0].content }}!"}, `[{"role":"user","content":"hi"}]`, "", nil, "hi!"},
		{"in chat_template.json", map[string]string{"special_tokens_map.json": `{"bos_token":"<b>"}`, "chat_template.json": `{"chat_template":"{{ bos_token }}{{ messages|length }}"}`}, `[{},{}]`, "", nil, "<b>2"},
		{"without the model's turn, with variables of the request", map[string]string{"tokenizer_config.json": config}, `[{"role":"user","content":"hi"}]`, "", map[string]any{"add_generation_prompt": false}, "<s><|user|>hi<|end|>"},
		{"a variable", map[string]string{"tokenizer_config.json": config}, `[{"role":"user","content":"hi"}]`, "", map[string]any{"thinking": false}, "<s><|user|>hi<|end|><|assistant|>"},
		{
			"tools, and arguments as objects",
			map[string]string{"tokenizer_config.json": config},
			`[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"w","arguments":"{\"city\":\"Köln\"}"}}]}]`,
			`[{"function":{"name":"w"}},{"function":{"name":"v"}}]`, nil,
			"<s>[w v]\n<|assistant|>(w Köln)<|end|><|assistant|><think>",
		},
		{
			"a template for tools",
			map[string]string{"tokenizer_config.json": `{"chat_template":[{"name":"default","template":"plain"},{"name":"tool_use","template":"{{ tools|length }} tools"}]}`},
			`[]`, `[{}]`, nil, "1 tools",
		},
		{
			"an additional template for tools",
			map[string]string{"chat_template.jinja": "plain", "additional_chat_templates/tool_use.jinja": "tools"},
			`[]`, `[{}]`, nil, "tools",
		},
		{
			"parts for a template that knows texts only",
			map[string]string{"chat_template.jinja": "{{ 'U: ' + messages[0].content }}"},
			`[{"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url","image_url":{"url":"data:,"}},{"type":"text","text":"two"}]}]`, "", nil, "U: one\ntwo",
		},
	} {
		tpl, err := chat.Open(folder(t, c.files))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, err := tpl.Render([]byte(c.messages), []byte(c.tools), c.more)
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no template":        {map[string]string{"tokenizer_config.json": `{"bos_token":"<s>"}`}, "has none (tokenizer_config.json, chat_template.json, chat_template.jinja); hint: "},
		"a broken template":  {map[string]string{"chat_template.jinja": "a\n{% if x %}"}, "line 2: a block without its {% endif %}"},
		"a broken file":      {map[string]string{"tokenizer_config.json": `{"bos_token":`}, "tokenizer_config.json: not a JSON object"},
		"a template of 2 MB": {map[string]string{"chat_template.jinja": strings.Repeat("x", 2<<20)}, "more than 1 MiB"},
		"a file of 17 MB":    {map[string]string{"chat_template.jinja": strings.Repeat("x", 17<<20)}, "not a file of at most 16 MiB"},
		"a file it wants":    {map[string]string{"chat_template.jinja": "{% include '/etc/passwd' %}"}, "templates read no files"},
	} {
		_, err := chat.Open(folder(t, c.files))
		if err == nil || !strings.Contains(diag.Line(err), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
	tpl, err := chat.Open(folder(t,
		map[string]string{"chat_template.jinja": "{{ raise_exception('roles must alternate') }}"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Render([]byte(`[]`), nil, nil); err == nil || err.Error() != "line 1: roles must alternate" {
		t.Errorf("a template that refuses: %v", err)
	}
	if _, err := tpl.Render([]byte(`[`), nil, nil); err == nil {
		t.Error("half a list of messages was taken")
	}
}
