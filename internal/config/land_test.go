package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project's file sets how work lands, except that a checkout is updated that its user wants left alone.
func TestLand(t *testing.T) {
	for _, c := range []struct {
		own, project string
		want         Land
		ignored      string
		fails        string
	}{
		{want: Land{"squash", 8, "update", false}},
		{own: `style = "merge"`, project: `batch = 1`, want: Land{"merge", 1, "update", false}},
		{own: `checkout = "leave"`, project: `checkout = "update"`, want: Land{"squash", 8, "leave", false}, ignored: "your own file says that it is left alone"},
		{project: `checkout = "leave"`, want: Land{"squash", 8, "leave", false}},
		{project: `close_issues = true`, want: Land{"squash", 8, "update", true}},
		{project: `close_issues = "yes"`, fails: "close_issues: want true or false"},
		{project: `styel = "merge"`, want: Land{"squash", 8, "update", false}, ignored: `"styel" in [land]`},
		{project: `style = "fast"`, fails: `[land] in "` + "project" + `": style: want one of ["squash", "rebase", "merge"]`},
		{project: `batch = 0`, fails: "batch: want a number from 1 to 100"},
	} {
		dir := t.TempDir()
		s := newSettings()
		var err error
		for _, f := range []struct {
			name, text string
			inProject  bool
		}{{"own", c.own, false}, {"project", c.project, true}} {
			path := filepath.Join(dir, f.name)
			if failed := os.WriteFile(path, []byte("[land]\n"+f.text+"\n"), 0o600); failed != nil {
				t.Fatal(failed)
			}
			if err = s.readFile(path, f.inProject); err != nil {
				break
			}
		}
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), c.fails) {
				t.Errorf("%q, %q: %v, want %q", c.own, c.project, err, c.fails)
			}
		case err != nil || s.Land != c.want || !strings.Contains(strings.Join(s.Ignored, "\n"), c.ignored) || c.ignored == "" && len(s.Ignored) > 0:
			t.Errorf("%q, %q: %+v, %v, %q; want %+v, %q", c.own, c.project, s.Land, err, s.Ignored, c.want, c.ignored)
		}
	}
}
