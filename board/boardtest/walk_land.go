package boardtest

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/bossman-dev/bossman/board"
)

// lead makes the project of a walk land its work, and takes the lease.
func (w *walker) lead() {
	w.f.ok(w.f.board.SetLand(w.ctx(), ada, w.slug, "main"))
	var err error
	w.lease, err = w.f.board.Lead(w.ctx(), ada, board.Lease{Project: w.slug, Target: "main", Holder: "l"})
	w.f.ok(err)
}

// land begins an intent, or ends the one that is open.
func (w *walker) land() {
	if w.open != 0 {
		w.endIntent()
		return
	}
	var items []board.Item
	var named []*modelTask
	for _, t := range w.some("task to land") {
		named = append(named, t)
		items = append(items, board.Item{Task: t.id, Attempt: max(1, t.attempts), Tip: object(max(1, t.tip))})
	}
	if len(items) == 0 {
		w.Skip("nothing to land")
	}
	i, err := w.f.board.BeginLand(w.ctx(), ada, w.lease, object(1), object(w.step+2), items)
	if slices.ContainsFunc(named, func(t *modelTask) bool { return t.status != board.Landing }) {
		w.want("begin to land", err, board.ErrConflict)
		return
	}
	w.want("begin to land", err, nil)
	w.open, w.intent = i.ID, named
}

func (w *walker) endIntent() {
	if rapid.Bool().Draw(w.T, "drop") {
		w.want("drop", w.f.board.Dropped(w.ctx(), ada, w.lease, w.open), nil)
	} else {
		_, err := w.f.board.Landed(w.ctx(), ada, w.lease, w.open, nil)
		w.want("landed", err, nil)
		slices.SortFunc(w.intent, func(a, b *modelTask) int { return int(a.id.No - b.id.No) })
		for _, t := range w.intent {
			w.finish(t, board.Done, true)
		}
	}
	w.open, w.intent = 0, nil
}

// giveBack takes a task out of the landing queue.
func (w *walker) giveBack() {
	t := pick(w, "task", w.tasks)
	kind := pick(w, "kind", board.ReturnKinds)
	out, err := w.f.board.Return(w.ctx(), ada, t.id, board.Return{Kind: kind, Attempt: max(1, t.attempts), Lease: w.lease})
	if kind == board.ReturnClosed { // there are no pull requests
		w.want("return", err, board.ErrInvalid)
		return
	}
	if t.status != board.Landing || slices.Contains(w.intent, t) {
		w.want("return", err, board.ErrConflict)
		return
	}
	w.want("return", err, nil)
	t.status = board.Pending
	switch kind {
	case board.ReturnRed:
		w.fail(t)
	case board.ReturnConflict:
		if t.conflicts++; t.conflicts%3 == 0 {
			t.status = board.Waiting
			i := slices.IndexFunc(w.grants, func(g *modelGrant) bool { return g.task == t && g.handle.Attempt == t.attempts })
			w.asked = append(w.asked, &modelQuestion{id: out.Question, grant: w.grants[i], open: true})
		}
	}
}

// named reports whether the open intent names a task, or one that depends on it.
func (w *walker) named(t *modelTask, dependents bool) bool {
	return slices.ContainsFunc(w.intent, func(x *modelTask) bool {
		return x == t || dependents && w.waits(x, t, map[*modelTask]bool{})
	})
}

// keeps checks an act on a task that the open intent may name, and reports whether it was refused because of
// that.
func (w *walker) keeps(what string, t *modelTask, dependents bool, err error) bool {
	if !w.named(t, dependents) || !errors.Is(err, board.ErrConflict) && t.status != board.Landing {
		return false
	}
	w.want(what, err, board.ErrConflict)
	return true
}
