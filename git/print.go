package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Print identifies a command and what it depends on in a commit: with the same words and the same files,
// directories or submodules at some paths, relative to the top, it is the same.
func (r *Repo) Print(ctx context.Context, commit string, command, paths []string) (string, error) {
	var entries []string
	if len(paths) > 0 {
		out, err := r.git(ctx, slices.Concat([]string{"ls-tree", "-z", "--full-tree", "--end-of-options", commit, "--"}, paths)...)
		if err != nil {
			return "", err
		}
		entries = split(out) // a path that is not there has none
	}
	sum := sha256.New()
	for _, part := range [][]string{command, entries} {
		for _, s := range part {
			fmt.Fprintf(sum, "%d:%s", len(s), s)
		}
		fmt.Fprint(sum, ";")
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
