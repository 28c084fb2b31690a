package mcp

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxTemplateURI  = 8 << 10 // longer URIs match nothing
	maxTemplateVars = 16
)

// A template matches URIs against a URI template (RFC 6570, levels 1 to 3), as
// far as resource names need it:
//
//	{x}     one segment: no slash, question mark or hash
//	{+x}    these characters too
//	{/x,y}  a slash and a segment for each; the last ones may be absent
//	{?x,y}  a query with these names in any order, all optional; only at the end
//
// Time and memory are bounded by the product of the lengths of template and
// URI.
type template struct {
	parts []templatePart
	query []string // names in {?…}
}

// A templatePart is a literal or, if it has a name, a variable.
type templatePart struct {
	literal  string
	name     string
	slash    bool // {/x}: begins with a slash, and may be absent
	reserved bool // {+x}
}

// compileTemplate parses a template. Other operators, modifiers, duplicate
// names and adjacent variables are errors.
func compileTemplate(s string) (*template, error) {
	if !utf8.ValidString(s) || len(s) > maxTemplateURI {
		return nil, errors.New("mcp: URI template is not UTF-8 or too long")
	}
	t := &template{}
	for rest := s; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.Contains(literal, "}") {
			return nil, fmt.Errorf("mcp: URI template %q: } without {", s)
		}
		if literal != "" {
			t.parts = append(t.parts, templatePart{literal: literal})
		}
		if !found {
			break
		}
		expression, after, found := strings.Cut(after, "}")
		if !found {
			return nil, fmt.Errorf("mcp: URI template %q: { without }", s)
		}
		if err := t.add(expression, after == ""); err != nil {
			return nil, fmt.Errorf("mcp: URI template %q: {%s}: %w", s, expression, err)
		}
		rest = after
	}
	return t, nil
}

// add adds the expression between two braces.
func (t *template) add(expression string, last bool) error {
	operator, names := byte(0), expression
	if expression != "" && strings.IndexByte("+/?#.;&=,!@|", expression[0]) >= 0 {
		operator, names = expression[0], expression[1:]
	}
	list := strings.Split(names, ",")
	for i, name := range list {
		if !isTemplateName(name) {
			return fmt.Errorf("bad name %q", name)
		}
		if slices.Contains(t.names(), name) || slices.Contains(list[:i], name) {
			return fmt.Errorf("name %q is used twice", name)
		}
	}
	if len(t.names())+len(list) > maxTemplateVars {
		return fmt.Errorf("more than %d variables", maxTemplateVars)
	}
	switch operator {
	case '/':
		for _, name := range list {
			t.parts = append(t.parts, templatePart{name: name, slash: true})
		}
	case '?':
		if !last {
			return errors.New("a query must come last")
		}
		for _, p := range t.parts {
			if strings.ContainsAny(p.literal, "?#") {
				return errors.New("a query after ? or #")
			}
		}
		t.query = list
	case 0, '+':
		if len(list) > 1 {
			return errors.New("several names are for {/…} and {?…}")
		}
		if n := len(t.parts); n > 0 && t.parts[n-1].name != "" {
			return errors.New("nothing between two variables")
		}
		t.parts = append(t.parts, templatePart{name: list[0], reserved: operator == '+'})
	default:
		return fmt.Errorf("operator %q is not supported", operator)
	}
	return nil
}

func (t *template) names() []string {
	names := slices.Clone(t.query)
	for _, p := range t.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

func isTemplateName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '_' && c != '.' {
			return false
		}
	}
	return s != ""
}

// match reports whether uri matches, and returns the values of the variables,
// percent-decoded once. An absent variable has no entry; one in the path is
// never empty. If there are several ways to match, earlier variables take as
// much as they can. A URI does not match if a value would contain a control
// character or a ".." between slashes or backslashes. Values may contain
// slashes, because %2F decodes to one.
func (t *template) match(uri string) (map[string]string, bool) {
	if len(uri) > maxTemplateURI || !utf8.ValidString(uri) {
		return nil, false
	}
	if len(t.parts) > 0 && !strings.HasPrefix(uri, t.parts[0].literal) {
		return nil, false // the common case, without allocating
	}
	path, query, hasQuery := uri, "", false
	if t.query != nil {
		path, query, hasQuery = strings.Cut(uri, "?")
	}
	values := make(map[string]string, len(t.parts)+len(t.query))
	if !t.matchPath(path, values) || hasQuery && !t.matchQuery(query, values) {
		return nil, false
	}
	return values, true
}

// matchPath computes, from the end, at which positions each part can start so
// that the rest matches, then walks forward through them.
func (t *template) matchPath(s string, values map[string]string) bool {
	width := len(s) + 1
	table := make([]bool, (len(t.parts)+1)*width) // table[i*width+p]: parts[i:] match s[p:]
	row := func(i int) []bool { return table[i*width : (i+1)*width] }
	row(len(t.parts))[len(s)] = true
	ends := make([]bool, width) // for one variable: after its first byte, it can end at p or later
	for i, part := range slices.Backward(t.parts) {
		starts, next := row(i), row(i+1)
		for p := len(s); p >= 0; p-- {
			if part.name == "" {
				starts[p] = strings.HasPrefix(s[p:], part.literal) && next[p+len(part.literal)]
				continue
			}
			step := part.step(s, p)
			begins := step > 0 && ends[p+step]
			ends[p] = begins || next[p]
			switch {
			case !part.slash:
				starts[p] = begins
			case p < len(s) && s[p] == '/':
				first := part.step(s, p+1)
				starts[p] = next[p] || first > 0 && ends[p+1+first]
			default:
				starts[p] = next[p]
			}
		}
	}
	if !table[0] {
		return false
	}
	p := 0
	for i, part := range t.parts {
		if part.name == "" {
			p += len(part.literal)
			continue
		}
		from, end := p, -1
		if part.slash && p < len(s) && s[p] == '/' {
			from++
		}
		if !part.slash || from > p {
			for q := from; ; {
				step := part.step(s, q)
				if step == 0 {
					break
				}
				if q += step; row(i + 1)[q] {
					end = q
				}
			}
		}
		if end < 0 {
			continue // an absent {/x}
		}
		value, ok := templateValue(s[from:end])
		if !ok {
			return false
		}
		values[part.name], p = value, end
	}
	return true
}

// matchQuery accepts each name at most once, and no other names.
func (t *template) matchQuery(s string, values map[string]string) bool {
	value := templatePart{reserved: true}
	for pair := range strings.SplitSeq(s, "&") {
		name, raw, found := strings.Cut(pair, "=")
		if _, duplicate := values[name]; duplicate || !found || !slices.Contains(t.query, name) {
			return false
		}
		for p := 0; p < len(raw); {
			step := value.step(raw, p)
			if step == 0 || raw[p] == '#' {
				return false
			}
			p += step
		}
		decoded, ok := templateValue(raw)
		if !ok {
			return false
		}
		values[name] = decoded
	}
	return true
}

// step returns the length of the character at s[p:] if the variable may contain
// it: 3 for a percent-encoded byte, 0 if it may not.
func (v templatePart) step(s string, p int) int {
	if p >= len(s) {
		return 0
	}
	switch c := s[p]; {
	case c == '%':
		if p+2 < len(s) && isHex(s[p+1]) && isHex(s[p+2]) {
			return 3
		}
		return 0
	case isAlphanumeric(c), c >= utf8.RuneSelf, strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0:
		return 1
	case v.reserved && strings.IndexByte("/?#[]", c) >= 0:
		return 1
	default:
		return 0
	}
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// templateValue decodes a value and rejects those that match excludes.
func templateValue(raw string) (string, bool) {
	s, err := url.PathUnescape(raw)
	if err != nil || !utf8.ValidString(s) {
		return "", false
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f }) {
		return "", false
	}
	for segment := range strings.FieldsFuncSeq(s, func(c rune) bool { return c == '/' || c == '\\' }) {
		if segment == ".." {
			return "", false
		}
	}
	return s, true
}
