package crew

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/plaindir"
)

// maxIgnored bounds the list of what git ignores in a slot's worktree.
const maxIgnored = 32 << 20

// ignoredFile is where that is.
func (s *slot) ignoredFile() string { return strings.TrimSuffix(s.file, ".json") + ".ignored" }

// noteIgnored notes what git ignores in the slot's worktree when a job begins, such as files that were copied for it or that its
// setup has made: if the agent changes what is ignored, that is not its work.
func (s *slot) noteIgnored(ctx context.Context, tree *git.Repo) error {
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	_, ignored, err := tree.Lying(ctx)
	if err != nil {
		return err
	}
	text := s.kept.Claim + "\x00" + strings.Join(ignored, "\x00")
	if len(text) > maxIgnored {
		return fmt.Errorf("git ignores too many files in %q to note them: have the directories ignored that they are in", s.dir)
	}
	return replace(s.ignoredFile(), []byte(text))
}

// ignored returns what was noted for the slot's job. A job that an older version has begun has no note.
func (s *slot) ignored() []string {
	dir, err := plaindir.Open(filepath.Dir(s.file))
	if err != nil {
		return nil
	}
	defer dir.Close()
	text, err := plaindir.Read(dir, filepath.Base(s.ignoredFile()), maxIgnored)
	claim, list, _ := strings.Cut(string(text), "\x00")
	if err != nil || claim != s.kept.Claim || list == "" {
		return nil
	}
	return strings.Split(list, "\x00")
}
