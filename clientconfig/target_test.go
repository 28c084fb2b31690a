package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var plain = Entry{Name: "bossman", Args: []string{"bossman", "mcp"}}

// A user's file that is a link is written where it leads, and stays a link; mode and backup are kept.
func TestWrite_dotfiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no symbolic links")
	}
	dir := t.TempDir()
	p := Places{OS: "linux", Home: filepath.Join(dir, "home")}
	text := "{\n\t// mine\n\t\"mcpServers\": {}\n}\n"
	file, link := filepath.Join(dir, "dotfiles", "cursor.json"), filepath.Join(p.Home, ".cursor", "mcp.json")
	writeFile(t, file, text)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("../../dotfiles/cursor.json", link)); err != nil {
		t.Fatal(err)
	}
	c, _ := Find("cursor")
	writeAll(t, plansOf(t, c, p, User, plain))
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v, %v", info, err)
	}
	backup := file + backupSuffix
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v", info, err)
	}
	other := plain
	other.Args, other.Replace = []string{"/x/bossman", "mcp"}, true
	writeAll(t, plansOf(t, c, p, User, other))
	if got, err := os.ReadFile(backup); err != nil || string(got) != text {
		t.Errorf("the backup has %q, %v", got, err)
	}
	undo, err := c.Uninstall(p, User, plain)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, undo)
	if got := tree(t, filepath.Dir(file)); len(got) != 1 || got["cursor.json"] != text {
		t.Errorf("uninstall leaves %q", got)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// A project's files come from others: no link leads out of the project or into its git directory.
func TestWrite_project(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no symbolic links")
	}
	c, _ := Find("cursor")
	for _, tt := range []struct {
		name  string
		files map[string]string // a value that begins with @ is where a link leads
		want  string
	}{
		{"a file", map[string]string{".cursor/mcp.json": "{}"}, ""},
		{"a link inside", map[string]string{"config/mcp.json": "{}", ".cursor": "@config"}, ""},
		{"a link to a file inside", map[string]string{"mcp.json": "{}", ".cursor/mcp.json": "@../mcp.json"}, ""},
		{"a link out", map[string]string{"../outside.json": "{}", ".cursor/mcp.json": "@../../outside.json"}, "out of the project"},
		{"a directory outside", map[string]string{"../outside/x": "", ".cursor": "@../outside"}, "out of the project"},
		{"a link to nothing", map[string]string{"../outside/x": "", ".cursor/mcp.json": "@../../outside/new"}, "leads nowhere"},
		{"a directory that is a link to nothing", map[string]string{".cursor": "@../outside"}, "leads nowhere"},
		{"a link into .git", map[string]string{".git/hooks/x": "", ".cursor": "@.git/hooks"}, "git directory"},
		{"a directory", map[string]string{".cursor/mcp.json/x": ""}, "not a regular file"},
		{"a large file", map[string]string{".cursor/mcp.json": "{}" + strings.Repeat(" ", maxProject)}, "the limit is"},
		{"no JSON", map[string]string{".cursor/mcp.json": "{"}, "is not JSON"},
		{"a list", map[string]string{".cursor/mcp.json": `{"mcpServers": []}`}, "want object, got list"},
	} {
		dir := t.TempDir()
		p := Places{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
		for name, text := range tt.files {
			path := filepath.Join(p.Project, name)
			to, link := strings.CutPrefix(text, "@")
			if !link {
				writeFile(t, path, text)
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(to, path)); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, dir)
		plans, err := c.Install(p, Project, plain)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		writeAll(t, plans)
		if servers, err := c.Read(p); err != nil || len(servers) != 1 {
			t.Errorf("%s: read %v, %v", tt.name, servers, err)
		}
		undo, err := c.Uninstall(p, Project, plain)
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, undo)
		if after := tree(t, dir); len(after) != len(before) {
			t.Errorf("%s: uninstall leaves %v", tt.name, after)
		}
	}
}

// What another program wrote meanwhile is not overwritten.
func TestWrite_meanwhile(t *testing.T) {
	c, _ := Find("claude")
	p := Places{OS: "linux", Home: t.TempDir()}
	path := c.Files(p)[0].Path
	plans := plansOf(t, c, p, User, plain)
	writeFile(t, path, `{"a": 1}`)
	if err := plans[0].Write(); !errors.Is(err, errChanged) {
		t.Errorf("a file that came meanwhile: %v", err)
	}
	plans = plansOf(t, c, p, User, plain)
	writeFile(t, path, `{"a": 2}`)
	if err := plans[0].Write(); !errors.Is(err, errChanged) {
		t.Errorf("a file that was changed: %v", err)
	}
	if got := tree(t, p.Home); len(got) != 1 || got[".claude.json"] != `{"a": 2}` {
		t.Errorf("there is %q", got)
	}
}

// Files that others may write, or have written, are not changed.
func TestWrite_others(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions")
	}
	c, _ := Find("claude")
	p := Places{OS: "linux", Home: t.TempDir()}
	path := c.Files(p)[0].Path
	writeFile(t, path, "{}")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(p, User, plain); err == nil || !strings.Contains(err.Error(), "world-writable") {
		t.Errorf("a world-writable file: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := errors.Join(os.Chmod(path, 0o644), os.Chown(path, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Install(p, User, plain); err == nil || !strings.Contains(err.Error(), "another user") {
		t.Errorf("a file of another user: %v", err)
	}
	if err := os.Chown(path, 0, 1234); err != nil {
		t.Fatal(err)
	}
	writeAll(t, plansOf(t, c, p, User, plain))
	if info, _ := os.Stat(path); ofOthers(info) || groupOf(info) != 1234 {
		t.Errorf("the group is %d", groupOf(info))
	}
}

// What is new has the modes that such files have: the user's are private.
func TestWrite_modes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permissions")
	}
	c, _ := Find("cursor")
	p := Places{OS: "linux", Home: t.TempDir(), Project: t.TempDir()}
	writeAll(t, plansOf(t, c, p, User, plain))
	writeAll(t, plansOf(t, c, p, Project, plain))
	for path, want := range map[string]os.FileMode{
		filepath.Join(p.Home, ".cursor"):                0o700,
		filepath.Join(p.Home, ".cursor", "mcp.json"):    0o600,
		filepath.Join(p.Project, ".cursor", "mcp.json"): 0o644,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, %v, want %o", path, info.Mode(), err, want)
		}
	}
}
