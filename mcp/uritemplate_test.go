package mcp

import (
	"maps"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTemplate_match(t *testing.T) {
	type vars = map[string]string
	tests := []struct {
		template, uri string
		want          vars // nil: no match
	}{
		{"test://template/{id}/data", "test://template/123/data", vars{"id": "123"}},
		{"test://template/{id}/data", "test://template//data", nil},
		{"test://template/{id}/data", "test://template/1/2/data", nil},
		{"test://template/{id}/data", "test://template/1/data?x=1", nil},
		{"test://template/{id}/data", "test://template/1/dat", nil},
		{"a://static", "a://static", vars{}},
		{"a://static", "a://static/", nil},
		{"a://{x}", "a://caf%C3%A9%20%25", vars{"x": "café %"}},
		{"a://{x}", "a://café", vars{"x": "café"}},
		{"a://{x}", "a://a b", nil},
		{"a://{x}", "a://%zz", nil},
		{"a://{x}", "a://%4", nil},
		{"a://{x}", "a://%ff", nil},
		{"a://{x}", "a://a%00b", nil},
		{"a://{x}", "a://a%2Fb", vars{"x": "a/b"}},
		{"a://{x}F", "a://%2F", nil},
		{"a://{x}.{y}", "a://a.b.c", vars{"x": "a.b", "y": "c"}},
		{"file:///{+path}", "file:///a/b%20c?d#e", vars{"path": "a/b c?d#e"}},
		{"file:///{+path}", "file:///", nil},
		{"file:///{+dir}/{name}", "file:///a/b/c", vars{"dir": "a/b", "name": "c"}},
		{"repo://{owner}{/name,branch}", "repo://o", vars{"owner": "o"}},
		{"repo://{owner}{/name,branch}", "repo://o/n", vars{"owner": "o", "name": "n"}},
		{"repo://{owner}{/name,branch}", "repo://o/n/b", vars{"owner": "o", "name": "n", "branch": "b"}},
		{"repo://{owner}{/name,branch}", "repo://o/n/b/c", nil},
		{"repo://{owner}{/name,branch}", "repo://o/", nil},
		{"repo://{owner}{/name}/x", "repo://o/x", vars{"owner": "o"}},
		{"repo://{owner}{/name}/x", "repo://o/x/x", vars{"owner": "o", "name": "x"}},
		{"s://find{?q,page}", "s://find", vars{}},
		{"s://find{?q,page}", "s://find?page=2&q=a+b%26c", vars{"q": "a+b&c", "page": "2"}},
		{"s://find{?q,page}", "s://find?q=", vars{"q": ""}},
		{"s://find{?q,page}", "s://find?q=a=b/c?d", vars{"q": "a=b/c?d"}},
		{"s://find{?q,page}", "s://find?q=1&q=2", nil},
		{"s://find{?q,page}", "s://find?other=1", nil},
		{"s://find{?q,page}", "s://find?q", nil},
		{"s://find{?q,page}", "s://find?", nil},
		{"s://find{?q,page}", "s://find?q=a#b", nil},
		{"s://{x}{?q}", "s://a?q=b", vars{"x": "a", "q": "b"}},

		{"file:///{x}", "file:///..", nil},
		{"file:///{x}", "file:///..%2fetc%2Fpasswd", nil},
		{"file:///{x}", "file:///%2e%2e%2fetc", nil},
		{"file:///{x}", "file:///a%5c..%5cb", nil},
		{"file:///{x}", "file:///%252e%252e%252f", vars{"x": "%2e%2e%2f"}},
		{"file:///{x}", "file:///..a", vars{"x": "..a"}},
		{"file:///{+x}", "file:///a/../b", nil},
		{"file:///{+x}", "file:///a/%2e./b", nil},
		{"file:///a{/x}", "file:///a/..", nil},
		{"s://find{?q}", "s://find?q=../x", nil},
		{"a://{x}", "a://" + strings.Repeat("a", maxTemplateURI), nil},
		{"a://{x}", "a://\xff", nil},
	}
	for _, tt := range tests {
		c, err := compileTemplate(tt.template)
		if err != nil {
			t.Errorf("compileTemplate(%q): %v", tt.template, err)
			continue
		}
		got, ok := c.match(tt.uri)
		if ok != (tt.want != nil) || !maps.Equal(got, tt.want) {
			t.Errorf("%q matches %.60q = %q, %v, want %q", tt.template, tt.uri, got, ok, tt.want)
		}
	}
}

func TestCompileTemplate_refuses(t *testing.T) {
	for _, s := range []string{
		"a://{", "a://}", "a://{x", "a://x}", "a://{}", "a://{x y}", "a://{x:3}", "a://{x*}", "a://{#x}", "a://{.x}",
		"a://{;x}", "a://{&x}", "a://{x}{y}", "a://{x}/{x}", "a://{x,y}", "a://{?x}/b", "a://b?c{?x}", "a://{?x,x}", "a://{{x}}",
		"a://\xff", "a://" + strings.Repeat("{x}/", 2) + "y", "a://" + strings.Repeat("b", maxTemplateURI), "{/a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q}",
	} {
		if _, err := compileTemplate(s); err == nil {
			t.Errorf("compileTemplate(%.60q): want an error", s)
		}
	}
}

// TestTemplate_hostile would take ages with backtracking.
func TestTemplate_hostile(t *testing.T) {
	c, err := compileTemplate("a{+b}a{+c}a{+d}a{+e}a{+f}a{+g}a{+h}a{+i}a{+j}a{+k}a{+l}a{+m}b{/n,o}")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, ok := c.match(strings.Repeat("a", maxTemplateURI)); ok {
		t.Error("match = true, want false")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("match took %v", took)
	}
}

func FuzzURITemplate(f *testing.F) {
	f.Add("a://{x}/{+y}{?q,r}", "a://b/c/d?q=1")
	f.Add("a://{x}{/y,z}", "a://b/%2e%2e/c")
	f.Add("{+x}%2{y}", "%%2%2F")
	f.Fuzz(func(t *testing.T, s, uri string) {
		c, err := compileTemplate(s)
		if err != nil {
			return
		}
		values, ok := c.match(uri)
		if !ok {
			return
		}
		for name, v := range values {
			if !utf8.ValidString(v) || v == ".." || strings.HasPrefix(v, "../") || strings.Contains(v, "/../") {
				t.Errorf("%q matches %q with %s = %q", s, uri, name, v)
			}
			if !strings.Contains(s, name) {
				t.Errorf("%q has no variable %q", s, name)
			}
		}
	})
}
