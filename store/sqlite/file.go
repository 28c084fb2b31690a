package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bossman-dev/bossman/board"
	"modernc.org/sqlite"
)

// readers bounds the connections of one process that read at the same time.
const readers = 4

// A file is a database file that is open. Its path may come to name another one,
// when somebody deletes or replaces it; info tells.
type file struct {
	info   os.FileInfo
	db     *sql.DB
	writer *conn      // whoever holds the lock uses it
	idle   chan *conn // nil: not yet connected

	// Guarded by the store's mutex.
	users   int
	retired bool // close it when the last user has left
}

// openFile opens a file that exists.
func openFile(path string, info os.FileInfo) (*file, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // C:/…
		slashed = "/" + slashed
	}
	// A connection never creates the file, and goose begins like we do.
	query := url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(FULL)", "journal_size_limit(67108864)"},
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}
	connector, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	f := &file{info: info, db: sql.OpenDB(connector), idle: make(chan *conn, readers)}
	for range readers {
		f.idle <- nil
	}
	return f, nil
}

// reader gives a connection that only reads. It goes back by put.
func (f *file) reader(ctx context.Context) (*conn, error) {
	var c *conn
	select {
	case c = <-f.idle:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	c, err := connect(ctx, f.db)
	if err == nil {
		_, err = c.c.ExecContext(ctx, `PRAGMA query_only = ON`)
	}
	if err != nil {
		f.put(c, false)
		return nil, mapError(ctx, err)
	}
	return c, nil
}

// put takes a connection back; one that may be in an odd state is closed.
func (f *file) put(c *conn, good bool) {
	if !good && c != nil {
		c.close()
		c = nil
	}
	f.idle <- c
}

// write gives the one connection that writes.
func (f *file) write(ctx context.Context) (*conn, error) {
	if f.writer == nil {
		c, err := connect(ctx, f.db)
		if err != nil {
			return nil, mapError(ctx, err)
		}
		f.writer = c
	}
	return f.writer, nil
}

// close closes a file that nobody uses.
func (f *file) close() error {
	if f.writer != nil {
		f.writer.close()
	}
	for range readers {
		if c := <-f.idle; c != nil {
			c.close()
		}
	}
	return f.db.Close()
}

// A conn is a connection with its statements.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func connect(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// stmt gives the prepared statement of a constant text.
func (c *conn) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

func (c *conn) close() {
	for _, s := range c.stmts {
		s.Close()
	}
	c.c.Close()
}

// attach gives the file if there is one with a board in it, else nil. It creates
// nothing, but brings an older file up to date. The file goes back by leave.
func (s *Store) attach(ctx context.Context) (*file, error) {
	f, version, err := s.look(ctx)
	if err != nil || f != nil || version == 0 {
		return f, err
	}
	release, err := s.lock.acquire(ctx, s.opt.Wait)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.attachLocked(ctx, false)
}

// attachLocked is attach for whoever has the lock. If create is set it makes what
// is missing.
func (s *Store) attachLocked(ctx context.Context, create bool) (*file, error) {
	f, version, err := s.look(ctx)
	if err != nil || f != nil || (version == 0 && !create) {
		return f, err
	}
	if err := s.prepareLocked(ctx, version); err != nil {
		return nil, fmt.Errorf("prepare board %s: %w", s.path, err)
	}
	f, _, err = s.look(ctx)
	if err == nil && f == nil {
		err = fmt.Errorf("%w: board %s was removed", board.ErrUnavailable, s.path)
	}
	return f, err
}

// look gives the file at path if its schema is at least the one we know. Else it
// gives the version that it has: 0 if there is no file, or no board in it yet.
func (s *Store) look(ctx context.Context) (*file, int64, error) {
	info, err := os.Stat(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	exists := err == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		if exists && os.SameFile(s.file.info, info) {
			s.file.users++
			return s.file, 0, nil
		}
		s.file.retired = true
		if s.file.users == 0 {
			s.file.close()
		}
		s.file = nil
	}
	if !exists || info.Size() == 0 {
		return nil, 0, nil
	}
	f, err := openFile(s.path, info)
	if err != nil {
		return nil, 0, err
	}
	version, err := schemaVersion(ctx, f.db)
	if err != nil || version < s.known {
		f.close()
		return nil, version, err
	}
	f.users = 1
	s.file = f
	return f, 0, nil
}

// leave gives back what attach gave, which may be nil.
func (s *Store) leave(f *file) {
	if f == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.users--
	if f.users == 0 && f.retired {
		f.close()
	}
}

// checkVersion refuses a SQLite that damages a file which several processes write.
var checkVersion = sync.OnceValue(func() error {
	const oldest = "3.51.3"
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	var version string
	if err := db.QueryRow(`SELECT sqlite_version()`).Scan(&version); err != nil {
		return err
	}
	if versionLess(version, oldest) {
		return fmt.Errorf("SQLite %s is linked in, and below %s it can damage a file that several processes write", version, oldest)
	}
	return nil
})

// versionLess compares numbers between dots.
func versionLess(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}
