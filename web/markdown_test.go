package web

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/bossman-dev/bossman/internal/visible"
)

func TestMarkdown(t *testing.T) {
	link := func(address string) string {
		return `<a href="` + address + `" rel="nofollow noopener noreferrer" target="_blank">`
	}
	for in, want := range map[string]string{
		"a *b* `c`":                               "<p>a <em>b</em> <code>c</code></p>\n",
		"**a *b* c** ~~d~~ __e__ _f_":             "<p><strong>a <em>b</em> c</strong> <del>d</del> <strong>e</strong> <em>f</em></p>\n",
		"a*b*c 2 * 3 * 4 snake_case_name **":      "<p>a*b*c 2 * 3 * 4 snake_case_name **</p>\n",
		"*a **b* c**":                             "<p><em>a **b</em> c**</p>\n",
		"\\*a* `` a`b `` `":                       "<p>\\*a* <code> a`b </code> `</p>\n",
		"[x](https://a.example/?q=1&r)":           "<p>" + link("https://a.example/?q=1&amp;r") + "x</a> (https://a.example/?q=1&amp;r)</p>\n",
		"[x](javascript:alert(1))":                "<p>[x](javascript:alert(1))</p>\n",
		"[x](JaVaScRiPt:alert)":                   "<p>[x](JaVaScRiPt:alert)</p>\n",
		"[x](/inbox)":                             "<p>[x](/inbox)</p>\n",
		"![pixel](https://a.example/p.png)":       "<p>!" + link("https://a.example/p.png") + "pixel</a> (https://a.example/p.png)</p>\n",
		"<https://a.example>, http://b/c.":        "<p>&lt;" + link("https://a.example") + "https://a.example</a>&gt;, " + link("http://b/c") + "http://b/c</a>.</p>\n",
		"[x](https://a.example \"a title\")":      "<p>[x](" + link("https://a.example") + "https://a.example</a> &#34;a title&#34;)</p>\n",
		"[x]: https://a.example (a title)":        "<p>[x]: " + link("https://a.example") + "https://a.example</a> (a title)</p>\n",
		"[//]: # (a comment)":                     "<p>[//]: # (a comment)</p>\n",
		"<!-- a comment -->":                      "<p>&lt;!-- a comment --&gt;</p>\n",
		"&#x202E;&#8203;&amp;&lt;":                "<p>&amp;#x202E;&amp;#8203;&amp;amp;&amp;lt;</p>\n",
		"<b>x</b>":                                "<p>&lt;b&gt;x&lt;/b&gt;</p>\n",
		"# t #":                                   "<h4> t #</h4>\n",
		"a\n# b\n---\nc\nd":                       "<p>a</p>\n<h4> b</h4>\n<hr>\n<p>c\nd</p>\n",
		"```sh\"><x\na<b\n```\nc":                 "<p><code>sh&#34;&gt;&lt;x</code></p>\n<pre class=\"cmd\">a&lt;b</pre>\n<p>c</p>\n",
		"~~~\na\n```\nb":                          "<pre class=\"cmd\">a\n```\nb</pre>\n",
		"    a\n    b":                            "<pre>    a\n    b</pre>\n",
		"- a\n  b\n- c\n  - d\n\n    e\n- f\n\ng": "<ul><li>a\n  b</li>\n<li>c<ul><li>d<pre>    e</pre>\n</li></ul>\n</li>\n<li>f</li></ul>\n<p>g</p>\n",
		"3. a\n7) b\n- c":                         "<ol><li>3. a</li>\n<li>7) b</li></ol>\n<ul><li>c</li></ul>\n",
		"- [ ] a\n  ```go\n  b\n  ```":            "<ul><li>[ ] a<p><code>go</code></p>\n<pre class=\"cmd\">  b</pre>\n</li></ul>\n",
		"> a\n> > b\nc":                           "<blockquote><p>a</p>\n<blockquote><p>b</p>\n</blockquote>\n</blockquote>\n<p>c</p>\n",
		"|a|b|\n|-|-|\n|c|\n|d|e|f \\| g|":        "<table><tr><th>a</th><th>b</th></tr><tr><td>c</td></tr><tr><td>d</td><td>e</td><td>f \\| g</td></tr></table>\n",
		"|a|\nb":                                  "<p>|a|\nb</p>\n",
		">>>>>>x":                                 "<blockquote><blockquote><blockquote><blockquote><p>&gt;&gt;x</p>\n</blockquote>\n</blockquote>\n</blockquote>\n</blockquote>\n",
		"a\u202eb":                                "<p>a&lt;U+202E&gt;b</p>\n",
		"\u00a0> x":                               "<blockquote><p>x</p>\n</blockquote>\n",
		strings.Repeat("x", maxMarkdown) + "y":    "<pre>" + strings.Repeat("x", maxMarkdown) + "y</pre>\n",
	} {
		if got := string(markdown(in)); got != want {
			t.Errorf("markdown(%.60q) =\n%.300q, want\n%.300q", in, got, want)
		}
	}
}

// marks are the characters of Markdown that may be missing where a text is shown.
const marks = "#*_~`|>-+:[]()"

// inkOf returns what a person sees of a text, without white space and marks.
func inkOf(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune(marks, r) {
			return -1
		}
		return r
	}, text)
}

// textOf returns the text of a page.
func textOf(t *testing.T, page string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// FuzzMarkdown: nothing of what is rendered acts, all of the text can be seen, and it is not much longer.
func FuzzMarkdown(f *testing.F) {
	for _, h := range hostile {
		f.Add(h)
	}
	for _, s := range []string{
		"[//]: # (x)\n\n[a]: b 'c'\n[a]", "|a|\n|-|\n|b|c|d|", "```x y\nz\n```", "&#x202E;&zwnj;\\&amp;", "[a](http://b \"c\")", "a\n===\nb\n---\n",
		"1. a\n9. b\n   - c\n\n     d\n> e\n>> f", "**a _b** c_ `d` ``e", "<!-- a -->\n<?x?>\n<a b=c>", "    a\n\tb\n- \n-\n", "\u00a0> a\n\u3000- b",
		"[a](http://b)[c](mailto:d)(https://e)", "\\\\*a*\\`b`", "~~~ a\n~~~ b\n~~~", "- a\n+ b\n1. c\n  * d\n", "http://http://a.b.*", "# a\n####### b\n#c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		page := string(markdown(text))
		checkInert(t, "markdown", "<script></script>"+page)
		if got, want := inkOf(textOf(t, page)), inkOf(visible.Text(strings.ReplaceAll(text, "\r\n", "\n"))); got != want {
			t.Errorf("markdown(%q) = %q, which shows %q, want %q", text, page, got, want)
		}
		if len(page) > 20*len(text)+40 {
			t.Errorf("markdown(%q) has %d bytes", text, len(page))
		}
	})
}

// A text of 60 KB costs neither much more to send nor long to render, whatever it repeats.
func TestMarkdown_proportion(t *testing.T) {
	const size = 60 << 10
	texts := map[string]string{"table": strings.Repeat("|a", 1000) + "\n" + strings.Repeat("|-", 1000) + "\n" + strings.Repeat("a\n|a\n", 2000)}
	for _, s := range []string{
		"[a](", "[", "](", "[a](http://", "[a](http://b)", "`", "`a``b", "*a", "**a*", "_a_ ", "*a _b ~~c ", "> ", ">", "- ", "\n- ", "\n 1. ", "|", "\n|", "|a|\n|-|\n",
		"```\n", "\n~~~ a\n", "&amp;", "\"", "\u202e", "\x00", "\\", "<!--", "\n\n", "# ", "\n# ", "http://", "https://a ", "\n    a", "\t- ", "h", "---\n", "![",
	} {
		texts[s] = strings.Repeat(s, size/len(s))
	}
	deep := ""
	for i := range 300 {
		deep += strings.Repeat(" ", i) + "- a\n"
	}
	texts["deep"] = deep
	for name, text := range texts {
		best := time.Hour
		var page string
		for range 3 {
			start := time.Now()
			page = string(markdown(text))
			best = min(best, time.Since(start))
		}
		if best > time.Second { // on a busy machine, under the race detector; else it takes a tenth, and what is quadratic takes seconds
			t.Errorf("%q, repeated: rendered in %v", name, best)
		}
		if len(page) > 20*len(text) {
			t.Errorf("%q, repeated: %d bytes of text became %d", name, len(text), len(page))
		}
	}
}
