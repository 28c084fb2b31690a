//go:build unix

package check_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/proc"
)

// a minute is long enough for everything that a test waits for.
const patience = time.Minute

func newRepo(t *testing.T) *git.Repo {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("sh", "-ec", "git init -q -b main . && echo one > one && echo ignored > .gitignore && git add . && git -c user.name=Ada -c user.email=a@b commit -qm one")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMain makes the test program a minder.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "minder" {
		if proc.RunMinder(os.Args[2:]) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func newRunner(t *testing.T, o *check.Options) *check.Runner {
	t.Helper()
	if o == nil {
		o = &check.Options{}
	}
	o.Self = []string{os.Args[0], "minder"}
	r := check.NewRunner(o)
	t.Cleanup(r.Close)
	return r
}

func begin(t *testing.T, r *check.Runner, repo *git.Repo, c *check.Check) *check.Run {
	t.Helper()
	return r.Check(t.Context(), repo.Root, repo, c, "web-1/1.aaaaa")
}

func verdict(t *testing.T, run *check.Run) check.Verdict {
	t.Helper()
	v, ok := run.Wait(t.Context(), patience)
	if !ok {
		t.Fatal("the check has not ended")
	}
	return v
}

func shell(line string) *check.Check { return &check.Check{Name: "tests", Command: check.Shell(line)} }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCheck_outlived: nothing that a check started outlives it, also if it has left its group and its
// parent and cleared its environment.
func TestCheck_outlived(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("such a process escapes on this system")
	}
	dir := t.TempDir()
	line := `(env -i /usr/bin/setsid /bin/sh -c 'echo $$ > new; mv new pid; exec sleep 309' &); until test -s pid; do sleep 0.01; done`
	v := verdict(t, newRunner(t, nil).Check(t.Context(), dir, nil, shell(line), ""))
	if v.Result != check.Green {
		t.Fatalf("%+v", v)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("a process of the check still runs")
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestCheck_results(t *testing.T) {
	for _, c := range []struct {
		line   string
		result check.Result
		exit   int
		why    string
	}{
		{"echo fine", check.Green, 0, ""},
		{"echo bad >&2; exit 1", check.Red, 1, ""},
		{"exit 124", check.Red, 124, ""},
		{"exit 125", check.NotJudged, 125, "exit status 125"},
		{"nosuchprogram", check.NotJudged, 127, "not found"},
		{"kill -9 $$", check.NotJudged, -1, "killed"},
		{"sh -c 'kill -9 $$'; exit $?", check.NotJudged, 137, "signal 9"},
		{"echo x > new", check.Changed, 0, "files changed"},
		{"echo x > new; exit 3", check.Red, 3, ""},
		{"echo x > one; exit 3", check.Changed, 3, "files changed"},
		{"echo x > ignored", check.Green, 0, ""},
	} {
		v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), shell(c.line)))
		if v.Result != c.result || v.Exit != c.exit || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %+v, want %s, exit %d, %q", c.line, v, c.result, c.exit, c.why)
		}
	}
	v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), shell("exit 200")))
	if v.Exit != 200 || strings.Contains(v.Why, "signal") {
		t.Errorf("exit 200: %+v, want no signal: there is no signal 72", v)
	}
	v = verdict(t, begin(t, newRunner(t, nil), newRepo(t), &check.Check{Name: "tests", Command: []string{"nosuchprogram"}}))
	if v.Result != check.NotJudged || !strings.Contains(v.Why, `nosuchprogram" was not found`) {
		t.Errorf("a program that is not there: %+v", v)
	}
}

// TestCheck_hostileOutput: what reaches an agent or a terminal has no controls in it.
func TestCheck_hostileOutput(t *testing.T) {
	v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), shell(`printf 'a\0b\033[31mred\007\342\200\256x\n50%%\r100%%\n'; exit 1`)))
	if want := "a\uFFFDb\uFFFD[31mred\uFFFD\uFFFDx\n50%\n100%\n"; v.Tail != want {
		t.Errorf("the tail is %q, want %q", v.Tail, want)
	}
	long := verdict(t, begin(t, newRunner(t, nil), newRepo(t), shell(`head -c 5000 /dev/zero | tr '\0' x; exit 1`)))
	if got := long.Last(100); got != strings.Repeat("x", 100) {
		t.Errorf("Last of a long line = %q", got)
	}
}

// TestCheck_tail: the end of a long output is kept, both streams, in whole lines.
func TestCheck_tail(t *testing.T) {
	v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), shell(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo the end >&2; exit 1`)))
	if len(v.Tail) > 16<<10 || !strings.HasPrefix(v.Tail, "line ") || !strings.HasSuffix(v.Tail, "line 19999\nthe end\n") {
		t.Errorf("the tail has %d bytes: %.40q … %q", len(v.Tail), v.Tail, v.Tail[max(0, len(v.Tail)-40):])
	}
}

// TestCheck_joins: calls for one tree share one run; a green tree is not checked again;
// a red one is, and green after red is flaky.
func TestCheck_joins(t *testing.T) {
	repo := newRepo(t)
	dir := t.TempDir()
	fifo, count := filepath.Join(dir, "fifo"), filepath.Join(dir, "count")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, nil)
	c := shell(fmt.Sprintf("echo run >> %s; exit $(cat %s)", count, fifo))
	var wg sync.WaitGroup
	verdicts := make([]check.Verdict, 8)
	runs := make([]*check.Run, 8)
	for i := range runs {
		runs[i] = begin(t, r, repo, c)
		wg.Go(func() { verdicts[i], _ = runs[i].Wait(t.Context(), patience) })
	}
	if v, ok := runs[0].Wait(t.Context(), time.Millisecond); ok {
		t.Errorf("a run that waits has ended: %+v", v)
	}
	write(t, fifo, "1\n")
	wg.Wait()
	for _, v := range verdicts {
		if v.Result != check.Red || v.Exit != 1 {
			t.Errorf("verdict %+v, want red", v)
		}
	}
	wantRuns(t, count, 1)
	again := begin(t, r, repo, c)
	write(t, fifo, "0\n")
	if v := verdict(t, again); v.Result != check.Green || !v.Flaky {
		t.Errorf("green after red: %+v, want flaky", v)
	}
	wantRuns(t, count, 2)
	if v := verdict(t, begin(t, r, repo, c)); v.Result != check.Green {
		t.Errorf("a tree that was green: %+v", v)
	}
	wantRuns(t, count, 2)
}

func wantRuns(t *testing.T, file string, want int) {
	t.Helper()
	text, _ := os.ReadFile(file)
	if got := strings.Count(string(text), "run\n"); got != want {
		t.Errorf("the command ran %d times, want %d", got, want)
	}
}

// TestCheck_changes: a call joins the run that is under way, also if the check or the
// agent has changed files since; if a change stays, there is no verdict.
func TestCheck_changes(t *testing.T) {
	repo := newRepo(t)
	dir := t.TempDir()
	fifo, count := filepath.Join(dir, "fifo"), filepath.Join(dir, "count")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, nil)
	c := shell(fmt.Sprintf(`echo run >> %s; touch made; echo begun > %s; cat %s; rm made`, count, fifo, fifo))
	for stays, want := range map[bool]check.Result{false: check.Green, true: check.Changed} {
		first := begin(t, r, repo, c)
		if _, err := os.ReadFile(fifo); err != nil { // it has begun
			t.Fatal(err)
		}
		if begin(t, r, repo, c) != first {
			t.Error("a second call began another run")
		}
		if stays {
			write(t, filepath.Join(repo.Root, "one"), "two\n")
		}
		write(t, fifo, "go on\n")
		v := verdict(t, first)
		if v.Result != want || stays && !slices.Equal(v.Paths, []string{"one"}) {
			t.Errorf("a change that stays: %v, verdict %+v, want %s", stays, v, want)
		}
		write(t, filepath.Join(repo.Root, "one"), fmt.Sprint(stays)) // content without a verdict
	}
	wantRuns(t, count, 2)
}

// TestCheck_otherClaim: a report under another claim does not join the run of an attempt that may
// have ended. It begins when that run has ended or was stopped.
func TestCheck_otherClaim(t *testing.T) {
	repo := newRepo(t)
	dir := t.TempDir()
	fifo, count := filepath.Join(dir, "fifo"), filepath.Join(dir, "count")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRunner(t, nil)
	c := shell(fmt.Sprintf(`echo run >> %s; echo begun > %s; cat %s`, count, fifo, fifo))
	first := begin(t, r, repo, c)
	if _, err := os.ReadFile(fifo); err != nil { // it has begun
		t.Fatal(err)
	}
	second := r.Check(t.Context(), repo.Root, repo, c, "web-2/1.bbbbb")
	third := r.Check(t.Context(), repo.Root, repo, c, "web-3/1.ccccc")
	if second == first || r.Check(t.Context(), repo.Root, repo, c, "web-2/1.bbbbb") != second {
		t.Error("the second claim has the first one's run, or two")
	}
	if _, behind := second.Ran(); !strings.Contains(behind, "another check") {
		t.Errorf("the second run waits for %q", behind)
	}
	third.Stop()
	first.Stop()
	if v := verdict(t, first); v.Result != check.Stopped {
		t.Errorf("the first run: %+v, want stopped", v)
	}
	if _, err := os.ReadFile(fifo); err != nil { // the second has begun
		t.Fatal(err)
	}
	write(t, fifo, "go on\n")
	if v := verdict(t, second); v.Result != check.Green {
		t.Errorf("the second run: %+v, want green", v)
	}
	if v := verdict(t, third); v.Result != check.Stopped {
		t.Errorf("the third run: %+v, want stopped", v)
	}
	wantRuns(t, count, 2)

	// What was found green for one claim is not run again for another, and its evidence says so.
	fourth := r.Check(t.Context(), repo.Root, repo, c, "web-4/1.ddddd")
	v := verdict(t, fourth)
	if e := v.Evidence(c); !strings.Contains(e.Detail, "; judged before, in web-2, at 20") || !strings.Contains(e.Detail, " UTC; not run again") || strings.Contains(e.Detail, "bbbbb") {
		t.Errorf("evidence of a verdict that was given before: %+v", e)
	}
	v = verdict(t, r.Check(t.Context(), repo.Root, repo, c, "web-2/1.bbbbb"))
	if e := v.Evidence(c); strings.Contains(e.Detail, "before") {
		t.Errorf("evidence of a claim's own verdict: %+v", e)
	}
	wantRuns(t, count, 2)
}

// TestCheck_elsewhere: outside git a check runs, and what cannot be read is not judged.
func TestCheck_elsewhere(t *testing.T) {
	r := newRunner(t, nil)
	dir := t.TempDir()
	if v := verdict(t, r.Check(t.Context(), dir, nil, shell("touch here"), "")); v.Result != check.Green {
		t.Errorf("outside git: %+v", v)
	}
	if _, err := os.Stat(filepath.Join(dir, "here")); err != nil {
		t.Error(err)
	}
	repo := newRepo(t)
	if err := os.Mkdir(filepath.Join(repo.Root, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "init", "-q", filepath.Join(repo.Root, "inner"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, filepath.Join(repo.Root, "inner", "f"), "x")
	if v := verdict(t, begin(t, r, repo, shell("true"))); v.Result != check.Stopped || !strings.Contains(v.Why, "remove its .git") {
		t.Errorf("a repository without a commit in the worktree: %+v", v)
	}
}

// TestCheck_submodule: what was found green without a submodule is judged again with it.
func TestCheck_submodule(t *testing.T) {
	r, repo, lib := newRunner(t, nil), newRepo(t), newRepo(t)
	git := func(line string) {
		t.Helper()
		cmd := exec.Command("sh", "-ec", line)
		cmd.Dir = repo.Root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	git("git -c protocol.file.allow=always submodule --quiet add " + lib.Root + " lib && git -c user.name=Ada -c user.email=a@b commit -qm lib && git submodule --quiet deinit -f lib")
	c := shell("test ! -f lib/one")
	empty := verdict(t, begin(t, r, repo, c))
	git("git -c protocol.file.allow=always submodule --quiet update --init")
	full := verdict(t, begin(t, r, repo, c))
	if empty.Result != check.Green || full.Result != check.Red || empty.Tree != full.Tree {
		t.Errorf("without the submodule %s, with it %s; trees %s and %s", empty.Result, full.Result, empty.Tree, full.Tree)
	}
}

func TestCheck_timeout(t *testing.T) {
	c := shell("echo begun; sleep 300")
	c.Timeout = 6 * time.Second // git has it, too
	v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), c))
	if v.Result != check.NotJudged || !strings.Contains(v.Why, "longer than 6s") || v.Tail != "begun\n" {
		t.Errorf("a check that hangs: %+v", v)
	}
}

// TestCheck_environment: secrets of the caller do not reach the check, what it names
// does, and there is nothing to read.
func TestCheck_environment(t *testing.T) {
	t.Setenv("BOSSMAN_KEY", "secret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("DATABASE_URL", "wanted")
	c := shell(`env | grep -v '^_='; cat; exit 1`)
	c.Env = []string{"DATABASE_URL"}
	v := verdict(t, begin(t, newRunner(t, nil), newRepo(t), c))
	for _, want := range []string{"PATH=", "HOME=", "DATABASE_URL=wanted", "BOSSMAN_CHECK=tests"} {
		if !strings.Contains(v.Tail, want) {
			t.Errorf("the check lacks %s:\n%s", want, v.Tail)
		}
	}
	if strings.Contains(v.Tail, "secret") {
		t.Errorf("the check sees a secret:\n%s", v.Tail)
	}
}

// TestCheck_parallel: two runners that share a directory of locks run one at a time.
func TestCheck_parallel(t *testing.T) {
	o := &check.Options{Locks: filepath.Join(t.TempDir(), "locks")}
	file := filepath.Join(t.TempDir(), "busy")
	c := shell(fmt.Sprintf(`mkdir %s || exit 1; sleep 0.05; rmdir %s`, file, file))
	var runs []*check.Run
	for range 4 {
		runs = append(runs, begin(t, newRunner(t, o), newRepo(t), c))
	}
	for _, run := range runs {
		if v := verdict(t, run); v.Result != check.Green {
			t.Errorf("two checks ran at once: %+v", v)
		}
	}
}

// TestRunner_Close ends what runs.
func TestRunner_Close(t *testing.T) {
	r := check.NewRunner(nil)
	run := begin(t, r, newRepo(t), shell("sleep 300"))
	r.Close()
	if v := verdict(t, run); v.Result != check.Stopped {
		t.Errorf("after Close: %+v", v)
	}
}

func ExampleCheck_String() {
	fmt.Println(&check.Check{Command: check.Shell("make test && make lint")})
	fmt.Println(&check.Check{Command: []string{"go", "test", "-run", "A|B", "./..."}, Wrap: []string{"bwrap"}})
	// Output:
	// make test && make lint
	// bwrap go test -run 'A|B' ./...
}

// A check that waits for another one on the machine has not begun, and says so.
func TestRun_Ran(t *testing.T) {
	locks := t.TempDir()
	first, second := newRepo(t), newRepo(t)
	gate := filepath.Join(t.TempDir(), "gate")
	one := begin(t, newRunner(t, &check.Options{Locks: locks}), first, shell("while ! test -e "+gate+"; do sleep 0.05; done"))
	wait := func(run *check.Run, behind string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			_, got := run.Ran()
			if got == "" && behind == "" || behind != "" && strings.Contains(got, behind) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("Ran: behind %q, want %q", got, behind)
			}
		}
	}
	wait(one, "")
	two := begin(t, newRunner(t, &check.Options{Locks: locks}), second, shell("true"))
	if v, ok := two.Wait(t.Context(), 300*time.Millisecond); ok {
		t.Fatalf("the second check has ended: %+v", v)
	}
	wait(two, fmt.Sprintf("process %d has run in %q since", os.Getpid(), first.Root))
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if v := verdict(t, two); v.Result != check.Green {
		t.Errorf("the second check: %+v", v)
	}
	wait(two, "")
}

// A check does not wait for others longer than it may take itself, and does not judge then.
func TestCheck_busy(t *testing.T) {
	locks := t.TempDir()
	begin(t, newRunner(t, &check.Options{Locks: locks}), newRepo(t), shell("sleep 60"))
	lock := filepath.Join(locks, "check.1.lock")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(lock); len(text) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the lock names no holder")
		}
	}
	c := shell("true")
	c.Timeout = 500 * time.Millisecond
	v := verdict(t, begin(t, newRunner(t, &check.Options{Locks: locks}), newRepo(t), c))
	if v.Result != check.Stopped || !strings.Contains(v.Why, "it has not begun within 500ms: it waits for another check") {
		t.Errorf("a check behind another one: %+v", v)
	}
	// A holder that has the lock for longer than it may is not waited for.
	write(t, lock, fmt.Sprintf("%d 1000 1000 /elsewhere\n", os.Getpid()))
	if v := verdict(t, begin(t, newRunner(t, &check.Options{Locks: locks}), newRepo(t), shell("true"))); v.Result != check.Green {
		t.Errorf("a check behind one that hangs: %+v", v)
	}
}

// A filter that hangs does not hold up a report for ever, and ends with the snapshot.
func TestCheck_slowFilter(t *testing.T) {
	repo := newRepo(t)
	pid := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command("git", "config", "filter.slow.clean", "echo $$ > "+pid+"; sleep 333; cat")
	cmd.Dir = repo.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write(t, filepath.Join(repo.Root, ".gitattributes"), "*.bin filter=slow\n")
	write(t, filepath.Join(repo.Root, "x.bin"), "x")
	c := shell("true")
	c.Timeout = 2 * time.Second
	c.Filters = func(string) bool { return true }
	began := time.Now()
	run := begin(t, newRunner(t, nil), repo, c)
	if _, behind := run.Ran(); behind != "git reads the files of the worktree" || time.Since(began) > c.Timeout {
		t.Errorf("after %v the run waits for %q", time.Since(began), behind)
	}
	v := verdict(t, run)
	if v.Result != check.NotJudged || !strings.Contains(v.Why, "git took longer than 2s") {
		t.Errorf("a filter that hangs: %+v", v)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	fmt.Sscan(string(text), &n)
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n)); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the filter still runs: %s", stat)
	}
}
