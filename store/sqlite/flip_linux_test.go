package sqlite

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"golang.org/x/sys/unix"
)

// flips is how often a board is opened while its directory changes; make hostile has more.
var flips = func() int {
	if n, err := strconv.Atoi(os.Getenv("BOSSMAN_FLIPS")); err == nil {
		return n
	}
	return 40
}()

// A board is never another one, however often its directory is exchanged for a link to that while the
// file is opened or made.
func TestOpen_flip(t *testing.T) {
	for _, there := range []bool{true, false} {
		t.Run(map[bool]string{true: "opened", false: "made"}[there], func(t *testing.T) {
			p, other := filepath.Join(t.TempDir(), ".bossman", "board.db"), filepath.Join(t.TempDir(), ".bossman", "board.db")
			for _, p := range []string{p, other} {
				s, err := Open(t.Context(), p, nil)
				if err != nil {
					t.Fatal(err)
				}
				seed(t, s, 1, nil)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, filepath.Dir(other))
			dir, err := os.OpenRoot(filepath.Dir(p))
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Close()
			link := filepath.Dir(p) + "-link"
			if err := os.Symlink(filepath.Dir(other), link); err != nil {
				t.Fatal(err)
			}
			done, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				for n := 0; ; n++ {
					select {
					case <-done:
						if n%2 == 0 {
							return
						}
					default:
					}
					pause := time.Millisecond // the directory is there for longer than the link
					if n%2 == 0 {
						pause /= 4
					}
					if err := unix.Renameat2(unix.AT_FDCWD, filepath.Dir(p), unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(rand.N(pause))
				}
			}()
			written, good := 0, 0
			for range flips {
				if !there { // it is made anew
					for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
						dir.Remove("board.db" + suffix)
					}
					written = 0
				}
				s, err := Open(t.Context(), p, nil)
				if err != nil {
					continue
				}
				if there {
					err = s.Write(t.Context(), func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
				} else {
					err = s.Write(t.Context(), func(tx board.Tx) error {
						return tx.PutProject(board.Project{Slug: "mine", Name: "Mine", Policy: board.PolicyTrust})
					})
				}
				if err == nil {
					written++
					good++
				}
				s.Close()
			}
			close(done)
			<-ended
			t.Logf("%d of %d without an error", good, flips)
			if there {
				wantRows(t, p, "tasks", 1+written)
			} else if written > 0 {
				wantRows(t, p, "projects", 1)
			}
			wantRows(t, other, "tasks", 1)
			wantRows(t, other, "projects", 1)
			if after := names(t, filepath.Dir(other)); len(after) != len(before) {
				t.Errorf("beside the other board are %q, were %q", after, before)
			}
		})
	}
}

// names lists what is in a directory.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// wantRows checks how many rows a table of a board has, and that the file is sound.
func wantRows(t *testing.T, path, table string, want int) {
	t.Helper()
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if faults, err := s.Integrity(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("%s: %q, %v", path, faults, err)
	}
	var got int
	err = s.withDB(t.Context(), func(db *sql.DB) error {
		return db.QueryRow("SELECT count(*) FROM " + table).Scan(&got)
	})
	if err != nil || got != want {
		t.Errorf("%s has %d %s, %v; want %d", path, got, table, err, want)
	}
}
