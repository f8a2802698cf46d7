"""Writes ../testdata with the reference: pip install jinja2==3.1.6 transformers==5.15.1, then

    python golden.py [FOLDER]

cases.json holds small templates of our own, read as an experiment's (strict) and as a chat template, and what Jinja2 makes of them.
FOLDER holds published chat templates (*.jinja, or NAME/tokenizer_config.json). They are not kept here: published.json knows each by
the SHA-256 of its text, and of each rendering the length in bytes and the FNV-1a hash (32 bits), or "err"."""
import datetime, hashlib, json, pathlib, sys
import jinja2, jinja2.sandbox
import transformers.utils.chat_template_utils as hf

out = pathlib.Path(__file__).parent.parent / "testdata"


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2026, 3, 9, 7, 5, 3)


hf.datetime = Clock

NAMES = {
    "n": 7, "x": 2.5, "s": "Grüße, 日本 'q' \"d\" <b>&</b>\n\tend ", "empty": "", "none": None, "t": True, "f": False,
    "l": [3, 1, 2], "words": ["b", "A", "c", "B"], "d": {"b": 1, "a": [1, 2.0, None, "x"], "items": "mine", "get": 5},
    "rows": [{"k": "x", "v": 2, "o": {"p": 1}}, {"k": "Y", "v": 1, "o": {"p": 2}}, {"k": "x", "v": 3}],
    "deep": {"a": {"b": ["c", {"d": "e"}]}},
}

EXPRESSIONS = """
1 + 2 * 3 ** 2 - 4 // 3 % 5 | -7 // 2 | -7 % 3 | 7 % -3 | 7.5 // 2 | -7.5 % 2 | 6 / 3 | 2 ** -1 | 2 ** 10 | 1e3 | 1_000 | 0x1f | 1.0 | 1e16 | 1e-5 | 123456789.125 | -3|abs | (-3)|abs
'a' + 'b' | 'a' + 1 | 1 + 'a' | 'a' ~ 1 ~ none ~ t | 'ab' * 3 | 3 * 'ab' | [1] * 2 | [1] + [2] | [1] + (2,) | none + 1 | t + 1 | 1 / 0 | 1 % 0 | 'a' - 'b'
1 < 2 < 3 | 1 < 2 > 3 | 'a' < 'b' | 1 < 'a' | [1, 2] < [1, 3] | 1 == 1.0 | t == 1 | 'a' == 1 | none == false | [1] == [1] | [1] == (1,) | {'a': 1} == {'a': 1.0} | nope == none | nope == nope2
1 in l | 9 in l | 'b' in d | 'c' not in d | 'ü' in s | 1 in 's' | none in l | 'a' in none | 'a' in nope | not 1 in l | 1 not in l
t and 'x' | f and 'x' | '' or 'y' | none or 0 | not '' | not not 'a' | 'a' if t else 'b' | 'a' if f | 'a' if f else 'b' if f else 'c' | nope or 'z' | nope and 1
none | t | f | l | d | (1,) | () | {} | [] | "it's" | 'a"b' | ["it's", 'a"b', 'a"b\\'c', '\\n\\x01é日'] | {1: 'a', 'b': none, none: t} | 2.0 | 100.0 | -0.0 | 1e100
d.b | d['b'] | d['items'] | d.items() | d.items()|list | d.keys()|list | d.values()|list | d.get('b') | d.get('zz') | d.get('zz', 4) | d.nope | d['nope'] | d.nope.more | nope | nope.x | none.x | none['x'] | s.nope
l[0] | l[-1] | l[9] | l[1:] | l[::-1] | l[:-1] | l[5:] | l[-2:] | l[::2] | l['a'] | s[0] | s[-1] | s[100] | 'abc'[1:] | 'abc'[::-1] | 'abc'[-5:2] | 'abc'[::0] | n[0] | n[1:] | l.0 | rows[0].k | rows.0.k | deep.a.b.1.d | deep.a.b[1]['d']
s.upper() | s.strip() | 'xxaxx'.strip('x') | 'xxaxx'.lstrip('x') | 'abcab'.rstrip('ab') | ' a  b c '.split() | 'a,b,,c'.split(',') | 'a,b,c'.split(',', 1) | 'a,b,c'.rsplit(',', 1) | ' a b c'.split(none, 1) | ' a b c '.rsplit(none, 1) | ''.split() | ''.split(',') | 'a'.split('')
'a.b.c'.partition('.') | 'a.b.c'.rpartition('.') | 'abc'.partition('x') | 'abc'.rpartition('x') | 'a\\nb\\r\\nc'.splitlines() | 'a\\nb\\n'.splitlines(true) | 'abc'.startswith('ab') | 'abc'.startswith(('x', 'a')) | 'abc'.endswith('bc') | 'abc'.startswith(1)
'aXbX'.replace('X', '-') | 'aXbX'.replace('X', '-', 1) | 'abc'.find('c') | 'äbc'.find('c') | 'abc'.find('x') | 'abca'.rfind('a') | 'abca'.count('a') | ','.join(['a', 'b']) | ','.join([1]) | 'abc'.removeprefix('a') | 'abc'.removesuffix('c')
'hello world'.title() | "they're bill's".title() | 'hELLO wORLD'.capitalize() | 'hELLO'.swapcase() | 'a'.center(5) | 'a'.ljust(3, '.') | 'a'.rjust(3) | '7'.zfill(3) | '-7'.zfill(4) | '12'.isdigit() | 'a1'.isalnum() | 'a1'.isalpha() | ' '.isspace() | ''.isdigit() | 'ab'.islower() | 'A1'.isupper()
'{} and {}'.format(1, 'a') | '{1} {0}'.format(1, 2) | '{a}-{b!r}'.format(a=1, b='x') | '{:>5}|{:<5}|{:^5}|'.format('a', 'b', 'c') | '{:05.1f}'.format(2.25) | '{:,}'.format(1234567) | '{:x}'.format(255) | '{{}}'.format() | '{}'.format() | '{:.2%}'.format(0.256) | '{:+d}'.format(3)
'%s is %d' % ('a', 7) | '%.2f' % 2.345 | '%5d|%-5d|%05d' % (1, 2, 3) | '%x %X %o' % (255, 255, 8) | '%s' % none | '%%' % () | '%r' % 'a' | '%(a)s' % {'a': 1} | '%d' % 'a' | '%s' % (1, 2) | '%s %s' % (1,) | '%g' % 1e10 | '%g' % 0.0001 | '%e' % 12345.678
l|length | s|length | d|count | none|length | nope|length | n|length | l|first | l|last | []|first | ''|last | 'abc'|first | l|sum | rows|sum('v') | rows|sum(attribute='v', start=10) | l|max | l|min | []|max | words|max | rows|max(attribute='v') | words|min(case_sensitive=true)
l|sort | l|sort(reverse=true) | words|sort | words|sort(case_sensitive=true) | rows|sort(attribute='v')|map(attribute='v')|list | rows|map(attribute='o.p', default='-')|list | words|map('upper')|list | words|map('nofilter')|list | l|map('float')|list | words|map('replace', 'b', 'z')|list | [1, 'a']|sort
l|select('odd')|list | l|reject('odd')|list | l|select('gt', 1)|list | [0, 1, '', 'a']|select|list | rows|selectattr('k', 'equalto', 'x')|map(attribute='v')|list | rows|rejectattr('o')|list|length | rows|selectattr('o', 'defined')|list|length | rows|selectattr('v', 'in', [1, 2])|map(attribute='v')|join('+') | l|select('nope')|list
words|unique|list | words|unique(case_sensitive=true)|list | l|reverse|list | 'abc'|reverse | l|join | l|join(', ') | rows|join('-', attribute='k') | [1, none, 'a']|join('|') | d|dictsort | d|items|list | {'b': 2, 'A': 1}|dictsort | {'b': 1, 'a': 2}|dictsort(by='value') | none|items|list
[1, 2, 3, 4, 5]|batch(2)|list | [1, 2, 3]|batch(2, 0)|list | [1, 2, 3, 4, 5]|slice(3)|list | [1, 2, 3, 4]|slice(3, '-')|list | rows|groupby('k')|list|length | rows|groupby('k')|map('first')|list | 'abc'|list | d|list | none|list | range(3)|list | range(5, 1, -2)|list | range(2, 4) | range(3)[1] | (1, 2)|list
'  a '|trim | 'xax'|trim('x') | 'heLLo wOrld'|title | 'a-b (c d'|title | 'heLLo'|capitalize | 'Ab'|upper | 'Ab'|lower | s|escape | 'abc'|replace('b', 'x') | 'aaa'|replace('a', 'b', 2) | 'hello big world'|truncate(9) | 'hello big world'|truncate(9, true) | 'hello'|truncate(3) | 'hello world foo'|truncate(11, leeway=0) | 'a b c'|wordcount
'a\\nb\\n\\nc'|indent | 'a\\nb'|indent(2, true) | 'a\\n\\nb'|indent(2, blank=true) | 'a\\nb'|indent('> ') | 'a'|center(5) | '%s-%s'|format(1, 'b') | '%(a)s'|format(a=3) | '3.7'|float | 'x'|float | 'x'|float(1.5) | '3.7'|int | '42'|int | 'x'|int | 'x'|int(9) | 'ff'|int(base=16) | 3.99|int | -3.99|int | none|int(5) | t|int
2.5|round | 3.5|round | 2.675|round(2) | 2.345|round(1, 'ceil') | 2.345|round(1, 'floor') | 7|round | 1234.5|round(-2) | -2.5|round | 2.5|round(0, 'nope') | -7|abs | -2.5|abs | 'a'|abs | 'a b&c/d'|urlencode | {'a': 'b c'}|urlencode | 1234567|filesizeformat | 1|filesizeformat | 2048|filesizeformat(true) | '<p>a  <b>b</b></p>'|striptags | 'aa bb cc dd'|wordwrap(5)
nope|default('x') | none|default('x') | none|default('x', true) | ''|default('x', true) | ''|d('x') | d.nope|default('y') | d.nope.more|default('y') | nope|upper | nope|int | nope|float | 'ΑΣ ΑΣΑ'|lower | 'ŉßﬁ'|upper | 'ǆ'|title | 'İ'|lower | l|sort(nosuch=1) | 7|round(-1) | 1234|round(-2) | 'a'|nofilter | n|string ~ 'x' | n|string + 'x' | l|string | s|safe | d|attr('b') | 'x'|e
d|tojson | l|tojson | s|tojson | none|tojson | [t, 1.0, 1e20, 1e-7, {'a': []}, {}, []]|tojson | d|tojson(indent=2) | [[], {}, [1, [2]]]|tojson(indent=4) | nope|tojson | {'z': 1, 'a': {'c': 1, 'b': 2}}|tojson | (1, 2)|tojson | range(2)|tojson | '日本 😀 \\x01 </script>'|tojson
n is odd | n is even | n is divisibleby 7 | n is divisibleby(2) | n is number | t is number | n is integer | t is integer | x is float | s is string | none is none | nope is none | nope is defined | none is defined | d.b is defined | d.zz is defined | d.zz is not defined | nope is undefined
l is iterable | s is iterable | n is iterable | d is mapping | l is mapping | l is sequence | d is sequence | s is sequence | n is sequence | t is true | 1 is true | f is false | 0 is false | t is boolean | 'ab' is lower | 'AB' is upper | 'Ab' is lower | n is eq 7 | n is ne 7 | n is gt 3 | n is le 7 | n is sameas 7 | none is sameas none | 'a' is in 'abc' | 1 is in [1, 2] | n is not none and t | range is callable | s is callable | n is nosuchtest
n is defined and nope is not defined | (nope is defined) | not nope is defined | n is not odd | l|length > 2 and l[0] == 3 | l|length is divisibleby 3 | -n|abs | -l[0] | (l|first) + 1 | d.a[3] ~ 'y' | 'a' 'b' | 'a' in 'abc' and 1 or 2 | 1 if nope else 2 | {'a': {'b': 1}}.a.b | [1, [2, 3]][1][0] | dict(a=1, b='x') | dict([['a', 1]]) | dict(d, b=2)['b'] | namespace(a=1).a | namespace().zz | l.append(4) | d.update({'a': 1}) | d.pop('a') | x.is_integer()
'\\u00e9\\n\\t\\x41\\'' | "a\\"b" | '\\d' | 'a\\\\b' | 'a
b' | [x for x in l] | l[0 | (1 | 1 + | 'a | {{ | }} | 1 2 | .5 | a b | @ | d. | f( | is | l|
""".strip("\n")

TEMPLATES = [
    "a\n{% if t %}\nb\n{% endif %}\nc\n", "a\n  {% if t %}  \n  b\n  {%- endif %}\nc", "  {%+ if t %}x{% endif +%}\n y", "a {#- c -#} b", "a\n  {# c #}\nb\n", "{{ 1 -}}   x  {{- 2 }}",
    "{% raw %}{{ x }}{% endraw %}", "a\n {%- raw -%}\n {% x %}\n {% endraw -%}\n b", "{# {{ x }} #}", "{# open", "a {{ n", "{% if t %}x", "{% endif %}", "{% if t %}a{% elif n %}b{% else %}c{% endif %}", "{% if f %}a{% elif n %}b{% else %}c{% endif %}",
    "{% if f %}a{% elif f %}b{% else %}c{% endif %}", "{% for i in l %}{{ i }},{% endfor %}", "{% for i in l -%}\n {{ i }}\n{%- endfor %}", "{% for i in [] %}x{% else %}none{% endfor %}", "{% for i in nope %}x{% else %}none{% endfor %}", "{% for i in none %}x{% endfor %}", "{% for i in 5 %}x{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }};{% endfor %}", "{% for c in 'aé日' %}[{{ c }}]{% endfor %}", "{% for a, b in [[1, 2], [3]] %}{{ a }}{% endfor %}", "{% for (a, b) in [[1, 2]] %}{{ a }}{{ b }}{% endfor %}",
    "{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% else %}no{% endfor %}", "{% for i in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }}|{% endfor %}",
    "{% for i in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i > 1) }} {% endfor %}", "{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}", "{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}", "{% break %}",
    "{% set v = 1 %}{% for i in l %}{% set v = i %}{{ v }}{% endfor %}{{ v }}", "{% set ns = namespace(v=0) %}{% for i in l %}{% set ns.v = ns.v + i %}{% endfor %}{{ ns.v }}", "{% set d.x = 1 %}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set a %}x{{ n }}y{% endset %}{{ a|upper }}", "{% set a | upper %}x{% endset %}{{ a }}",
    "{% if t %}{% set q = 5 %}{% endif %}{{ q }}", "{% for i in l %}{{ q }}{% set q = i %}{% endfor %}", "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}", "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, c=3) }}|{{ m() }}|{{ m(a='k', b=l) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}", "{% macro m(a) %}{{ caller(a) }}{% endmacro %}{% call(x) m(3) %}<{{ x }}>{% endcall %}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% set g = 1 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}", "{% for i in l %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}", "{% macro m() %}  a {% endmacro %}{{ m()|trim }}.{{ m() ~ 'x' }}", "{% filter upper %}a{{ n }}b{% endfilter %}", "{% filter replace('a', 'b') %}aaa{% endfilter %}",
    "{% for i in [[1, [[2, []]]]] recursive %}{{ i[0] }}{{ loop(i[1]) if i[1] }}{{ loop.depth }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}", "{% set j = joiner('; ') %}{{ j() }}a{{ j() }}b{{ j() }}c", "{% include 'x' %}", "{% import 'x' as y %}", "{% extends 'x' %}", "{% from 'x' import y %}", "{% nosuch %}", "{% generation %}a{{ n }}{% endgeneration %}",
    "{{ raise_exception('no ' ~ n) }}", "{{ strftime_now('%d %b %Y') }}", "{{ strftime_now('%Y-%m-%d %H:%M:%S %-d %j %A %B %p %I %%') }}", "{{ d|tojson(indent=2) }}", "{{ d|tojson(ensure_ascii=true, sort_keys=true) }}", "{{ [1, {'a': 2}]|tojson(separators=(',', ':')) }}", "{% for r in rows %}{{ r|tojson }}{{ ',' if not loop.last }}{% endfor %}",
    "{% set x = l|select('odd') %}{{ x|list }}{{ x|list }}", "{% if []|select('odd') %}yes{% endif %}", "{{ (l|select('odd'))[0] }}", "{{ l|map('string')|length }}", "{{ rows|map(attribute='k')|join(',') }}", "{{ l|select('odd') is iterable }}", "x{{ '\\n' }}y\n", "line\r\nline2\r\n{% if t %}\r\nz{% endif %}\r\n", "{{ s }}", "{{ d }}", "{%- set a = 1 -%}\n\n  b", "a  {%- if t %} b {%- endif %} c",
    "{% for m in rows %}{% if loop.first and m.k == 'x' %}S{% elif m['k'] == 'Y' %}Y{% else %}{{ '-' + m.k + '-' }}{% endif %}{% endfor %}", "{% for m in rows[::-1] %}{{ m.v }}{% endfor %}", "{% for m in rows[1:] %}{{ m.v }}{{ loop.index0 % 2 == 0 }}{% endfor %}", "{% if (rows|length) > 2 and rows[-1]['v'] == 3 %}ok{% endif %}",
    "{{ 'a' if n is defined and n else 'b' }}", "{% if not n is defined %}a{% else %}b{% endif %}", "{% set n = n if n is defined else 1 %}{{ n }}", "{% set zz = zz if zz is defined else 'new' %}{{ zz }}", "{% if zz is not defined %}{% set zz = 4 %}{% endif %}{{ zz }}", "{{ {'a': 1}|items|list }}", "{%if t%}a{%endif%}", "{{n}}{{-n-}} z", "{% if t -%} a {%- else -%} b {%- endif %}",
    "{% for i in range(2) %}\n  {% for j in range(2) %}\n    {{ i }}{{ j }}{{ loop.depth }}\n  {% endfor %}\n{% endfor %}\n", "{{ '{%' }} {{ '{{' }} {{ \"}}\" }}", "{{ {'a': {'b': 1}}['a'] }}", "{% set a = {'x': [1, 2]} %}{{ a.x[1] }}", "{{ 'abc' | upper | lower | title }}", "{% do l %}", "{{ '%s' % n }}{% set x = '%d' % 3.7 %}{{ x }}", "{{ n if n > 5 }}", "{% if nope %}a{% endif %}b", "{{ nope }}b", "{{ nope.x }}", "{{ 'x' ~ nope }}", "{{ nope|default(n) + 1 }}", "{{ 1 }}{% raw %}{% endraw", "",
]


def ours():
    cases = [("{{ " + e.strip(" ") + " }}") for line in EXPRESSIONS.replace("'a\nb'", "'a\x00b'").split("\n") for e in split(line.replace("\x00", "\n"))] + TEMPLATES
    strict = jinja2.sandbox.ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.loopcontrols", "jinja2.ext.do"])
    res = []
    for t in cases:
        row = {"template": t}
        for name, f in ("strict", lambda: strict.from_string(t).render(**NAMES)), ("chat", lambda: hf._cached_compile_jinja_template(t).render(**NAMES)):
            try:
                row[name] = f()
            except Exception as e:
                row[name + "_error"] = type(e).__name__ + ": " + str(e)[:80]
        res.append(row)
    (out / "cases.json").write_text(json.dumps({"names": NAMES, "cases": res}, ensure_ascii=False, indent=0) + "\n")


def split(line):
    """Cuts at " | ": a filter has no blanks around its mark in the lists above."""
    return line.split(" | ")


TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "Weather of a <city> & \"more\"", "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Name of the city"}, "days": {"type": "integer", "enum": [1, 2, 3], "default": 1}, "z": {"type": ["string", "null"]},
        "a": {"type": "array", "items": {"type": "number"}}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}}]
ASK = "Wie heißt \"der\" Fluß?\n<b>日本</b> & 'x' \\ 😀"
CALL = {"id": "call12345", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 2, "f": 1.5, "l": [1, "a", None, True]}}}
SCENES = {
    "user": {"messages": [{"role": "user", "content": ASK}]},
    "plain": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "  hello \n"}, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHi. "}, {"role": "user", "content": ASK}]},
    "nogen": {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "add_generation_prompt": False},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two "}]}]},
    "image": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": "what?"}]}]},
    "tools": {"messages": [{"role": "system", "content": "Use tools."}, {"role": "user", "content": "weather?"}], "tools": TOOLS},
    "calls": {"messages": [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "call12345", "name": "get_weather", "content": "{\"t\": 7}"},
                           {"role": "assistant", "content": "7 degrees", "reasoning_content": "easy"}, {"role": "user", "content": "thanks"}], "tools": TOOLS},
    "nosys": {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "call12345", "type": "function", "function": {"name": "now", "arguments": "{\"a\": 1}"}}]},
                           {"role": "tool", "tool_call_id": "call12345", "content": "noon"}]},
    "odd": {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, {"role": "developer", "content": "c"}, {"role": "assistant", "content": "d"}]},
}


def summary(text):
    h = 2166136261
    b = text.encode()
    for c in b:
        h = (h ^ c) * 16777619 & 0xFFFFFFFF
    return "%d %08x" % (len(b), h)


def published(folder):
    texts = {p.stem: p.read_text() for p in folder.rglob("*.jinja")}
    for p in folder.rglob("tokenizer_config.json"):
        t = json.loads(p.read_text()).get("chat_template")
        if isinstance(t, str):
            texts[str(p)] = t
    rows = {}
    for t in texts.values():
        row = {}
        for name, scene in SCENES.items():
            given = {"add_generation_prompt": True, "tools": None, "bos_token": "<BOS>", "eos_token": "<EOS>", "unk_token": "<UNK>", "pad_token": "<PAD>", **scene}
            try:
                row[name] = summary(hf.render_jinja_template([given.pop("messages")], tools=given.pop("tools"), chat_template=t, **given)[0][0])
            except Exception:
                row[name] = "err"
        rows[hashlib.sha256(t.encode()).hexdigest()] = row
    (out / "published.json").write_text(json.dumps({"scenes": SCENES, "templates": dict(sorted(rows.items()))}, ensure_ascii=False, indent=0) + "\n")


out.mkdir(exist_ok=True)
ours()
if len(sys.argv) > 1:
    published(pathlib.Path(sys.argv[1]))
