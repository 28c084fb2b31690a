package land

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
)

// An opposite is the work of a task that undoes another one, ready to be reported.
type opposite struct {
	task    board.Task
	attempt int
	result  board.Report
}

// opposite makes the opposite of some work as that of the next attempt of a task, and brings it to where the target is. by
// is who has ordered it. What was made before is kept.
func (t *target) opposite(ctx context.Context, o *Options, made board.Task, undoes board.ID, before, landed, by string) (*opposite, error) {
	tree, err := t.repo.Tree(ctx, before)
	if err != nil {
		return nil, err
	}
	attempt := made.Attempt + 1
	summary := fmt.Sprintf("Undoes commit %s, with which %v landed, as %.100s ordered.", git.Short(landed), undoes, by)
	ref := git.StateRefs(made.ID.String()) + strconv.Itoa(attempt)
	commit := t.repo.Ref(ref)
	if same, err := t.isOpposite(ctx, commit, tree, undoesValue(undoes, landed)); err != nil {
		return nil, err
	} else if !same {
		// On top of the work that it undoes: what came after that is merged with it, as a revert would be.
		commit, err = t.repo.CommitTree(ctx, tree, []string{landed}, fmt.Sprintf("%s\n\n%s\n\n%s: %v\nBossman-Attempt: %d\n%s: %s\n", made.Title, summary, taskTrailer, made.ID, attempt, undoesTrailer, undoesValue(undoes, landed)))
		if err == nil {
			err = t.repo.SetRef(ctx, ref, commit, "")
		}
		if err != nil {
			return nil, err
		}
	}
	if t.at.Kind != board.TargetLocal {
		if err := t.repo.Push(ctx, t.at.Remote, commit, ref, t.accept); err != nil {
			return nil, err
		}
	}
	tip := board.Tip{Commit: commit, Tree: tree, Base: landed}
	diff, err := check.ReportDiff(ctx, t.repo, tip, o.Withhold)
	return &opposite{made, attempt, board.Report{
		Summary: summary, Tip: tip, Diff: diff, Where: board.Where{Host: o.Host, Dir: t.repo.Root, Head: git.Short(commit)},
		Observed: []board.Evidence{{Kind: board.EvidenceCommit, Ref: commit, Detail: "takes back " + landed}},
	}}, err
}

// isOpposite reports whether a commit that an earlier call may have made is the opposite of some work.
func (t *target) isOpposite(ctx context.Context, commit, tree, undoes string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	has, err := t.repo.Tree(ctx, commit)
	if err != nil || has != tree {
		return false, err
	}
	value, err := t.repo.Trailer(ctx, commit, undoesTrailer)
	return value == undoes, err
}

// report takes the draft of a task and reports its work. If another call was first, its report counts.
func (w *opposite) report(ctx context.Context, o *Options, b UndoBoard, person board.Actor) (attempt int, status board.Status, err error) {
	worker := o.Actor
	worker.Person = person.Person
	h, err := b.Next(ctx, worker, board.Wish{Task: w.task.ID, Projects: []string{w.task.ID.Project}, Draft: true})
	if err != nil {
		return w.otherReport(ctx, b, err)
	}
	worker = o.Actor
	worker.Worker = h.Claim.Worker.Name
	if h.Task.ID != w.task.ID || h.Claim.Attempt != w.attempt {
		return 0, "", errors.Join(fmt.Errorf("another worker was given %v, and will do it", w.task.ID), b.GiveBack(ctx, worker, h.Claim.Handle, ""))
	}
	done, err := b.Done(ctx, worker, h.Claim.Handle, w.result)
	if err != nil {
		err = errors.Join(err, b.GiveBack(ctx, worker, h.Claim.Handle, ""))
	}
	return w.attempt, done.Status, err
}

// otherReport waits for the report of another call that has taken the draft first; why is returned if there is none.
func (w *opposite) otherReport(ctx context.Context, b UndoBoard, why error) (attempt int, status board.Status, err error) {
	for range 50 {
		d, err := b.Get(ctx, w.task.ID, 1000)
		switch {
		case err != nil:
			return 0, "", err
		case d.Task.Status == board.Pending && !reported(d):
			return 0, "", why
		case d.Task.Status != board.InProgress:
			return d.Task.Attempt, d.Task.Status, nil
		}
		board.WaitFor(ctx, nil, 100*time.Millisecond)
	}
	return 0, "", why
}
