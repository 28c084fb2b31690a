package origins

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// The commands of docs/origins.md work, and show what the page says.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	page, err := os.ReadFile("../../docs/origins.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\|.*\\| `([^\n]+)` \\| `([^\n]+)` \\|$").FindAllStringSubmatch(string(page), -1)
	if n := strings.Count(string(page), "\n| ") - 2*5; len(rows) != n { // without the heads of five tables
		t.Fatalf("%d of %d rows have a command and what it prints", len(rows), n)
	}
	env := append(environment(), "BOSSMAN_BOARD="+t.TempDir())
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"} {
		v, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(v)))
	}
	tree := map[string]bool{} // what was looked up already
	for _, row := range rows {
		command, want := strings.ReplaceAll(row[1], `\|`, "|"), row[2]
		if tree[command] {
			t.Errorf("%s is there twice", command)
		}
		tree[command] = true
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir = "../.."
			cmd.Env = env
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%v; it prints\n%.1000s\nwant %s", err, out, want)
			}
		})
	}
}
