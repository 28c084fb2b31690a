package board

import (
	"context"
	"errors"
	"slices"
)

// An Included is work of another task that the work of a task was built on, and that had not landed when that was
// reported: what lands would have both.
type Included struct {
	Task ID `json:"task"`
	// Commit is the newest commit of the other task that is in the work, in full.
	Commit string `json:"commit"`
	// Attempt is the attempt that has reported the commit, 0 if that is not known.
	Attempt int `json:"attempt,omitzero"`
	// Files are those of the commit that are in the work, if the commit itself is not: the other task had left them
	// uncommitted where the work was done. There may be more.
	Files []string `json:"files,omitzero"`
}

// MaxIncluded is how many other tasks are named.
const MaxIncluded = 20

// checkIncluded validates what is said to be in some work.
func checkIncluded(list []Included) error {
	if len(list) > MaxIncluded {
		return invalid("%d tasks are too many to be included: want at most %d", len(list), MaxIncluded)
	}
	for _, i := range list {
		if i.Task.IsZero() || !ValidObject(i.Commit) || i.Attempt < 0 {
			return invalid("invalid commit %.80q of %v: want the full name of a commit of another task", i.Commit, i.Task)
		}
		if err := checkPaths(i.Files); err != nil {
			return err
		}
	}
	return nil
}

// maxRedone is how often a task may have been done again before.
const maxRedone = 10

// Redone returns the tasks that a task does again, the last one first, without those that are gone from the board.
func Redone(ctx context.Context, t Task, get func(ctx context.Context, id ID, events int) (Dossier, error)) (list []Dossier, err error) {
	for id := t.Redoes; !id.IsZero() && len(list) < maxRedone; {
		d, err := get(ctx, id, 0)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		list, id = append(list, d), d.Task.Redoes
	}
	return list, nil
}

// strangeEvents is how many events of a task tell what people said about its work.
const strangeEvents = 1000

// Strange returns those tasks of some included work whose work is not to land with that of a task. It may if
// it is of one that the task does again; of a part of the task, or of the one that it is a part of, unless a person has
// taken that out; and if just that commit is the result of a task that a person has marked done or accepted, or whose work
// changed nothing. Tasks that are gone from the board are not among them.
func Strange(ctx context.Context, t Task, includes []Included, get func(ctx context.Context, id ID, events int) (Dossier, error)) (list []Dossier, err error) {
	if len(includes) == 0 {
		return nil, nil
	}
	redone, err := Redone(ctx, t, get)
	if err != nil {
		return nil, err
	}
	again := map[ID]bool{t.Redoes: true}
	for _, d := range redone {
		again[d.Task.ID], again[d.Task.Redoes] = true, true
	}
	for _, i := range includes {
		d, err := get(ctx, i.Task, strangeEvents)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		kin := d.Task.Parent == t.ID || t.Parent == i.Task
		if !again[i.Task] && !doneWith(d, i) && (!kin || takenOut(d, i)) {
			list = append(list, d)
		}
	}
	return list, nil
}

// doneWith reports whether a task is done with some work of it without landing that, because a person has said so, or because
// it changes nothing.
func doneWith(d Dossier, i Included) bool {
	r := d.Doc.Result
	if d.Task.Status != Done || r == nil || r.Landed != "" || r.Tip.Commit != i.Commit {
		return false
	}
	return r.NoChanges || slices.ContainsFunc(d.Events, func(e Event) bool {
		return e.To == Done && e.From != Done && (e.Kind == EventClosed || e.Kind == EventAccepted) && e.Detail.By == ByPerson
	})
}

// takenOut reports whether a person has cancelled a task, or has rejected some work of it or taken it out of the landing queue.
func takenOut(d Dossier, i Included) bool {
	return slices.ContainsFunc(d.Events, func(e Event) bool {
		person := e.Detail.By == ByPerson
		switch e.Kind {
		case EventCancelled:
			return person
		case EventReturned: // the lander says that people have closed its pull request
			person = person || e.Detail.Returned != nil && e.Detail.Returned.Kind == ReturnClosed
		case EventRejected:
		default:
			return false
		}
		return person && (i.Attempt == 0 || e.Detail.Attempt == i.Attempt)
	})
}
