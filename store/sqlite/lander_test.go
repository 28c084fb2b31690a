package sqlite

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/bossman-dev/bossman/board"
)

// before is what the program before a schema brings along.
func before(t *testing.T, schema string) fs.FS {
	t.Helper()
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	some := fstest.MapFS{}
	for _, name := range names {
		if name >= schema {
			continue
		}
		text, err := fs.ReadFile(migrations, name)
		if err != nil {
			t.Fatal(err)
		}
		some[name] = &fstest.MapFile{Data: text}
	}
	return some
}

// TestPutLand_olderProgram: a program that does not know about landing goes on until a project lands its work.
func TestPutLand_olderProgram(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	seed(t, s, 1, nil)
	older := open(t, path, &Options{migrations: before(t, "00014")})
	pause := func() error {
		return older.Write(t.Context(), func(tx board.Tx) error {
			_, err := tx.Numbers("web", 1)
			return err
		})
	}
	if err := pause(); err != nil {
		t.Fatalf("before a project lands: %v", err)
	}
	write(t, s, func(tx board.Tx) error { return tx.PutLand("web", "") })
	if err := pause(); err != nil {
		t.Fatalf("after it was switched off, which it was: %v", err)
	}
	write(t, s, func(tx board.Tx) error { return tx.PutLand("web", "main") })
	if err := pause(); !errors.Is(err, board.ErrTooNew) {
		t.Fatalf("after a project lands: %v, want ErrTooNew", err)
	}
	write(t, s, func(tx board.Tx) error { return tx.PutLand("web", "") })
	if err := pause(); !errors.Is(err, board.ErrTooNew) {
		t.Fatalf("after it was switched off again: %v, want ErrTooNew: what was landed stays", err)
	}
}
