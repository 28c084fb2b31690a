package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// The power fails right after `bossman work` was told that a task is done: what a disk has at that
// moment has the board's word, and the work. The disk is a file, which is copied while it is in use.
func TestPowerCut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts disks")
	}
	dir := t.TempDir()
	run := func(in, command string) (string, error) {
		cmd := exec.Command("sh", "-ec", command)
		cmd.Dir = in
		cmd.Env = append(harness.Command(t.Context(), dir, "sh").Env, "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org")
		cmd.Env = append(cmd.Env, "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	must := func(in, command string) string {
		t.Helper()
		out, err := run(in, command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	if out, err := run(dir, "truncate -s 64M disk && mkfs.ext4 -q disk && mkdir one two && mount -o loop disk one"); err != nil {
		t.Skipf("no disk can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = run(dir, "umount one") })
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bossman"), "./cmd/bossman")
	build.Dir = harness.Dir("..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	web := filepath.Join(dir, "one", "web")
	must(dir, "git init -q -b main one/web")
	must(web, "git commit -q --allow-empty -m begin && bossman task add Kept && bossman task add Committed && sync")
	const agent = `cd "$BOSSMAN_WORKTREE" && echo "$BOSSMAN_TASK" > work && { test "$BOSSMAN_TASK" = web-1 || { git add . && git commit -q -m mine; }; } && bossman done -m it`
	must(web, "bossman work --until-empty -- sh -c '"+agent+"'")

	must(dir, "cp --sparse=always disk cut && mount -o loop cut two")
	t.Cleanup(func() { _, _ = run(dir, "umount two") })
	cut := filepath.Join(dir, "two", "web")
	for _, task := range []string{"web-1", "web-2"} {
		if shown := must(cut, "bossman task show "+task); !strings.Contains(shown, "\ndone ·") {
			t.Errorf("after the cut:\n%s", shown)
		}
		if got, err := run(cut, "git show refs/bossman/"+task+"/1:work"); err != nil || got != task {
			t.Errorf("after the cut, the work of %s is %q, %v", task, got, err)
		}
	}
}
