package archtest

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite api.txt")

// public lists the packages that other programs may build on.
var public = []string{
	"clientconfig", "jsonrpc", "jsonrpc/transporttest", "mcp", "mcp/mcptest", "mcp/oauth", "mcp/replica", "mcp/replica/replicatest", "mcp/streamable", "mcp/transport",
}

// maxMCPNames bounds package mcp, which every user reads first. Fields are not counted.
const maxMCPNames = 204

// TestExportedAPI compares the exported declarations with api.txt, one line for each. A change there
// is a change for every user: go test ./internal/archtest -run ExportedAPI -update
func TestExportedAPI(t *testing.T) {
	var got []string
	for _, dir := range public {
		lines, names, undocumented := exportedAPI(t, dir)
		got = append(got, lines...)
		if dir == "mcp" && names > maxMCPNames {
			t.Errorf("package mcp exports %d names, want at most %d: put what few users need into another package", names, maxMCPNames)
		}
		for _, name := range undocumented {
			t.Errorf("%s.%s has no comment", dir, name)
		}
	}
	text := strings.Join(got, "\n") + "\n"
	if *update {
		if err := os.WriteFile("api.txt", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("api.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("new, not in api.txt: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("gone, still in api.txt: %s", line)
		}
	}
}

// exportedAPI returns the exported declarations of a package, sorted, the number of names other
// than fields, and the names that have no comment.
func exportedAPI(t *testing.T, dir string) (lines []string, names int, undocumented []string) {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	a := apiLister{dir: dir, fset: token.NewFileSet()}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(a.fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				a.function(d)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					a.spec(d, s)
				}
			}
		}
	}
	slices.Sort(a.lines)
	return slices.Compact(a.lines), a.names, a.undocumented
}

// An apiLister collects the exported declarations of one package.
type apiLister struct {
	dir          string
	fset         *token.FileSet
	lines        []string
	names        int
	undocumented []string
}

func (a *apiLister) add(format string, args ...any) {
	a.lines = append(a.lines, a.dir+": "+fmt.Sprintf(format, args...))
}

func (a *apiLister) document(name string, docs ...*ast.CommentGroup) {
	a.names++
	if !slices.ContainsFunc(docs, func(g *ast.CommentGroup) bool { return g != nil }) {
		a.undocumented = append(a.undocumented, name)
	}
}

// text prints a node on one line.
func (a *apiLister) text(n any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, a.fset, n); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// wellKnown are methods whose interface says what they do.
var wellKnown = []string{"Error", "Unwrap", "Is", "String", "MarshalJSON", "UnmarshalJSON", "ServeHTTP"}

func (a *apiLister) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	name, receiver := d.Name.Name, ""
	if d.Recv != nil {
		t := a.text(d.Recv.List[0].Type)
		base, _, _ := strings.Cut(strings.TrimPrefix(t, "*"), "[")
		if !ast.IsExported(base) {
			return
		}
		name, receiver = base+"."+name, "("+t+") "
	}
	doc := d.Doc
	if d.Recv != nil && slices.Contains(wellKnown, d.Name.Name) {
		doc = cmp.Or(doc, &ast.CommentGroup{})
	}
	a.document(name, doc)
	a.add("func %s%s%s%s", receiver, d.Name.Name, a.parameters(d.Type.TypeParams), strings.TrimPrefix(a.text(d.Type), "func"+a.parameters(d.Type.TypeParams)))
}

func (a *apiLister) parameters(list *ast.FieldList) string {
	if list == nil {
		return ""
	}
	var all []string
	for _, f := range list.List {
		var names []string
		for _, n := range f.Names {
			names = append(names, n.Name)
		}
		all = append(all, strings.Join(names, ", ")+" "+a.text(f.Type))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func (a *apiLister) spec(d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for i, n := range s.Names {
			if !n.IsExported() {
				continue
			}
			a.document(n.Name, d.Doc, s.Doc, s.Comment)
			line := d.Tok.String() + " " + n.Name
			if s.Type != nil {
				line += " " + a.text(s.Type)
			}
			if d.Tok == token.CONST && i < len(s.Values) {
				line += " = " + a.text(s.Values[i])
			}
			a.add("%s", line)
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		a.document(s.Name.Name, d.Doc, s.Doc)
		name := s.Name.Name + a.parameters(s.TypeParams)
		switch t := s.Type.(type) {
		case *ast.StructType:
			a.add("type %s struct", name)
			a.fields(s.Name.Name, t.Fields)
		case *ast.InterfaceType:
			a.add("type %s interface", name)
			a.fields(s.Name.Name, t.Methods)
		default:
			a.add("type %s %s", name, a.text(s.Type))
		}
	}
}

// fields lists the fields of a struct or the methods of an interface.
func (a *apiLister) fields(of string, list *ast.FieldList) {
	for _, f := range list.List {
		for _, n := range f.Names {
			if n.IsExported() {
				a.add("type %s, %s %s", of, n.Name, a.text(f.Type))
			}
		}
		if len(f.Names) == 0 {
			a.add("type %s, embeds %s", of, a.text(f.Type))
		}
	}
}
