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
	// What git rejects ends the file.
	for _, text := range []string{
		"[a\nb=c\n", "[a \"b\nc\"]\n", "[a]\n=x\n", "[a]\nx = \"y\n", "[a]\nx = \\q\n",
		"[a \"b\" ]\nx=y\n", "[a]\nx y\n", "[a b]\nx=y\n", "[a]\n\fx=y\n",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("git", "config", "--file", path, "--list").Output(); err == nil {
			t.Fatalf("git reads %q as %q", text, out)
		}
		for key, value := range configFile(path) {
			t.Errorf("%q: %s = %q", text, key, value)
		}
	}
}
