package web

import (
	"bytes"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/bossman-dev/bossman/internal/visible"
)

// maxMarkdown bounds what is rendered; longer text is shown as it is. maxNesting bounds how
// deep it may be nested: a rendering costs more than its length then.
const (
	maxMarkdown = 64 << 10
	maxNesting  = 40
)

// goldmark renders Markdown of others: no raw HTML, no images, and links only to addresses
// that do not run anything.
var renderMarkdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
	goldmark.WithRenderer(renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(safeNodes{}, 1),
		util.Prioritized(html.NewRenderer(), 1000),
		util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
		util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500),
	))),
)

// markdown renders text that others wrote. It is safe to show.
func markdown(text string) template.HTML {
	text = visible.Text(strings.ReplaceAll(text, "\r\n", "\n"))
	var b bytes.Buffer
	if len(text) > maxMarkdown || nested(text) || renderMarkdown.Convert([]byte(text), &b) != nil {
		b.Reset()
		b.WriteString("<pre>")
		template.HTMLEscape(&b, []byte(text))
		b.WriteString("</pre>")
	}
	return template.HTML(b.String()) //nolint:gosec // rendered by safeNodes
}

// nested reports whether a line begins with very many marks of quotes or lists.
func nested(text string) bool {
	for l := range strings.SplitSeq(text, "\n") {
		marks := 0
		for _, c := range l {
			if strings.ContainsRune(">-*+[ \t", c) {
				if c != ' ' && c != '\t' {
					marks++
				}
				continue
			}
			break
		}
		if marks > maxNesting {
			return true
		}
	}
	return false
}

// safeNodes renders the nodes by which Markdown could reach out of its place.
type safeNodes struct{}

func (safeNodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		writeLink(w, string(n.(*ast.Link).Destination), entering)
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		writeLink(w, string(n.(*ast.Image).Destination), entering)
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			link := n.(*ast.AutoLink)
			writeLink(w, string(link.URL(src)), true)
			template.HTMLEscape(w, link.Label(src))
			writeLink(w, string(link.URL(src)), false)
		}
		return ast.WalkSkipChildren, nil
	})
	asText := func(w util.BufWriter, lines [][]byte) {
		for _, l := range lines {
			template.HTMLEscape(w, l)
		}
	}
	r.Register(ast.KindRawHTML, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			segments := n.(*ast.RawHTML).Segments
			for i := range segments.Len() {
				at := segments.At(i)
				asText(w, [][]byte{at.Value(src)})
			}
		}
		return ast.WalkSkipChildren, nil
	})
	r.Register(ast.KindHTMLBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<pre>")
			block := n.(*ast.HTMLBlock)
			for i := range block.Lines().Len() {
				at := block.Lines().At(i)
				asText(w, [][]byte{at.Value(src)})
			}
			if block.HasClosure() {
				asText(w, [][]byte{block.ClosureLine.Value(src)})
			}
			_, _ = w.WriteString("</pre>")
		}
		return ast.WalkSkipChildren, nil
	})
	// A heading of others must not look like one of the page's, nor have its id.
	r.Register(ast.KindHeading, func(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString("<h4>")
		} else {
			_, _ = w.WriteString("</h4>\n")
		}
		return ast.WalkContinue, nil
	})
	// The name of a code block's language would be a class.
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, src []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			_, _ = w.WriteString(`<pre class="cmd">`)
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				asText(w, [][]byte{at.Value(src)})
			}
			_, _ = w.WriteString("</pre>\n")
		}
		return ast.WalkSkipChildren, nil
	})
}

// writeLink begins or ends a link, or nothing if the address is of another kind.
func writeLink(w util.BufWriter, address string, entering bool) {
	if !safeAddress(address) {
		return
	}
	if !entering {
		_, _ = w.WriteString("</a>")
		return
	}
	_, _ = w.WriteString(`<a href="`)
	template.HTMLEscape(w, util.URLEscape([]byte(address), true))
	_, _ = w.WriteString(`" rel="nofollow noopener noreferrer" target="_blank">`)
}

// safeAddress reports whether a link may lead there.
func safeAddress(address string) bool {
	low := strings.ToLower(address)
	if strings.ContainsFunc(low, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' }) {
		return false
	}
	return strings.HasPrefix(low, "https://") || strings.HasPrefix(low, "http://") || strings.HasPrefix(low, "mailto:")
}
