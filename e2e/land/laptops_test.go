// Package land lets crews work and land at once, on one machine and on several laptops, and looks at every
// commit that the target had.
package land

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// patience bounds everything that is waited for; machines can be busy.
const patience = 10 * time.Minute

var programs *harness.Programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bossman-e2e-bin-")
		if err == nil {
			defer os.RemoveAll(dir)
			programs, err = harness.Build(dir, harness.Bossman)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// gitWrapper records the calls of git.
const gitWrapper = `#!/bin/sh
printf '%s\n' "$*" >> "$CALLS_OF_GIT"
PATH=${PATH#*:} exec git "$@"
`

// agent makes a file that says on which laptop it was made.
const agent = `name=$(sed -n 's/.*"title": *"make \(f[0-9]*\)".*/\1/p' "$BOSSMAN_TASK_FILE" | head -1)
echo "$LAPTOP" > "$name"
git add "$name" && git commit -q -m "make $name" && bossman done --summary "made $name"
`

// prePush lets a person push first, a few times: after the check of what a lander pushes.
const prePush = `#!/bin/sh
grep -q refs/heads/main || exit 0
for n in $(seq "$PUSHES"); do
	mkdir "$PERSON.$n" 2>/dev/null || continue
	unset $(git rev-parse --local-env-vars)
	cd "$PERSON" && git pull -q --rebase && echo $n > person && git add person && git commit -qm 'by a person' && git push -q
	exit 0
done
`

// A laptop is a home directory with a clone.
type laptop struct {
	*testing.T
	name, home, dir, calls string
	env                    []string
}

func (l *laptop) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := harness.Command(ctx, l.home, append([]string{programs.Path(harness.Bossman)}, args...)...)
	cmd.Dir, cmd.Env = l.dir, append(cmd.Env, l.env...)
	return cmd
}

func (l *laptop) run(stdin string, args ...string) {
	l.Helper()
	cmd := l.command(l.Context(), args...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("%s: bossman %q: %v\n%s", l.name, args, err, out)
	}
}

// serve starts a server, and returns its address and a key.
func serve(t *testing.T) (url, key string) {
	t.Helper()
	home := t.TempDir()
	cmd := harness.Command(t.Context(), home, programs.Path(harness.Bossman), "serve", "--http", "127.0.0.1:0", "--board", filepath.Join(home, "board.db"), "--project", "web")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	secret, address := regexp.MustCompile(`bossman_local_[a-z0-9]+`), regexp.MustCompile(`"address":"([^"]+)"`)
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		if s := secret.FindString(lines.Text()); s != "" {
			key = s
		}
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			url = "http://" + m[1]
		}
	}
	go func() { // else it would wait for a reader
		for lines.Scan() {
		}
	}()
	if url == "" || key == "" {
		t.Fatal("bossman serve has not said where it is")
	}
	return url, key
}

// TestLaptops: two laptops work and land at once, while a person pushes to the same branch. All work lands, each once,
// each tip of the branch has the one before it, and a laptop lands what the other one has made.
func TestLaptops(t *testing.T) {
	tasks := 10
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_LAPTOPS")); err == nil {
		tasks = n
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	base := t.TempDir()
	seed := harness.RepositoryIn(t, base, "seed")
	write(t, filepath.Join(seed, ".bossman", "config.toml"), "[check]\ncommand = \"! test -f red\"\n")
	write(t, filepath.Join(base, "agent.sh"), agent)
	write(t, filepath.Join(base, "bin", "git"), gitWrapper)
	if err := os.Symlink(programs.Path(harness.Bossman), filepath.Join(base, "bin", "bossman")); err != nil {
		t.Fatal(err)
	}
	harness.Git(t, seed, "add", "-A")
	harness.Git(t, seed, "commit", "-q", "-m", "configure")
	harness.Git(t, seed, "branch", "-M", "main")
	origin := filepath.Join(base, "origin.git")
	harness.Git(t, base, "clone", "-q", "--bare", seed, origin)
	harness.Git(t, origin, "config", "core.logAllRefUpdates", "true")
	url, key := serve(t)
	person, people := filepath.Join(base, "person"), max(3, tasks/10)
	harness.Git(t, base, "clone", "-q", origin, person)
	var laptops []*laptop
	for _, name := range []string{"one", "two"} {
		l := &laptop{T: t, name: name, home: filepath.Join(base, name), calls: filepath.Join(base, name+".calls")}
		l.dir = filepath.Join(l.home, "web")
		l.env = []string{"PATH=" + filepath.Join(base, "bin") + ":" + os.Getenv("PATH"), "CALLS_OF_GIT=" + l.calls, "BOSSMAN_BOARD=" + url, "LAPTOP=" + name, "BOSSMAN_PERSON=1", "PERSON=" + person, "PUSHES=" + strconv.Itoa(people)}
		if err := os.Mkdir(l.home, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(l.home, ".gitconfig"), "[user]\n\tname = "+name+"\n\temail = "+name+"@example.org\n")
		harness.Git(t, l.home, "clone", "-q", origin, l.dir)
		write(t, filepath.Join(l.dir, ".git", "hooks", "pre-push"), prePush)
		l.run(key+"\n", "login", url, "--machine", name)
		l.run("", "trust", "--yes")
		laptops = append(laptops, l)
	}
	laptops[0].run("", "project", "set", "--land", "origin/main")
	for n := range tasks {
		laptops[0].run("", "task", "add", fmt.Sprintf("make f%d", n))
	}

	said := make([]bytes.Buffer, len(laptops))
	ended := make(chan error, len(laptops))
	for i, l := range laptops {
		cmd := l.command(ctx, "work", "-n", "2", "--land", "--until-empty", "--", "sh", filepath.Join(base, "agent.sh"))
		cmd.Stdout, cmd.Stderr = &said[i], &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- cmd.Wait() }()
	}
	for range laptops {
		if err := <-ended; err != nil {
			t.Errorf("bossman work: %v", err)
		}
	}
	if t.Failed() {
		t.Fatalf("one:\n%s\ntwo:\n%s", said[0].String(), said[1].String())
	}
	made := map[string]string{} // the laptop of a file
	for n := range tasks {
		file := fmt.Sprintf("f%d", n)
		made[file] = harness.Git(t, origin, "show", "main:"+file)
		if got := strings.Count(harness.Git(t, origin, "log", "--format=%s", "main")+"\n", "make "+file+"\n"); got != 1 {
			t.Errorf("%s has landed %d times", file, got)
		}
	}
	if got := strings.Count(harness.Git(t, origin, "log", "--format=%s", "main"), "by a person"); got != people {
		t.Errorf("%d of %d pushes of a person are there", got, people)
	}
	tips := strings.Fields(harness.Git(t, origin, "reflog", "show", "--format=%H", "main"))
	for i := 1; i < len(tips); i++ {
		if got := harness.Git(t, origin, "merge-base", tips[i], tips[i-1]); got != tips[i] {
			t.Errorf("the branch went from %s to %s, which does not have it", tips[i], tips[i-1])
		}
	}
	other := 0
	for _, l := range laptops {
		calls, err := os.ReadFile(l.calls)
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`push .*(--force |\+[0-9a-f]+:refs/heads)`).Match(calls) {
			t.Errorf("%s has forced a push", l.name)
		}
		for _, m := range regexp.MustCompile(`push .* ([0-9a-f]+):refs/heads/main`).FindAllSubmatch(calls, -1) {
			i := slices.Index(tips, string(m[1]))
			if i < 0 { // somebody else was first
				continue
			}
			for _, file := range strings.Fields(harness.Git(t, origin, "diff", "--name-only", tips[i+1], tips[i])) {
				if by := made[file]; by != "" && by != l.name {
					other++
				}
			}
		}
	}
	if other == 0 {
		t.Error("no laptop has landed what the other one has made")
	}
	t.Logf("%d tasks and %d pushes of a person, %d tips; %d landed by the other laptop", tasks, people, len(tips), other)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
