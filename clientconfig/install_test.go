package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var entries = []struct {
	name  string
	entry Entry
}{
	{"stdio", Entry{Name: "bossman", Args: []string{"/opt/my apps/bossman", "mcp"}, Hook: "'/opt/my apps/bossman' hook", Pass: []string{"XDG_STATE_HOME"}}},
	{"http", Entry{Name: "bossman", URL: "https://bossman.example.org/mcp"}},
	{"key", Entry{Name: "bossman", URL: "https://bossman.example.org/mcp", KeyName: "BOSSMAN_KEY"}},
}

// tree returns the files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func writeAll(t *testing.T, plans []*Plan) {
	t.Helper()
	for _, p := range plans {
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
	}
}

// Every client and scope has a golden file with what is written, into the files of its sample and where there
// are none. What is written is read as it is meant, a second time changes nothing, and uninstalling restores
// every byte.
func TestInstall_golden(t *testing.T) {
	for _, c := range Clients() {
		t.Run(c.ID, func(t *testing.T) {
			sample, err := txtar.ParseFile(filepath.Join("testdata", c.ID+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			got := &txtar.Archive{}
			for _, files := range [][]txtar.File{nil, sample.Files} {
				for _, scope := range []Scope{User, Project} {
					for _, e := range entries {
						got.Files = append(got.Files, installOnce(t, c, scope, files, e.name, e.entry)...)
					}
				}
			}
			name := filepath.Join("testdata", "install", c.ID+".txtar")
			if *update {
				if err := os.WriteFile(name, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if text := txtar.Format(got); !bytes.Equal(text, want) {
				t.Errorf("wrote\n%s\nwant\n%s", text, want)
			}
		})
	}
}

func installOnce(t *testing.T, c *Client, scope Scope, files []txtar.File, name string, e Entry) (out []txtar.File) {
	t.Helper()
	p := unpack(t, files)
	dir := filepath.Dir(p.Home)
	if err := os.MkdirAll(p.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	plans, err := c.Install(p, scope, e)
	if errors.Is(err, ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s %s: %v", scope, name, err)
	}
	writeAll(t, plans)
	for _, pl := range plans {
		rel, _ := filepath.Rel(dir, pl.File.Path)
		where := map[bool]string{true: "existing", false: "new"}[pl.Old != nil]
		text := bytes.ReplaceAll(pl.New, []byte(filepath.ToSlash(p.Project)), []byte("PROJECT"))
		out = append(out, txtar.File{Name: fmt.Sprintf("%s %s %s", name, where, filepath.ToSlash(rel)), Data: text})
	}

	servers, err := c.Read(p)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(servers, func(s Server) bool { return s.Name == e.Name })
	if i < 0 || servers[i].Err != nil || servers[i].Scope != scope || !slices.Equal(servers[i].Args, e.Args) || servers[i].URL != e.URL || servers[i].Disabled {
		t.Errorf("%s %s is read as %+v", scope, name, servers)
	}
	again, err := c.Install(p, scope, e)
	if err != nil || slices.ContainsFunc(again, (*Plan).Changed) {
		t.Errorf("%s %s a second time: %v, %v", scope, name, again, err)
	}
	undo, err := c.Uninstall(p, scope, e)
	if err != nil {
		t.Fatalf("uninstall %s %s: %v", scope, name, err)
	}
	writeAll(t, undo)
	after := tree(t, dir)
	for file, text := range before {
		if after[file] != text {
			t.Errorf("%s %s: uninstall leaves %s as\n%s", scope, name, file, after[file])
		}
		delete(after, file)
	}
	for file := range after {
		t.Errorf("%s %s: uninstall leaves %s", scope, name, file)
	}
	if e.URL != "" || len(files) > 0 {
		return out
	}
	// Another entry is replaced only on request.
	writeAll(t, plansOf(t, c, p, scope, e))
	other := Entry{Name: e.Name, Args: []string{"other"}}
	if _, err := c.Install(p, scope, other); !errors.Is(err, ErrOther) {
		t.Errorf("%s: install over another entry = %v", scope, err)
	}
	other.Replace = true
	writeAll(t, plansOf(t, c, p, scope, other))
	if servers, err := c.Read(p); err != nil || len(servers) != 1 || !slices.Equal(servers[0].Args, other.Args) {
		t.Errorf("%s: replaced with %+v, %v", scope, servers, err)
	}
	undo, err = c.Uninstall(p, scope, e)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, undo)
	if left := tree(t, dir); len(left) > 0 {
		t.Errorf("%s: uninstall leaves %v", scope, left)
	}
	return out
}

func plansOf(t *testing.T, c *Client, p Places, scope Scope, e Entry) []*Plan {
	t.Helper()
	plans, err := c.Install(p, scope, e)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// A file that was changed after installing keeps that change, and loses only what was installed.
func TestUninstall_changed(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"claude", `{"mcpServers": {"bossman": {}}}`, ""},
		{"claude", "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"bossman\": {}\n  },\n  \"b\": 2\n}\n", "{\n  \"a\": 1,\n  \"b\": 2\n}\n"},
		{"claude", "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"bossman\": {}\n  }\n}\n", "{\n  \"a\": 1\n}\n"},
		{"claude", "{\n  \"mcpServers\": {\n    \"bossman\": {},\n    \"x\": {} // x\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {} // x\n  }\n}\n"},
		{"claude", "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n    \"bossman\": {}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {} // x\n  }\n}\n"},
		{"claude", "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n    \"bossman\": {}, // gone\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n     // gone\n  }\n}\n"},
		{"claude", `{"mcpServers": {"x": {}, "bossman": {}}}`, `{"mcpServers": {"x": {}}}`},
		{"claude", `{"mcpServers": {"bossman": {}, "x": {}}}`, `{"mcpServers": {"x": {}}}`},
		{"claude", "{\"mcpServers\": {\"x\": {}, // x\n\"bossman\": {}}}", "{\"mcpServers\": {\"x\": {} // x\n}}"},
		{"claude", "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t\"bossman\": {}\r\n\t}\r\n}", "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}"},
		{"codex", "a = 1\n\n[mcp_servers.bossman]\ncommand = \"x\"\n\n[mcp_servers.bossman.env]\nA = \"1\"\n\n# z\n[z]\nb = 1\n", "a = 1\n\n# z\n[z]\nb = 1\n"},
		{"codex", "[mcp_servers.bossman]\ncommand = \"x\"\n[z]\nb = 1", "[z]\nb = 1"},
		{"codex", "[mcp_servers]\n[mcp_servers.'bossman'] # x\ncommand = \"x\"", "[mcp_servers]\n"},
		{"goose", "a: 1\nextensions:\n  bossman:\n    cmd: x\n  # y\n  y:\n    cmd: y\n", "a: 1\nextensions:\n  # y\n  y:\n    cmd: y\n"},
		{"goose", "a: 1\nextensions: # all\n  bossman:\n    args:\n    - x\nb: 2\n", "a: 1\nextensions: {} # all\nb: 2\n"},
		{"goose", "extensions:\n  bossman:\n    cmd: x", ""},
	} {
		c, _ := Find(tt.client)
		p := Places{OS: "linux", Home: t.TempDir()}
		path := c.Files(p)[0].Path
		writeFile(t, path, tt.text)
		plans, err := c.Uninstall(p, User, plain)
		if err != nil {
			t.Errorf("%s: %q: %v", tt.client, tt.text, err)
			continue
		}
		writeAll(t, plans)
		if got, _ := os.ReadFile(path); string(got) != tt.want {
			t.Errorf("%s: %q becomes\n%q, want\n%q", tt.client, tt.text, got, tt.want)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A text that cannot be changed safely is refused, with what to write by hand.
func TestInstall_byHand(t *testing.T) {
	for _, tt := range []struct{ client, text, want string }{
		{"codex", "mcp_servers = { x = { command = \"x\" } }\n", "by hand:\n[mcp_servers.bossman]\n"},
		{"goose", "{a: 1}\n", "by hand:\nextensions:\n"},
		{"goose", "d: &d\n  x: {}\nextensions: *d\n", "by hand:\nextensions:\n"},
		{"goose", "a: 1\n---\nb: 2\n", "by hand:\nextensions:\n"},
	} {
		c, _ := Find(tt.client)
		p := Places{OS: "linux", Home: t.TempDir()}
		writeFile(t, c.Files(p)[0].Path, tt.text)
		if _, err := c.Install(p, User, Entry{Name: "bossman", Args: []string{"bossman", "mcp"}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q: %v", tt.client, tt.text, err)
		}
	}
}

// Hooks of others stay, and an older hook of Bossman is replaced.
func TestInstall_hooks(t *testing.T) {
	c, _ := Find("claude")
	p := Places{OS: "linux", Home: t.TempDir()}
	path := filepath.Join(p.Home, ".claude", "settings.json")
	text := `{
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]},
      {"hooks": [{"type": "command", "command": "/old/bossman hook Stop"}]}
    ]
  }
}
`
	writeFile(t, path, text)
	writeAll(t, plansOf(t, c, p, User, Entry{Name: "bossman", Args: []string{"bossman", "mcp"}, Hook: "bossman hook"}))
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"say done"`, `"bossman hook Stop"`, `"bossman hook SessionStart"`, `"bossman hook PostToolUse"`} {
		if strings.Count(string(got), part) != 1 {
			t.Errorf("%s is there %d times:\n%s", part, strings.Count(string(got), part), got)
		}
	}
	if strings.Contains(string(got), "/old/") {
		t.Errorf("the old hook is still there:\n%s", got)
	}
	undo, err := c.Uninstall(p, User, plain)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, undo)
	for command, want := range map[string]bool{
		"bossman hook Stop": true, "/x/bossman-0.1.0 hook Stop": true, "'/my apps/bossman' hook Stop": true, "bm hook Stop": true,
		"boss hook Stop": false, "bossman hook Start": false, "/bossman/x hook Stop": false, "echo; bossman hook Stop": false, "x bossman hook Stop": false, `"C:\\apps\\bossman.exe" hook Stop`: true, "'/a' '/bossman' hook Stop": false,
	} {
		hook := map[string]any{"hooks": []any{map[string]any{"command": command}}}
		if isHook(hook, "bm hook", "Stop") != want {
			t.Errorf("isHook(%s) = %v", command, !want)
		}
	}
	want := strings.Replace(text, ",\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"/old/bossman hook Stop\"}]}", "", 1)
	if got := tree(t, p.Home); len(got) != 1 || got[".claude/settings.json"] != want {
		t.Errorf("uninstall leaves\n%v, want\n%s", got, want)
	}
}

// Presence is told by the directories of a client.
func TestPresent(t *testing.T) {
	for _, tt := range []struct{ file, client string }{
		{".claude.json", "claude"},
		{".claude/x", "claude"},
		{".codex/x", "codex"},
		{".config/Code/User/x", "vscode"},
		{".codeium/windsurf/x", "windsurf"},
	} {
		p := Places{OS: "linux", Home: t.TempDir()}
		writeFile(t, filepath.Join(p.Home, tt.file), "x")
		for _, c := range Clients() {
			if got := c.Present(p); got != (c.ID == tt.client) {
				t.Errorf("with %s: %s is present: %v", tt.file, c.ID, got)
			}
		}
	}
}

// Hooks finds the programs of hooks that Install has added, with or without quotes, and no others.
func TestHooks(t *testing.T) {
	home := t.TempDir()
	p := Places{Home: home, OS: "linux"}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `{"hooks": {
  "Stop": [{"hooks": [{"type": "command", "command": "lint hook Stop"}]}, {"hooks": [{"type": "command", "command": "'/opt/my tools/bossman' hook Stop", "timeout": 5}]}],
  "SessionStart": [{"hooks": [{"type": "command", "command": "bossman hook SessionStart"}]}, {"hooks": 1}, null]
}}`
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := Find("claude")
	hooks, err := c.Hooks(p)
	if err != nil || len(hooks) != 2 || hooks[0].Program != "bossman" || hooks[1].Program != "/opt/my tools/bossman" || hooks[1].Event != "Stop" {
		t.Errorf("Hooks = %v, %v", hooks, err)
	}
	if err := os.WriteFile(filepath.Join(home, ".claude", "settings.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if hooks, err := c.Hooks(p); err == nil || hooks != nil {
		t.Errorf("Hooks of a broken file = %v, %v", hooks, err)
	}
}
