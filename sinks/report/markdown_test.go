package report

import "testing"

// Markdown shows text as it is, and takes none of it for HTML: what would be a tag or the
// name of a character is escaped, a limit and the query of an address are not.
func TestMarkdownIsPlainText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"TTFT p99 < 250, ITL <= 10":       "TTFT p99 < 250, ITL <= 10",
		"mock:?ttft=40ms&itl=5ms&error=1": "mock:?ttft=40ms&itl=5ms&error=1",
		"a & b":                           "a & b",
		"<script>alert(1)</script>":       "&lt;script>alert(1)&lt;/script>",
		"<!-- x -->":                      "&lt;!-- x -->",
		"<https://example.org>":           "&lt;https://example.org>",
		"&lt;b&gt; &#60;b>":               "&amp;lt;b&amp;gt; &amp;#60;b>",
		"ends with <":                     "ends with &lt;",
		"ends with &l":                    "ends with &amp;l",
		"2<3":                             "2<3",
		"http://h/?a=1&amp=2;&itl;x<y ü&ü<ü>&": "http://h/?a=1&amp=2;&amp;itl;x&lt;y ü&ü<ü>&amp;",
	} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
