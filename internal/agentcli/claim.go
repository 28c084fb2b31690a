package agentcli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/bossman-dev/bossman/internal/plaindir"
	"github.com/bossman-dev/bossman/proc"
	"github.com/go-json-experiment/json"
)

// A claimFile has what the agent of a directory holds. Its owner stays the same, so that
// the worker's name belongs to the directory.
type claimFile struct {
	path string

	// Board is the board's name, see boardName: the file may be of another one.
	Board string `json:"board"`
	Owner string `json:"owner"`
	// Worker is the agent's name, and Claim the handle of its claim; empty if it has none.
	Worker string `json:"worker,omitzero"`
	Claim  string `json:"claim,omitzero"`
	// Dir is the worktree where the claim was taken. It is another one now if it was moved.
	Dir string `json:"dir,omitzero"`
	// Branch is the one that the agent was told to work on, in a worktree of its own.
	Branch string `json:"branch,omitzero"`
}

// maxClaimFile bounds what is read.
const maxClaimFile = 64 << 10

// openClaim reads the file of a desk. A claim whose agent was told to work on the branch that
// is checked out here is found, too, and outside git one that was taken in a directory above,
// within the project.
func openClaim(d *Desk) (*claimFile, error) {
	own, err := readClaim(claimPath(d.Dir, d.Elsewhere), boardName(d))
	if err != nil || own.Claim != "" {
		return own, err
	}
	if repo, err := git.Find(d.Dir); err == nil {
		head, err := repo.Head()
		for _, held := range own.others(repo) {
			if err == nil && held.Branch != "" && held.Branch == head.Branch {
				return held, nil
			}
		}
		return own, nil
	}
	for dir := filepath.Dir(d.Dir); strings.HasPrefix(dir+"/", d.Root+"/") && d.Root != ""; dir = filepath.Dir(dir) {
		if c, err := readClaim(claimPath(dir, d.Elsewhere), own.Board); err == nil && c.Claim != "" {
			return c, nil
		}
	}
	return own, nil
}

// boardName is the name of a desk's board in its claim file. One in the same repository has a
// relative name, and keeps it when the repository is moved.
func boardName(d *Desk) string {
	if repo, err := git.Find(d.Dir); err == nil {
		if rel, err := filepath.Rel(repo.Common, d.Label); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return d.Label
}

// claimPath is the file of a directory: in the git directory of its worktree, or, outside
// git, in elsewhere.
func claimPath(dir, elsewhere string) string {
	if repo, err := git.Find(dir); err == nil && repo.Foreign == "" {
		return filepath.Join(repo.Dir, "bossman", "claim.json")
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(elsewhere, "claims", hex.EncodeToString(sum[:8])+".json")
}

// readClaim reads the file at path. If there is none for this board, it has a new owner
// and nothing else. Without a label it is read whatever board it is for.
func readClaim(path, label string) (*claimFile, error) {
	fresh := &claimFile{path: path, Board: label, Owner: board.DirPrefix + rand.Text()[:12]}
	text, err := readPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return nil, err
	}
	kept := &claimFile{path: path}
	if err := json.Unmarshal(text, kept); err != nil {
		return nil, fmt.Errorf("%q cannot be read: %w; delete it, and use --claim", path, err)
	}
	if label != "" && kept.Board != label || kept.Owner == "" {
		return fresh, nil
	}
	// A repository may have brought the file, and what is in it is printed.
	_, err = board.ParseHandle(kept.Claim)
	if kept.Claim != "" && err != nil || kept.Worker != "" && !board.GivesName(kept.Worker) || !strings.HasPrefix(kept.Owner, board.DirPrefix) {
		return nil, fmt.Errorf("%q was not written by Bossman; delete it, and use --claim", path)
	}
	return kept, nil
}

// onAnother returns what a directory holds on another board, as after bossman link, and that board.
func (c *claimFile) onAnother(dir string) (on, claim string) {
	if c.path == "" {
		return "", ""
	}
	kept, err := readClaim(c.path, "")
	if err != nil || kept.Claim == "" || kept.Board == "" || kept.Board == c.Board {
		return "", ""
	}
	on = kept.Board
	if repo, err := git.Find(dir); err == nil && filepath.IsLocal(on) {
		on = filepath.Join(repo.Common, on)
	}
	return on, kept.Claim
}

// readPlain reads a claim file. A repository may bring something else under its name.
func readPlain(path string) ([]byte, error) {
	if err := checkDir(path); err != nil {
		return nil, err
	}
	dir, err := plaindir.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	text, err := plaindir.Read(dir, filepath.Base(path), maxClaimFile)
	if errors.Is(err, fs.ErrInvalid) {
		err = fmt.Errorf("%w; delete it, and use --claim", err)
	}
	return text, err
}

// checkDir refuses a symbolic link in place of a claim file's directory: files would be
// created wherever it leads.
func checkDir(path string) error {
	if err := git.CheckDir(filepath.Dir(path)); err != nil {
		return console.Errorf(console.Denied, "", "%w", err)
	}
	return nil
}

// write replaces the file. Under bossman work there is none.
func (c *claimFile) write() error {
	if c.path == "" {
		return nil
	}
	if err := checkDir(c.path); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	dir, err := plaindir.Open(filepath.Dir(c.path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return plaindir.Replace(dir, filepath.Base(c.path), append(text, '\n'))
}

// beside returns a claim that is held in another worktree of the repository, and that
// worktree, if there is only one: an agent that made a worktree for its task took the task
// elsewhere.
func (c *claimFile) beside(dir string) (worktree, claim string) {
	repo, err := git.Find(dir)
	if err != nil {
		return "", ""
	}
	others := c.others(repo)
	if len(others) != 1 {
		return "", ""
	}
	for root, held := range others {
		worktree, claim = root, held.Claim
	}
	return worktree, claim
}

// others returns the claims on this board that are held in other worktrees of a repository, or
// where it is bare, by directory.
func (c *claimFile) others(repo *git.Repo) map[string]*claimFile {
	list := map[string]*claimFile{}
	places := repo.Worktrees()
	if main, ok := git.Main(repo.Common); ok && main.Bare {
		places = append(places, main)
	}
	for _, other := range places {
		if at, err := git.Find(other.Root); err != nil || at.Common != repo.Common {
			continue // as the git directory of a submodule, which lies in another repository
		}
		held, err := readClaim(claimPath(other.Root, ""), c.Board)
		if err == nil && held.Claim != "" && other.Root != repo.Root {
			list[other.Root] = held
		}
	}
	return list
}

// maxAround is in how many repositories around one is looked for a claim.
const maxAround = 5

// around returns a claim that is held in a repository in which another one lies, as a submodule or
// a clone, and where: the shell of an agent stays where it last worked.
func around(dir string) (worktree, claim string) {
	repo, err := git.Find(dir)
	for range maxAround {
		if err != nil || repo.Foreign != "" {
			break
		}
		if repo, err = git.Find(filepath.Dir(repo.Root)); err != nil {
			break
		}
		if held, err := readClaim(claimPath(repo.Root, ""), ""); err == nil && held.Claim != "" {
			return repo.Root, held.Claim
		}
	}
	return "", ""
}

// lockWait is how long a command waits for another one in the same directory.
const lockWait = 5 * time.Second

// lock keeps a second `bossman next` in the same directory from taking a second task. A
// directory that cannot be written has no lock, as it keeps no claim: then unlock is nil.
func (c *claimFile) lock(ctx context.Context) (unlock func(), err error) {
	if err := checkDir(c.path); err != nil {
		return nil, err
	}
	if os.MkdirAll(filepath.Dir(c.path), 0o700) != nil {
		return nil, nil
	}
	dir, err := plaindir.Open(filepath.Dir(c.path))
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	for deadline := time.Now().Add(lockWait); ; {
		unlock, ok, err := proc.TryLockIn(dir, filepath.Base(c.path)+".lock")
		switch {
		case err != nil:
			return nil, nil
		case ok:
			return unlock, nil
		case time.Now().After(deadline):
			return nil, console.Errorf(console.Conflict, "another agent needs a worktree of its own: git worktree add ../NAME",
				"another bossman next is waiting for a task in this directory")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
