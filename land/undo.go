package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/check"
	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/internal/visible"
)

// undoesTrailer names the task whose work a commit undoes, and the commit with which it landed: another board may have a task of
// the same id.
const undoesTrailer = "Bossman-Undoes"

// undoesValue is the value of that trailer.
func undoesValue(id board.ID, landed string) string { return id.String() + " " + landed }

// parseUndoes is the opposite of undoesValue.
func parseUndoes(value string) (id board.ID, landed string, ok bool) {
	task, landed, _ := strings.Cut(value, " ")
	id, err := board.ParseID(task)
	return id, landed, err == nil && git.IsObject(landed)
}

// An UndoBoard is what Undo needs of a board.
type UndoBoard interface {
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	List(ctx context.Context, f board.TaskFilter) ([]board.Task, error)
	Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error)
	Reopen(ctx context.Context, a board.Actor, id board.ID, note string, after ...board.ID) (board.Task, error)
	Cancel(ctx context.Context, a board.Actor, id board.ID, reason string, deps board.Dependents) ([]board.ID, error)
	Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error)
	Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error)
	GiveBack(ctx context.Context, a board.Actor, h board.Handle, reason string) error
	Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error)
	Review(ctx context.Context, a board.Actor, id board.ID, d board.Decision) (board.Outcome, error)
}

// An Undone is how the work of a task is undone: a task that is in the landing queue, or is reviewed first,
// and one that does the work again after that.
type Undone struct {
	Undo, Redo board.ID
	// Status is that of Undo.
	Status board.Status
	// Commit is the newest commit of the work in the target.
	Commit string
	// Shared are other done tasks with the same work, which the target had already when they landed: it is taken out with this.
	Shared []board.ID
	// Held are the tasks that depend on the work and that nobody works on: they wait for Redo. Begun are other open ones.
	Held, Begun []board.ID
}

// Undo makes a task whose work is the opposite of what another one has landed, and which lands like any
// other: checked, and after a conflict handed out again. person asks for it, and reason is why. With accept it needs no
// review: that person has decided, and the work is made here.
//
// The task is a draft until its work is ready to be reported, so nobody else is given it. After an error the same call
// goes on from where it stopped; Undone names the draft then.
func Undo(ctx context.Context, o *Options, b UndoBoard, person board.Actor, id board.ID, reason string, accept bool) (out Undone, err error) {
	t := &target{repo: o.Repo, at: o.Target, accept: o.Accept}
	d, err := b.Get(ctx, id, 0)
	if err != nil {
		return out, err
	}
	why := visible.Text(strings.TrimSpace(reason))
	if why != "" {
		why = "\n\nWhy: " + why
	}
	found, ended, err := findUndo(ctx, b, id)
	if err != nil {
		return out, err
	}
	if !found.Task.ID.IsZero() && reported(found) {
		return out, t.wayOut(ctx, b, o.Pulls, found, id, already(ctx, b, person, found, id, why))
	}
	before, landed, err := t.work(ctx, b, o.Pulls, id)
	if err != nil {
		return out, err
	}
	out.Commit = landed
	if out.Shared, err = t.sharing(ctx, b, id, before, landed); err != nil {
		return out, err
	}
	also := ""
	for _, other := range out.Shared {
		also += fmt.Sprintf("\n\n%v had the same work, and has landed nothing of its own: this takes out its work, too.", other)
	}
	made := found.Task
	if made.ID.IsZero() {
		made, err = createUndo(ctx, b, person, board.NewTask{
			Project: id.Project, Title: visible.Cut(undoTitle(id.String())+visible.Line(d.Task.Title), maxTitle), Priority: board.Urgent, Hold: true,
			Description: fmt.Sprintf("%s%s out of %s again, and nothing else: the opposite of the changes from %s to %s.", undoSpec(id.String()), git.Short(landed), o.Target, before, landed) + also,
		}, id, ended, why)
		if err != nil {
			return out, err
		}
	}
	out.Undo = made.ID
	w, err := t.opposite(ctx, o, made, id, before, landed, visible.Line(cmp.Or(person.Name, person.Principal)))
	if err != nil {
		return out, err
	}
	redo, err := b.Reopen(ctx, person, id, redoNote(landed, made.ID, why), made.ID)
	if err != nil {
		return out, err
	}
	out.Redo = redo.ID
	building, err := buildingOn(ctx, b, d)
	if err != nil {
		return out, err
	}
	if err := out.hold(ctx, b, person, building); err != nil {
		return out, err
	}
	attempt, status, err := w.report(ctx, o, b, person)
	if err != nil {
		return out, err
	}
	if out.Status = status; accept && status == board.InReview {
		done, err := b.Review(ctx, person, made.ID, board.Decision{Verdict: board.Accept, Note: "ordered with bossman land undo", Attempt: attempt})
		switch {
		case err == nil:
			out.Status = done.Status
		case !errors.Is(err, board.ErrDenied) && !errors.Is(err, board.ErrConflict): // else somebody else reviews it, or has
			return out, err
		}
	}
	return out, nil
}

// redoNote is what the task that does undone work again is handed over.
func redoNote(landed string, undo board.ID, why string) string {
	return fmt.Sprintf("Its work landed as commit %s, and was undone by %v.%s", git.Short(landed), undo, why)
}

// createUndo creates the draft of a task that undoes another one, or returns the one that another call has created at the
// same time; the error is a *NotUndoneError if the work of that was reported by another person meanwhile. ended is how many
// such tasks have ended without undoing it.
func createUndo(ctx context.Context, b UndoBoard, person board.Actor, n board.NewTask, id board.ID, ended int, why string) (board.Task, error) {
	made, _, err := b.Create(ctx, person, n, fmt.Sprintf("land undo %v %d", id, ended))
	if err != nil {
		return made, err
	}
	first, _, err := findUndo(ctx, b, id)
	switch {
	case err != nil:
		return made, err
	case first.Task.ID != made.ID && !first.Task.ID.IsZero(): // that of another person
		_, err = b.Cancel(ctx, person, made.ID, fmt.Sprintf("%v does it", first.Task.ID), board.DependentsKeep)
		if errors.Is(err, board.ErrConflict) { // the same person's other call was faster
			err = nil
		}
		if err == nil && reported(first) {
			err = already(ctx, b, person, first, id, why)
		}
		return first.Task, err
	case why == "" || !first.Task.Hold || strings.HasSuffix(first.Doc.Description, why):
		return made, nil
	}
	return b.Update(ctx, person, made.ID, board.Edit{Description: new(n.Description + why)})
}

// buildingOn returns the tasks that depend on a task, or on one that is done with it as its part.
func buildingOn(ctx context.Context, b UndoBoard, d board.Dossier) (list []board.Task, err error) {
	list = d.Dependents
	for !d.Task.Parent.IsZero() {
		if d, err = b.Get(ctx, d.Task.Parent, 0); err != nil || d.Task.Status != board.Done {
			break
		}
		for _, t := range d.Dependents {
			if !slices.ContainsFunc(list, func(o board.Task) bool { return o.ID == t.ID }) {
				list = append(list, t)
			}
		}
	}
	return list, err
}

// hold makes the open tasks that build on work which is undone wait until it was done again, if nobody works on them.
func (u *Undone) hold(ctx context.Context, b UndoBoard, person board.Actor, dependents []board.Task) error {
	for _, t := range dependents {
		d, err := b.Get(ctx, t.ID, 0)
		if err != nil {
			return err
		}
		switch {
		case d.Task.Status.Terminal() || d.Task.ID == u.Undo:
			continue
		case d.Task.Status != board.Pending:
			u.Begun = append(u.Begun, t.ID)
			continue
		}
		after := []board.ID{u.Redo}
		for _, other := range d.Blockers {
			after = append(after, other.ID)
		}
		_, err = b.Update(ctx, person, t.ID, board.Edit{DependsOn: &after})
		switch {
		case errors.Is(err, board.ErrConflict) || errors.Is(err, board.ErrInvalid): // somebody has begun it meanwhile, or has linked it otherwise
			u.Begun = append(u.Begun, t.ID)
		case err != nil:
			return err
		default:
			u.Held = append(u.Held, t.ID)
		}
	}
	return nil
}

// endedWithout reports whether a task that undoes another one has ended and undone nothing: it was cancelled, or is done
// and nothing of it has landed, as after a report that nothing needs to be changed.
func endedWithout(ctx context.Context, b UndoBoard, t board.Task) (bool, error) {
	if t.Status != board.Done {
		return t.Status == board.Cancelled, nil
	}
	landed, err := b.Intents(ctx, board.IntentFilter{Project: t.ID.Project, Task: t.ID, State: board.IntentLanded, Limit: 1})
	return len(landed) == 0, err
}

// findUndo returns the oldest task that Undo has made for another one and that has not ended without undoing it; zero if there is none.
// ended is how many have.
// A title says nothing: anybody may choose it. A person has made the task, and its description is Undo's.
func findUndo(ctx context.Context, b UndoBoard, id board.ID) (found board.Dossier, ended int, err error) {
	undoes, err := b.List(ctx, board.TaskFilter{Projects: []string{id.Project}, Query: undoSpec(id.String())})
	if err != nil {
		return found, 0, err
	}
	for _, t := range undoes {
		d, err := b.Get(ctx, t.ID, 1000)
		if err != nil {
			return found, 0, err
		}
		if !strings.HasPrefix(d.Doc.Description, undoSpec(id.String())) || !byPerson(d) {
			continue
		}
		without, err := endedWithout(ctx, b, d.Task)
		switch {
		case err != nil:
			return found, 0, err
		case without:
			ended++
		case found.Task.ID.IsZero() || d.Task.ID.No < found.Task.ID.No:
			found = d
		}
	}
	return found, ended, nil
}

// reported reports whether the work of a task that undoes another one was reported, or is made by somebody else.
func reported(d board.Dossier) bool {
	return d.Task.Status != board.Pending || slices.ContainsFunc(d.Events, func(e board.Event) bool {
		return e.To == board.InReview || e.To == board.Landing || e.To == board.Done
	})
}

// already returns a *NotUndoneError about a task that undoes another one. It makes the task that does the work again, if
// that was never made: a person may have started the draft.
func already(ctx context.Context, b UndoBoard, person board.Actor, undo board.Dossier, id board.ID, why string) error {
	e := &NotUndoneError{Why: fmt.Sprintf("%v is being undone already, by %v", id, undo.Task.ID)}
	switch undo.Task.Status {
	case board.Done:
		e.Why = fmt.Sprintf("%v was undone already, by %v", id, undo.Task.ID)
	case board.InReview:
		e.Next = fmt.Sprintf("bossman task review %v", undo.Task.ID)
	}
	redoes, err := b.List(ctx, board.TaskFilter{Projects: []string{id.Project}, Query: fmt.Sprintf("Redo %v: ", id)})
	if err != nil {
		return err
	}
	made := false
	for _, t := range redoes {
		if t.Redoes != id {
			continue
		}
		made = true
		if t.Status != board.Cancelled && e.Next == "" {
			e.Next = fmt.Sprintf("%v does it again: bossman task show %v", t.ID, t.ID)
		}
	}
	if made {
		return e
	}
	redo, err := b.Reopen(ctx, person, id, fmt.Sprintf("Its work landed, and is undone by %v.%s", undo.Task.ID, why), undo.Task.ID)
	if err != nil {
		return err
	}
	e.Next = cmp.Or(e.Next, fmt.Sprintf("%v does it again: bossman task show %v", redo.ID, redo.ID))
	return e
}

// wayOut makes an error about a task that was undone already say how to undo it all the same, if what undid it was undone itself, and not
// only in name: another task may have brought the work back before.
func (t *target) wayOut(ctx context.Context, b UndoBoard, pulls Pulls, undo board.Dossier, id board.ID, err error) error {
	e, ok := errors.AsType[*NotUndoneError](err)
	if !ok || undo.Task.Status != board.Done {
		return err
	}
	there, last := false, undo
	for range maxUndoes {
		next, _, err := findUndo(ctx, b, last.Task.ID)
		if err != nil {
			return err
		}
		if next.Task.ID.IsZero() || next.Task.Status != board.Done {
			break
		}
		_, _, err = t.work(ctx, b, pulls, next.Task.ID)
		if not, ok := errors.AsType[*NotUndoneError](err); ok && *not == *t.changedNothing(next.Task.ID) {
			break
		}
		there, last = !there, next
	}
	if !there {
		return e
	}
	return &NotUndoneError{
		fmt.Sprintf("%v was undone by %v, and %v has brought it back", id, undo.Task.ID, last.Task.ID),
		fmt.Sprintf("bossman land undo %v", last.Task.ID),
	}
}

// maxUndoes is how many tasks that undo each other are looked at.
const maxUndoes = 100

// maxTitle bounds the title of a task that undoes another one, in bytes.
const maxTitle = 200

// undoTitle begins the title of a task that undoes another one.
func undoTitle(id string) string { return undoing + id + ": " }

const undoing = "Undo "

// undoSpec begins the description of a task that undoes another one.
func undoSpec(id string) string { return "Take what " + id + " landed as commit " }

// An intentBoard lists intents, and reads tasks.
type intentBoard interface {
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
}

// work returns the commit of the target with the work of a task, and the one before it.
func (t *target) work(ctx context.Context, b intentBoard, pulls Pulls, id board.ID) (before, landed string, err error) {
	intents, err := b.Intents(ctx, board.IntentFilter{Project: id.Project, Task: id, State: board.IntentLanded, Limit: 1})
	if err != nil {
		return "", "", err
	}
	if len(intents) == 0 {
		return "", "", t.notKnown(ctx, b, id)
	}
	i := intents[0] // the project may have had another target then, such as pull requests for the same branch
	tip, err := t.tip(ctx)
	if err != nil {
		return "", "", err
	}
	if has, err := t.has(ctx, i.New); err != nil || !has {
		if err == nil { // it may be behind where history is cut
			err = t.repo.Whole(ctx, tip)
		}
		if err == nil && i.Target != t.at.String() {
			err = &NotUndoneError{
				fmt.Sprintf("no work of %v has landed on %s: it landed on %s, as commit %s", id, t.at, i.Target, git.Short(i.New)),
				fmt.Sprintf("get that commit into %s, or undo it there: bossman project set --land %s", t.at, i.Target),
			}
		} else if err == nil {
			err = &NotUndoneError{fmt.Sprintf("commit %s, with which %v landed, is not in %s any more", git.Short(i.New), id, t.at), ""}
		}
		return "", "", err
	}
	if before, landed, err = t.landedAs(ctx, pulls, i, id); err != nil {
		return "", "", err
	}
	since, err := t.repo.Marked(ctx, i.New, tip, undoesTrailer)
	if err != nil {
		return "", "", err
	}
	for _, l := range since {
		if !slices.Contains(l.Values, undoesValue(id, landed)) {
			continue
		}
		own, err := t.isUndo(ctx, b.Get, l.Commit, id, landed)
		if err != nil {
			return "", "", err
		}
		if own {
			return "", "", &NotUndoneError{fmt.Sprintf("%v was undone already, by commit %s", id, git.Short(l.Commit)), ""}
		}
	}
	return before, landed, nil
}

// landedAs returns the commit with the work of a task among those of an intent, and the one before it.
func (t *target) landedAs(ctx context.Context, pulls Pulls, i board.Intent, id board.ID) (before, landed string, err error) {
	at, err := board.ParseTarget(i.Target)
	if err != nil {
		return "", "", err
	}
	switch {
	case at.Kind == board.TargetPR: // the intent has the merge alone
		if before, err = t.beforePull(ctx, pulls, i, id); err == nil {
			err = t.touches(ctx, i, id, before)
		}
		return before, i.New, err
	case i.Old == i.New:
		return "", "", t.changedNothing(id)
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
		err = t.changedNothing(id)
	}
	return before, landed, err
}

// undoes returns what a task undoes, as the value of undoesTrailer, empty if it does not: a person has made that task for it.
func (l *Lander) undoes(ctx context.Context, q board.Queued) (string, error) {
	if !strings.HasPrefix(q.Task.Title, undoing) {
		return "", nil
	}
	value, err := l.o.Repo.Trailer(ctx, q.Tip.Commit, undoesTrailer)
	id, landed, ok := parseUndoes(value)
	if err != nil || !ok || !strings.HasPrefix(q.Task.Title, undoTitle(id.String())) {
		return "", err
	}
	d, err := l.o.Board.Get(ctx, q.Task.ID, 1000)
	if err != nil || !byPerson(d) || !strings.HasPrefix(d.Doc.Description, undoSpec(id.String())+git.Short(landed)) {
		return "", err
	}
	return undoesValue(id, landed), nil
}

// isUndo reports whether a commit whose trailer says that it undoes what a task landed with another commit is that of a task which a person has
// made for that: an agent can write such a trailer, and so can another board.
func (t *target) isUndo(ctx context.Context, get check.Getter, commit string, id board.ID, landed string) (bool, error) {
	value, err := t.repo.Trailer(ctx, commit, taskTrailer)
	if err != nil {
		return false, err
	}
	task, err := board.ParseID(value)
	if err != nil {
		return false, nil
	}
	d, err := get(ctx, task, 1000)
	if errors.Is(err, board.ErrNotFound) {
		return false, nil
	}
	return err == nil && byPerson(d) && strings.HasPrefix(d.Doc.Description, undoSpec(id.String())+git.Short(landed)), err
}

// byPerson reports whether a person has made a task.
func byPerson(d board.Dossier) bool {
	return slices.ContainsFunc(d.Events, func(e board.Event) bool {
		return e.Kind == board.EventCreated && e.Detail.By == board.ByPerson
	})
}
