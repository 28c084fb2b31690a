package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadUpstreams(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { return "v-" + name, name != "UNSET" }
	type table = map[string]any
	list, err := ReadUpstreams(table{
		"git":  table{"command": []any{"npx", "-y", "git"}, "env": table{"A": "${X}-${Y}", "B": "plain"}, "max": int64(3), "class": "claim", "tools": table{"deny": []any{"rm_*"}, "read": []any{"get_*"}}},
		"web2": table{"url": "https://example.com/mcp", "headers": table{"Authorization": "file:" + file}, "timeout": "5s", "share": "shared"},
	}, lookup)
	if err != nil || len(list) != 2 {
		t.Fatalf("ReadUpstreams = %v, %v", list, err)
	}
	git, web := list[0], list[1]
	if git.Env["A"].Reveal() != "v-X-v-Y" || git.Max != 3 || git.Timeout != time.Minute || git.Share != ShareOwn || git.List != "auto" {
		t.Errorf("git = %+v", git)
	}
	if git.classOf("get_x") != ClassRead || git.classOf("put_x") != ClassClaim || git.offers("rm_x") || !git.offers("x") {
		t.Error("classes or patterns are wrong")
	}
	if web.Headers["Authorization"].Reveal() != "from-file" || web.Max != maxOverHTTP || web.Timeout != 5*time.Second {
		t.Errorf("web = %+v", web)
	}
	if text := fmt.Sprintf("%+v", web); strings.Contains(text, "from-file") {
		t.Errorf("a secret is shown: %s", text)
	}
	if got := newRedactor(&web).text("bad token from-file!"); got != "bad token [redacted]!" {
		t.Errorf("redact = %q", got)
	}
	command := []any{"x"}
	for name, sections := range map[string]table{
		"name":     {"Git": table{"command": command}},
		"long":     {strings.Repeat("a", 17): table{"command": command}},
		"section":  {"a": "x"},
		"neither":  {"a": table{}},
		"both":     {"a": table{"command": command, "url": "https://x"}},
		"unknown":  {"a": table{"command": command, "comand": "x"}},
		"tools":    {"a": table{"command": command, "tools": table{"x": "y"}}},
		"share":    {"a": table{"command": command, "share": "person"}},
		"unset":    {"a": table{"command": command, "env": table{"A": "${UNSET}"}}},
		"open":     {"a": table{"command": command, "env": table{"A": "${X"}}},
		"relative": {"a": table{"command": command, "env": table{"A": "file:x"}}},
		"pattern":  {"a": table{"command": command, "tools": table{"deny": []any{"["}}}},
		"url":      {"a": table{"url": "ftp://x"}},
		"user":     {"a": table{"url": "https://u:p@x"}},
		"timeout":  {"a": table{"command": command, "timeout": "5"}},
		"negative": {"a": table{"command": command, "timeout": "-5s"}},
		"type":     {"a": table{"command": "npx x"}},
	} {
		if list, err := ReadUpstreams(sections, lookup); err == nil {
			t.Errorf("%s: ReadUpstreams = %+v", name, list)
		}
	}
}
