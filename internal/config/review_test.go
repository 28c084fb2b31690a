package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Diffs are kept off the board if one of the files says so.
func TestReview(t *testing.T) {
	for _, c := range []struct {
		own, project string
		off          bool
		fails        string
	}{
		{},
		{own: "diff = true"},
		{own: "diff = false", off: true},
		{own: "diff = false", project: "diff = true", off: true},
		{own: "diff = true", project: "diff = false", off: true},
		{project: `diff = "no"`, fails: "diff: want true or false"},
	} {
		dir := t.TempDir()
		s := newSettings()
		own, project := filepath.Join(dir, "own"), filepath.Join(dir, "project")
		for path, text := range map[string]string{own: c.own, project: c.project} {
			if err := os.WriteFile(path, []byte("[review]\n"+text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.readFile(own, false); err != nil {
			t.Fatal(err)
		}
		err := s.readFile(project, true)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %v, want %s", c.project, err, c.fails)
			}
			continue
		}
		if err != nil || s.Review.NoDiff != c.off {
			t.Errorf("%q and %q: off %v, %v", c.own, c.project, s.Review.NoDiff, err)
		}
	}
}
