package clientconfig

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestFind(t *testing.T) {
	for _, name := range []string{"claude", "claude-code", "vscode", "code", "gemini-cli"} {
		if _, ok := Find(name); !ok {
			t.Errorf("Find(%s) finds nothing", name)
		}
	}
	if c, ok := Find("emacs"); ok {
		t.Errorf("Find(emacs) = %v", c.ID)
	}
}

// The table is complete: every row can be read.
func TestClients(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clients() {
		for _, name := range append([]string{c.ID}, c.row.Also...) {
			if seen[name] {
				t.Errorf("%s stands for two clients", name)
			}
			seen[name] = true
		}
		if formats[c.row.Format] == nil {
			t.Errorf("%s: format %q", c.ID, c.row.Format)
		}
		if !slices.Contains([]string{"none", "braces", "shell", "named", "plain"}, c.row.Variables) {
			t.Errorf("%s: variables %q", c.ID, c.row.Variables)
		}
		f := c.row.Fields
		if len(c.row.Key) == 0 || c.Title == "" || f.Command == "" && f.Argv == "" {
			t.Errorf("%s: key %q, title %q, fields %+v", c.ID, c.row.Key, c.Title, f)
		}
		for typ, way := range c.row.Types {
			if way != "stdio" && way != "http" {
				t.Errorf("%s: type %s is %q", c.ID, typ, way)
			}
		}
		for _, os := range []string{"linux", "darwin", "windows"} {
			files := c.Files(Places{OS: os, Home: "/home/ann", Project: "/web"})
			if len(files) == 0 {
				t.Errorf("%s has no file on %s", c.ID, os)
			}
			for _, file := range files {
				if !filepath.IsAbs(file.Path) {
					t.Errorf("%s on %s: %s", c.ID, os, file.Path)
				}
			}
		}
	}
}

func TestFiles(t *testing.T) {
	moved := func(name string) (string, bool) {
		v, ok := map[string]string{"XDG_CONFIG_HOME": "/xdg", "CODEX_HOME": "/codex", "APPDATA": "/roaming", "CLAUDE_CONFIG_DIR": ""}[name]
		return v, ok
	}
	for _, tt := range []struct{ client, os, want string }{
		{"claude", "linux", "/home/ann/.claude.json"}, // a variable that is empty counts as not set
		{"codex", "linux", "/codex/config.toml"},
		{"zed", "linux", "/xdg/zed/settings.json"},
		{"zed", "darwin", "/home/ann/.config/zed/settings.json"},
		{"vscode", "darwin", "/home/ann/Library/Application Support/Code/User/mcp.json"},
		{"claude-desktop", "windows", "/roaming/Claude/claude_desktop_config.json"},
		{"windsurf", "linux", "/home/ann/.codeium/windsurf/mcp_config.json"},
	} {
		c, _ := Find(tt.client)
		files := c.Files(Places{OS: tt.os, Home: "/home/ann", Getenv: moved})
		if len(files) == 0 || files[0].Path != tt.want || files[0].Scope != User {
			t.Errorf("%s on %s: %v, want %s", tt.client, tt.os, files, tt.want)
		}
	}
	c, _ := Find("cursor")
	if files := c.Files(Places{OS: "linux"}); len(files) != 0 {
		t.Errorf("without a home: %v", files)
	}
}
