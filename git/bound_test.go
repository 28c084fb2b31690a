//go:build linux

package git_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	// A mailmap is not read at all.
	r, dir := newRepo(t)
	sh(t, dir, "mkfifo .mailmap; git config mailmap.file /dev/zero")
	began := time.Now()
	if at, err := r.CommitTime(t.Context(), "HEAD"); err != nil || time.Since(at) > time.Hour || time.Since(began) > 5*time.Second {
		t.Errorf("CommitTime = %v, %v after %v", at, err, time.Since(began))
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
