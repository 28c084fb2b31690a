package board

import (
	"context"
	"errors"
)

// An Included is work of another task that the work of a task was built on, and that had not landed when that was
// reported: what lands would have both.
type Included struct {
	Task ID `json:"task"`
	// Commit is the newest commit of the other task that is in the work, in full.
	Commit string `json:"commit"`
}

// MaxIncluded is how many other tasks are named.
const MaxIncluded = 20

// checkIncluded validates what is said to be in some work.
func checkIncluded(list []Included) error {
	if len(list) > MaxIncluded {
		return invalid("%d tasks are too many to be included: want at most %d", len(list), MaxIncluded)
	}
	for _, i := range list {
		if i.Task.IsZero() || !ValidObject(i.Commit) {
			return invalid("invalid commit %.80q of %v: want the full name of a commit of another task", i.Commit, i.Task)
		}
	}
	return nil
}

// maxRedone is how often a task may have been done again before.
const maxRedone = 10

// Strange returns those tasks of some included work whose work is not to land with that of a task. It may if
// it is of a part of the task, of the one that it is a part of, or of one that it does again, and if a person has
// marked that task done. Tasks that are gone from the board are not among them.
func Strange(ctx context.Context, t Task, includes []Included, get func(ctx context.Context, id ID, events int) (Dossier, error)) (list []Dossier, err error) {
	if len(includes) == 0 {
		return nil, nil
	}
	again := map[ID]bool{}
	for id, n := t.Redoes(), 0; !id.IsZero() && id.Project == t.ID.Project && n < maxRedone; n++ {
		again[id] = true
		d, err := get(ctx, id, 0)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		id = d.Task.Redoes()
	}
	for _, i := range includes {
		d, err := get(ctx, i.Task, 0)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		byHand := d.Task.Status == Done && (d.Doc.Result == nil || d.Doc.Result.Landed == "")
		if !byHand && !again[i.Task] && d.Task.Parent != t.ID && t.Parent != i.Task {
			list = append(list, d)
		}
	}
	return list, nil
}
