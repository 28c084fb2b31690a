package push

import (
	"crypto/rand"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// choose decides which targets get what of a batch.
func choose(b *Batch) (list []Delivery) {
	projects := map[string]*board.Project{}
	for i := range b.Projects {
		projects[b.Projects[i].Slug] = &b.Projects[i]
	}
	add := func(t *Target, d Delivery) {
		p := projects[d.Project]
		if p == nil || !t.Wants(d.Type) || !b.may(t, d.Type, p) {
			return
		}
		d.ID, d.Target = "msg_"+rand.Text(), t.ID
		list = append(list, d)
	}
	for i := range b.Targets {
		t := &b.Targets[i]
		for j := range b.Events {
			e := &b.Events[j]
			if b.Seen(t, e) || t.Personal() && e.Kind == board.EventFailed && e.To != board.Failed { // it is tried again
				continue
			}
			add(t, Delivery{
				Type: TypeOf(e), At: e.At, Project: e.Task.Project, Task: e.Task, Seq: e.Seq, Question: e.Detail.Question, Attempt: e.Detail.Attempt, From: e.From, To: e.To,
			})
		}
		for j := range b.Questions {
			q := &b.Questions[j]
			at := q.AskedAt
			if q.State != board.QuestionOpen {
				at = q.AnsweredAt
			}
			if at.Before(t.Created) {
				continue
			}
			add(t, Delivery{Type: questionType(q.State), At: at, Project: q.Project, Question: q.ID})
		}
	}
	return list
}

// may reports whether a target may be told of something in a project. Whether somebody may still administer a webhook
// is looked up when something is sent there, which disables it otherwise.
func (b *Batch) may(t *Target, typ string, p *board.Project) bool {
	if !t.Personal() {
		return !p.Archived && (t.Project == auth.EveryProject || t.Project == p.Slug)
	}
	k, ok := b.Keys[t.Key]
	return ok && allowed(&k, verbOf(typ), p, b.Now)
}
