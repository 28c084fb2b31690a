package config

import (
	"os"
	"path/filepath"
	"strings"
)

// gitCommonDir is the git directory that all worktrees of a repository share, if dir is
// the top of a worktree or a bare repository.
func gitCommonDir(dir string) (string, bool) {
	dot := filepath.Join(dir, ".git")
	info, err := os.Stat(dot)
	switch {
	case err == nil && info.IsDir():
		return followCommonDir(dot)
	case err == nil:
		text, err := os.ReadFile(dot)
		if err != nil {
			return "", false
		}
		target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir:")
		if !ok {
			return "", false
		}
		target = strings.TrimSpace(target)
		if !filepath.IsAbs(target) {
			target = filepath.Join(dir, target)
		}
		return followCommonDir(target)
	}
	return followCommonDir(dir)
}

// followCommonDir follows a git directory to the one that it shares with other worktrees.
// A directory without HEAD, objects and refs is not a git directory.
func followCommonDir(gitDir string) (string, bool) {
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err != nil {
		return "", false
	}
	if text, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		shared := strings.TrimSpace(string(text))
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(gitDir, shared)
		}
		gitDir = shared
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(gitDir, part)); err != nil || !info.IsDir() {
			return "", false
		}
	}
	return filepath.Clean(gitDir), true
}

// repositoryName is what people call the repository of a common directory:
// web for web/.git, web/.bare and web.git.
func repositoryName(common string) string {
	base := filepath.Base(common)
	if strings.HasPrefix(base, ".") {
		return filepath.Base(filepath.Dir(common))
	}
	return strings.TrimSuffix(base, ".git")
}
