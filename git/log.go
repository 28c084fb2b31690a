package git

import (
	"context"
	"slices"
	"strconv"
	"strings"
)

// A Logged is a commit, and the subject and the values of a trailer in its message.
type Logged struct {
	Commit  string
	Subject string
	// Authored is when the author made it, in seconds; a rebase keeps that.
	Authored int64
	Parents  []string
	Values   []string
}

// Log lists the commits that are in one commit and not in another, newest first, with the values of
// a trailer. Of what a merge brought, only the merge itself is among them.
func (r *Repo) Log(ctx context.Context, notIn, in, trailer string) (list []Logged, err error) {
	if !IsObject(notIn) || !IsObject(in) {
		return nil, ErrNoCommit
	}
	return r.log(ctx, trailer, "--first-parent", in, "^"+notIn)
}

// Marked lists the commits that are in one commit and not in another, each before those that it was made on top of, if their message has
// a trailer. Those that a merge brought are among them.
func (r *Repo) Marked(ctx context.Context, notIn, in, trailer string) (list []Logged, err error) {
	if !IsObject(notIn) || !IsObject(in) {
		return nil, ErrNoCommit
	}
	list, err = r.log(ctx, trailer, "--topo-order", "--extended-regexp", "--grep=^"+trailer+":", in, "^"+notIn)
	return slices.DeleteFunc(list, func(l Logged) bool { return len(l.Values) == 0 }), err
}

// Logged returns some commits, in any order.
func (r *Repo) Logged(ctx context.Context, commits ...string) (list []Logged, err error) {
	if slices.ContainsFunc(commits, func(c string) bool { return !IsObject(c) }) {
		return nil, ErrNoCommit
	}
	if len(commits) == 0 {
		return nil, nil
	}
	return r.log(ctx, "Bossman-Task", append([]string{"--no-walk"}, commits...)...)
}

func (r *Repo) log(ctx context.Context, trailer string, args ...string) (list []Logged, err error) {
	out, err := r.git(ctx, append([]string{"rev-list", "--format=%x00%H%n%at %P%n%s%n%(trailers:key=" + trailer + ",valueonly)"}, args...)...)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(out, "\x00") {
		commit, rest, _ := strings.Cut(part, "\n")
		if !IsObject(commit) {
			continue
		}
		origin, rest, _ := strings.Cut(rest, "\n")
		subject, rest, _ := strings.Cut(rest, "\n")
		l := Logged{Commit: commit, Subject: subject}
		if fields := strings.Fields(origin); len(fields) > 0 {
			l.Authored, _ = strconv.ParseInt(fields[0], 10, 64)
			l.Parents = fields[1:]
		}
		for line := range strings.Lines(rest) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "commit ") { // which begins the next one
				l.Values = append(l.Values, line)
			}
		}
		list = append(list, l)
	}
	return list, nil
}
