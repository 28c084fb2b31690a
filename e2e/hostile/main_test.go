// Package hostile runs every command and every tool in directories that other people made:
// clones, unpacked archives, shared directories, with everything in them that git, SQLite or
// Bossman itself would follow, run or read without end.
//
//	<base>/canary           a program that notes in <base>/ran that it was run
//	<base>/outside/         a file and somebody's project with a board, which nobody names
//	<base>/home/            the user's
//	<base>/work/clone/      what the case builds; the commands run in it
//
// After each command: the canary was not run, nothing outside was changed or shown, the
// process took neither long nor much memory, and its terminal got no raw control character.
//
// By itself the test runs some commands or tools in each place, others in its neighbours of the
// same kind. BOSSMAN_HOSTILE=1 (make hostile) runs all of them.
package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// everything is set to run every command in every place.
var everything = os.Getenv("BOSSMAN_HOSTILE") != ""

// bossman is the program, and template a directory with what places are copied from: the
// repositories clone and victim, with boards.
var bossman, template string

func TestMain(m *testing.M) {
	code, err := prepared(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func prepared(run func() int) (int, error) {
	dir, err := os.MkdirTemp("", "bossman-e2e-bin-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bossman = filepath.Join(dir, "bossman")
	if err := harness.BuildProgram(bossman, harness.Bossman); err != nil {
		return 0, err
	}
	template = filepath.Join(dir, "template")
	if err := buildTemplate("clone", "Fix the login", "Fix the logout"); err != nil {
		return 0, err
	}
	if err := buildTemplate("victim", secret); err != nil {
		return 0, err
	}
	return run(), nil
}

// buildTemplate makes a repository with a commit, and with tasks on its board.
func buildTemplate(name string, tasks ...string) error {
	clone := filepath.Join(template, name)
	if err := os.MkdirAll(clone, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"README.md": "# clone\n", "a.txt": "a\n", "b.txt": "b\n", ".gitattributes": "*.txt filter=evil diff=evil merge=evil\n",
	} {
		if err := os.WriteFile(filepath.Join(clone, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	steps := [][]string{
		{"git", "init", "-q", "-b", "main", "--template=", "."},
		{"git", "add", "."},
		{"git", "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "begin"},
	}
	for _, title := range tasks {
		steps = append(steps, []string{bossman, "task", "add", title})
	}
	for _, argv := range steps {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = clone
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + template, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w\n%s", argv, err, out)
		}
	}
	return nil
}
