package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Configuration files mean the same to us as to git.
func TestConfigFile_asGitReadsIt(t *testing.T) {
	for _, text := range []string{
		"[core]\n\tbare = false\n\teditor = vi -x # why\n\tpager\n",
		"[include] path = ../more\n[core] attributesFile = \"/dev/zero\"; x\n",
		"[a]b=c\n[A.Sub]\nD = e\n[a \"S.u\\\"b\\\\ x\"] K = v",
		"\ufeff[a]\r\nx = y  z \t \r\n  ; c\r\n# d\r\ny=\r\n",
		"[a]\nx = one \\\n  two\\\nthree\ny = \"q # ; \\\" \\t\\n\" tail\nz = a\"b\"c\n",
		"[a]\nx = \"  lead\"\ny =    \nx-1 = 2\n",
		"[a][b]c=d[e]\n",
		"[a]\nx = inc \"\"\ny = inc \\\n\nz = a \"b\"  c \"\" # d\nv = \"\" w\n",
		"[includeIf \"gitdir:/x/\"]\n path = ~/y\n",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("git", "config", "--file", path, "--no-includes", "--null", "--list").Output()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got strings.Builder
		for key, value := range configFile(path) {
			got.WriteString(key + "\n" + value + "\x00")
		}
		want := strings.ReplaceAll(string(out), "pager\x00", "pager\ntrue\x00")
		if got.String() != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got.String(), want)
		}
	}
	// What git rejects ends the file, and so does what git might understand differently.
	for text, rejected := range map[string]bool{
		"[a\nb=c\n": true, "[a \"b\nc\"]\n": true, "[a]\n=x\n": true, "[a]\nx = \"y\n": true, "[a]\nx = \\q\n": true,
		"[a \"b\" ]\nx=y\n": true, "[a]\nx y\n": true, "[a b]\nx=y\n": true, "[a]\n\fx=y\n": true,
		"[a]\nx = y\\": false, "[a]\nx = y\r": false, "[a\r\"b\"]\nx = y\n": false, "[a]\nx = y\x00z\n": false,
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "config", "--file", path, "--list").Output(); rejected && err == nil {
			t.Fatalf("git reads %q as %q", text, out)
		}
		if lines, err := configLines(path); err == nil || !strings.Contains(err.Error(), path) || rejected && len(lines) > 0 {
			t.Errorf("%q: %v, %v", text, lines, err)
		}
	}
}
