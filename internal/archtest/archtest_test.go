// Package archtest keeps the drawing of the project true. It reads the source
// files of the main module and compares them with the rules below; the modules
// e2e and bench, testdata and node_modules are not looked at.
package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/bossman-dev/bossman"
	goJSON = "github.com/go-json-experiment/json"
	schema = "github.com/google/jsonschema-go"
)

// root is the main module's folder, seen from this one.
var root = filepath.Join("..", "..")

// drawing is the picture of ARCHITECTURE.md as a table: each package, and the
// packages of ours that it may import. A new package gets a row here and a box
// there; a new arrow is a decision, and belongs in both as well.
var drawing = map[string][]string{
	"access":                      {"auth", "board"},
	"auth":                        {},
	"auth/authtest":               {"auth"},
	"board":                       {},
	"board/boardtest":             {"board", "board/invariant"},
	"board/invariant":             {"board"},
	"check":                       {"board", "git", "internal/visible", "proc"},
	"clientconfig":                {},
	"cmd/bossman":                 {"access", "auth", "board", "check", "crew", "gateway", "git", "internal/agentcli", "internal/auditcli", "internal/boardcli", "internal/boardjson", "internal/boardtext", "internal/cli", "internal/config", "internal/configcli", "internal/console", "internal/crewcli", "internal/doctorcli", "internal/gatewaycli", "internal/github", "internal/installcli", "internal/keycli", "internal/landcli", "internal/mcpcli", "internal/notify", "internal/planfile", "internal/server", "internal/visible", "jsonrpc", "land", "mcp", "mcp/oauth", "mcp/streamable", "remote", "store/postgres", "store/sqlite", "telemetry", "tools"},
	"crew":                        {"board", "crew/agent", "git", "internal/permission", "internal/plaindir", "internal/visible", "proc"},
	"crew/agent":                  {"proc", "internal/visible"},
	"examples/add":                {"mcp"},
	"examples/agent":              {"clientconfig", "mcp"},
	"examples/moonphase":          {"mcp", "mcp/streamable"},
	"gateway":                     {"auth", "internal/egress", "internal/rawjson", "internal/visible", "jsonrpc", "mcp", "mcp/streamable", "proc"},
	"git":                         {"internal/plaindir", "internal/visible", "proc"},
	"internal/agentcli":           {"access", "board", "git", "internal/boardtext", "internal/console", "internal/plaindir", "jsonrpc", "mcp", "proc", "tools"},
	"internal/archtest":           {},
	"internal/boardcli":           {"access", "board", "board/invariant", "gateway", "internal/boardjson", "internal/boardtext", "internal/console", "internal/loopback", "internal/plaindir", "web"},
	"internal/boardjson":          {"board"},
	"internal/boardtext":          {"board", "internal/boardjson", "internal/console"},
	"internal/cli":                {"access", "auth", "board", "internal/console"},
	"internal/config":             {"auth", "board", "git", "internal/console", "internal/loopback", "internal/plaindir"},
	"internal/auditcli":           {"internal/console", "telemetry"},
	"internal/configcli":          {"board", "git", "internal/config", "internal/console"},
	"internal/console":            {"internal/plaindir", "internal/visible"},
	"internal/conformance/client": {"internal/rawjson", "jsonrpc", "mcp", "mcp/oauth", "mcp/streamable"},
	"internal/conformance/server": {"jsonrpc", "mcp", "mcp/streamable"},
	"internal/crewcli":            {"board", "crew", "crew/agent", "git", "internal/boardjson", "internal/console", "land", "proc"},
	"internal/doctorcli":          {"board", "clientconfig", "crew/agent", "gateway", "git", "internal/config", "internal/console", "internal/gatewaycli", "mcp", "store/sqlite"},
	"internal/egress":             {},
	"internal/gatewaycli":         {"access", "auth", "board", "clientconfig", "gateway", "git", "internal/console", "internal/visible", "mcp", "mcp/oauth", "proc"},
	"internal/github":             {"board", "git", "internal/visible", "land"},
	"internal/installcli":         {"clientconfig", "internal/config", "internal/console", "internal/plaindir"},
	"internal/keycli":             {"auth", "board", "internal/boardjson", "internal/boardtext", "internal/console"},
	"internal/landcli":            {"board", "git", "internal/boardtext", "internal/console", "internal/github", "internal/visible", "land"},
	"internal/loopback":           {},
	"internal/mcpcli":             {"clientconfig", "git", "internal/console", "internal/plaindir", "jsonrpc", "mcp", "mcp/oauth", "mcp/streamable"},
	"internal/notify":             {"board", "git", "internal/boardjson", "internal/console"},
	"internal/origins":            {"clientconfig", "jsonrpc", "mcp"},
	"internal/permission":         {"board", "internal/visible"},
	"internal/pgtest":             {"store/postgres"},
	"internal/plaindir":           {},
	"internal/planfile":           {"board"},
	"internal/server":             {"access", "auth", "board", "gateway", "internal/gatewaycli", "internal/loopback", "jsonrpc", "mcp", "mcp/replica", "mcp/streamable", "push", "remote", "store/postgres", "telemetry", "tools", "web"},
	"internal/release":            {},
	"internal/rawjson":            {},
	"jsonrpc":                     {"internal/rawjson"},
	"jsonrpc/transporttest":       {"jsonrpc"},
	"land":                        {"board", "check", "git", "internal/plaindir", "internal/visible"},
	"mcp":                         {"internal/pageurl", "internal/rawjson", "jsonrpc", "mcp/internal/link", "mcp/replica", "proc"},
	"internal/pageurl":            {"internal/loopback"},
	"mcp/internal/link":           {"jsonrpc", "mcp/replica"},
	"mcp/mcptest":                 {"jsonrpc", "mcp", "mcp/internal/link", "mcp/streamable"},
	"mcp/oauth":                   {"internal/egress", "internal/pageurl", "mcp"},
	"mcp/replica":                 {"jsonrpc"},
	"mcp/replica/replicatest":     {"jsonrpc", "mcp", "mcp/replica"},
	"mcp/streamable":              {"internal/loopback", "internal/rawjson", "jsonrpc", "mcp", "mcp/replica", "mcp/transport"},
	"mcp/transport":               {"jsonrpc", "mcp", "mcp/internal/link", "mcp/replica"},
	"proc":                        {},
	"push":                        {"access", "auth", "board", "internal/egress", "internal/permission", "internal/visible"},
	"remote":                      {"access", "auth", "board", "jsonrpc", "mcp"},
	"store/postgres":              {"auth", "board", "mcp", "mcp/replica", "mcp/transport", "push"},
	"store/sqlite":                {"auth", "board", "internal/plaindir"},
	"telemetry":                   {"access", "board", "internal/visible", "mcp", "mcp/transport"},
	"internal/visible":            {},
	"tools":                       {"access", "auth", "board", "internal/rawjson", "internal/visible", "jsonrpc", "mcp"},
	"web":                         {"access", "auth", "board", "gateway", "internal/loopback", "internal/permission", "internal/planfile", "internal/visible", "push"},
	"web/webtest":                 {"board"},
}

// suites are imported by the test files of any package.
var suites = []string{"auth/authtest", "board/boardtest", "internal/pgtest", "jsonrpc/transporttest", "mcp/mcptest", "mcp/replica/replicatest", "mcp/streamable", "store/sqlite", "tools", "web/webtest"}

func TestDrawing(t *testing.T) { report(t, checkDrawing(load(t, root), drawing, suites)) }

func TestImportablePackagesHaveFewDependencies(t *testing.T) {
	report(t, checkDependencies(load(t, root)))
}

func TestOldJSONIsOnlyRawMessage(t *testing.T) { report(t, checkOldJSON(load(t, root))) }

func TestProcessesStartInOnePlace(t *testing.T) { report(t, checkExec(load(t, root))) }

func TestFilesAreShort(t *testing.T) { report(t, checkSizes(load(t, root))) }

func TestPackageNamesSaySomething(t *testing.T) { report(t, checkNames(load(t, root))) }

func TestPublicFaceHidesJSONPackage(t *testing.T) { report(t, checkPublicFace(load(t, root))) }

func TestLinkedModules(t *testing.T) {
	// The go command reads these behind the test cache's back; opening them here
	// makes a change to them run the test again. load does the same for sources.
	for _, name := range []string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	load(t, root)

	list, err := os.ReadFile("modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	linked := linkedModules(t, root)
	report(t, checkModules(linked, string(list)))
	report(t, checkFootprint(linked, "examples/add", 4))
}

func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// A source is one Go file.
type source struct {
	name    string // slash separated, from the module's root
	dir     string // the package's folder; the root itself is "."
	pkg     string // the name in the package clause
	test    bool
	imports []string
	text    []byte
}

// load reads the import lines of every Go file of the module at dir.
func load(t *testing.T, dir string) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != dir && skipDir(file) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
			return nil
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{
			name: name,
			dir:  path.Dir(name),
			pkg:  f.Name.Name,
			test: strings.HasSuffix(name, "_test.go"),
			text: text,
		}
		for _, spec := range f.Imports {
			s.imports = append(s.imports, importPath(spec))
		}
		sources = append(sources, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// skipDir tells folders that are not packages of this module.
func skipDir(dir string) bool {
	base := filepath.Base(dir)
	if base == "testdata" || base == "node_modules" || base == "vendor" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// under reports whether p is tree or lies in it.
func under(p, tree string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }

// importable tells the packages that others build on.
func importable(dir string) bool { return under(dir, "jsonrpc") || under(dir, "mcp") }

// checkDrawing compares imports with the table. A test file may import, besides
// what its package may, the package itself, whatever stands below it, and the
// test suites.
func checkDrawing(sources []source, drawing map[string][]string, suites []string) []string {
	var problems []string
	seen := map[string]bool{}
	for _, s := range sources {
		if !seen[s.dir] {
			seen[s.dir] = true
			if _, ok := drawing[s.dir]; !ok {
				problems = append(problems, fmt.Sprintf("package %s is not in the drawing: "+
					"add a row to the table in internal/archtest and a box to the drawing in ARCHITECTURE.md", s.dir))
			}
		}
		row, ok := drawing[s.dir]
		if !ok {
			continue
		}
		allowed := row
		if s.test {
			allowed = slices.Concat(below(s.dir, drawing), suites)
		}
		for _, p := range s.imports {
			if !under(p, module) {
				continue
			}
			ours := cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p, module), "/"), ".")
			if !slices.Contains(allowed, ours) {
				problems = append(problems, fmt.Sprintf("%s imports %s, and the drawing has no arrow from %s to it", s.name, ours, s.dir))
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(drawing)) {
		if !seen[dir] {
			problems = append(problems, fmt.Sprintf("the drawing has a row for %s, and there is no such package: "+
				"take it out of the table in internal/archtest and out of the drawing", dir))
		}
	}
	return problems
}

// below lists dir and every package that the arrows lead to from it.
func below(dir string, drawing map[string][]string) []string {
	found := []string{dir}
	for i := 0; i < len(found); i++ {
		for _, next := range drawing[found[i]] {
			if !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	return found
}

// checkDependencies holds what the importable packages stand on: the standard
// library, two modules, and each other.
func checkDependencies(sources []source) []string {
	var problems []string
	for _, s := range sources {
		if s.test || !importable(s.dir) {
			continue
		}
		for _, p := range s.imports {
			first, _, _ := strings.Cut(p, "/")
			standard := !strings.Contains(first, ".") && p != "C"
			if !standard && !under(p, module) && !under(p, goJSON) && !under(p, schema) {
				problems = append(problems, fmt.Sprintf("%s imports %s: jsonrpc and mcp depend on the standard library, %s and %s only",
					s.name, p, goJSON, schema))
			}
		}
	}
	return problems
}

// checkOldJSON lets encoding/json in for the name of a type. It folds the case
// of keys, lets the last duplicate win and repairs broken UTF-8, so it reads
// nothing here. A variable that has the import's name counts as the import.
func checkOldJSON(sources []source) []string {
	const old = "encoding/json"
	var problems []string
	for _, s := range sources {
		if s.test || !slices.Contains(s.imports, old) {
			continue
		}
		f, fset, err := s.parse()
		if err != nil {
			return append(problems, err.Error())
		}
		names := importNames(f, func(p string) bool { return p == old })
		for _, name := range names {
			if name == "." || name == "_" {
				problems = append(problems, fmt.Sprintf("%s imports %s as %s: import it by a name, for json.RawMessage", s.name, old, name))
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(names, x.Name) && sel.Sel.Name != "RawMessage" &&
				!(sel.Sel.Name == "Number" && slices.Contains([]string{"mcp", "internal/conformance/server"}, path.Dir(s.name))) { // programs have it in the types of their tools
				problems = append(problems, fmt.Sprintf("%s uses %s of %s: only RawMessage is used, the rest is %s's work",
					fset.Position(sel.Pos()), sel.Sel.Name, old, goJSON))
			}
			return true
		})
	}
	return problems
}

// starters are the packages that may start processes by themselves, besides tests and mcp/stdio_*.go. All others use
// git.Programs, which finds none in the project.
var starters = []string{"check", "crew", "crew/agent", "git", "internal/pgtest", "internal/release", "proc"}

// execNames is what others may use of os/exec: it starts nothing.
var execNames = map[string]string{"cmd/bossman": "LookPath", "internal/gatewaycli": "ErrNotFound", "internal/mcpcli": "ErrNotFound"}

// checkExec holds where a process may be started.
func checkExec(sources []source) []string {
	const osExec = "os/exec"
	var problems []string
	for _, s := range sources {
		stdio, _ := path.Match("mcp/stdio_*.go", s.name) // stdio.go for one system
		if s.test || stdio || s.name == "mcp/stdio.go" || slices.Contains(starters, s.dir) || !slices.Contains(s.imports, osExec) {
			continue
		}
		name, ok := execNames[s.dir]
		if !ok {
			problems = append(problems, fmt.Sprintf("%s imports os/exec: start a program with git.ProgramsOutside, so that none of the project is run", s.name))
			continue
		}
		f, fset, err := s.parse()
		if err != nil {
			return append(problems, err.Error())
		}
		names := importNames(f, func(p string) bool { return p == osExec })
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name != name {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(names, x.Name) {
					problems = append(problems, fmt.Sprintf("%s uses %s of os/exec, and not only %s: start a program with git.ProgramsOutside", fset.Position(sel.Pos()), sel.Sel.Name, name))
				}
			}
			return true
		})
	}
	return problems
}

const (
	maxFileLines    = 500  // of a file outside tests
	maxProgramLines = 4500 // of cmd/bossman without its tests: what is no wiring belongs elsewhere
)

// checkSizes refuses files that grew until they hold two nouns, and a program that does
// what a package should.
func checkSizes(sources []source) []string {
	var problems []string
	program := 0
	for _, s := range sources {
		if s.test {
			continue
		}
		lines := bytes.Count(s.text, []byte("\n"))
		if lines > maxFileLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines, at most %d: divide it", s.name, lines, maxFileLines))
		}
		if s.dir == "cmd/bossman" {
			program += lines
		}
	}
	if program > maxProgramLines {
		problems = append(problems, fmt.Sprintf("cmd/bossman has %d lines, at most %d: move what is not wiring into a package", program, maxProgramLines))
	}
	return problems
}

// checkNames refuses packages that are named for being left over.
func checkNames(sources []source) []string {
	vague := []string{"util", "utils", "common", "helper", "helpers"}
	var problems []string
	seen := map[string]bool{}
	for _, s := range sources {
		if seen[s.dir] {
			continue
		}
		name := strings.TrimSuffix(s.pkg, "_test")
		if slices.Contains(vague, name) || slices.Contains(vague, path.Base(s.dir)) {
			seen[s.dir] = true
			problems = append(problems, fmt.Sprintf("package %s: name it for what it provides", s.dir))
		}
	}
	return problems
}

// checkPublicFace looks for go-json-experiment in what the importable packages
// export, so that moving to the standard library's encoding/json/v2 breaks nobody.
func checkPublicFace(sources []source) []string {
	// An unexported alias would carry the type out under another name.
	aliases := map[string][]string{} // package folder to alias names
	type parsed struct {
		source
		file  *ast.File
		fset  *token.FileSet
		names []string
	}
	var files []parsed
	for _, s := range sources {
		if s.test || !importable(s.dir) {
			continue
		}
		f, fset, err := s.parse()
		if err != nil {
			return []string{err.Error()}
		}
		p := parsed{s, f, fset, importNames(f, func(p string) bool { return under(p, goJSON) })}
		files = append(files, p)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Assign.IsValid() && names(spec.Type, p.names, nil) != nil {
				aliases[s.dir] = append(aliases[s.dir], spec.Name.Name)
			}
			return true
		})
	}

	var problems []string
	for _, p := range files {
		if slices.Contains(p.names, ".") {
			problems = append(problems, fmt.Sprintf("%s imports %s as . : import it by a name", p.name, goJSON))
		}
		for _, e := range exported(p.file) {
			if n := names(e.node, p.names, aliases[p.dir]); n != nil {
				problems = append(problems, fmt.Sprintf("%s: exported %s names %s: raw JSON is json.RawMessage in the public face",
					p.fset.Position(n.Pos()), e.name, goJSON))
			}
		}
	}
	return problems
}

// A door is a piece of syntax that users of a package see.
type door struct {
	name string
	node ast.Node
}

// exported lists the doors of a file: signatures, types, fields, variables.
func exported(f *ast.File) []door {
	var doors []door
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil && len(d.Recv.List) == 1 {
				recv := receiver(d.Recv.List[0].Type)
				if !ast.IsExported(recv) {
					continue
				}
				name = recv + "." + name
			}
			if d.Name.IsExported() {
				doors = append(doors, door{"func " + name, d.Type})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						doors = append(doors, typeDoors("type "+s.Name.Name, s)...)
					}
				case *ast.ValueSpec:
					doors = append(doors, valueDoors(d.Tok.String(), s)...)
				}
			}
		}
	}
	return doors
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.ParenExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func typeDoors(name string, s *ast.TypeSpec) []door {
	var doors []door
	if s.TypeParams != nil {
		doors = append(doors, door{name, s.TypeParams})
	}
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return append(doors, door{name, s.Type})
	}
	for _, f := range fields.List {
		visible := len(f.Names) == 0 // embedded
		for _, n := range f.Names {
			visible = visible || n.IsExported()
		}
		if visible {
			doors = append(doors, door{name, f.Type})
		}
	}
	return doors
}

// valueDoors takes a variable's type, or without one the expression that its
// type is inferred from.
func valueDoors(kind string, s *ast.ValueSpec) []door {
	var doors []door
	for i, n := range s.Names {
		if !n.IsExported() {
			continue
		}
		switch {
		case s.Type != nil:
			doors = append(doors, door{kind + " " + n.Name, s.Type})
		case len(s.Values) == len(s.Names):
			doors = append(doors, door{kind + " " + n.Name, s.Values[i]})
		case len(s.Values) == 1:
			doors = append(doors, door{kind + " " + n.Name, s.Values[0]})
		}
	}
	return doors
}

// names finds the first mention of one of the imports or aliases in n. Bodies
// of functions are nobody's business.
func names(n ast.Node, imports, aliases []string) ast.Node {
	var found ast.Node
	ast.Inspect(n, func(n ast.Node) bool {
		if found != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			found = names(n.Type, imports, aliases)
			return false
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if slices.Contains(imports, x.Name) {
					found = n
				}
				return false
			}
		case *ast.Field:
			found = names(n.Type, imports, aliases)
			return false
		case *ast.Ident:
			if slices.Contains(aliases, n.Name) {
				found = n
			}
		}
		return found == nil
	})
	return found
}

func (s source) parse() (*ast.File, *token.FileSet, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, s.name, s.text, parser.SkipObjectResolution)
	return f, fset, err
}

// importNames lists the names by which a file knows the imports that match.
func importNames(f *ast.File, match func(string) bool) []string {
	var found []string
	for _, spec := range f.Imports {
		p := importPath(spec)
		switch {
		case !match(p):
		case spec.Name != nil:
			found = append(found, spec.Name.Name)
		default:
			found = append(found, path.Base(p))
		}
	}
	return found
}

// linkedModules asks the go command which modules each program of the module
// at dir links, besides the standard library and the module itself.
func linkedModules(t *testing.T, dir string) map[string][]string {
	t.Helper()
	linked := map[string][]string{}
	for _, line := range goList(t, dir, `-f={{if eq .Name "main"}}{{.ImportPath}} {{.Module.Path}}{{end}}`, "./...") {
		program, own, _ := strings.Cut(line, " ")
		modules := goList(t, dir, "-deps", "-f={{with .Module}}{{.Path}}{{end}}", program)
		slices.Sort(modules)
		modules = slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m == own })
		linked[strings.TrimPrefix(strings.TrimPrefix(program, own), "/")] = modules
	}
	return linked
}

func goList(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// checkModules compares what the programs link with the list, which has a
// module and a reason on each line.
func checkModules(linked map[string][]string, list string) []string {
	var problems []string
	reasons := map[string]string{}
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if strings.TrimSpace(reason) == "" {
			problems = append(problems, fmt.Sprintf("modules.txt gives no reason for %s", name))
		}
		reasons[name] = reason
	}
	used := map[string]bool{}
	for _, program := range slices.Sorted(maps.Keys(linked)) {
		for _, m := range linked[program] {
			if _, ok := reasons[m]; !ok && !used[m] {
				problems = append(problems, fmt.Sprintf("%s links %s, which modules.txt does not list: add it with the reason, or do without", program, m))
			}
			used[m] = true
		}
	}
	for _, m := range slices.Sorted(maps.Keys(reasons)) {
		if !used[m] {
			problems = append(problems, fmt.Sprintf("modules.txt lists %s, which no program links: take it out", m))
		}
	}
	return problems
}

// checkFootprint bounds what one program drags in.
func checkFootprint(linked map[string][]string, program string, most int) []string {
	modules, ok := linked[program]
	if !ok {
		return []string{fmt.Sprintf("there is no program %s", program)}
	}
	if len(modules) > most {
		return []string{fmt.Sprintf("%s links %d modules, want at most %d: %s", program, len(modules), most, strings.Join(modules, ", "))}
	}
	return nil
}
