//go:build unix

package git_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bossman-dev/bossman/git"
)

// landPaths are the files of the repositories in which branches move.
var landPaths = []string{"a", "b", "c", "d/x", "d/y", "e", "e/z", "f/g/h", "f/g", "odd\nname", "tab\t\"q\"", "ünï", "link", "run"}

// A landCase is a repository with a branch next on top of main, which is checked out with changes of
// the user's.
type landCase struct {
	dir, old, new string
	differ        map[string]bool   // the paths in which the two commits differ
	fresh         map[string]string // the files of the new commit
	files         map[string]string // those of the worktree
	index, status string
}

// makeLand makes a random case.
func makeLand(t *testing.T, base string, seed uint64) *landCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	dir := filepath.Join(base, "template")
	next := filepath.Join(base, "next")
	sh(t, base, "git init -q -b main template && cd template && echo '*.ignored' > .gitignore && git add -A && git commit -qm first")
	write := func(path, word string) {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return // a file is there
		}
		if info, err := os.Lstat(full); err == nil && info.IsDir() {
			return
		}
		os.Remove(full)
		text := fmt.Sprintf("%s %d\n", word, rng.IntN(1000)) + strings.Repeat(path+"\n", rng.IntN(2000))
		switch rng.IntN(8) {
		case 0:
			os.Symlink(word, full)
		case 1:
			os.WriteFile(full, []byte(text), 0o755)
		default:
			os.WriteFile(full, []byte(text), 0o644)
		}
	}
	for _, path := range landPaths {
		if rng.IntN(4) > 0 {
			write(path, "old")
		}
	}
	sh(t, dir, "git add -A && git commit -qm old --allow-empty && git checkout -qb next")
	for _, path := range landPaths {
		switch rng.IntN(5) {
		case 0:
			os.RemoveAll(filepath.Join(dir, path))
		case 1, 2:
			if rng.IntN(3) == 0 {
				os.RemoveAll(filepath.Join(dir, path))
			}
			write(path, "new")
		}
	}
	sh(t, dir, "git add -A && git commit -qm new --allow-empty && git checkout -q main && git clone -q -b next . ../next")
	c := &landCase{dir: dir, old: commitOf(t, dir, "main"), new: commitOf(t, dir, "next"), differ: map[string]bool{}, fresh: readFiles(t, next)}
	for path := range strings.SplitSeq(sh(t, dir, "git diff -z --name-only --no-renames main next"), "\x00") {
		c.differ[path] = path != ""
	}
	for _, path := range landPaths {
		if c.differ[path] && rng.IntN(60) > 0 {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, path)); err != nil {
			continue
		}
		switch rng.IntN(6) {
		case 0:
			write(path, "mine")
		case 1:
			write(path, "staged")
			sh(t, dir, "git add -A")
		case 2:
			write(path, "staged")
			sh(t, dir, "git add -A")
			write(path, "mine")
		case 3:
			os.Remove(filepath.Join(dir, path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.differ)) { // the user has staged just that
		if _, err := os.Lstat(filepath.Join(dir, path)); err == nil && c.fresh[path] != "" && rng.IntN(8) == 0 {
			sh(t, dir, "git checkout -q next -- '"+path+"'")
		}
	}
	os.WriteFile(filepath.Join(dir, "untracked"), []byte("u"), 0o644)
	os.WriteFile(filepath.Join(dir, "x.ignored"), []byte("i"), 0o644)
	c.look(t)
	return c
}

// look notes what the worktree has.
func (c *landCase) look(t *testing.T) {
	t.Helper()
	c.files = readFiles(t, c.dir)
	c.index = sh(t, c.dir, "git ls-files -s -z")
	c.status = c.statusNow(t)
}

func (c *landCase) statusNow(t *testing.T) string {
	t.Helper()
	return strings.TrimPrefix(sh(t, c.dir, "echo .; git status --porcelain --ignored -z --no-renames"), ".\n")
}

// again returns a copy of the case.
func (c *landCase) again(t *testing.T, n string) *landCase {
	t.Helper()
	copied := *c
	copied.dir = filepath.Join(filepath.Dir(c.dir), n, "repo")
	sh(t, filepath.Dir(c.dir), "mkdir "+n+" && cp -a template "+n+"/repo")
	return &copied
}

// readFiles reads the files below a directory, with their kinds.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		rel, _ := filepath.Rel(dir, path)
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			files[rel] = "link " + to
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		files[rel] = fmt.Sprintf("file %v %s", info.Mode()&0o100 != 0, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// check looks at the case after an Advance was cut off, or after the recovery.
func (c *landCase) check(t *testing.T, recovered, inGit bool) {
	t.Helper()
	now := commitOf(t, c.dir, "main")
	if now != c.old && now != c.new {
		t.Errorf("main is %s", now)
	}
	files := readFiles(t, c.dir)
	paths := map[string]bool{}
	for _, m := range []map[string]string{files, c.files, c.fresh} {
		for path := range m {
			paths[path] = true
		}
	}
	for path := range paths {
		switch have := files[path]; {
		case !c.differ[path] || now == c.old:
			if have != c.files[path] {
				t.Errorf("%q is %.60q, was %.60q", path, have, c.files[path])
			}
		case have == c.fresh[path]:
		case recovered:
			t.Errorf("%q is %.60q after the recovery, want %.60q", path, have, c.fresh[path])
		case have != c.files[path] && !(inGit && have == ""):
			t.Errorf("%q is %.60q, neither %.60q nor %.60q", path, have, c.files[path], c.fresh[path])
		}
	}
	if !recovered {
		return
	}
	if got := left(t, c.dir); got != "" {
		t.Errorf("left: %s", got)
	}
	want := c.status
	if now == c.new { // what differed has been staged as it is now
		want = ""
		for line := range strings.SplitAfterSeq(c.status, "\x00") {
			if len(line) < 4 || !c.differ[strings.TrimSuffix(line[3:], "\x00")] {
				want += line
			}
		}
	}
	if got := c.statusNow(t); got != want {
		t.Errorf("the status is %q, was %q", got, c.status)
	}
	if now == c.old {
		if got := sh(t, c.dir, "git ls-files -s -z"); got != c.index {
			t.Errorf("the index is %q, was %q", got, c.index)
		}
	}
	sh(t, c.dir, "git fsck --no-progress --no-dangling; git update-index --refresh -q || true; git symbolic-ref HEAD | grep -x refs/heads/main")
}

func (c *landCase) advance() git.Advance {
	return git.Advance{Branch: "main", Old: c.old, New: c.new, Why: "bossman: landed"}
}

// seeds returns the seeds of a test, which a variable can name, as make land-kills does. Without it,
// one is chosen, and the test takes part of its time only.
func seeds(t *testing.T) (list []uint64, all bool) {
	t.Helper()
	text := os.Getenv("BOSSMAN_LAND_SEEDS")
	if text == "" {
		return []uint64{rand.Uint64N(1 << 32)}, false
	}
	var from, to uint64
	if _, err := fmt.Sscanf(text, "%d-%d", &from, &to); err != nil {
		t.Fatal(err)
	}
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list, true
}

// TestAdvance_stopped: wherever an Advance stops, files are as they were or as they get, and the
// recovery completes it.
func TestAdvance_stopped(t *testing.T) {
	list, every := seeds(t)
	for _, seed := range list {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			c := makeLand(t, base, seed)
			var steps []string
			all := c.again(t, "all")
			reset := git.SetLandStep(func(step string) { steps = append(steps, step) })
			_, err = find(t, all.dir).Advance(t.Context(), all.advance(), nil)
			reset()
			if _, ok := held(err); !ok && err != nil {
				t.Fatal(err)
			}
			all.check(t, true, false)
			t.Logf("%d files differ, %d steps, %v", len(c.differ), len(steps), err)
			for n, step := range steps {
				if !every && uint64(n)%4 != seed%4 {
					continue
				}
				c := c.again(t, strconv.Itoa(n))
				r := find(t, c.dir)
				func() {
					defer func() { recover() }()
					at := -1
					defer git.SetLandStep(func(string) {
						if at++; at == n {
							panic("stop")
						}
					})()
					r.Advance(t.Context(), c.advance(), nil)
				}()
				c.check(t, false, false)
				if _, err := r.Recover(t.Context(), nil); err != nil {
					t.Errorf("Recover: %v", err)
				}
				c.check(t, true, false)
				if done, err := r.Recover(t.Context(), nil); err != nil || len(done) > 0 {
					t.Errorf("Recover again = %+v, %v", done, err)
				}
				os.RemoveAll(filepath.Dir(c.dir))
				if t.Failed() {
					t.Fatalf("stopped %s", step)
				}
			}
		})
	}
}

// TestRecover: files that git had begun to write are written again, and those that the user has
// changed since are left and named.
func TestRecover(t *testing.T) {
	r, dir := newNext(t)
	sh(t, dir, "git checkout -q next; seq 5000 > long; seq 50 > other; git add -A; git commit -qm more; git checkout -q main; echo mine > keep")
	a := advance(t, dir)
	func() {
		defer func() { recover() }()
		defer git.SetLandStep(func(step string) {
			if step == "before update" {
				panic("stop")
			}
		})()
		r.Advance(t.Context(), a, nil)
	}()
	sh(t, dir, "seq 400 > long; : > change; rm gone; echo new > d/x; mkdir e; echo mine > other; ! git commit -qam x 2>/dev/null; ! git switch -q -c topic 2>/dev/null")
	done, err := r.Recover(t.Context(), nil)
	if err != nil || len(done) != 1 || !done[0].Moved || !slices.Equal(done[0].Left, []string{"d/x", "other"}) {
		t.Errorf("Recover = %+v, %v", done, err)
	}
	if got := sh(t, dir, "git status --porcelain; cat keep d/x other; git diff --quiet HEAD -- long change gone e link; git rev-parse HEAD"); got != "M d/x\n M keep\n M other\nmine\nnew\nmine\n"+a.New {
		t.Errorf("got %s", got)
	}
	if got := left(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestRecover_journal: a journal that is not ours changes nothing, and neither does a lock of others.
func TestRecover_journal(t *testing.T) {
	one := strings.Repeat("1", 40)
	for name, test := range map[string]struct{ plant, want string }{
		"empty":          {"mkdir .git/bossman-land; : > .git/bossman-land/journal", "not a journal"},
		"other version":  {"mkdir .git/bossman-land; printf 'bossman landing 2\\nmain\\n%s\\n%s\\n' $OLD $NEW > .git/bossman-land/journal", "not a journal"},
		"other branch":   {"mkdir .git/bossman-land; printf 'bossman landing 1\\n../../x\\n%s\\n%s\\n' $OLD $NEW > .git/bossman-land/journal", "not a journal"},
		"no commit":      {"mkdir .git/bossman-land; printf 'bossman landing 1\\nmain\\n%s\\n%s\\n' " + one + " $OLD > .git/bossman-land/journal", "no such commit"},
		"backwards":      {"mkdir .git/bossman-land; printf 'bossman landing 1\\nmain\\n%s\\n%s\\n' $NEW $OLD > .git/bossman-land/journal", "does not have"},
		"long":           {"mkdir .git/bossman-land; head -c 100000 /dev/zero > .git/bossman-land/journal", "regular file"},
		"pipe":           {"mkdir .git/bossman-land; mkfifo .git/bossman-land/journal", "written through"},
		"link":           {"mkdir ../elsewhere; printf 'bossman landing 1\\nmain\\n%s\\n%s\\n' $OLD $OLD > ../elsewhere/journal; ln -s ../../elsewhere .git/bossman-land", "symbolic link"},
		"other's lock":   {"mkdir .git/bossman-land; printf 'bossman landing 1\\nmain\\n%s\\n%s\\n' $OLD $OLD > .git/bossman-land/journal; touch .git/index.lock", "git is running"},
		"without a note": {"mkdir .git/bossman-land; echo x > .git/bossman-land/lock", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newNext(t)
			t.Setenv("OLD", commitOf(t, dir, "main"))
			t.Setenv("NEW", commitOf(t, dir, "next"))
			sh(t, dir, test.plant)
			look := func() string {
				return sh(t, dir, "git rev-parse HEAD; git status --porcelain; git ls-files -s; find .git -name '*.lock' -not -path '.git/bossman/*'; ls ../elsewhere 2>/dev/null || true")
			}
			before := look()
			if done, err := r.Recover(t.Context(), nil); !says(err, test.want) || len(done) > 0 {
				t.Errorf("Recover = %+v, %v, want %q", done, err, test.want)
			}
			if after := look(); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// TestAdvance_cannotWrite: if git cannot write files after the branch has moved, they are named, and
// nothing is locked.
func TestAdvance_cannotWrite(t *testing.T) {
	r, dir := newNext(t)
	sh(t, dir, "echo mine > keep")
	a := advance(t, dir)
	real, bin := sh(t, dir, "command -v git"), t.TempDir()
	script := "#!/bin/sh\ncase \" $* \" in *' read-tree -m -u '*) echo 'error: no space' >&2; exit 128;; esac\nexec " + real + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	done, err := r.Advance(t.Context(), a, nil)
	if want := []string{"change", "d/x", "e/y", "gone", "link"}; err != nil || !slices.Equal(done.Left, want) {
		t.Errorf("Advance = %+v, %v, want left %q", done, err, want)
	}
	if got := sh(t, dir, "git status --porcelain"); got != "M change\n M d/x\n D e/y\n M keep\n D link\n?? gone" {
		t.Errorf("the status is %q", got)
	}
	if got := left(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestLandChild is the process that TestAdvance_killed kills.
func TestLandChild(t *testing.T) {
	dir := os.Getenv("BOSSMAN_LAND_DIR")
	if dir == "" {
		t.Skip("for TestAdvance_killed")
	}
	at, kill := -1, 0
	fmt.Sscan(os.Getenv("BOSSMAN_LAND_STEP"), &kill)
	git.SetLandStep(func(step string) {
		if step == "before update" || step == "before update again" {
			os.WriteFile(os.Getenv("BOSSMAN_LAND_ARMED"), nil, 0o600)
		}
		if at++; at == kill {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	})
	r := find(t, dir)
	if os.Getenv("BOSSMAN_LAND_RECOVER") != "" {
		_, err := r.Recover(context.Background(), nil)
		t.Log(err)
		return
	}
	_, err := r.Advance(context.Background(), git.Advance{Branch: "main", Old: os.Getenv("BOSSMAN_LAND_OLD"), New: os.Getenv("BOSSMAN_LAND_NEW")}, nil)
	t.Log(err)
}

// TestAdvance_killed: the same for a process that is killed, at a step or while git writes files, and
// is killed once more in the recovery.
func TestAdvance_killed(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	// The filter of all files kills the process and git when it has written enough of them.
	script := `#!/bin/sh
n=$(cat "$BOSSMAN_LAND_ARMED.count" 2>/dev/null || echo 0)
if [ -e "$BOSSMAN_LAND_ARMED" ] && [ -n "$BOSSMAN_LAND_FILES" ]; then
	echo $((n+1)) > "$BOSSMAN_LAND_ARMED.count"
	if [ "$n" -ge "$BOSSMAN_LAND_FILES" ]; then kill -9 $(cat "$BOSSMAN_LAND_ARMED.pid") $PPID; exit 1; fi
fi
exec cat
`
	if err := os.WriteFile(filepath.Join(home, "smudge"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	config := "[filter \"k\"]\n\tsmudge = " + filepath.Join(home, "smudge") + "\n\tclean = cat\n\trequired = true\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list, every := seeds(t)
	kills := 10
	if !every {
		kills = 4
	}
	for _, seed := range list {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			c := makeLand(t, base, seed)
			sh(t, c.dir, "mkdir -p .git/info; echo '* filter=k' > .git/info/attributes")
			rng := rand.New(rand.NewPCG(seed, 2))
			child := func(c *landCase, step, files int, recover string) {
				armed := filepath.Join(filepath.Dir(c.dir), "armed")
				os.Remove(armed)
				os.Remove(armed + ".count")
				cmd := exec.Command("sh", "-c", `echo $$ > "$0".pid; exec "$@"`, armed, exe, "-test.run=^TestLandChild$")
				cmd.Env = append(os.Environ(), "BOSSMAN_LAND_DIR="+c.dir, "BOSSMAN_LAND_OLD="+c.old, "BOSSMAN_LAND_NEW="+c.new, "BOSSMAN_LAND_ARMED="+armed,
					fmt.Sprint("BOSSMAN_LAND_STEP=", step), "BOSSMAN_LAND_RECOVER="+recover)
				if files >= 0 {
					cmd.Env = append(cmd.Env, fmt.Sprint("BOSSMAN_LAND_FILES=", files))
				}
				cmd.Run()
			}
			for n := range kills {
				c := c.again(t, strconv.Itoa(n))
				step, files := rng.IntN(34), -1
				if n%2 == 0 {
					step, files = 1000, rng.IntN(3)
				}
				child(c, step, files, "")
				c.check(t, false, files >= 0)
				if n%3 == 0 {
					child(c, rng.IntN(14), -1, "yes")
					c.check(t, false, files >= 0)
				} else if n%4 == 0 {
					child(c, 1000, rng.IntN(3), "yes")
					c.check(t, false, files >= 0)
				}
				done, err := find(t, c.dir).Recover(t.Context(), nil)
				if err != nil {
					t.Errorf("Recover: %v", err)
				}
				c.check(t, true, false)
				t.Logf("killed at step %d, file %d: %+v, main is new: %v", step, files, done, commitOf(t, c.dir, "main") == c.new)
				os.RemoveAll(filepath.Dir(c.dir))
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

// TestRecover_kinds: what was cut off is completed as git would have written it: with line endings of
// the user's, within a sparse checkout, with names of SHA-256, and without touching submodules.
func TestRecover_kinds(t *testing.T) {
	for name, test := range map[string]struct{ init, next, set, meanwhile, want string }{
		"line endings": {
			init: "printf '1\\n2\\n' > crlf; echo '* text eol=crlf' > .gitattributes",
			next: "seq 2000 > crlf; seq 3 > new", meanwhile: "seq 200 | sed 's/$/\\r/' > crlf; : > new",
			want: "tail -1 crlf | od -An -c | grep -q '\\\\r' && [ $(wc -l < crlf) = 2000 ] && head -1 new | od -An -c | grep -q '\\\\r'",
		},
		"autocrlf": {
			init: "printf '1\\n2\\n' > crlf", set: "git config core.autocrlf true; rm crlf; git checkout -q crlf",
			next: "printf '1\\n2\\n3\\n' > crlf", meanwhile: "printf '1\\r\\n2\\r\\n3\\r\\n' > crlf",
			want: "grep -q 3 crlf",
		},
		"sparse": {
			init: "mkdir in out; echo 1 | tee in/a > out/a", set: "git sparse-checkout init --cone; git sparse-checkout set in",
			next: "echo 2 | tee in/a in/b out/b > out/a; mkdir far; echo 2 > far/a", meanwhile: "echo 2 > in/b",
			want: "[ $(cat in/a in/b | sort -u) = 2 ] && ! test -e out && ! test -e far",
		},
		"sparse index": {
			init: "mkdir in out; echo 1 | tee in/a > out/a", set: "git sparse-checkout init --cone --sparse-index; git sparse-checkout set in",
			next: "echo 2 | tee in/a in/b out/b > out/a; mkdir far; echo 2 > far/a", meanwhile: "echo 2 > in/a",
			want: "[ $(cat in/a in/b | sort -u) = 2 ] && ! test -e out && ! test -e far",
		},
		"skipped": {
			init: "echo 1 > a", set: "git update-index --skip-worktree a",
			next: "echo 2 > a; echo 2 > b", want: "[ $(cat a b | sort -u) = 2 ]",
		},
		"submodule": {
			init: "git init -q --object-format=$FORMAT sub; (cd sub; echo s > s; git add s; git commit -qm s); git add sub 2>/dev/null",
			next: "(cd sub; git commit -q --allow-empty -m t); git add sub; echo 2 > a", set: "(cd sub; git checkout -q HEAD^)",
			meanwhile: "echo 2 > a", want: "[ $(git -C sub log --format=%s -1) = s ] && git status --porcelain | grep -qx ' M sub' && git -C sub switch -q -",
		},
		"split index": {init: "echo 1 > a", set: "git config core.splitIndex true; git update-index --split-index", next: "echo 2 > a; echo 2 > b", meanwhile: "echo 2 > b", want: "[ $(cat a b | sort -u) = 2 ]"},
		"nothing":     {init: "echo 1 > a", next: "git commit -q --allow-empty -m empty", want: "true"},
	} {
		for _, format := range []string{"sha1", "sha256"} {
			for _, at := range []string{"", "before update", "after update"} {
				if format == "sha256" && at != "before update" {
					continue
				}
				t.Run(name+" "+format+" "+at, func(t *testing.T) {
					base, err := filepath.EvalSymlinks(t.TempDir())
					if err != nil {
						t.Fatal(err)
					}
					dir := filepath.Join(base, "repo")
					t.Setenv("FORMAT", format)
					sh(t, base, "git init -q -b main --object-format="+format+" repo; cd repo; "+test.init+"; git add -A 2>/dev/null; git commit -qm init")
					sh(t, dir, "git checkout -qb next; "+test.next+"; git add -A; git commit -q --allow-empty -m next; git checkout -q main; true; "+test.set)
					before := sh(t, dir, "git status --porcelain")
					r, a := find(t, dir), advance(t, dir)
					func() {
						defer func() { recover() }()
						defer git.SetLandStep(func(step string) {
							if step == at {
								panic("stop")
							}
						})()
						if done, err := r.Advance(t.Context(), a, nil); err != nil || len(done.Left) > 0 {
							t.Errorf("Advance = %+v, %v", done, err)
						}
					}()
					if at == "before update" {
						sh(t, dir, "true; "+test.meanwhile)
					}
					done, err := r.Recover(t.Context(), nil)
					if err != nil || len(done) != len(strings.Fields(at))/2 || len(done) > 0 && len(done[0].Left) > 0 {
						t.Errorf("Recover = %+v, %v", done, err)
					}
					sh(t, dir, test.want)
					if after := sh(t, dir, "git status --porcelain"); after != before || commitOf(t, dir, "HEAD") != a.New {
						t.Errorf("the status was %q and is %q", before, after)
					}
					if got := left(t, dir); got != "" {
						t.Errorf("left: %s", got)
					}
				})
			}
		}
	}
}

// TestAdvance_hooks: no hook runs.
func TestAdvance_hooks(t *testing.T) {
	r, dir := newNext(t)
	canary := filepath.Join(t.TempDir(), "canary")
	sh(t, dir, `for h in reference-transaction post-index-change post-checkout post-merge post-rewrite pre-push update post-update; do printf '#!/bin/sh\ntouch `+canary+`\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done; git config core.fsmonitor .git/hooks/update`)
	if _, err := r.Advance(t.Context(), advance(t, dir), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a hook ran")
	}
}
