package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// exchange puts a symbolic link in the place of a directory, as an agent can that may write there.
func exchange(t *testing.T, dir, target string) {
	t.Helper()
	if err := os.Rename(dir, dir+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, dir); err != nil {
		t.Skip(err)
	}
}

// others makes a directory with files that are not the board's.
func others(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantCount checks what is in a directory.
func wantCount(t *testing.T, dir string, want int) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
		t.Errorf("in %q are %v, %v; want %d files", dir, entries, err, want)
	}
}

// Nothing is deleted or made where a link leads that an agent has put in the place of the
// directory with the owners' files.
func TestGone_link(t *testing.T) {
	for _, suffix := range []string{aliveSuffix, ownersSuffix} {
		t.Run(suffix, func(t *testing.T) {
			p := path(t)
			s := open(t, p, nil)
			s.Attend("p-1")
			seed(t, s, 1, nil)
			if err := os.MkdirAll(p+suffix, 0o700); err != nil {
				t.Fatal(err)
			}
			victim := others(t, "thesis", "p-1", "p-2")
			exchange(t, p+suffix, victim)
			s.Attend("p-3")
			if err := s.Write(t.Context(), func(tx board.Tx) error {
				_, err := tx.Gone()
				return err
			}); err != nil {
				t.Fatal(err)
			}
			s.depart([]string{"p-1", "p-3"})
			wantCount(t, victim, 3)
		})
	}
}

// A file in the directory of owners that has something in it is not an owner's.
func TestGone_notOurs(t *testing.T) {
	p := path(t)
	s := open(t, p, nil)
	s.Attend("p-1")
	seed(t, s, 1, nil)
	if err := os.WriteFile(filepath.Join(p+aliveSuffix, "thesis"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	read(t, s, func(r board.Reader) error { _, err := r.(*reader).Gone(); return err })
	wantCount(t, p+aliveSuffix, 2)
}

// A board is not read or written where a link leads that was put in the place of its directory.
func TestStore_directoryExchanged(t *testing.T) {
	for _, there := range []string{"a board", "nothing"} {
		t.Run(there, func(t *testing.T) {
			p, other := filepath.Join(t.TempDir(), ".bossman", "board.db"), filepath.Join(t.TempDir(), ".bossman", "board.db")
			s := open(t, p, nil)
			seed(t, s, 1, nil)
			if err := os.Mkdir(filepath.Dir(other), 0o700); err != nil {
				t.Fatal(err)
			}
			if there == "a board" {
				theirs := open(t, other, nil)
				seed(t, theirs, 2, nil)
				theirs.Close()
			}
			before, err := os.ReadDir(filepath.Dir(other))
			if err != nil {
				t.Fatal(err)
			}
			exchange(t, filepath.Dir(p), filepath.Dir(other))
			if err := s.Read(t.Context(), func(board.Reader) error { return nil }); !errors.Is(err, board.ErrUnavailable) {
				t.Errorf("Read() = %v, want ErrUnavailable", err)
			}
			if err := s.Write(t.Context(), func(tx board.Tx) error { return addTasks(tx, "web", 9, nil) }); !errors.Is(err, board.ErrUnavailable) {
				t.Errorf("Write() = %v, want ErrUnavailable", err)
			}
			s.Close()
			wantCount(t, filepath.Dir(other), len(before))
			if _, err := Open(t.Context(), p, nil); !errors.Is(err, board.ErrUnavailable) {
				t.Errorf("Open() = %v, want ErrUnavailable", err)
			}
		})
	}
}

// A file that is exchanged before or while SQLite opens it is not used.
func TestOpenFile_exchanged(t *testing.T) {
	p, other := path(t), filepath.Join(t.TempDir(), "board.db")
	for _, p := range []string{p, other} {
		s, err := Open(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		seed(t, s, 1, nil)
		s.Close()
	}
	info, err := os.Lstat(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(other, info, "FULL", false); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("openFile() = %v, want ErrUnavailable", err)
	}
	f, err := openFile(p, info, "FULL", false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := os.Rename(other, p); err != nil {
		t.Fatal(err)
	}
	if _, err := f.reader(t.Context()); !errors.Is(err, board.ErrUnavailable) {
		t.Errorf("reader() = %v, want ErrUnavailable", err)
	}
}
