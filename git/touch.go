package git

import (
	"context"
	"slices"
	"strings"
)

// maxTouched bounds how many paths LastTouched looks for.
const maxTouched = 100

// LastTouched returns the newest commit in the history of one commit and not in that of another that
// changed one of some files; empty if there is none. A base that is empty excludes nothing.
func (r *Repo) LastTouched(ctx context.Context, base, tip string, paths []string) (string, error) {
	args := []string{"--literal-pathspecs", "rev-list", "--max-count=1", "--no-merges", "--end-of-options", tip}
	if base != "" {
		args = append(args, "^"+base)
	}
	args = append(args, "--")
	out, err := r.git(ctx, slices.Concat(args, paths[:min(len(paths), maxTouched)])...)
	return strings.TrimSpace(out), err
}
