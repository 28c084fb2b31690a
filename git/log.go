package git

import (
	"context"
	"strings"
)

// A Logged is a commit and the values of a trailer in its message.
type Logged struct {
	Commit string
	Values []string
}

// Log lists the commits that are in one commit and not in another, newest first, with the values of
// a trailer. Of what a merge brought, only the merge itself is among them.
func (r *Repo) Log(ctx context.Context, notIn, in, trailer string) (list []Logged, err error) {
	if !IsObject(notIn) || !IsObject(in) {
		return nil, ErrNoCommit
	}
	out, err := r.git(ctx, "rev-list", "--first-parent", "--format=%x00%H%n%(trailers:key="+trailer+",valueonly)", in, "^"+notIn)
	if err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(out, "\x00") {
		commit, rest, _ := strings.Cut(part, "\n")
		if !IsObject(commit) {
			continue
		}
		l := Logged{Commit: commit}
		for line := range strings.Lines(rest) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "commit ") { // which begins the next one
				l.Values = append(l.Values, line)
			}
		}
		list = append(list, l)
	}
	return list, nil
}
