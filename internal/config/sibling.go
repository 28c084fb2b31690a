package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
)

// The boards of a user's clones are listed in the state directory, by remote, so that a
// second clone can name the board of the first:
//
//	remotes/<hash of github.com/acme/web>/<hash of the git directory>   the git directory

// maxSiblings bounds how many other clones are named.
const maxSiblings = 3

func (s *Settings) remoteDir(remote string) string {
	dir := StateDir(s.getenv)
	if dir == "" || remote == "" {
		return ""
	}
	return filepath.Join(dir, "remotes", hashName(remote))
}

// hashSize is how many bytes of a hash are in a name.
const hashSize = 16

func hashName(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:hashSize])
}

// NotesDir is where notes about work on this board are kept, empty if there is no place.
func (s *Settings) NotesDir() string {
	dir := StateDir(s.getenv)
	if dir == "" {
		return ""
	}
	board := s.location.Path
	if IsServer(s.Board) {
		board = s.Board
	}
	return filepath.Join(dir, "work", hashName(board))
}

// clone returns the repository whose own board these settings use, nil if there is none:
// outside git, with a link, or if the board was named by its file.
func (s *Settings) clone() *git.Repo {
	if s.noBoard != nil || s.DB != "" || IsServer(s.Board) || s.location.Path != boardFileOf(s.location.Repository) {
		return nil
	}
	return s.location.repo
}

// FirstWrite returns a function that, once the first write has created the board of this
// clone, returns once what to know about the boards of other clones of the same remote.
func (s *Settings) FirstWrite() func() string {
	path := s.location.Path
	_, err := os.Stat(path)
	created := err != nil
	var once sync.Once
	return func() (note string) {
		if _, err := os.Stat(path); err != nil {
			return ""
		}
		once.Do(func() {
			if others := s.siblings(); created && len(others) > 0 {
				note = fmt.Sprintf("This clone has a board of its own now. Another clone of the same remote has one, too: %s. To share it, a person runs: bossman link %s",
					console.ShellWords(others...), console.ShellWords(others[0]))
			}
			s.noteBoard()
			if s.check != nil {
				s.markOwn(s.location)
			}
		})
		return note
	}
}

// noteBoard lists the board of this clone for other clones of the same remote. It is best
// effort.
func (s *Settings) noteBoard() {
	repo := s.clone()
	if repo == nil {
		return
	}
	dir := s.remoteDir(repo.Remote())
	path := filepath.Join(dir, hashName(repo.Common))
	if dir == "" {
		return
	}
	if _, err := os.Lstat(path); err == nil {
		return
	}
	if os.MkdirAll(dir, 0o700) == nil {
		_ = os.WriteFile(path, []byte(repo.Common), 0o600)
	}
}

// siblings returns the directories of other clones of the same remote that have a board.
func (s *Settings) siblings() []string {
	repo := s.clone()
	if repo == nil {
		return nil
	}
	remote := repo.Remote()
	dir := s.remoteDir(remote)
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	var list []string
	for _, e := range entries {
		text, err := readPlain(filepath.Join(dir, e.Name()), maxPath)
		common := string(text)
		if err != nil || checkTarget(repo.Common, common) != nil || len(list) == maxSiblings {
			continue
		}
		other, _ := git.At(common)
		info, err := os.Stat(boardFileOf(common))
		if err != nil || !info.Mode().IsRegular() || other.Remote() != remote {
			continue
		}
		if filepath.Base(common) == ".git" {
			common = filepath.Dir(common)
		}
		list = append(list, common)
	}
	slices.Sort(list)
	return list
}
