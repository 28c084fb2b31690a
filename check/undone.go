package check

import (
	"context"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
)

// undone returns the files that some work changed and that are in a target as they were before it.
func undone(ctx context.Context, repo *git.Repo, now string, was board.Tip) ([]string, error) {
	if now == "" || was.Base == "" {
		return nil, nil
	}
	files, err := repo.Changed(ctx, was.Base, was.Commit, maxFormer)
	if err != nil || len(files) == 0 {
		return nil, nil // this clone does not have it
	}
	var pairs [][2]string
	for _, path := range files {
		path = strings.TrimSuffix(path, " (submodule)")
		pairs = append(pairs, [2]string{now, path}, [2]string{was.Base, path}, [2]string{was.Commit, path})
	}
	objects, err := repo.Objects(ctx, pairs)
	if err != nil {
		return nil, err
	}
	var list []string
	for n, path := range files {
		if o := objects[3*n:]; o[0] == o[1] && o[0] != o[2] {
			list = append(list, path)
		}
	}
	return list, nil
}
