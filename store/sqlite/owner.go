package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bossman-dev/bossman/internal/plaindir"
)

// An owner is a process that holds claims. While it runs, it locks a file that is named
// after it, in the directory board.db.alive. The operating system releases the lock
// when the process ends, however it ends. So a file that is not locked belongs to a
// process that was killed, or could not tell the board that it ends: one that has left the
// board deletes its file.
//
// The lock belongs to the process, not to the open file: a child that was forked and has
// not executed its program yet still has the file open when its parent is killed, but not
// the lock. The operating system knows the holder, so that processes in containers with
// process IDs of their own see the lock, too. An owner without a file is not known to be
// dead.
//
// Programs before this one lock their files in another way, with tryLock, and in another
// directory, board.db.owners. Neither lock is seen by those who look for the other, so an
// older program sees no file of this one, and this one looks there for the other lock.
//
// A process never conflicts with its own locks, and loses a lock when it closes the file,
// even if it had opened it a second time. So it never opens the file of an owner that it
// attends itself, in whichever Store.

// attended guards the owners of all stores of this process, and counts them. It is held
// from opening a file until it is closed or known to be attended.
var attended = struct {
	sync.Mutex
	owners map[string]int
}{owners: map[string]int{}}

// Attend makes the next write lock the owner's file. It does nothing for a board on a
// network file system, where another machine might not see the lock.
func (s *Store) Attend(owner string) {
	if s.network || owner == "" || strings.ContainsAny(owner, `/\:`) || strings.HasPrefix(owner, ".") {
		return
	}
	attended.Lock()
	defer attended.Unlock()
	if _, ok := s.owners[owner]; !ok {
		s.owners[owner] = nil
		attended.owners[owner]++
	}
}

// The directories of owners' files, beside the board.
const (
	aliveSuffix  = ".alive"
	ownersSuffix = ".owners"
)

// ownersDir opens such a directory. Agents may have exchanged it for a symbolic link to the
// files of others, which are not ours to lock or to delete.
func (s *Store) ownersDir(suffix string, create bool) (*os.Root, error) {
	dir, err := boardDir(s.path, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return plaindir.Below(dir, create, filepath.Base(s.path)+suffix)
}

// removeOwner deletes an owner's file, unless another one has its name. It is empty: nobody writes
// to it.
func removeOwner(dir *os.Root, file os.FileInfo) {
	if now, err := dir.Lstat(file.Name()); err == nil && os.SameFile(now, file) && now.Size() == 0 {
		_ = dir.Remove(file.Name())
	}
}

// attendTime is how long a write waits for those who look at the file of its owner.
const attendTime = 2 * time.Second

// lockOwners locks the files of the owners that this process attends. If that fails, as
// on a full disk, their claims end with their leases.
func (s *Store) lockOwners() {
	attended.Lock()
	defer attended.Unlock()
	alive := func() (*os.Root, error) { return s.ownersDir(aliveSuffix, true) }
	for owner, f := range s.owners {
		// A process that looks whether the owner lives may have the lock, or may have
		// deleted the file before it was locked. On a busy machine that can take it a while.
		for late := time.Now().Add(attendTime); ; sleep(lockSpin) {
			if locked, err := tryFile(&f, alive, owner, lockProcess); locked || err != nil || time.Now().After(late) {
				break
			}
		}
		s.owners[owner] = f
	}
}

// depart deletes the files of owners that have left, if this store attends them.
func (s *Store) depart(owners []string) {
	attended.Lock()
	defer attended.Unlock()
	for _, owner := range owners {
		f, ok := s.owners[owner]
		if !ok {
			continue
		}
		s.unattend(owner)
		if f == nil {
			continue
		}
		s.removeFile(f)
	}
}

// removeFile deletes and closes the file of an owner that this store attends.
func (s *Store) removeFile(f *os.File) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	dir, err := s.ownersDir(aliveSuffix, false)
	if err != nil {
		return
	}
	defer dir.Close()
	removeOwner(dir, info) // while it is locked: nobody may think that its process was killed
	f.Close()
	removeOwner(dir, info) // again, for systems that do not delete open files
}

// abandon unlocks the files of the owners that have not left, as on a full disk, and keeps
// them: so these are known to be gone, as those of a process that was killed.
func (s *Store) abandon() {
	attended.Lock()
	defer attended.Unlock()
	for owner, f := range s.owners {
		s.unattend(owner)
		if f != nil {
			f.Close()
		}
	}
}

// unattend forgets an owner. The caller holds attended.
func (s *Store) unattend(owner string) {
	delete(s.owners, owner)
	if attended.owners[owner]--; attended.owners[owner] == 0 {
		delete(attended.owners, owner)
	}
}

// Gone finds the files that are not locked, and deletes those whose owner has nothing
// left.
func (r *reader) Gone() ([]string, error) {
	if r.store.network {
		return nil, nil
	}
	current, err := r.goneIn(aliveSuffix, seesUnlocked)
	if err != nil {
		return nil, err
	}
	older, err := r.goneIn(ownersSuffix, tryLock)
	return append(current, older...), err
}

// goneIn is Gone for the files in a directory. unlocked reports whether nobody has a file
// locked.
func (r *reader) goneIn(suffix string, unlocked func(*os.File) (bool, error)) ([]string, error) {
	dir, err := r.store.ownersDir(suffix, false)
	if err != nil {
		return nil, nil // there is none, or it cannot be read: nobody is known to be dead
	}
	defer dir.Close()
	entries, err := plaindir.Entries(dir)
	if err != nil {
		return nil, nil
	}
	var gone []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		dead, err := r.isGone(dir, e.Name(), unlocked)
		if err != nil {
			return nil, err
		}
		if dead {
			gone = append(gone, e.Name())
		}
	}
	return gone, nil
}

// isGone reports whether an owner has died and has claims, workers or open questions.
func (r *reader) isGone(dir *os.Root, owner string, unlocked func(*os.File) (bool, error)) (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM claims WHERE owner = ?1) OR EXISTS (SELECT 1 FROM reviews WHERE owner = ?1) OR EXISTS (SELECT 1 FROM workers WHERE owner = ?1)
		OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND owner = ?1) OR EXISTS (SELECT 1 FROM landers WHERE nonce <> '' AND owner = ?1)`
	attended.Lock()
	defer attended.Unlock()
	if attended.owners[owner] > 0 {
		return false, nil
	}
	f, err := dir.OpenFile(owner, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return false, nil // it has just been deleted
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	if free, err := unlocked(f); err != nil || !free {
		return false, nil
	}
	var has bool
	if err := r.get(query, []any{owner}, &has); err != nil || has {
		return has, err
	}
	removeOwner(dir, info)
	return false, nil
}
