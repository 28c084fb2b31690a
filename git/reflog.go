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

// headLog yields the entries of the log of HEAD, the oldest first. git keeps one for each
// worktree.
func (r *Repo) headLog() iter.Seq2[string, string] {
	return readLog(filepath.Join(r.Dir, "logs", "HEAD"))
}

// readLog yields the entries of the log of a ref: the commit that it got, and why.
func readLog(path string) iter.Seq2[string, string] {
	return func(yield func(commit, message string) bool) {
		f, err := openPlain(path, maxLog)
		if err != nil {
			return
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			entry, message, _ := strings.Cut(lines.Text(), "\t")
			if words := strings.Fields(entry); len(words) > 1 && !yield(words[1], message) {
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
	f, err := openPlain(filepath.Join(r.Common, "logs", "refs", "heads", filepath.FromSlash(branch)), maxLog)
	if err != nil {
		return at
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	if !lines.Scan() {
		return at
	}
	entry, _, _ := strings.Cut(lines.Text(), "\t")
	words := strings.Fields(entry) // which end with the time and its zone
	if len(words) < 4 {
		return at
	}
	secs, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	if err != nil {
		return at
	}
	return time.Unix(secs, 0)
}

// Had reports whether a worktree has had a commit checked out, by the log of HEAD.
func (r *Repo) Had(commit string) bool {
	for c := range r.headLog() {
		if c == commit {
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
		for c, message := range readLog(path) {
			if made = made || c == commit && makes(message); made {
				return
			}
			if arrives(path, message) && len(arrived) < maxArrived {
				arrived = append(arrived, c)
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
		for _, message := range w.headLog() {
			if strings.HasPrefix(message, "checkout: moving from "+branch+" to ") || strings.HasPrefix(message, "Branch: renamed refs/heads/"+branch+" to ") {
				return w
			}
		}
	}
	return nil
}
