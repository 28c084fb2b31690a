package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoDashboard: Bossman has no dashboard yet, so no text may promise one. The one for
// Grafana is called that. Remove this test with the first page.
func TestNoDashboard(t *testing.T) {
	files := os.DirFS(root)
	looked := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "node_modules" || path != "." && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".md", ".txtar":
		case ".go":
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
		default:
			return nil
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		looked++
		for i, line := range strings.Split(strings.ToLower(string(text)), "\n") {
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(line, "grafana-dashboard", ""), "grafana dashboard", ""), "dashboard") {
				t.Errorf("%s:%d mentions a dashboard: %s", path, i+1, line)
			}
		}
		return nil
	})
	if err != nil || looked < 100 {
		t.Fatalf("looked at %d files: %v", looked, err)
	}
}
