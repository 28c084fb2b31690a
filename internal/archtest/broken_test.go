package archtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each rule is shown sources that break it, and sources that only look as if.
func TestRules(t *testing.T) {
	table := map[string][]string{"jsonrpc": {}, "mcp": {"jsonrpc"}, "tools": {"mcp"}, "mcp/mcptest": {"mcp"}}
	inDrawing := func(sources []source) []string {
		return checkDrawing(sources, table, []string{"mcp/mcptest"})
	}
	// whole has every package of the table.
	whole := func(more map[string]string) map[string]string {
		files := map[string]string{
			"jsonrpc/a.go":     "package jsonrpc",
			"mcp/a.go":         "package mcp\nimport _ \"" + module + "/jsonrpc\"",
			"mcp/mcptest/a.go": "package mcptest\nimport _ \"" + module + "/mcp\"",
			"tools/a.go":       "package tools\nimport _ \"" + module + "/mcp\"",
		}
		for name, text := range more {
			files[name] = text
		}
		return files
	}

	tests := []struct {
		name  string
		check func([]source) []string
		files map[string]string
		want  []string // a piece of each problem, in order
	}{
		{"drawing: as drawn", inDrawing, whole(nil), nil},
		{
			"drawing: arrow upwards", inDrawing,
			whole(map[string]string{"jsonrpc/b.go": "package jsonrpc\nimport _ \"" + module + "/mcp\""}),
			[]string{"jsonrpc/b.go imports mcp, and the drawing has no arrow"},
		},
		{
			"drawing: arrow past a layer", inDrawing,
			whole(map[string]string{"tools/b.go": "package tools\nimport _ \"" + module + "/jsonrpc\""}),
			[]string{"tools/b.go imports jsonrpc"},
		},
		{
			"drawing: behind a build tag", inDrawing,
			whole(map[string]string{"jsonrpc/b.go": "//go:build plan9\n\npackage jsonrpc\nimport _ \"" + module + "/mcp\""}),
			[]string{"jsonrpc/b.go imports mcp"},
		},
		{
			"drawing: the root is a package too", inDrawing,
			whole(map[string]string{"tools/b.go": "package tools\nimport _ \"" + module + "\"", "a.go": "package bossman"}),
			[]string{"package . is not in the drawing", "tools/b.go imports ."},
		},
		{
			"drawing: package without a row", inDrawing,
			whole(map[string]string{"web/a.go": "package web", "web/b.go": "package web"}),
			[]string{"package web is not in the drawing: add a row"},
		},
		{
			"drawing: package of test files without a row", inDrawing,
			whole(map[string]string{"web/a_test.go": "package web"}),
			[]string{"package web is not in the drawing"},
		},
		{
			"drawing: row without a package", inDrawing,
			map[string]string{"jsonrpc/a.go": "package jsonrpc", "mcp/a.go": "package mcp", "mcp/mcptest/a.go": "package mcptest"},
			[]string{"row for tools, and there is no such package"},
		},
		{
			"drawing: tests reach what is below, and the suites", inDrawing,
			whole(map[string]string{
				"tools/a_test.go":   "package tools_test\nimport (\n_ \"" + module + "/tools\"\n_ \"" + module + "/jsonrpc\"\n_ \"" + module + "/mcp/mcptest\"\n)",
				"jsonrpc/a_test.go": "package jsonrpc_test\nimport _ \"" + module + "/jsonrpc\"",
			}), nil,
		},
		{
			"drawing: a test that reaches upwards", inDrawing,
			whole(map[string]string{"jsonrpc/a_test.go": "package jsonrpc_test\nimport _ \"" + module + "/tools\""}),
			[]string{"jsonrpc/a_test.go imports tools"},
		},
		{
			"drawing: other modules and folders are not ours to judge", inDrawing,
			whole(map[string]string{
				"e2e/go.mod": "module e2e", "e2e/a.go": "package e2e\nimport _ \"" + module + "/tools\"",
				"mcp/testdata/a.go": "package broken", "mcp/node_modules/x/a.go": "package x", ".ci/a.go": "package main",
			}), nil,
		},

		{
			"dependencies: stranger", checkDependencies,
			map[string]string{
				"mcp/streamable/a.go": "package streamable\nimport _ \"golang.org/x/sync/errgroup\"",
				"jsonrpc/a.go":        "package jsonrpc\nimport _ \"C\"",
				"mcp/a.go":            "package mcp\nimport _ \"" + schema + "x/jsonschema\"",
			},
			[]string{"jsonrpc/a.go imports C", "mcp/a.go imports " + schema + "x", "mcp/streamable/a.go imports golang.org/x/sync/errgroup"},
		},
		{
			"dependencies: as allowed", checkDependencies,
			map[string]string{
				"mcp/a.go":      "package mcp\nimport (\n\"net/http\"\n_ \"" + goJSON + "/jsontext\"\n_ \"" + schema + "/jsonschema\"\n_ \"" + module + "/jsonrpc\"\n)",
				"mcp/a_test.go": "package mcp\nimport _ \"github.com/google/go-cmp/cmp\"",
				"web/a.go":      "package web\nimport _ \"github.com/yuin/goldmark\"",
				"mcpx/a.go":     "package mcpx\nimport _ \"github.com/yuin/goldmark\"",
			},
			nil,
		},

		{
			"old JSON: reads", checkOldJSON,
			map[string]string{"web/a.go": "package web\nimport \"encoding/json\"\nfunc f(b []byte) error { var v any; return json.Unmarshal(b, &v) }"},
			[]string{"web/a.go:3:44 uses Unmarshal of encoding/json"},
		},
		{
			"old JSON: by another name", checkOldJSON,
			map[string]string{"web/a.go": "package web\nimport v1 \"encoding/json\"\nvar n v1.Number\nvar m v1.RawMessage"},
			[]string{"uses Number of encoding/json"},
		},
		{
			"old JSON: without a name", checkOldJSON,
			map[string]string{"web/a.go": "package web\nimport . \"encoding/json\"\nvar n Number", "web/b.go": "package web\nimport _ \"encoding/json\""},
			[]string{"web/a.go imports encoding/json as .", "web/b.go imports encoding/json as _"},
		},
		{
			"old JSON: the type, and tests", checkOldJSON,
			map[string]string{
				"web/a.go":      "package web\nimport \"encoding/json\"\ntype T struct { Raw json.RawMessage }",
				"web/a_test.go": "package web\nimport \"encoding/json\"\nvar _ = json.Valid",
				"web/b.go":      "package web\nimport \"" + goJSON + "\"\nvar f = json.Unmarshal",
			},
			nil,
		},

		{
			"exec: elsewhere", checkExec,
			map[string]string{
				"mcp/client.go": "package mcp\nimport _ \"os/exec\"", "cmd/bossmanx/a.go": "package main\nimport _ \"os/exec\"",
				"gateway/stdio.go": "package gateway\nimport _ \"os/exec\"", "mcp/stdiox.go": "package mcp\nimport _ \"os/exec\"",
				"internal/server/a.go": "package server\nimport _ \"os/exec\"",
				"cmd/bossman/a.go":     "package main\nimport \"os/exec\"\nvar cmd = exec.Command(\"gh\")",
			},
			[]string{"cmd/bossman/a.go", "cmd/bossmanx/a.go", "gateway/stdio.go", "internal/server/a.go", "mcp/client.go", "mcp/stdiox.go"},
		},
		{
			"exec: where it belongs", checkExec,
			map[string]string{
				"mcp/stdio.go": "package mcp\nimport _ \"os/exec\"", "mcp/stdio_windows.go": "package mcp\nimport _ \"os/exec\"",
				"mcp/a_test.go": "package mcp\nimport _ \"os/exec\"", "cmd/bossman/work.go": "package main\nimport \"os/exec\"\nvar look = exec.LookPath",
				"git/a.go": "package git\nimport _ \"os/exec\"",
			},
			nil,
		},

		{
			"names: vague", checkNames,
			map[string]string{
				"a/utils/a.go": "package utils", "b/common/a.go": "package stuff", "c/d/a.go": "package helpers",
				"e/util/a.go": "package util", "e/util/b.go": "package util", "f/helper/a_test.go": "package helper_test",
			},
			[]string{"a/utils", "b/common", "c/d", "e/util", "f/helper"},
		},
		{
			"sizes: a long file", checkSizes,
			map[string]string{"a/a.go": "package a" + strings.Repeat("\n", 501), "a/a_test.go": "package a" + strings.Repeat("\n", 900)},
			[]string{"a/a.go has 501 lines"},
		},
		{
			"sizes: a large program", checkSizes,
			map[string]string{
				"cmd/bossman/a.go": "package main" + strings.Repeat("\n", 500), "cmd/bossman/b.go": "package main" + strings.Repeat("\n", 500),
				"cmd/bossman/c.go": "package main" + strings.Repeat("\n", 500), "cmd/bossman/d.go": "package main" + strings.Repeat("\n", 500),
				"cmd/bossman/e.go": "package main" + strings.Repeat("\n", 500), "cmd/bossman/f.go": "package main" + strings.Repeat("\n", 500),
				"cmd/bossman/g.go": "package main" + strings.Repeat("\n", 500), "cmd/bossman/h.go": "package main" + strings.Repeat("\n", 500),
				"cmd/bossman/i.go": "package main" + strings.Repeat("\n", 500), "cmd/bossman/j.go": "package main\n",
			},
			[]string{"cmd/bossman has 4501 lines"},
		},
		{"names: fine", checkNames, map[string]string{"a/utility/a.go": "package utility"}, nil},

		{
			"public face: named", checkPublicFace,
			map[string]string{"mcp/a.go": `package mcp
import (
	"` + goJSON + `"
	text "` + goJSON + `/jsontext"
)
type Field struct{ Raw text.Value }
type Embedded struct{ text.Value }
type Alias = text.Value
type Map map[string][]text.Value
type Iface interface{ M(text.Value) }
type Param[T text.Value] struct{}
func Result() (int, *text.Decoder) { return 0, nil }
func Variadic(o ...json.Options) {}
func (f *Field) MarshalJSONTo(e *text.Encoder) error { return nil }
func (p Param[T]) Method(f func(text.Value)) {}
var Typed text.Value
var Inferred = json.DefaultOptionsV2()
var Func = func(v text.Value) {}
`},
			[]string{
				"mcp/a.go:6:24: exported type Field", "exported type Embedded", "exported type Alias", "exported type Map", "exported type Iface",
				"exported type Param", "exported func Result", "exported func Variadic", "exported func Field.MarshalJSONTo", "exported func Param.Method",
				"exported var Typed", "exported var Inferred", "exported var Func",
			},
		},
		{
			"public face: through an alias in another file", checkPublicFace,
			map[string]string{
				"mcp/streamable/a.go": "package streamable\nimport \"" + goJSON + "/jsontext\"\ntype raw = jsontext.Value",
				"mcp/streamable/b.go": "package streamable\nfunc Read() raw { return nil }",
			},
			[]string{"mcp/streamable/b.go:2:13: exported func Read"},
		},
		{
			"public face: without a name", checkPublicFace,
			map[string]string{"jsonrpc/a.go": "package jsonrpc\nimport . \"" + goJSON + "/jsontext\"\nfunc F(v Value) {}"},
			[]string{"jsonrpc/a.go imports"},
		},
		{
			"public face: inside is free", checkPublicFace,
			map[string]string{
				"mcp/a.go": `package mcp
import (
	old "encoding/json"
	"` + goJSON + `"
	"` + goJSON + `/jsontext"
)
type T struct{ Raw old.RawMessage; inner jsontext.Value }
type hidden struct{ Value jsontext.Value }
type I interface{ M(json int); m(jsontext.Value) }
func (h hidden) Exported(v jsontext.Value) {}
func F(b []byte) error { var v jsontext.Value; return json.Unmarshal(b, &v) }
func f(v jsontext.Value) {}
var Func = func(b []byte) error { return json.Unmarshal(b, nil) }
var inner jsontext.Value
`,
				"mcp/a_test.go": "package mcp\nimport \"" + goJSON + "/jsontext\"\nfunc Helper(v jsontext.Value) {}",
				"web/a.go":      "package web\nimport \"" + goJSON + "/jsontext\"\nfunc F(v jsontext.Value) {}",
			},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.check(load(t, write(t, tt.files))), tt.want)
		})
	}
}

func TestModuleRules(t *testing.T) {
	linked := linkedModules(t, write(t, map[string]string{
		"go.mod": "module example.com/own\n\ngo 1.26\n\n" +
			"require (\n\texample.com/x v0.0.0\n\texample.com/y v0.0.0\n\texample.com/z v0.0.0\n)\n\n" +
			"replace (\n\texample.com/x => ./x\n\texample.com/y => ./y\n\texample.com/z => ./z\n)\n",
		"cmd/one/main.go": "package main\nimport (\n_ \"example.com/own/lib\"\n_ \"fmt\"\n)\nfunc main() {}",
		"cmd/two/main.go": "package main\nimport _ \"example.com/y\"\nfunc main() {}",
		// A test's dependency is not linked.
		"cmd/two/main_test.go": "package main\nimport _ \"example.com/z\"",
		"lib/lib.go":           "package lib\nimport _ \"example.com/x\"",
		"x/go.mod":             "module example.com/x\n\ngo 1.26\n\nrequire example.com/y v0.0.0\n",
		"x/x.go":               "package x\nimport _ \"example.com/y\"",
		"y/go.mod":             "module example.com/y\n\ngo 1.26\n",
		"y/y.go":               "package y",
		"z/go.mod":             "module example.com/z\n\ngo 1.26\n",
		"z/z.go":               "package z",
	}))
	if one, two := strings.Join(linked["cmd/one"], " "), strings.Join(linked["cmd/two"], " "); one != "example.com/x example.com/y" || two != "example.com/y" || len(linked) != 2 {
		t.Fatalf("linkedModules = %q, want x and y in cmd/one, y in cmd/two", linked)
	}

	tests := []struct {
		name, list string
		want       []string
	}{
		{"as linked", "# why\n\nexample.com/x  needed\nexample.com/y also\n", nil},
		{"one missing", "example.com/x needed\n", []string{"cmd/one links example.com/y, which modules.txt does not list"}},
		{"one too many", "example.com/x needed\nexample.com/y also\nexample.com/z once\n", []string{"lists example.com/z, which no program links"}},
		{"no reason", "example.com/x\nexample.com/y also\n", []string{"no reason for example.com/x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { compare(t, checkModules(linked, tt.list), tt.want) })
	}
	t.Run("footprint", func(t *testing.T) {
		compare(t, checkFootprint(linked, "cmd/one", 2), nil)
		compare(t, checkFootprint(linked, "cmd/one", 1), []string{"cmd/one links 2 modules, want at most 1"})
		compare(t, checkFootprint(linked, "cmd/three", 1), []string{"no program cmd/three"})
	})
}

// write makes a folder with the files in it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compare wants one problem for each piece of text, in order.
func compare(t *testing.T, problems, want []string) {
	t.Helper()
	if len(problems) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%s", len(problems), len(want), strings.Join(problems, "\n"))
	}
	for i, p := range problems {
		if !strings.Contains(p, want[i]) {
			t.Errorf("problem %d is %q, want it to say %q", i, p, want[i])
		}
	}
}
