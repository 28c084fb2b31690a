//go:build linux

package git_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in place of a file that git reads is noticed before git waits for it.
func TestRun_pipes(t *testing.T) {
	for name, prepare := range map[string]string{
		"one line":        `mkfifo p; printf '[include] path = ../p\n' >> .git/config`,
		"nested":          `mkfifo p; printf '[include]\n path = p\n' > more; printf '[include]\n path = ../more\n' >> .git/config`,
		"condition":       `mkfifo p; printf '[includeIf "gitdir:**"] path = "../p"\n' >> .git/config`,
		"attributes":      `mkfifo p; printf '[core] attributesFile = p\n' >> .git/config`,
		"a long file":     `mkfifo p; head -c 100000 /dev/zero | tr '\0' '#' > pad; printf '\n[include]\n path = ../p\n' >> pad; cat pad >> .git/config`,
		"gitignore":       `mkfifo .gitignore`,
		"gitattributes":   `mkfifo .gitattributes`,
		"config.worktree": `mkfifo p; git config extensions.worktreeConfig true; printf '[include] path = ../p\n' > .git/config.worktree`,
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, prepare)
			began := time.Now()
			if commit, err := r.Commit(t.Context(), "HEAD"); err == nil {
				t.Errorf("Commit = %s", commit)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	// A branch that is being rebased is not read from one, either.
	held, beside := newRepo(t)
	sh(t, beside, "mkdir .git/rebase-merge .git/rebase-apply; mkfifo .git/rebase-merge/head-name; ln -s /dev/zero .git/rebase-apply/head-name")
	if tree := held.Held("fix"); tree != nil {
		t.Errorf("Held = %s", tree.Root)
	}
	// Nothing is a file that may be named.
	empty, at := newRepo(t)
	sh(t, at, "git config core.excludesFile /dev/null; git config core.attributesFile /dev/null")
	if _, err := empty.Commit(t.Context(), "HEAD"); err != nil {
		t.Errorf("with /dev/null: %v", err)
	}
	// A mailmap is not read at all.
	r, dir := newRepo(t)
	sh(t, dir, "mkfifo .mailmap; git config mailmap.file /dev/zero")
	began := time.Now()
	if at, err := r.CommitTime(t.Context(), "HEAD"); err != nil || time.Since(at) > time.Hour || time.Since(began) > 15*time.Second {
		t.Errorf("CommitTime = %v, %v after %v", at, err, time.Since(began))
	}
}

// A pipe that git comes upon later does not keep it for long.
func TestRun_obstacles(t *testing.T) {
	for name, prepare := range map[string]string{
		"attributes below": `mkfifo d/.gitattributes; touch d/new`,
		"ignore below":     `mkfifo d/.gitignore; touch d/new`,
		"object":           `h=$(git rev-parse HEAD); rm -f .git/objects/${h%${h#??}}/${h#??}; mkfifo .git/objects/${h%${h#??}}/${h#??}`,
		"index of a pack":  `git repack -adq; f=$(ls .git/objects/pack/*.idx); rm -f $f; mkfifo $f`,
		"commit graph":     `mkdir -p .git/objects/info; mkfifo .git/objects/info/commit-graph`,
		"alternates":       `mkdir -p .git/objects/info alt/info other; echo $PWD/alt > .git/objects/info/alternates; mkfifo alt/info/alternates`,
		"shared index":     `git update-index --split-index; f=$(ls .git/sharedindex.*); rm $f; mkfifo $f`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := newRepo(t)
			sh(t, dir, "mkdir d; echo x > d/x; git add .; git commit -qm d; "+prepare)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, snapshot := r.Snapshot(ctx, nil)
			_, contains := r.Contains(ctx, "HEAD", "HEAD~1")
			_, last := r.LastChange(ctx, "HEAD")
			if err := errors.Join(snapshot, contains, last); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took > 12*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A snapshot writes no objects through links.
func TestSnapshot_links(t *testing.T) {
	for name, prepare := range map[string]string{
		"below":       `for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do [ -e .git/objects/$i$j ] || ln -s $PWD/../out .git/objects/$i$j; done; done`,
		"packs":       `git config core.bigFileThreshold 1; rmdir .git/objects/pack; ln -s $PWD/../out .git/objects/pack`,
		"the objects": `mv .git/objects/* ../out; rmdir ../out/pack ../out/info 2>/dev/null; rm -rf .git/objects; ln -s $PWD/../out .git/objects`,
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			out := filepath.Join(dir, "..", "out")
			if err := os.MkdirAll(out, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(out) })
			sh(t, dir, prepare+"; echo new > new")
			before := sh(t, dir, "find ../out | sort")
			if s, err := r.Snapshot(t.Context(), nil); err == nil {
				t.Errorf("Snapshot = %+v", s)
			}
			if after := sh(t, dir, "find ../out | sort"); after != before {
				t.Errorf("written outside:\n%s", after)
			}
		})
	}
}

// Files outside the repository are not quoted in errors.
func TestRun_secrets(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(secret, []byte("https://bob:SECRET@example.org\nmachine x password SECRET!\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TO", secret)
	for name, prepare := range map[string]string{
		"shallow":       `ln -s $TO .git/shallow`,
		"packed-refs":   `ln -sf $TO .git/packed-refs`,
		"grafts":        `mkdir -p .git/info; ln -s $TO .git/info/grafts`,
		"alternates":    `t=$(git rev-parse HEAD^{tree}); rm -f .git/objects/${t%${t#??}}/${t#??}; mkdir -p .git/ob/info; echo ../ob > .git/objects/info/alternates; ln -s $TO .git/ob/info/alternates`,
		"quoted":        `t=$(git rev-parse HEAD^{tree}); rm -f .git/objects/${t%${t#??}}/${t#??}; mkdir -p .git/ob/info; echo '"../ob"' > .git/objects/info/alternates; ln -s $TO .git/ob/info/alternates`,
		"a ref":         `ln -s $TO .git/refs/heads/x`,
		"info":          `rm -rf .git/info; mkdir ../info; cp $TO ../info/attributes; ln -s ../../info .git/info`,
		"configuration": `ln -sf $TO .git/config`,
		"attributes":    `git config core.attributesFile "$TO"; git config core.bigFileThreshold bad`,
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := newRepo(t)
			sh(t, dir, prepare+"; echo changed > one")
			_, err := r.Commit(t.Context(), "HEAD")
			_, err2 := r.Snapshot(t.Context(), nil)
			if err2 == nil || strings.Contains(fmt.Sprint(err, err2), "SECRET") {
				t.Errorf("Commit: %v\nSnapshot: %v", err, err2)
			}
		})
	}
	// A worktree that shares the files of another repository by links, as some tools make it.
	r, dir := newRepo(t)
	sh(t, dir, `mkdir ../other; mv .git ../other/.git; mkdir -p .git/logs; cp ../other/.git/HEAD ../other/.git/index .git
		for f in config objects refs info packed-refs; do ln -s ../../other/.git/$f .git/$f; done; git -C ../other pack-refs --all; echo changed > one`)
	if _, err := r.Snapshot(t.Context(), nil); err != nil {
		t.Errorf("shared by links: %v", err)
	}
}

// An object that unpacks to hundreds of megabytes does not take that memory.
func TestRun_memory(t *testing.T) {
	const size = 256 << 20
	r, dir := newRepo(t)
	tree := sh(t, dir, "git rev-parse HEAD^{tree}")
	head := fmt.Sprintf("tree %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> %d +0000\n\n", tree, time.Now().Unix())
	var packed bytes.Buffer
	z, _ := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	sum := sha1.New()
	w := io.MultiWriter(z, sum)
	fmt.Fprintf(w, "commit %d\x00%s", len(head)+size, head)
	mega := bytes.Repeat([]byte{'x'}, 1<<20)
	for range size >> 20 {
		w.Write(mega)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := hex.EncodeToString(sum.Sum(nil))
	object := filepath.Join(dir, ".git", "objects", name[:2], name[2:])
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object, packed.Bytes(), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "refs", "heads", "main"), []byte(name+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// What is called an index of a pack does not change that.
	sh(t, dir, "mkdir -p .git/objects/pack; truncate -s 2G .git/objects/pack/pack-1111111111111111111111111111111111111111.idx")
	ctx := t.Context()
	_, commit := r.Commit(ctx, "HEAD")
	_, at := r.CommitTime(ctx, name)
	_, changes := r.Changes(ctx, name)
	_, on := r.Contains(ctx, name, name)
	_, fresh := r.IsNew(ctx, name, nil)
	_, last := r.LastChange(ctx, name)
	_, snapshot := r.Snapshot(ctx, nil)
	t.Log(commit, at, changes, on, fresh, last, snapshot)
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	if u.Maxrss > 200<<10 {
		t.Errorf("git took %d MB", u.Maxrss>>10)
	}
}
