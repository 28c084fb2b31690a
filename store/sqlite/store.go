package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Store is a board in a SQLite file. It is safe for concurrent use.
type Store struct {
	path  string
	opt   Options
	lock  *lock
	known int64 // the newest migration of this program
	clock clock
	stop  chan struct{}

	network bool // on a network file system

	owners map[string]*os.File // the locked files of those it attends; nil until locked; guarded by attended

	mu     sync.Mutex
	file   *file // nil until there is one
	seen   bool  // there was one
	closed bool
	calls  sync.WaitGroup
}

var _ board.Store = (*Store)(nil)

// Options configures a Store. The zero value selects the defaults.
type Options struct {
	// Clock returns the time; default time.Now.
	Clock func() time.Time
	// Logger gets a warning if the times in the file are ahead of Clock; nil: no logging.
	Logger *slog.Logger
	// Wait is how long a writer waits for other writers before it fails with
	// board.ErrUnavailable; default 15 s.
	Wait time.Duration
	// Poll is the interval at which Watch checks for changes; default 250 ms.
	Poll time.Duration
	// Force allows a file on a network file system, which processes on different
	// machines will damage.
	Force bool

	// For tests: the file system of a path, other migrations, and SQLite's synchronous
	// setting; default FULL.
	fileSystem  func(path string) (kind string, network bool, err error)
	migrations  fs.FS
	synchronous string
}

// withDefaults returns a copy of o with all defaults set.
func (o *Options) withDefaults() Options {
	var f Options
	if o != nil {
		f = *o
	}
	if f.Clock == nil {
		f.Clock = time.Now
	}
	if f.Logger == nil {
		f.Logger = slog.New(slog.DiscardHandler)
	}
	if f.Wait == 0 {
		f.Wait = 15 * time.Second
	}
	if f.Poll == 0 {
		f.Poll = 250 * time.Millisecond
	}
	if f.fileSystem == nil {
		f.fileSystem = fileSystem
	}
	if f.migrations == nil {
		f.migrations = migrations
	}
	f.synchronous = cmp.Or(f.synchronous, "FULL")
	return f
}

// Open opens the board in the file at path. The file does not need to exist: the first
// Write creates it. Open migrates a file of an older program, and keeps a backup beside
// it.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	s := &Store{path: path, opt: o.withDefaults(), lock: newLock(path), stop: make(chan struct{}), owners: map[string]*os.File{}}
	s.clock.now, s.clock.log = s.opt.Clock, s.opt.Logger
	if s.known, err = newestMigration(s.opt.migrations); err != nil {
		return nil, fmt.Errorf("open board %q: %w", path, err)
	}
	if err := checkVersion(); err != nil {
		return nil, fmt.Errorf("open board %q: %w", path, err)
	}
	if err := s.checkFileSystem(); err != nil {
		return nil, fmt.Errorf("open board %q: %w", path, err)
	}
	f, err := s.attach(ctx)
	s.detach(f)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open board %q: %w", path, asFull(err))
	}
	return s, nil
}

// Read runs f on a snapshot of the board.
func (s *Store) Read(ctx context.Context, f func(board.Reader) error) error {
	if err := s.startCall(); err != nil {
		return err
	}
	defer s.calls.Done()
	return s.read(ctx, f)
}

// Write waits for other writers, then runs f in a transaction. If there is no file yet, it
// runs f on an empty board first, and creates the file only if f writes something.
func (s *Store) Write(ctx context.Context, f func(board.Tx) error) error {
	if err := s.startCall(); err != nil {
		return err
	}
	defer s.calls.Done()
	existing, err := s.attach(ctx)
	s.detach(existing)
	if err != nil {
		return err
	}
	if existing == nil {
		if wrote, err := s.dryRun(ctx, f); err != nil || !wrote {
			return err
		}
	}
	release, err := s.lock.acquire(ctx, s.opt.Wait)
	if err != nil {
		return err
	}
	defer release()
	file, err := s.attachLocked(ctx, true)
	if err != nil {
		return err
	}
	defer s.detach(file)
	s.lockOwners()
	return s.write(ctx, file, f)
}

// Claim checks with a read whether there is a task to hand out, and writes only then.
func (s *Store) Claim(ctx context.Context, w board.Want) ([]board.Claim, error) {
	some := false
	err := s.Read(ctx, func(r board.Reader) error {
		some = false
		if r, ok := r.(*reader); ok {
			projects, err := r.fitting(w)
			some = len(projects) > 0
			return err
		}
		return nil
	})
	if err != nil || !some {
		return nil, err
	}
	var claims []board.Claim
	err = s.Write(ctx, func(tx board.Tx) error {
		claims, err = tx.Claim(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claims, nil
}

// Hint does nothing: Watch polls the file.
func (s *Store) Hint() {}

// Close waits for the calls in flight and closes the file. It is idempotent.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	s.mu.Unlock()
	s.calls.Wait()
	s.lock.close()
	s.abandon()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file = nil
	return err
}

// startCall registers a call, for which Close waits.
func (s *Store) startCall() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: the board is closed", board.ErrUnavailable)
	}
	s.calls.Add(1)
	return nil
}
