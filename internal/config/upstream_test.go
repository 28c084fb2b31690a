package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Upstreams come from the user's own file, if only the user can write it.
func TestUpstreams(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.toml")
	project := filepath.Join(dir, "p", ".bossman", "config.toml")
	const text = "[upstream.git]\ncommand = [\"npx\", \"x\"]\n"
	if err := os.MkdirAll(filepath.Dir(project), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, project} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newSettings()
	if err := s.readFile(project, true); err != nil || s.Upstreams != nil || len(s.Ignored) != 1 || !strings.Contains(s.Ignored[0], "[upstream]") {
		t.Errorf("of a project: %v, %v, %v", s.Upstreams, s.Ignored, err)
	}
	s = newSettings()
	if err := s.readFile(own, false); err != nil || s.Upstreams["git"] == nil || len(s.Ignored) != 0 {
		t.Errorf("of the user: %v, %v, %v", s.Upstreams, s.Ignored, err)
	}
	if err := os.Chmod(own, 0o602); err != nil {
		t.Fatal(err)
	}
	s = newSettings()
	if err := s.readFile(own, false); err != nil || s.Upstreams != nil || len(s.Ignored) != 1 {
		t.Errorf("of everybody: %v, %v, %v", s.Upstreams, s.Ignored, err)
	}
}
