package gatewaycli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/clientconfig"
)

// Files of a project that a command names are named by absolute paths, since upstreams do not run there. What may be the
// name of a package or program stays as it is.
func TestSection(t *testing.T) {
	project := t.TempDir()
	for _, name := range []string{"tools/server.py", "npx", "config.json"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(project, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(project, "@scope", "server"), 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(project, name) }
	for _, c := range []struct {
		scope       clientconfig.Scope
		args, dir   string
		want, wantD string
		err         string
	}{
		{clientconfig.Project, "npx -y @scope/server", "", "npx -y @scope/server", "", ""},
		{clientconfig.Project, "python3 tools/server.py --config=config.json .", "", "python3 " + in("tools/server.py") + " --config=" + in("config.json") + " " + project, "", ""},
		{clientconfig.Local, "./tools/server.py", "", in("tools/server.py"), "", ""},
		{clientconfig.Project, "python3 tools/none.py", "", "python3 tools/none.py", "", ""},
		{clientconfig.Project, "python3 server.py", "tools", "python3 server.py", in("tools"), ""},
		{clientconfig.Project, "./none", "", "", "", "is a relative path"},
		{clientconfig.User, "python3 tools/server.py", "", "python3 tools/server.py", "", ""},
		{clientconfig.User, "./tools/server.py", "", "", "", "is a relative path"},
		{clientconfig.User, "python3", "tools", "", "", "is a relative path"},
		{clientconfig.User, "./server.py", in("tools"), "./server.py", in("tools"), ""},
	} {
		s := &clientconfig.Server{Scope: c.scope, Args: strings.Fields(c.args), Dir: c.dir}
		table, notes, err := section(s, project)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.args, err)
			}
			continue
		}
		dir, _ := table["dir"].(string)
		if err != nil || !slices.Equal(table["command"].([]string), strings.Fields(c.want)) || dir != c.wantD || (len(notes) > 0) != (c.args != c.want || dir != "") {
			t.Errorf("%s: %v %q, %v", c.args, table, notes, err)
		}
	}
	s := &clientconfig.Server{URL: "https://example.com", Headers: map[string]string{"Authorization": "file:/home/ada/.ssh/id"}}
	if _, _, err := section(s, project); err == nil {
		t.Error("a value that config.toml reads as the name of a file was taken")
	}
}

// An entry of a clone does not take the place of one of the user's own.
func TestTaken(t *testing.T) {
	var got []string
	for _, s := range taken([]clientconfig.Server{
		{Name: "github", Scope: clientconfig.Project},
		{Name: "GitHub", Scope: clientconfig.User, Shadowed: true},
		{Name: "off", Scope: clientconfig.Project},
		{Name: "off", Scope: clientconfig.User, Disabled: true},
		{Name: "both", Scope: clientconfig.User, Shadowed: true},
		{Name: "both", Scope: clientconfig.Local},
		{Name: "clone", Scope: clientconfig.Project},
		{Name: "bossman", Scope: clientconfig.User},
	}) {
		got = append(got, string(s.Scope)+" "+s.Name)
	}
	if want := []string{"local both", "user GitHub", "project clone"}; !slices.Equal(got, want) {
		t.Errorf("taken = %q, want %q", got, want)
	}
}
