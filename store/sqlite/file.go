package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
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
	sqlite3 "modernc.org/sqlite/lib"
)

// readers is how many connections of one process read at the same time.
const readers = 4

// A file is an open database file. info identifies it: another file may replace it at its
// path.
type file struct {
	info   os.FileInfo
	dir    *os.File // the directory that it is in
	db     *sql.DB
	writer *conn      // used by the holder of the lock
	idle   chan *conn // readers; a nil one is not connected yet

	// Guarded by the store's mutex.
	users   int
	retired bool // close it after its last use
	frozen  bool // opened as a file that nobody writes
}

// openFile opens a file that exists. synchronous is SQLite's word for how much of a
// commit is on disk before it is answered; frozen opens it as a file that nobody writes.
func openFile(path string, info os.FileInfo, synchronous string, frozen bool) (*file, error) {
	// A connection never creates the file. goose begins transactions as we do. The schema of
	// a file that somebody else made must not call functions with side effects.
	query := url.Values{
		"mode":    {"rw"},
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "synchronous(" + synchronous + ")", "journal_size_limit(67108864)", "secure_delete(1)", "trusted_schema(0)"},
	}
	if frozen {
		query.Set("mode", "ro")
		query.Set("immutable", "1")
	}
	dir, err := dirOf(path, info)
	if err != nil {
		return nil, err
	}
	name, vfs, ok := nameIn(dir, filepath.Base(path))
	if ok {
		query.Set("vfs", vfs)
	} else {
		name = filepath.ToSlash(path)
	}
	if !strings.HasPrefix(name, "/") { // C:/…
		name = "/" + name
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: name, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	f := &file{info: info, dir: dir, db: sql.OpenDB(sameFile{connector, path, info}), idle: make(chan *conn, readers), frozen: frozen}
	for range readers {
		f.idle <- nil
	}
	return f, nil
}

// dirOf opens the directory of path, if the file there is that one.
func dirOf(path string, info os.FileInfo) (*os.File, error) {
	root, err := boardDir(path, false)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	defer root.Close()
	if now, err := root.Lstat(filepath.Base(path)); err != nil || !os.SameFile(now, info) {
		return nil, errors.Join(exchanged(path), err)
	}
	return root.Open(".")
}

// exchanged is the error if another file, or its directory, has taken the place of one meanwhile.
func exchanged(path string) error {
	return fmt.Errorf("%w: %q was exchanged while it was opened, and what is there now may be another board: find the program that changes it or its directory, and end it", board.ErrUnavailable, path)
}

// A sameFile connects to a file only if that is at its path before and after, also where SQLite opens
// its files by their paths.
type sameFile struct {
	driver.Connector
	path string
	info os.FileInfo
}

func (s sameFile) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	// A read opens the log as well.
	if q, ok := c.(driver.QueryerContext); ok {
		rows, err := q.QueryContext(ctx, `PRAGMA schema_version`, nil)
		if err == nil {
			err = rows.Close()
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if now, err := plainFile(s.path); err != nil || !os.SameFile(now, s.info) {
		return nil, errors.Join(exchanged(s.path), err, c.Close())
	}
	return c, nil
}

// reader returns a read-only connection. The caller returns it with put.
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

// put returns a connection of reader. It discards one that is not good.
func (f *file) put(c *conn, good bool) {
	if !good && c != nil {
		c.discard()
		c = nil
	}
	f.idle <- c
}

// write returns the connection for writing.
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

// close closes a file that is not in use.
func (f *file) close() error {
	if f.writer != nil {
		f.writer.close()
	}
	for range readers {
		if c := <-f.idle; c != nil {
			c.close()
		}
	}
	return errors.Join(f.db.Close(), f.dir.Close())
}

// A conn is a connection with its prepared statements.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
}

func connect(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := sqlite.Limit(c, sqlite3.SQLITE_LIMIT_LENGTH, maxValue); err != nil {
		c.Close()
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// maxValue bounds a value and a row, which a file that somebody else made could have of a
// gigabyte. Ours are far smaller.
const maxValue = 5 << 20

// stmt returns the prepared statement of a constant query.
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

// discard closes a connection for good: it may be in a transaction, which the next user of a
// connection that is only closed would inherit.
func (c *conn) discard() {
	c.finalize()
	_ = c.c.Raw(func(any) error { return driver.ErrBadConn })
	c.c.Close()
}

// close returns a connection to its database.
func (c *conn) close() {
	c.finalize()
	c.c.Close()
}

func (c *conn) finalize() {
	for _, s := range c.stmts {
		s.Close()
	}
}

// attach returns the file, or nil if there is no file with a board in it. It creates
// nothing, but migrates an older file. The caller returns the file with detach.
func (s *Store) attach(ctx context.Context) (*file, error) {
	f, version, err := s.current(ctx)
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

// attachLocked is attach for the holder of the lock. If create is set, it creates what is
// missing.
func (s *Store) attachLocked(ctx context.Context, create bool) (*file, error) {
	f, version, err := s.current(ctx)
	if err != nil || f != nil || (version == 0 && !create) {
		return f, err
	}
	if err := s.prepareLocked(ctx, version); err != nil {
		return nil, fmt.Errorf("prepare board %q: %w", s.path, err)
	}
	f, _, err = s.current(ctx)
	if err == nil && f == nil {
		err = fmt.Errorf("%w: board %q was deleted", board.ErrUnavailable, s.path)
	}
	return f, err
}

// current returns the file at path if its schema is up to date. Otherwise it returns the
// version of the schema, 0 if there is no file or no board in it yet.
func (s *Store) current(ctx context.Context) (*file, int64, error) {
	info, err := plainFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: %w", board.ErrUnavailable, err)
	}
	exists := err == nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil {
		if exists && os.SameFile(s.file.info, info) && !(s.file.frozen && s.file.changed(s.path)) {
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
		if s.seen { // a new one in its place would have none of its tasks
			return nil, 0, fmt.Errorf("%w: the file %q was moved or deleted while this process used it", board.ErrGone, s.path)
		}
		return nil, 0, nil
	}
	f, version, err := s.openReadable(ctx, info)
	if err != nil {
		return nil, version, err
	}
	if version < s.known {
		f.close()
		return nil, version, nil
	}
	f.users = 1
	s.file, s.seen = f, true
	return f, 0, nil
}

// plainFile returns the file at path. It refuses a board whose directory is a link, or whose files are
// links, pipes or devices: SQLite would follow them or wait for them.
func plainFile(path string) (os.FileInfo, error) {
	dir, err := boardDir(path, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if info, err := dir.Lstat(filepath.Base(path) + suffix); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%q is not a regular file, and a board is not followed through a symbolic link", path+suffix)
		}
	}
	return dir.Lstat(filepath.Base(path))
}

// detach ends the use of a file that attach returned, which may be nil.
func (s *Store) detach(f *file) {
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

// checkVersion rejects versions of SQLite that can damage a file written by several
// processes.
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
		return fmt.Errorf("SQLite %s can damage a file that several processes write; want at least %s", version, oldest)
	}
	return nil
})

// versionLess compares versions such as 3.51.3.
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
