package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/board/boardtest"
)

// later is what a newer program brings along: all of ours and one more.
func later(t *testing.T, up string) fs.FS {
	t.Helper()
	all := fstest.MapFS{"90000_later.sql": {Data: []byte("-- +goose Up\n" + up)}}
	err := fs.WalkDir(migrations, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations, name)
		all[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestMigrate_olderProgramGoesOn(t *testing.T) {
	path := path(t)
	old := open(t, path, nil)
	seed(t, old, 3, nil)
	if got := claim(t, old, want("otter")); len(got) != 1 {
		t.Fatalf("Claim() = %v", got)
	}
	newer := open(t, path, &Options{migrations: later(t, `
ALTER TABLE tasks ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';
ALTER TABLE claims ADD COLUMN mood INTEGER;
CREATE TABLE extras (id INTEGER NOT NULL PRIMARY KEY) STRICT;
CREATE INDEX tasks_colour ON tasks (colour);`)})
	for name, s := range map[string]*Store{"old": old, "newer": newer, "old, opened again": open(t, path, nil)} {
		if got := claim(t, s, want("heron-"+name[:1]+name[len(name)-1:])); len(got) != 1 && name == "old" {
			t.Errorf("%s: Claim() = %v, want one", name, got)
		}
		write(t, s, func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
		read(t, s, func(r board.Reader) error {
			tasks, err := r.Tasks(board.TaskFilter{})
			if len(tasks) < 4 {
				t.Errorf("%s: %d tasks", name, len(tasks))
			}
			return err
		})
	}
	// The copy from before is a board of its own.
	backup := fmt.Sprintf("%s.v%d.bak", path, old.known)
	if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
		t.Fatalf("backup: %v, %v", info, err)
	}
	read(t, open(t, backup, nil), func(r board.Reader) error {
		tasks, err := r.Tasks(board.TaskFilter{})
		if len(tasks) != 3 {
			t.Errorf("the backup has %d tasks, want 3", len(tasks))
		}
		return err
	})
}

// TestMigrate_fromTheFirst: a file of the first schema is upgraded with what is in it, and
// programs that know only the first schema go on reading and writing it. They are stood for
// by their statements.
func TestMigrate_fromTheFirst(t *testing.T) {
	path := path(t)
	text, err := fs.ReadFile(migrations, "00001_board.sql")
	if err != nil {
		t.Fatal(err)
	}
	first := open(t, path, &Options{migrations: fstest.MapFS{"00001_board.sql": {Data: text}}})
	if err := first.prepareLocked(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := openFile(path, info, "FULL", false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	put := func(slug, policy string) {
		const query = `INSERT INTO projects (slug, name, policy, lease, skills, paused_by, archived) VALUES (?, '', ?, 0, '[]', '', 0)
			ON CONFLICT (slug) DO UPDATE SET name = excluded.name, policy = excluded.policy, lease = excluded.lease,
			skills = excluded.skills, paused_by = excluded.paused_by, archived = excluded.archived`
		t.Helper()
		if _, err := f.db.Exec(query, slug, policy); err != nil {
			t.Fatal(err)
		}
	}
	put("web", "person")
	newer := open(t, path, nil)
	_, key, err := auth.New(newer, nil).CreateKey(t.Context(), auth.NewKey{Owner: "ada", Project: "web", Role: auth.Worker})
	if err != nil {
		t.Fatal(err)
	}
	policies := func() string {
		list := ""
		read(t, newer, func(r board.Reader) error {
			ps, err := r.Projects()
			for _, p := range ps {
				list += p.Slug + "=" + string(p.Policy) + " "
			}
			return err
		})
		return list
	}
	if got := policies(); got != "web=person " {
		t.Errorf("after the upgrade: %s, want the policy person to stay", got)
	}
	write(t, newer, func(tx board.Tx) error {
		return tx.PutProject(board.Project{Slug: "web", Policy: board.PolicyReview})
	})
	var old string
	if err := f.db.QueryRow(`SELECT policy FROM projects WHERE slug = 'web'`).Scan(&old); err != nil || old != "person" {
		t.Errorf("an older program reads the policy %q, %v; want person, which sends tasks to review", old, err)
	}
	put("web", old) // as when it pauses the project
	put("api", "evidence")
	if got := policies(); got != "api=evidence web=review " {
		t.Errorf("after an older program has written: %s", got)
	}
	if _, err := auth.New(newer, nil).Token(t.Context(), key.Reveal()); err != nil {
		t.Errorf("Token() = %v", err)
	}
}

func TestMigrate_tooNew(t *testing.T) {
	path := path(t)
	old := open(t, path, nil)
	seed(t, old, 1, nil)
	newer := open(t, path, &Options{migrations: later(t, `
ALTER TABLE tasks RENAME COLUMN title TO heading;
UPDATE meta SET min_schema = 90000;`)})
	if err := newer.Write(t.Context(), func(tx board.Tx) error { return nil }); err != nil {
		t.Errorf("newer: Write() = %v", err)
	}
	check := func(s *Store) {
		t.Helper()
		if err := s.Write(t.Context(), func(board.Tx) error { return nil }); !errors.Is(err, board.ErrTooNew) {
			t.Errorf("Write() = %v, want ErrTooNew", err)
		}
		if err := s.Read(t.Context(), func(board.Reader) error { return nil }); !errors.Is(err, board.ErrTooNew) {
			t.Errorf("Read() = %v, want ErrTooNew", err)
		}
		if _, err := s.Claim(t.Context(), want("otter")); !errors.Is(err, board.ErrTooNew) {
			t.Errorf("Claim() = %v, want ErrTooNew", err)
		}
	}
	check(old)
	check(open(t, path, nil))
}

func TestMigrate_failureChangesNothing(t *testing.T) {
	path := path(t)
	old := open(t, path, nil)
	seed(t, old, 1, nil)
	s, err := Open(t.Context(), path, &Options{migrations: later(t, `
CREATE TABLE extras (id INTEGER NOT NULL PRIMARY KEY) STRICT;
ALTER TABLE nowhere ADD COLUMN colour TEXT;`)})
	if err == nil {
		s.Close()
		t.Fatal("Open() = nil, want an error")
	}
	write(t, old, func(w board.Tx) error {
		n := 0
		if err := w.(*tx).get(`SELECT count(*) FROM sqlite_schema WHERE name = 'extras'`, nil, &n); err != nil {
			return err
		}
		if n != 0 {
			t.Error("half of a migration stayed")
		}
		return addTasks(w, "web", 1, nil)
	})
}

func TestEvents_neverChange(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 1, nil)
	for _, query := range []string{`UPDATE events SET actor = 'bob'`, `DELETE FROM events`} {
		err := s.Write(t.Context(), func(w board.Tx) error {
			_, err := w.(*tx).exec(query)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "never") {
			t.Errorf("%s: %v, want a refusal", query, err)
		}
	}
}

// TestOpen_anotherProgram: a database that is not ours is left as it is.
func TestOpen_anotherProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('ada')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, nil)
	if err == nil {
		defer s.Close()
		err = s.Write(t.Context(), func(tx board.Tx) error { return addTasks(tx, "web", 1, nil) })
	}
	if err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("a write = %v, want that it is the database of another program", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
}

// TestMigrate_redoes: of the tasks with the title of one that does another again, those count that a person has made from it.
func TestMigrate_redoes(t *testing.T) {
	path := path(t)
	s := open(t, path, nil)
	boardtest.MakeRedoes(t, s)
	before := boardtest.Redoes(t, s)
	write(t, s, func(w board.Tx) error {
		_, err := w.(*tx).exec(`ALTER TABLE tasks DROP COLUMN redoes`)
		if err == nil {
			_, err = w.(*tx).exec(`DELETE FROM goose_db_version WHERE version_id >= 18`)
		}
		return err
	})
	if got := boardtest.Redoes(t, open(t, path, nil)); got != before || strings.Count(got, ";") != 2 {
		t.Errorf("after the migration: %s want two, %s", got, before)
	}
}
