package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestParseStatus(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		want      Status
	}{
		{"no commit yet", "# branch.oid (initial)\n# branch.head main\n", Status{Branch: "main"}},
		{
			"changed files", "# branch.oid 0123456789abcdef0123\n# branch.head feature/x\n# branch.upstream origin/x\n# branch.ab +1 -0\n" +
				"1 .M N... 100644 100644 100644 0 0 a.go\n? b.go\n", Status{Branch: "feature/x", Head: "0123456789ab", Uncommitted: 2},
		},
		{"detached", "# branch.oid 0123456789abcdef0123\n# branch.head (detached)\n", Status{Head: "0123456789ab"}},
		{"nothing", "", Status{}},
	} {
		if got := parseStatus(tt.out); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestStatus(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "-b", "main", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	repo, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := repo.Status(t.Context()); err != nil || got != (Status{Branch: "main", Uncommitted: 1}) {
		t.Errorf("Status = %+v, %v", got, err)
	}
}
