package crewcli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRelativeScript(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("agent.sh", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"sh", "agent.sh"}, "agent.sh"},
		{[]string{"/usr/bin/python3.11", "-u", "./agent.sh", "x"}, "./agent.sh"},
		{[]string{"sh", filepath.Join(dir, "agent.sh")}, ""},
		{[]string{"sh", "-c", "echo agent.sh", "agent.sh"}, ""},
		{[]string{"./agent.sh"}, ""},
		{[]string{"my-agent", "agent.sh"}, ""},
		{[]string{"sh", "none.sh"}, ""},
		{[]string{"sh", "."}, ""},
		{nil, ""},
	} {
		if got := relativeScript(tt.words); got != tt.want {
			t.Errorf("relativeScript(%q) = %q, want %q", tt.words, got, tt.want)
		}
	}
}
