package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// A Store is a board in a file.
type Store struct {
	path  string
	opt   Options
	lock  *lock
	known int64        // the schema number that this program knows
	last  atomic.Int64 // the latest time that was given, in microseconds
	stop  chan struct{}

	mu     sync.Mutex
	file   *file // nil until there is one
	closed bool
	calls  sync.WaitGroup
}

var _ board.Store = (*Store)(nil)

// Options change what is usual.
type Options struct {
	// Clock is where the time comes from, time.Now if nil.
	Clock func() time.Time
	// Wait is how long a writer queues behind others before it gives up with
	// board.ErrUnavailable, 15 s if zero.
	Wait time.Duration
	// Poll is how often Watch looks for changes, 250 ms if zero.
	Poll time.Duration
	// Force opens a file on a network file system too. Processes on different
	// machines will damage it.
	Force bool

	// For tests: what file system a path is on, and other migrations.
	fileSystem func(path string) (kind string, network bool, err error)
	migrations fs.FS
}

func (o *Options) filled() Options {
	var f Options
	if o != nil {
		f = *o
	}
	if f.Clock == nil {
		f.Clock = time.Now
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
	return f
}

// Open gives the board in the file at path, which need not exist: only a Write
// creates it. A file of an older program is brought up to date here, and a copy of
// it kept beside it.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	s := &Store{path: path, opt: o.filled(), lock: newLock(path), stop: make(chan struct{})}
	if s.known, err = newestMigration(s.opt.migrations); err != nil {
		return nil, fmt.Errorf("open board %s: %w", path, err)
	}
	if err := checkVersion(); err != nil {
		return nil, fmt.Errorf("open board %s: %w", path, err)
	}
	if err := s.checkFileSystem(); err != nil {
		return nil, fmt.Errorf("open board %s: %w", path, err)
	}
	f, err := s.attach(ctx)
	s.leave(f)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open board %s: %w", path, err)
	}
	return s, nil
}

// Read runs f on one moment of the board.
func (s *Store) Read(ctx context.Context, f func(board.Reader) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	return s.read(ctx, f)
}

// Write waits for its turn, then runs f and commits. The first one that has
// something to store creates the file; for that f runs twice.
func (s *Store) Write(ctx context.Context, f func(board.Tx) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	there, err := s.attach(ctx)
	s.leave(there)
	if err != nil {
		return err
	}
	if there == nil {
		if wrote, err := s.rehearse(ctx, f); err != nil || !wrote {
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
	defer s.leave(file)
	return s.write(ctx, file, f)
}

// Claim looks without waiting for a turn whether there is anything to hand out.
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

// Hint does nothing: Watch of other processes looks at the file.
func (s *Store) Hint() {}

// Close waits for the calls that run and closes the file. Close again does nothing.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file = nil
	return err
}

// enter notes a call that Close has to wait for.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: the board is closed", board.ErrUnavailable)
	}
	s.calls.Add(1)
	return nil
}

// now is the clock, in microseconds, never below floor nor what it gave before.
func (s *Store) now(floor int64) int64 {
	n := max(s.opt.Clock().UnixMicro(), floor)
	for {
		last := s.last.Load()
		if n <= last {
			return last
		}
		if s.last.CompareAndSwap(last, n) {
			return n
		}
	}
}
