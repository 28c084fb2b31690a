package sqlite

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A full disk in the middle: SQLite undoes the transaction by itself, and what comes
// after in the same function must not be stored alone.
func TestWrite_diskFull(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 1, nil)
	limit := func(pages int) {
		write(t, s, func(w board.Tx) error {
			q := newQuery(`PRAGMA max_page_count = 100000`)
			if pages == 0 {
				q = newQuery(`PRAGMA max_page_count = 1`) // as many as there are
			}
			return w.(*tx).eachOf(q, func(scan) error { return nil })
		})
	}
	limit(0)
	var inner, after error
	err := s.Write(t.Context(), func(tx board.Tx) error {
		inner = addTasks(tx, "web", 100, func(_ int, task *board.Task) { task.Title = strings.Repeat("long ", 1000) })
		after = tx.PutProject(board.Project{Slug: "app"})
		return nil // and pretends that all is well
	})
	if inner == nil || after == nil || err == nil || !strings.Contains(inner.Error(), "disk is full") {
		t.Errorf("on a full disk: %v, then %v, and Write() = %v; want errors", inner, after, err)
	}
	limit(100000)
	read(t, s, func(r board.Reader) error {
		if _, err := r.Project("app"); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Project(app) = %v, want ErrNotFound", err)
		}
		tasks, err := r.Tasks(board.TaskFilter{})
		if len(tasks) != 1 {
			t.Errorf("%d tasks, want 1", len(tasks))
		}
		return err
	})
	write(t, s, func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
}

func TestOpen_damaged(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	seed(t, s, 500, nil)
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	for i := 4096; i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(t.Context(), path, nil)
	if err == nil {
		err = s.Write(t.Context(), func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file gives %v", err)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was changed: %v", err)
	}
}

// Everything at once in one process, for the race detector.
func TestStore_concurrent(t *testing.T) {
	s := open(t, path(t), &Options{Poll: time.Millisecond})
	seed(t, s, 20, nil)
	var wg sync.WaitGroup
	wg.Go(func() { s.Watch(t.Context(), func() {}) })
	var work sync.WaitGroup
	for i := range 6 {
		work.Go(func() {
			for j := range 5 {
				if i%2 == 0 {
					claims, err := s.Claim(t.Context(), want(strings.Repeat("w", i*5+j+1)))
					if len(claims) != 1 || err != nil {
						t.Errorf("Claim() = %v, %v", claims, err)
					}
				}
				if err := s.Read(t.Context(), func(r board.Reader) error {
					_, err := r.Tasks(board.TaskFilter{})
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
