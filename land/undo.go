package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// undoesTrailer names the task whose work a commit undoes.
const undoesTrailer = "Bossman-Undoes"

// An UndoBoard is what Undo needs of a board.
type UndoBoard interface {
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	List(ctx context.Context, f board.TaskFilter) ([]board.Task, error)
	Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error)
	Reopen(ctx context.Context, a board.Actor, id board.ID, note string) (board.Task, error)
	Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error)
	Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error)
	GiveBack(ctx context.Context, a board.Actor, h board.Handle) error
	Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error)
}

// An Undone is how the work of a task is undone: a task that is in the landing queue, or is reviewed first,
// and one that does the work again after that.
type Undone struct {
	Undo, Redo board.ID
	// Status is that of Undo.
	Status board.Status
	// Commit is the newest commit of the work in the target.
	Commit string
}

// Undo makes a task whose work is the opposite of what another one has landed, and which lands like any
// other: checked, and after a conflict handed out again. person asks for it, and reason is why.
func Undo(ctx context.Context, o *Options, b UndoBoard, person board.Actor, id board.ID, reason string) (out Undone, err error) {
	t := &target{repo: o.Repo, at: o.Target, accept: o.Accept}
	d, err := b.Get(ctx, id, 0)
	if err != nil {
		return out, err
	}
	if err := undone(ctx, b, id); err != nil {
		return out, err
	}
	before, landed, err := t.work(ctx, b, id)
	if err != nil {
		return out, err
	}
	title, why := visible.Line(d.Task.Title), visible.Text(strings.TrimSpace(reason))
	if why != "" {
		why = "\n\nWhy: " + why
	}
	made, _, err := b.Create(ctx, person, board.NewTask{
		Project: id.Project, Title: cut(undoTitle(id.String()) + title), Priority: board.Urgent,
		Description: fmt.Sprintf("Take what %v landed as commit %s out of %s again, and nothing else: the opposite of the changes from %s to %s.%s", id, git.Short(landed), o.Target, before, landed, why),
	}, "")
	if err != nil {
		return out, err
	}
	out = Undone{Undo: made.ID, Commit: landed}
	if out.Status, err = t.report(ctx, o, b, made, id, before, landed); err != nil {
		return out, err
	}
	redo, err := b.Reopen(ctx, person, id, fmt.Sprintf("Its work landed as commit %s, and was undone by %v.%s", git.Short(landed), made.ID, why))
	if err != nil {
		return out, err
	}
	out.Redo = redo.ID
	again, err := b.Get(ctx, redo.ID, 0)
	if err != nil {
		return out, err
	}
	first := []board.ID{made.ID}
	for _, t := range again.Blockers {
		first = append(first, t.ID)
	}
	_, err = b.Update(ctx, person, redo.ID, board.Edit{DependsOn: &first})
	return out, err
}

// undone returns a *NotUndoneError if there is a task already that undoes another one: a person has made it, and it was not cancelled.
func undone(ctx context.Context, b UndoBoard, id board.ID) error {
	undoes, err := b.List(ctx, board.TaskFilter{Projects: []string{id.Project}, Query: undoTitle(id.String())})
	if err != nil {
		return err
	}
	var e *NotUndoneError
	for _, t := range undoes {
		if t.Status == board.Cancelled || !strings.HasPrefix(t.Title, undoTitle(id.String())) {
			continue
		}
		d, err := b.Get(ctx, t.ID, 1000)
		if err != nil {
			return err
		}
		if !byPerson(d) {
			continue
		}
		e = &NotUndoneError{Why: fmt.Sprintf("%v is being undone already, by %v", id, t.ID)}
		if t.Status == board.Done {
			e.Why = fmt.Sprintf("%v was undone already, by %v", id, t.ID)
		}
	}
	if e == nil {
		return nil
	}
	redoes, err := b.List(ctx, board.TaskFilter{Projects: []string{id.Project}, Query: fmt.Sprintf("Redo %v: ", id)})
	for _, t := range redoes {
		if t.Redoes() == id && t.Status != board.Cancelled {
			e.Next = fmt.Sprintf("%v does it again: bossman task show %v", t.ID, t.ID)
		}
	}
	return cmp.Or(err, error(e))
}

// undoTitle begins the title of a task that undoes another one.
func undoTitle(id string) string { return "Undo " + id + ": " }

// cut shortens a title.
func cut(title string) string {
	const most = 200
	if len(title) > most {
		title = strings.ToValidUTF8(title[:most-len("…")], "") + "…"
	}
	return title
}

// A NotUndoneError says why the work of a task cannot be undone.
type NotUndoneError struct{ Why, Next string }

func (e *NotUndoneError) Error() string { return e.Why }

// An intentBoard lists intents.
type intentBoard interface {
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
}

// work returns the commit of the target with the work of a task, and the one before it.
func (t *target) work(ctx context.Context, b intentBoard, id board.ID) (before, landed string, err error) {
	intents, err := b.Intents(ctx, board.IntentFilter{Project: id.Project, Target: t.at.String(), Task: id, State: board.IntentLanded, Limit: 1})
	if err != nil {
		return "", "", err
	}
	if len(intents) == 0 {
		return "", "", &NotUndoneError{fmt.Sprintf("no work of %v has landed on %s", id, t.at), ""}
	}
	i := intents[0]
	tip, err := t.tip(ctx)
	if err != nil {
		return "", "", err
	}
	if has, err := t.has(ctx, i.New); err != nil || !has {
		if err == nil {
			err = &NotUndoneError{fmt.Sprintf("commit %s, with which %v landed, is not in %s any more", git.Short(i.New), id, t.at), ""}
		}
		return "", "", err
	}
	since, err := t.repo.Log(ctx, i.New, tip, undoesTrailer)
	if err != nil {
		return "", "", err
	}
	for _, l := range since {
		for _, v := range l.Values {
			if v == id.String() {
				return "", "", &NotUndoneError{fmt.Sprintf("%v was undone already, by commit %s", id, git.Short(l.Commit)), ""}
			}
		}
	}
	switch {
	case t.at.Kind == board.TargetPR: // the intent has the merge alone
		before, err = t.repo.Commit(ctx, i.New+"^1")
		return before, i.New, err
	case i.Old == i.New:
		return "", "", &NotUndoneError{fmt.Sprintf("%v has changed nothing: %s had its work already", id, t.at), ""}
	case len(i.Items) == 1:
		return i.Old, i.New, nil
	}
	list, err := t.repo.Log(ctx, i.Old, i.New, taskTrailer)
	if err != nil {
		return "", "", err
	}
	for n, l := range list {
		if len(l.Values) != 1 || len(list) > len(i.Items) { // commits that were rebased
			return "", "", &NotUndoneError{
				fmt.Sprintf("%v has landed together with others, and it is not known which of the commits from %s to %s are its own", id, git.Short(i.Old), git.Short(i.New)),
				"find them with git log " + git.Short(i.Old) + ".." + git.Short(i.New) + ", and revert them in a task of their own",
			}
		}
		if l.Values[0] == id.String() {
			before, landed = i.Old, l.Commit
			if n+1 < len(list) {
				before = list[n+1].Commit
			}
		}
	}
	if landed == "" {
		err = &NotUndoneError{fmt.Sprintf("%v has changed nothing: %s had its work already", id, t.at), ""}
	}
	return before, landed, err
}

// report makes the opposite of some work, and reports that as the work of a task.
func (t *target) report(ctx context.Context, o *Options, b UndoBoard, made board.Task, undoes board.ID, before, landed string) (board.Status, error) {
	tree, err := t.repo.Tree(ctx, before)
	if err != nil {
		return "", err
	}
	h, err := b.Next(ctx, o.Actor, board.Wish{Task: made.ID, Projects: []string{made.ID.Project}})
	if err != nil {
		return "", err
	}
	worker := o.Actor
	worker.Worker = h.Claim.Worker.Name
	if h.Task.ID != made.ID {
		return "", errors.Join(fmt.Errorf("another worker was given %v, and will do it", made.ID), b.GiveBack(ctx, worker, h.Claim.Handle))
	}
	summary := fmt.Sprintf("Undoes commit %s, with which %v landed.", git.Short(landed), undoes)
	attempt := h.Claim.Attempt
	// On top of the work that it undoes: what came after that is merged with it, as a revert would be.
	commit, err := t.repo.CommitTree(ctx, tree, []string{landed}, fmt.Sprintf("%s\n\n%s\n\n%s: %v\nBossman-Attempt: %d\n%s: %v\n", made.Title, summary, taskTrailer, made.ID, attempt, undoesTrailer, undoes))
	ref := git.StateRefs(made.ID.String()) + strconv.Itoa(attempt)
	if err == nil {
		err = t.repo.SetRef(ctx, ref, commit, "")
	}
	if err == nil && t.at.Kind != board.TargetLocal {
		err = t.repo.Push(ctx, t.at.Remote, commit, ref, t.accept)
	}
	if err != nil {
		return "", errors.Join(err, b.GiveBack(ctx, worker, h.Claim.Handle))
	}
	done, err := b.Done(ctx, worker, h.Claim.Handle, board.Report{
		Summary: summary, Tip: board.Tip{Commit: commit, Tree: tree, Base: landed}, Where: board.Where{Host: o.Host, Dir: t.repo.Root, Head: git.Short(commit)},
		Observed: []board.Evidence{{Kind: board.EvidenceCommit, Ref: commit, Detail: "takes back " + landed}},
	})
	return done.Status, err
}

// undoes returns the task whose work a task undoes, empty if it does not: a person has made that task for it.
func (l *Lander) undoes(ctx context.Context, q board.Queued) (string, error) {
	undoes, err := l.o.Repo.Trailer(ctx, q.Tip.Commit, undoesTrailer)
	if err != nil || undoes == "" || !strings.HasPrefix(q.Task.Title, undoTitle(undoes)) {
		return "", err
	}
	d, err := l.o.Board.Get(ctx, q.Task.ID, 1000)
	if err != nil || !byPerson(d) {
		return "", err
	}
	return undoes, nil
}

// byPerson reports whether a person has made a task.
func byPerson(d board.Dossier) bool {
	return slices.ContainsFunc(d.Events, func(e board.Event) bool {
		return e.Kind == board.EventCreated && e.Detail.By == board.ByPerson
	})
}
