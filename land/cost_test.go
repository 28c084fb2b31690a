package land

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLand_cost: how many processes of git it takes to merge a task, and to check and land a batch.
func TestLand_cost(t *testing.T) {
	const merge, batch = 9, 34
	y := newYard(t, "true", map[string]string{"a": "1\n"})
	y.task("first", "next", map[string]string{"first": "1\n"})
	y.land()
	log := countGit(t)
	for _, tasks := range []int{1, 8} {
		for n := range tasks {
			y.task("more", "next", map[string]string{fmt.Sprint(tasks, n): "1\n"})
		}
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		y.land()
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > batch+tasks*merge || n < tasks {
			t.Errorf("%d tasks took %d processes of git, at most %d are expected:\n%s", tasks, n, batch+tasks*merge, text)
		}
	}
}

// countGit has a line written to a file for each process of git, but for those that read the configuration: that is done
// again whenever some time has passed.
func countGit(t *testing.T) (log string) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := fmt.Sprintf(`#!/bin/sh
words=
skip=
for word; do
	if test "$skip"; then skip=; elif test "$word" = -c; then skip=1; else words="$words $word"; fi
done
case "$words" in " config --list"*|" version") ;; *) printf '%%.100s\n' "$words" >> '%s' ;; esac
exec '%s' "$@"
`, log, git)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return log
}
