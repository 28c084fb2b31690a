package clientconfig

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The entries that docs/agents.md shows are read as they are meant, and the files that
// it names are those of the clients.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]string{"Claude Code": "claude", "VS Code with Copilot": "vscode", "Codex": "codex", "Gemini CLI": "gemini", "Crush": "crush"}
	entries := regexp.MustCompile("(?m)^([A-Z][A-Za-z ]+), `([^`]+)`:\n\n```[a-z]+\n((?s:.+?))```$").FindAllStringSubmatch(string(page), -1)
	for _, e := range entries {
		title, file, text := e[1], e[2], e[3]
		c, ok := Find(clients[title])
		if !ok {
			t.Errorf("there is no client %q", title)
			continue
		}
		delete(clients, title)
		files := c.Files(Places{Home: "/home/ann", Project: "/web"})
		if !slices.ContainsFunc(files, func(f File) bool { return f.Path == "/web/"+file && f.Scope == Project }) {
			t.Errorf("%s does not read %s but %v", title, file, files)
		}
		servers, err := c.Parse([]byte(text), File{Path: "/web/" + file, Scope: Project}, "/web")
		if err != nil || len(servers) != 1 || servers[0].Name != "bossman" || strings.Join(servers[0].Args, " ") != "bossman mcp" {
			t.Errorf("%s reads %s as %+v, %v", title, text, servers, err)
		}
	}
	for title := range clients {
		t.Errorf("docs/agents.md has no entry for %s", title)
	}
}
