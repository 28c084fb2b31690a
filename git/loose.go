package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Loose is a fingerprint of the files of a worktree that differ from its commit, untracked
// ones included: another one as soon as such a file is written, comes or goes.
func (r *Repo) Loose(ctx context.Context) (string, error) {
	out, err := r.porcelain(ctx, "--untracked-files=all")
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	slices.Sort(lines)
	sum := sha256.New()
	for _, line := range lines {
		fmt.Fprintf(sum, "%q", line)
		if info, err := os.Lstat(filepath.Join(r.Root, looseFile(line))); err == nil && !info.IsDir() {
			fmt.Fprintf(sum, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// looseFile returns the path in a line of git status --porcelain=v2, which is its last field.
func looseFile(line string) string {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2, '!': 2}
	if line == "" {
		return ""
	}
	n := fields[line[0]]
	if parts := strings.SplitN(line, " ", max(n, 1)); len(parts) == n {
		return parts[n-1]
	}
	return ""
}
