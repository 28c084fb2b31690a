package clientconfig

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A document generator writes valid texts of a format at random, with comments and odd layouts.
var documents = map[string]func(*rapid.T) string{"json": genJSON, "toml": genTOML, "yaml": genYAML}

// testChanges are what is put into documents of a format.
func testChanges(format string) [][]*change {
	value := ordered{
		{"command", "/opt/my apps/bossman"},
		{"args", []any{"mcp", "--board", "a\"b\\c\x7f\u2028é"}},
		{"enabled", true},
		{"timeout", int64(7200)},
		{"env", ordered{{"A B", "1"}, {"yes", "no"}}},
		{"none", ordered{}},
	}
	all := [][]*change{{{path: []string{"servers", "bossman"}, value: value}}}
	if format == "json" {
		h := hooks{Events: []string{"SessionStart", "Stop"}}
		all = append(all, h.changes("bossman hook"), append(h.changes("x/bossman hook"), all[0]...))
	}
	return all
}

// After putting values in, all others are as before; after removing them the text is, too. A second time
// changes nothing.
func TestEdit_random(t *testing.T) {
	for format, gen := range documents {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				text := []byte(gen(t))
				for _, changes := range testChanges(format) {
					checkEdit(t, format, text, changes)
				}
			})
		})
	}
}

// Texts that cannot be changed are few: of the same 400 edits, at most one in twenty.
func TestEdit_refused(t *testing.T) {
	for format, gen := range documents {
		t.Run(format, func(t *testing.T) {
			tried, refused := 0, 0
			document := rapid.Custom(gen)
			for seed := 0; tried < 400; seed++ {
				text := []byte(document.Example(seed))
				for _, changes := range testChanges(format) {
					tried++
					if !checkEdit(t, format, text, changes) {
						refused++
					}
				}
			}
			t.Logf("%d of %d refused", refused, tried)
			if refused*20 > tried {
				t.Errorf("%d of %d texts cannot be changed", refused, tried)
			}
		})
	}
}

// checkEdit puts changes into a text and removes them. It reports whether that was possible.
func checkEdit(t interface{ Fatalf(string, ...any) }, format string, text []byte, changes []*change) bool {
	kept := bytes.Clone(text)
	before, err := parse(format, text)
	if err != nil {
		t.Fatalf("the document is invalid: %v\n%s", err, text)
	}
	for _, c := range changes {
		if checkPath(before, c) != nil {
			return false
		}
	}
	out, err := putAll(format, text, changes)
	if errors.Is(err, errByHand) {
		return false
	}
	if err != nil {
		t.Fatalf("put into %q: %v", text, err)
	}
	if !bytes.Equal(text, kept) {
		t.Fatalf("%q was changed in place", kept)
	}
	after, err := parse(format, out)
	if err != nil {
		t.Fatalf("%q became %q: %v", text, out, err)
	}
	had := false
	for _, c := range changes {
		_, ok := lookup(before, c)
		had = had || ok
		if !present(format, after, c) {
			t.Fatalf("%q became %q, without %s", text, out, c)
		}
	}
	if !equal(without(before, changes), without(after, changes)) {
		t.Fatalf("%q became %q", text, out)
	}
	again, err := putAll(format, out, changes)
	if err != nil || !bytes.Equal(again, out) {
		t.Fatalf("a second time %q became %q, %v", out, again, err)
	}
	if !had {
		back, err := cutAll(format, out, text, changes)
		if err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q became %q and then %q, %v", text, out, back, err)
		}
	}
	// Without the text from before, at least the values are as before, and no comment is lost.
	cut, err := cutAll(format, out, []byte("\n"), changes)
	if err != nil {
		t.Fatalf("cut from %q: %v", out, err)
	}
	left, err := parse(format, cut)
	if err != nil || !equal(without(before, changes), without(left, nil)) {
		t.Fatalf("%q became %q and then %q", text, out, cut)
	}
	if a, b := bytes.Count(text, []byte("comment")), bytes.Count(cut, []byte("comment")); a != b && !had {
		t.Fatalf("%q became %q and then %q: %d of %d comments are left", text, out, cut, b, a)
	}
	return true
}

func pick(t *rapid.T, label string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(t, label)
}

// names are the keys of an object, each once, with those that matter among them.
func genNames(t *rapid.T, level int) []string {
	names := []string{"a", "b c", "é", "hooks.x", "command"}
	switch level {
	case 0:
		names = append(names, "servers", "hooks")
	case 1:
		names = append(names, "Stop", "other")
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, "names")
}

func genJSON(t *rapid.T) string {
	nl := pick(t, "newline", "\n", "\r\n")
	indent := pick(t, "indent", "  ", "    ", "\t", "")
	space := func(level int) string {
		switch pick(t, "space", "line", "line", "line", "none", "one", "block", "comment") {
		case "line":
			return nl + strings.Repeat(indent, level)
		case "one":
			return " "
		case "block":
			return " /* a, comment */ "
		case "comment":
			return " // a comment, {" + nl + strings.Repeat(indent, level)
		}
		return ""
	}
	trailing := rapid.Bool().Draw(t, "trailing commas")
	var value func(level int, kind string) string
	list := func(level int, open, end string, items []string) string {
		var b strings.Builder
		b.WriteString(open)
		for i, it := range items {
			b.WriteString(space(level+1) + it + space(level+1))
			if i < len(items)-1 || trailing {
				b.WriteString(",")
			}
		}
		return b.String() + space(level) + end
	}
	value = func(level int, kind string) string {
		if kind == "" {
			kind = pick(t, "kind", "string", "number", "null", "true", "object", "list")
		}
		if level > 3 {
			kind = "string"
		}
		switch kind {
		case "object":
			var items []string
			for _, name := range genNames(t, level) {
				kind := ""
				switch name {
				case "servers", "hooks":
					kind = pick(t, "kind", "object", "object", "null")
				case "Stop":
					kind = pick(t, "kind", "list", "null")
				}
				items = append(items, quoteJSON(name)+pick(t, "colon", ":", ": ", " : ")+value(level+1, kind))
			}
			return list(level, "{", "}", items)
		case "list":
			var items []string
			for range rapid.IntRange(0, 3).Draw(t, "elements") {
				items = append(items, value(level+1, ""))
			}
			return list(level, "[", "]", items)
		case "string":
			return quoteJSON(pick(t, "string", "", "x", "// no", "}\n", `"`, "\\", "é"))
		case "number":
			return pick(t, "number", "0", "-1.5e3", "12345678901234567890")
		}
		return kind
	}
	return pick(t, "mark", "", "", "\ufeff") + space(0) + value(0, "object") + pick(t, "end", "", nl, nl+"// a comment"+nl)
}

func genTOML(t *rapid.T) string {
	nl := pick(t, "newline", "\n", "\r\n")
	var b strings.Builder
	line := func(s string) { b.WriteString(s + nl) }
	filler := func() {
		for range rapid.IntRange(0, 2).Draw(t, "filler") {
			line(pick(t, "line", "", "# a comment [x]", "  "))
		}
	}
	values := []string{
		`"x"`, `'c:\x'`, `"a \" # ["`, "1979-05-27T07:32:00Z", "nan", "-inf", "0x1F", "true", "[1, 2,\n # a comment ]\n 3]", "{ a = 1, b = [\"}\"] }",
		"\"\"\"\n[servers.bossman]\n\\\"\"\"\"\"", "'''\n# no\n[x]'''", "[\n]",
	}
	fields := func() {
		for _, name := range genNames(t, 3) {
			if strings.ContainsAny(name, " .é") {
				name = quoteJSON(name)
			}
			line(pick(t, "indent", "", "  ") + name + " = " + rapid.SampledFrom(values).Draw(t, "value") + pick(t, "end", "", " # a comment"))
			filler()
		}
	}
	filler()
	fields()
	tables := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"[servers]", "[servers.other]", "[servers.other.env]", "[projects.\"/a.b/c\"]", "[[list]]", "[ servers . 'x.y' ]", "[z]", "[servers.bossmen]",
	}), 0, 5, rapid.ID[string]).Draw(t, "tables")
	for _, table := range tables {
		line(table + pick(t, "end", "", " # a comment"))
		filler()
		if table != "[servers]" {
			fields()
		}
	}
	text := b.String()
	if rapid.Bool().Draw(t, "no newline at the end") {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

func genYAML(t *rapid.T) string {
	nl := pick(t, "newline", "\n", "\r\n")
	var b strings.Builder
	line := func(s string) { b.WriteString(s + nl) }
	if rapid.Bool().Draw(t, "start") {
		line(pick(t, "start", "---", "# a comment", "", "# yaml: comment"))
	}
	unit := pick(t, "unit", "  ", "    ", " ")
	var mapping func(level int, names []string)
	end := func() string { return pick(t, "end", "", "", " # a comment: x") }
	mapping = func(level int, names []string) {
		indent := strings.Repeat(unit, level)
		for _, name := range names {
			if rapid.IntRange(0, 4).Draw(t, "comment") == 0 {
				line(pick(t, "comment", indent+"# a comment", "", "# a comment"))
			}
			key := pick(t, "quoted", name, quoteJSON(name), "'"+name+"'")
			kind := pick(t, "kind", "scalar", "scalar", "mapping", "list", "block", "flow")
			if level == 0 && name == "servers" {
				kind = pick(t, "kind", "mapping", "mapping", "empty", "null", "none")
			}
			if level > 2 && kind == "mapping" {
				kind = "scalar"
			}
			switch kind {
			case "scalar":
				line(indent + key + ": " + pick(t, "scalar", "x", "'a: # b'", `"\n"`, "1", "1.5", "true", "null", "2001-01-01", "a  b") + end())
			case "mapping":
				sub := genNames(t, level+1)
				if len(sub) == 0 {
					sub = []string{"a"}
				}
				line(indent + key + ":" + end())
				mapping(level+1, sub)
			case "list":
				line(indent + key + ":" + end())
				in := indent + pick(t, "list", "", unit)
				for range rapid.IntRange(1, 3).Draw(t, "elements") {
					line(in + "- " + pick(t, "element", "x", "{a: 1}", "k: v", "'- y'"))
				}
			case "block":
				line(indent + key + ": " + pick(t, "block", "|", ">", "|-"))
				for range rapid.IntRange(1, 3).Draw(t, "lines") {
					line(indent + unit + pick(t, "text", "servers:", "a b", "# not one", "- x"))
				}
			case "flow":
				line(indent + key + ": " + pick(t, "flow", "[]", "[a, 'b']", "{}", "{a: 1, b: [2]}") + end())
			case "empty":
				line(indent + key + ": {}" + end())
			case "null":
				line(indent + key + ": " + pick(t, "null", "null", "~") + end())
			case "none":
				line(indent + key + ":" + end())
			}
		}
	}
	mapping(0, genNames(t, 0))
	text := b.String()
	if rapid.Bool().Draw(t, "no newline at the end") {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

// Any text that is valid is changed properly or refused, and no text makes an editor panic.
func FuzzEdit(f *testing.F) {
	formats := []string{"json", "toml", "yaml"}
	for i, seeds := range [][]string{
		{"{}", `{"servers": {"bossman": null, "x": [1,],},}`, "{\n\t// a\n\t\"hooks\": {\"Stop\": null}\n}", `{"servers":{"bossman":{}}}`},
		{"[servers.x]\na = 1", "servers = { x = {} }", "servers.bossman.a = 1", "[servers.bossman]\n[z]\n[servers.bossman.env]", "a = \"\"\"\n[x]\"\"\""},
		{"a: 1", "servers:\n  x: {}\n", "servers: &x\n  y: *x", "{servers: {}}", "servers: {}\n---\nb: 1", "- a", "a: |+\n\n\n", "? a\n: b", "servers: !!map\n  a: 1", "\r0:", "\u0085a: 1"},
	} {
		for _, s := range seeds {
			f.Add(uint8(i), []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		format := formats[int(which)%len(formats)]
		if _, err := parse(format, text); err != nil {
			for _, c := range slices.Concat(testChanges(format)...) {
				if _, err := putAll(format, text, []*change{c}); err == nil {
					t.Fatalf("put into invalid %q", text)
				}
			}
			return
		}
		for _, changes := range testChanges(format) {
			checkFuzzed(t, format, text, changes)
		}
	})
}

// checkFuzzed is checkEdit for texts that may be so odd that they are refused halfway.
func checkFuzzed(t *testing.T, format string, text []byte, changes []*change) {
	out, err := putAll(format, text, changes)
	if err != nil {
		return
	}
	before, _ := parse(format, text)
	after, err := parse(format, out)
	if err != nil || !equal(without(before, changes), without(after, changes)) {
		t.Fatalf("%q became %q, %v", text, out, err)
	}
	for _, c := range changes {
		if _, had := lookup(before, c); had {
			return
		}
	}
	if back, err := cutAll(format, out, text, changes); err != nil || !bytes.Equal(back, text) {
		t.Fatalf("%q became %q and then %q, %v", text, out, back, err)
	}
	if cut, err := cutAll(format, out, []byte("\n"), changes); err == nil {
		left, err := parse(format, cut)
		if err != nil || !equal(without(before, changes), without(left, nil)) {
			t.Fatalf("%q became %q and then %q", text, out, cut)
		}
	}
}
