package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/store/sqlite"
)

// TestReadOnly: in a directory that this process may not write, the board is read, also
// what others write to it in the meantime, and a write says why it is refused.
func TestReadOnly(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the system lets root write everywhere; cmd/bossman has a script that needs no other user")
	}
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "board")
	path := filepath.Join(dir, "board.db")
	put := func(slug string) {
		t.Helper()
		if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		s, err := sqlite.Open(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Write(ctx, func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: slug}) }); err != nil {
			t.Fatal(err)
		}
	}
	count := func(s *sqlite.Store) (n int) {
		t.Helper()
		err := s.Read(context.WithoutCancel(ctx), func(r board.Reader) error {
			ps, err := r.Projects()
			n = len(ps)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	put("a")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := count(s); n != 1 {
		t.Errorf("%d projects, want 1", n)
	}
	err = s.Write(ctx, func(tx board.Tx) error { return tx.PutProject(board.Project{Slug: "b"}) })
	if !errors.Is(err, board.ErrReadOnly) {
		t.Errorf("Write = %v, want %v", err, board.ErrReadOnly)
	}
	put("c")
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if n := count(s); n != 2 {
		t.Errorf("%d projects after another process wrote, want 2", n)
	}
}
