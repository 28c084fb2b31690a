package gateway

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/mcp"
)

// startOf returns the command of an upstream as it is started.
func startOf(t *testing.T, g *Gateway, name string) *mcp.Command {
	t.Helper()
	var got *mcp.Command
	g.o.Start = func(_ context.Context, c *mcp.Command, _ *mcp.ClientOptions) (*mcp.Client, error) {
		got = c
		return nil, errors.New("not now")
	}
	if err := g.Probe(t.Context(), name); err == nil || got == nil {
		t.Fatalf("Probe = %v", err)
	}
	return got
}

// Without a directory, an upstream runs in an empty one of its own: an interpreter finds nothing there that a clone has brought.
func TestDirectory(t *testing.T) {
	clone, scratch := t.TempDir(), t.TempDir()
	t.Chdir(clone)
	t.Setenv("PATH", "."+string(os.PathListSeparator)+os.Getenv("PATH")+string(os.PathListSeparator)+"bin"+string(os.PathListSeparator))
	job := t.TempDir()
	elsewhere := t.TempDir()
	list := []Upstream{
		{Name: "none", Command: []string{"python3", "-m", "server"}, Env: map[string]auth.Secret{"PYTHONPATH": ":/opt/py:lib:", "NODE_PATH": ".", "RELATIVE": "lib"}},
		{Name: "here", Command: []string{"python3"}, Dir: Here, Env: map[string]auth.Secret{"PATH": ".:/opt/bin"}},
		{Name: "there", Command: []string{"./server"}, Dir: elsewhere, Env: map[string]auth.Secret{"PYTHONPATH": "lib"}},
	}
	g, err := New(t.Context(), list, &Options{Dir: job, Scratch: func() (string, error) { return scratch, nil }})
	if err != nil {
		t.Fatal(err)
	}
	i := g.instance(g.upstreams["none"], "")
	for range 2 {
		c, err := i.command()
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(c.Dir)
		if err != nil || filepath.Dir(c.Dir) != scratch || info.Mode() != os.ModeDir|0o700 {
			t.Fatalf("it runs in %s, %v %v", c.Dir, info, err)
		}
		if entries, err := os.ReadDir(c.Dir); err != nil || len(entries) > 0 {
			t.Fatalf("its directory has %v, %v", entries, err)
		}
		// What it, or an agent by its tools, writes there is not there at the next start.
		if err := os.WriteFile(filepath.Join(c.Dir, "json.py"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := startOf(t, g, "none")
	if one, _ := i.command(); one.Dir == c.Dir {
		t.Errorf("two processes run in %s", c.Dir)
	}
	if !slices.Contains(c.Env, "PYTHONPATH=/opt/py") || !slices.Contains(c.Env, "RELATIVE=lib") || slices.ContainsFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "NODE_PATH=") }) {
		t.Errorf("its environment is %v", c.Env)
	}
	path, _ := strings.CutPrefix(c.Env[0], "PATH=")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			t.Errorf("its PATH has %q", dir)
		}
	}
	if c := startOf(t, g, "here"); c.Dir != job || !slices.Contains(c.Env, "PATH=/opt/bin") {
		t.Errorf("with dir = \".\" it runs in %s with %v", c.Dir, c.Env)
	}
	if c := startOf(t, g, "there"); c.Dir != elsewhere || !slices.Contains(c.Env, "PYTHONPATH=lib") {
		t.Errorf("with a directory it runs in %s with %v", c.Dir, c.Env)
	}
}

// A PATH of relative directories alone is not empty for the program: that would be the current directory.
func TestDirectory_emptyPath(t *testing.T) {
	t.Setenv("PATH", ".:bin")
	g, err := New(t.Context(), []Upstream{{Name: "up", Command: []string{"up"}}}, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := startOf(t, g, "up")
	if c.Env[0] != "PATH="+os.DevNull {
		t.Errorf("its environment is %v", c.Env)
	}
	if g.Close(); exists(filepath.Dir(c.Dir)) {
		t.Errorf("%s is still there", c.Dir)
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func TestReadUpstreams_directory(t *testing.T) {
	for _, c := range []struct {
		command, dir, want string
	}{
		{"server", "", ""},
		{"/opt/server", "", ""},
		{"/opt/server", Here, ""},
		{"./server", "/opt", ""},
		{"server", "tools", `dir: "tools" is neither`},
		{"server", "./", `dir: "./" is neither`},
		{"./server", "", `command: "./server" is a relative path`},
		{"tools/server", Here, `command: "tools/server" is a relative path`},
	} {
		table := map[string]any{"command": []any{c.command}}
		if c.dir != "" {
			table["dir"] = c.dir
		}
		_, err := ReadUpstreams(map[string]any{"up": table}, nil)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q in %q: %v", c.command, c.dir, err)
		}
	}
}
