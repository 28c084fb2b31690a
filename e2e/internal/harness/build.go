package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The programs under test, by their package path.
const (
	AddServer      = "github.com/bossman-dev/bossman/examples/add"
	FeaturesServer = "github.com/bossman-dev/bossman/internal/conformance/server"
	Bossman        = "github.com/bossman-dev/bossman/cmd/bossman"
	FeaturesClient = "github.com/bossman-dev/bossman/internal/conformance/client"
)

// instead names the variables that put another command in a server's place.
var instead = map[string]string{
	AddServer:      "BOSSMAN_E2E_ADD",
	FeaturesServer: "BOSSMAN_E2E_FEATURES",
}

// Dir is a path below the folder e2e. Tests run in the folder of their package,
// and e2e is the first above it with a go.mod.
func Dir(elem ...string) string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, elem...)...)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			panic("harness: not inside the module e2e")
		}
		dir = parent
	}
}

// Programs are the servers under test and the tee, built.
type Programs struct {
	tee     string
	servers map[string][]string
}

// Build builds the tee and the servers named into dir.
func Build(dir string, servers ...string) (*Programs, error) {
	p := &Programs{tee: filepath.Join(dir, "tee"), servers: map[string][]string{}}
	if err := gobuild(Dir(), p.tee, "./tee"); err != nil {
		return nil, err
	}
	for _, pkg := range servers {
		if other := os.Getenv(instead[pkg]); other != "" {
			p.servers[pkg] = strings.Fields(other)
			continue
		}
		out := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(pkg, "github.com/bossman-dev/bossman/"), "/", "-"))
		if err := gobuild(Dir(".."), out, pkg); err != nil {
			return nil, err
		}
		p.servers[pkg] = []string{out}
	}
	return p, nil
}

// Server is the command line of a server behind the tee, and the record that
// the tee keeps of this test's conversations with it.
func (p *Programs) Server(t testing.TB, pkg string) ([]string, *Record) {
	t.Helper()
	argv, ok := p.servers[pkg]
	if !ok {
		t.Fatalf("server %s was not built", pkg)
	}
	rec := &Record{path: filepath.Join(t.TempDir(), "conversation.jsonl")}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the end of the conversation:\n%s", rec.tail(12))
		}
	})
	return append([]string{p.tee, rec.path}, argv...), rec
}

// Path is where a program is that was built, for who starts it without the tee.
func (p *Programs) Path(pkg string) string {
	argv := p.servers[pkg]
	if len(argv) != 1 {
		panic("harness: " + pkg + " was not built")
	}
	return argv[0]
}

// BuildProgram builds one program of the product to a file, with these flags.
func BuildProgram(out, pkg string, flags ...string) error {
	return gobuild(Dir(".."), out, pkg, flags...)
}

func gobuild(dir, out, pkg string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", out, pkg)...)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, b)
	}
	return nil
}
