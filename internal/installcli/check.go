package installcli

import (
	"io"
	"os"
	"regexp"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// maxLook is how many bytes of a project's file are looked at.
const maxLook = 256 << 10

// checks are commands that are suggested for a project, best first: each for a file that it has.
var checks = []struct {
	file    string
	fits    func(text []byte) bool // nil: if the file is there
	command []string
}{
	{"Makefile", target("check"), []string{"make", "check"}},
	{"Makefile", target("test"), []string{"make", "test"}},
	{"justfile", target("test"), []string{"just", "test"}},
	{"go.mod", nil, []string{"go", "test", "./..."}},
	{"Cargo.toml", nil, []string{"cargo", "test"}},
	{"package.json", nil, nil}, // see nodeCheck
	{"deno.json", nil, []string{"deno", "test"}},
	{"uv.lock", nil, []string{"uv", "run", "pytest"}},
	{"pyproject.toml", nil, []string{"python", "-m", "pytest"}},
	{"pytest.ini", nil, []string{"python", "-m", "pytest"}},
	{"gradlew", nil, []string{"./gradlew", "check"}},
	{"mvnw", nil, []string{"./mvnw", "-q", "verify"}},
	{"pom.xml", nil, []string{"mvn", "-q", "verify"}},
	{"mix.exs", nil, []string{"mix", "test"}},
	{".rspec", nil, []string{"bundle", "exec", "rspec"}},
}

// target returns a function that finds a target in a Makefile.
func target(name string) func([]byte) bool {
	return regexp.MustCompile(`(?m)^` + name + `[ \t]*:([^=]|$)`).Match
}

// suggestCheck returns the command that probably checks a project, nil if none is known. It reads files of
// the project, and runs nothing.
func suggestCheck(dir string) []string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer root.Close()
	for _, c := range checks {
		text, ok := look(root, c.file)
		switch {
		case !ok || c.fits != nil && !c.fits(text):
		case c.command == nil:
			if command := nodeCheck(root, text); command != nil {
				return command
			}
		default:
			return c.command
		}
	}
	return nil
}

// nodeCheck returns the command that runs the tests of a package.json, nil if it has none.
func nodeCheck(root *os.Root, text []byte) []string {
	var p struct {
		Scripts struct {
			Test string `json:"test"`
		} `json:"scripts"`
	}
	if json.Unmarshal(text, &p) != nil || p.Scripts.Test == "" || p.Scripts.Test == `echo "Error: no test specified" && exit 1` {
		return nil
	}
	for _, lock := range []struct{ file, program string }{{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}} {
		if _, err := root.Lstat(lock.file); err == nil {
			return []string{lock.program, "run", "test"}
		}
	}
	return []string{"npm", "test"}
}

// look reads the beginning of a regular file in a project. It follows no symbolic link, and waits for no pipe.
func look(root *os.Root, name string) ([]byte, bool) {
	f, info, err := plaindir.OpenFile(root.OpenFile, name)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if named, err := root.Lstat(name); err != nil || !os.SameFile(named, info) {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, maxLook))
	return text, err == nil
}
