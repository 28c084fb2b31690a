package git

import (
	"bufio"
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// maxLog bounds the log of HEAD: 100,000 entries have about 20 MB.
const maxLog = 64 << 20

// headLog yields the entries of the log of HEAD, the oldest first. git keeps one for each
// worktree.
func (r *Repo) headLog() iter.Seq2[string, string] {
	return func(yield func(commit, message string) bool) {
		f, err := openPlain(filepath.Join(r.Dir, "logs", "HEAD"), maxLog)
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

// Had reports whether a worktree has had a commit checked out, by the log of HEAD.
func (r *Repo) Had(commit string) bool {
	for c := range r.headLog() {
		if c == commit {
			return true
		}
	}
	return false
}

// Fetched reports whether a commit came from elsewhere: a worktree has had it checked out, and
// by the logs of HEAD none has made it.
func (r *Repo) Fetched(commit string) bool {
	had := false
	for _, w := range r.Worktrees() {
		for c, message := range w.headLog() {
			if c != commit {
				continue
			}
			had = true
			how, _, _ := strings.Cut(message, ":")
			how, _, _ = strings.Cut(how, " ") // "pull --rebase", "commit (amend)"
			if !slices.Contains([]string{"pull", "checkout", "reset", "clone", "Branch", ""}, how) && !strings.HasSuffix(message, ": Fast-forward") {
				return false
			}
		}
	}
	return had
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
