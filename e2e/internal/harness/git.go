package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repository makes a git repository of that name with one commit, and gives its
// path. No configuration of the machine reaches it.
func Repository(t testing.TB, name string) string {
	t.Helper()
	return RepositoryIn(t, Home(t), name)
}

// RepositoryIn is Repository in a home folder.
func RepositoryIn(t testing.TB, home, name string) string {
	t.Helper()
	dir := filepath.Join(home, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// Where a client wants to be told which folder it may work in, git says it.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	Git(t, dir, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# "+name+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	Git(t, dir, "add", ".")
	Git(t, dir, "commit", "-q", "-m", "begin")
	return dir
}

// Worktree adds a worktree with a branch of its own, beside the repository, and
// gives its path.
func Worktree(t testing.TB, repository, branch string) string {
	t.Helper()
	dir := filepath.Join(filepath.Dir(repository), branch)
	Git(t, repository, "worktree", "add", "-q", "-b", branch, dir)
	return dir
}

// Git runs git in a folder and gives what it says.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
