package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

func TestSecretsAreComparedInConstantTime(t *testing.T) { report(t, checkSecrets(load(t, root))) }

// secretName is what secrets and their hashes are called.
var secretName = regexp.MustCompile(`(?i)secret|token|password|hash|digest|checksum|^sum$|^mac$|^reveal$`)

// comparers are functions that stop at the first difference.
var comparers = []string{
	"bytes.Equal", "bytes.Compare", "bytes.HasPrefix", "slices.Equal", "slices.Compare", "strings.Compare", "strings.EqualFold",
	"cmp.Compare", "reflect.DeepEqual", "slices.Contains", "slices.Index",
}

// checkSecrets refuses, in package auth and in files that import it, a comparison that
// tells by its time how much of a secret was right. What is compared with a constant
// is no secret: is there one at all?
func checkSecrets(sources []source) []string {
	var problems []string
	for _, s := range sources {
		if s.test || !under(s.dir, "auth") && !slices.Contains(s.imports, module+"/auth") {
			continue
		}
		f, fset, err := s.parse()
		if err != nil {
			return append(problems, err.Error())
		}
		complain := func(n ast.Node, what string) {
			problems = append(problems, fmt.Sprintf("%s compares a secret with %s: use subtle.ConstantTimeCompare", fset.Position(n.Pos()), what))
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && !constant(n.X) && !constant(n.Y) && (secret(n.X) || secret(n.Y)) {
					complain(n, n.Op.String())
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && secret(n.Tag) {
					complain(n, "switch")
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok {
					break
				}
				pkg, ok := sel.X.(*ast.Ident)
				if ok && slices.Contains(comparers, pkg.Name+"."+sel.Sel.Name) && slices.ContainsFunc(n.Args, secret) && !slices.ContainsFunc(n.Args, constant) {
					complain(n, pkg.Name+"."+sel.Sel.Name)
				}
			}
			return true
		})
	}
	return problems
}

// secret tells an expression whose name says that it is one.
func secret(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return secretName.MatchString(e.Name)
	case *ast.SelectorExpr:
		return secretName.MatchString(e.Sel.Name)
	case *ast.CallExpr:
		return secret(e.Fun) || len(e.Args) == 1 && conversion(e.Fun) && secret(e.Args[0])
	case *ast.IndexExpr:
		return secret(e.X)
	case *ast.SliceExpr:
		return secret(e.X)
	case *ast.StarExpr:
		return secret(e.X)
	case *ast.ParenExpr:
		return secret(e.X)
	}
	return false
}

// conversion tells string(x) and []byte(x).
func conversion(f ast.Expr) bool {
	if id, ok := f.(*ast.Ident); ok {
		return id.Name == "string"
	}
	_, ok := f.(*ast.ArrayType)
	return ok
}

func constant(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "nil"
	}
	return false
}

func TestSecretRule(t *testing.T) {
	const head = "package auth\nfunc f(k Key, hash, secret, other string, text Secret) bool {\n"
	for body, want := range map[string]bool{
		"return k.Hash == other":                          true,
		"return other != secret":                          true,
		"return string(secret) == other":                  true,
		"return text.Reveal() == other":                   true,
		"return bytes.Equal(k.Hash[:], []byte(other))":    true,
		"return reflect.DeepEqual(other, hash)":           true,
		"switch hash { case other: return true }; return": true,
		`return secret == ""`:                             false,
		"return other == k.Name":                          false,
		"return len(secret) == n":                         false,
		"return subtle.ConstantTimeCompare(hash, x) == 1": false,
	} {
		for name, reached := range map[string]bool{"auth/a.go": true, "tools/a.go": false, "auth/a_test.go": false} {
			s := source{name: name, dir: map[bool]string{true: "auth", false: "tools"}[name != "tools/a.go"], test: name == "auth/a_test.go", text: []byte(head + body + "\n}\n")}
			if got := len(checkSecrets([]source{s})) > 0; got != (want && reached) {
				t.Errorf("%s: %s: refused is %t", name, body, got)
			}
		}
	}
}
