//go:build unix

package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// cursor is where the tests put a file of Cursor's.
func cursor(t *testing.T) (*Client, Places, string) {
	t.Helper()
	c, _ := Find("cursor")
	p := Places{OS: "linux", Home: t.TempDir(), Project: t.TempDir()}
	for _, f := range c.Files(p) {
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return c, p, c.Files(p)[0].Path
}

func TestRead_noFile(t *testing.T) {
	c, p, _ := cursor(t)
	if servers, err := c.Read(p); err != nil || len(servers) != 0 {
		t.Errorf("Read = %v, %v; want nothing", servers, err)
	}
}

func TestRead_projectWins(t *testing.T) {
	c, p, path := cursor(t)
	write(t, path, `{"mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}}}`)
	write(t, c.Files(p)[1].Path, `{"mcpServers": {"a": {"command": "project"}}}`)
	servers, err := c.Read(p)
	if err != nil || len(servers) != 3 {
		t.Fatalf("Read = %v, %v", servers, err)
	}
	for i, want := range []struct {
		command  string
		scope    Scope
		shadowed bool
	}{{"project", Project, false}, {"user", User, true}, {"user", User, false}} {
		if s := servers[i]; s.Args[0] != want.command || s.Scope != want.scope || s.Shadowed != want.shadowed {
			t.Errorf("server %d = %+v, want %+v", i, s, want)
		}
	}
}

// A file of the project that cannot be read does not take the user's servers away.
func TestRead_oneBroken(t *testing.T) {
	c, p, path := cursor(t)
	write(t, path, `{"mcpServers": {"a": {"command": "user"}}}`)
	write(t, c.Files(p)[1].Path, `{`)
	servers, err := c.Read(p)
	if e, ok := errors.AsType[*Error](err); !ok || e.File != c.Files(p)[1].Path || len(servers) != 1 {
		t.Errorf("Read = %v, %v", servers, err)
	}
}

// What is wrong with a file as a whole is told with its path.
func TestRead_refused(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		make       func(t *testing.T, path string)
	}{
		{"too large", "the limit is 1048576", func(t *testing.T, path string) {
			write(t, path, `{"a":"`+strings.Repeat("x", maxFile)+`"}`)
		}},
		{"world-writable", "is world-writable", func(t *testing.T, path string) {
			write(t, path, `{}`)
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}},
		{"a pipe", "is not a regular file", func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"a folder", "is not a regular file", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{"no JSON", "is not JSON: line 2", func(t *testing.T, path string) { write(t, path, "{\n  nonsense }") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, p, path := cursor(t)
			tt.make(t, path)
			_, err := c.Read(p)
			if e, ok := errors.AsType[*Error](err); !ok || e.File != path || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v, want %s: … %s", err, path, tt.want)
			}
			if errors.Is(err, fs.ErrNotExist) {
				t.Error("it is taken for a file that is not there")
			}
		})
	}
}

// A file that is exchanged for a pipe while it is read is not waited for: what is checked is what is open.
func TestRead_exchanged(t *testing.T) {
	_, p, path := cursor(t)
	write(t, path, `{}`)
	root, err := os.OpenRoot(p.Home)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, open := range map[string]func(string, int, fs.FileMode) (*os.File, error){
		path: os.OpenFile, strings.TrimPrefix(path, p.Home+"/"): root.OpenFile,
	} {
		exchange := func(name string, flag int, perm fs.FileMode) (*os.File, error) {
			if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
				t.Fatal(err)
			}
			return open(name, flag, perm)
		}
		if _, err := readFile(name, maxFile, exchange, nil); err == nil || err.Error() != "is not a regular file" {
			t.Errorf("readFile = %v, want that it is not a regular file", err)
		}
	}
}

// Files of Claude Code hold more than servers, and grow.
func TestRead_largeClaude(t *testing.T) {
	c, _ := Find("claude")
	p := Places{OS: "linux", Home: t.TempDir()}
	write(t, c.Files(p)[0].Path, `{"history":"`+strings.Repeat("x", 3*maxFile)+`","mcpServers":{"a":{"command":"a"}}}`)
	if servers, err := c.Read(p); err != nil || len(servers) != 1 {
		t.Errorf("Read = %v, %v", servers, err)
	}
}

func TestRead_empty(t *testing.T) {
	for _, c := range Clients() {
		for _, text := range []string{"", " \n", "\ufeff"} {
			if servers, err := c.Parse([]byte(text), File{Path: "x", Scope: User}, ""); err != nil || len(servers) != 0 {
				t.Errorf("%s: %q = %v, %v", c.ID, text, servers, err)
			}
		}
	}
	c, _ := Find("cursor")
	bom := append([]byte("\ufeff"), `{"mcpServers":{"a":{"command":"a"}}}`...)
	if servers, err := c.Parse(bom, File{Path: "x"}, ""); err != nil || len(servers) != 1 {
		t.Errorf("behind a byte order mark: %v, %v", servers, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, bytes.Clone([]byte(text)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A project brings files of others: they are small, and have few servers. The file in which
// Claude Code keeps everything is the user's own, and may be large.
func TestRead_manyServers(t *testing.T) {
	c, _ := Find("claude")
	p := Places{OS: "linux", Home: t.TempDir(), Project: t.TempDir()}
	user, project := c.Files(p)[0].Path, c.Files(p)[1].Path
	many := func(n int, more string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%x":{"command":"x"}`, i)
		}
		return `{"more":"` + more + `","mcpServers":{` + b.String()[1:] + `}}`
	}
	for _, c2 := range []struct {
		path, text string
		want       int
		err        string
	}{
		{project, many(maxServers, ""), maxServers, ""},
		{project, many(maxServers+1, ""), 0, "mcpServers: has more than 1000 servers"},
		{project, many(1, strings.Repeat("x", maxProject)), 0, "the limit is 262144"},
		{user, many(1, strings.Repeat("x", 2<<20)), 1, ""},
	} {
		write(t, c2.path, c2.text)
		servers, err := c.Read(p)
		if len(servers) != c2.want || (err == nil) != (c2.err == "") || err != nil && !strings.Contains(err.Error(), c2.err) {
			t.Errorf("Read = %d servers, %v; want %d, %q", len(servers), err, c2.want, c2.err)
		}
		if err := os.Remove(c2.path); err != nil {
			t.Fatal(err)
		}
	}
}

// A symbolic link in the project is followed as long as it stays there. The user's own may lead anywhere.
func TestRead_link(t *testing.T) {
	c, p, path := cursor(t)
	elsewhere := filepath.Join(t.TempDir(), "mcp.json")
	write(t, elsewhere, `{"mcpServers": {"a": {"command": "elsewhere"}}}`)
	write(t, filepath.Join(p.Project, "shared.json"), `{"mcpServers": {"b": {"command": "project"}}}`)
	own := c.Files(p)[1].Path
	link := func(to, path string) {
		t.Helper()
		if err := errors.Join(os.RemoveAll(path), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
	}
	link(elsewhere, path)
	link("../shared.json", own)
	if servers, err := c.Read(p); err != nil || len(servers) != 2 || servers[0].Scope != User || servers[1].Scope != Project {
		t.Errorf("Read = %+v, %v; want a server of each file", servers, err)
	}
	link(elsewhere, own)
	servers, err := c.Read(p)
	if len(servers) != 1 || err == nil || !strings.Contains(err.Error(), own) || !strings.Contains(err.Error(), "leads out of the project by a symbolic link") {
		t.Errorf("Read = %+v, %v; want the user's server alone", servers, err)
	}
	link(filepath.Dir(elsewhere), filepath.Dir(own))
	servers, err = c.Read(p)
	if len(servers) != 1 || err == nil || !strings.Contains(err.Error(), "leads out of the project by a symbolic link") {
		t.Errorf("Read through a directory = %+v, %v; want the user's server alone", servers, err)
	}
	link("nowhere", filepath.Dir(own))
	if servers, err = c.Read(p); len(servers) != 1 || err != nil {
		t.Errorf("Read of what is not there = %+v, %v", servers, err)
	}
}
