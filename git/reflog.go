package git

import (
	"bufio"
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxLog bounds the log of a ref: 100,000 entries have about 20 MB.
const maxLog = 64 << 20

// A change is one entry of the log of a ref.
type change struct {
	from, to string // the commits that the ref had and got
	at       time.Time
	why      string
}

// headLog yields the entries of the log of HEAD, the oldest first. git keeps one for each
// worktree.
func (r *Repo) headLog() iter.Seq[change] { return readLog(filepath.Join(r.Dir, "logs", "HEAD")) }

// readLog yields the entries of the log of a ref, the oldest first.
func readLog(path string) iter.Seq[change] {
	return func(yield func(change) bool) {
		f, err := openPlain(path, maxLog)
		if err != nil {
			return
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			entry, why, _ := strings.Cut(lines.Text(), "\t")
			words := strings.Fields(entry) // which end with the time and its zone
			if len(words) < 2 {
				continue
			}
			c := change{from: words[0], to: words[1], why: why}
			if len(words) > 3 {
				if secs, err := strconv.ParseInt(words[len(words)-2], 10, 64); err == nil {
					c.at = time.Unix(secs, 0)
				}
			}
			if !yield(c) {
				return
			}
		}
	}
}

// Made returns when a branch was made, by its log; zero if that does not say.
func (r *Repo) Made(branch string) (at time.Time) {
	if !validRef("refs/heads/" + branch) {
		return at
	}
	for c := range readLog(filepath.Join(r.Common, "logs", "refs", "heads", filepath.FromSlash(branch))) {
		return c.at
	}
	return at
}

// MadeHere returns the commits that were made in a worktree, and when, by the log of HEAD, but for those that were amended. Refs may have them.
func (r *Repo) MadeHere() map[string]time.Time { return madeBy(r.headLog()) }

// MadeOn returns the commits that were made on a branch, and when, by its log, but for those that were amended. The branch may have been
// put back since.
func (r *Repo) MadeOn(branch string) map[string]time.Time {
	if !validRef("refs/heads/" + branch) {
		return nil
	}
	return madeBy(readLog(filepath.Join(r.Common, "logs", "refs", "heads", filepath.FromSlash(branch))))
}

func madeBy(log iter.Seq[change]) map[string]time.Time {
	made := map[string]time.Time{}
	for c := range log {
		if strings.HasPrefix(c.why, "commit (amend)") {
			delete(made, c.from)
		}
		if makes(c.why) && !strings.HasPrefix(c.why, "bossman: ") {
			made[c.to] = c.at
		}
	}
	return made
}

// Independent returns those of some commits that are not in the history of another one of them.
func (r *Repo) Independent(ctx context.Context, commits []string) ([]string, error) {
	if len(commits) < 2 {
		return commits, nil
	}
	out, err := r.git(ctx, append([]string{"merge-base", "--independent", "--end-of-options"}, commits...)...)
	return strings.Fields(out), err
}

// A Stash is what was put away with git stash.
type Stash struct {
	// Commit has the files, and Branch was checked out; empty if there was none.
	Commit, Branch string
	At             time.Time
}

// Stashes lists what is put away with git stash in all worktrees, oldest first.
func (r *Repo) Stashes() (list []Stash) {
	for c := range readLog(filepath.Join(r.Common, "logs", "refs", "stash")) {
		_, on, _ := strings.Cut(c.why, "n ") // "WIP on main: …", "On main: …"
		branch, _, _ := strings.Cut(on, ": ")
		if branch == "(no branch)" {
			branch = ""
		}
		list = append(list, Stash{c.to, branch, c.at})
	}
	return list
}

// Detached returns the commits that were made in a worktree and were checked out without a branch when
// something else was, or are now, and when they were made, by the log of HEAD. Refs may have them.
func (r *Repo) Detached() map[string]time.Time {
	made, found := map[string]time.Time{}, map[string]time.Time{}
	for c := range r.headLog() {
		if makes(c.why) {
			made[c.to] = c.at
		}
		if at, ok := made[c.from]; ok && IsObject(c.from) && strings.HasPrefix(c.why, "checkout: moving from "+c.from+" to ") {
			found[c.from] = at
		}
	}
	if head, err := r.Head(); err == nil && head.Branch == "" {
		if at, ok := made[head.Commit]; ok {
			found[head.Commit] = at
		}
	}
	return found
}

// InRefs reports whether a commit is in a branch, a tag or another ref.
func (r *Repo) InRefs(ctx context.Context, commit string) (bool, error) {
	out, err := r.git(ctx, "rev-list", "--max-count=1", commit, "--not", "--glob=refs/*")
	return strings.TrimSpace(out) == "", err
}

// Had reports whether a worktree has had a commit checked out, by the log of HEAD.
func (r *Repo) Had(commit string) bool {
	for c := range r.headLog() {
		if c.to == commit {
			return true
		}
	}
	return false
}

// Committed reports whether a commit was made in a worktree, by the log of HEAD, and not landed there.
func (r *Repo) Committed(commit string) bool {
	for c := range r.headLog() {
		if c.to == commit && makes(c.why) && !strings.HasPrefix(c.why, "bossman: ") {
			return true
		}
	}
	return false
}

// Fetched reports whether a commit came from elsewhere: it is in what was fetched or pulled, and
// by the logs of this clone it was not made in it.
func (r *Repo) Fetched(ctx context.Context, commit string) (bool, error) {
	made := false
	var arrived []string
	read := func(path string) {
		for c := range readLog(path) {
			if made = made || c.to == commit && makes(c.why); made {
				return
			}
			if arrives(path, c.why) && len(arrived) < maxArrived {
				arrived = append(arrived, c.to)
			}
		}
	}
	for _, w := range r.Worktrees() {
		read(filepath.Join(w.Dir, "logs", "HEAD"))
		last, _ := readSmall(filepath.Join(w.Dir, "FETCH_HEAD")) // which may have been merged
		for line := range strings.Lines(last) {
			c, _, _ := strings.Cut(line, "\t")
			arrived = append(arrived, c)
		}
	}
	_ = filepath.WalkDir(filepath.Join(r.Common, "logs", "refs"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			read(path)
		}
		return nil
	})
	if made || len(arrived) == 0 {
		return false, nil
	}
	fresh, err := r.IsNew(ctx, commit, arrived)
	return err == nil && !fresh, err
}

// maxArrived bounds how many commits Fetched compares with.
const maxArrived = 20_000

// makes reports whether the message of a log says that its commit was made then.
func makes(message string) bool {
	how, _, _ := strings.Cut(message, ":")
	how, _, _ = strings.Cut(how, " ") // "pull --rebase", "commit (amend)"
	switch how {
	case "commit":
		return true
	case "checkout", "reset", "clone", "fetch", "update", "branch", "Branch", "initial", "": // "update by push", "initial pull"
		return false
	}
	for _, step := range []string{" (start): ", " (finish): ", " (abort): "} { // of a rebase
		if strings.Contains(message, step) {
			return false
		}
	}
	return !strings.HasSuffix(strings.ToLower(message), ": fast-forward")
}

// arrives reports whether the message of a log says that its commit was fetched then.
func arrives(path, message string) bool {
	how, _, _ := strings.Cut(message, ":")
	how, _, _ = strings.Cut(how, " ")
	switch {
	case how == "fetch" || how == "clone":
		return true
	case how == "pull" || how == "initial": // also the commit that a rebase begins from
		return !makes(message) && !strings.Contains(message, " (finish): ")
	case strings.Contains(filepath.ToSlash(path), "/logs/refs/remotes/"):
		return how != "update" // by push
	}
	return strings.Contains(message, "FETCH_HEAD") && !makes(message)
}

// Left returns the worktree in which a branch was checked out last, before another one or its
// new name, nil if there is none.
func (r *Repo) Left(branch string) *Repo {
	for _, w := range r.Worktrees() {
		if w.left(branch) {
			return w
		}
	}
	return nil
}

// HadBranch reports whether a branch is checked out in a worktree, or was, by the log of HEAD.
func (r *Repo) HadBranch(branch string) bool {
	head, err := r.Head()
	return err == nil && head.Branch == branch || r.left(branch)
}

func (r *Repo) left(branch string) bool {
	for c := range r.headLog() {
		if strings.HasPrefix(c.why, "checkout: moving from "+branch+" to ") || strings.HasPrefix(c.why, "Branch: renamed refs/heads/"+branch+" to ") {
			return true
		}
	}
	return false
}
