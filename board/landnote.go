package board

import (
	"errors"
	"fmt"
	"slices"
)

const (
	// maxWaits is how many tasks a lander's note is about, and maxNote bounds all of it, in bytes.
	maxWaits, maxNote = 100, 256 << 10
)

// An Author is who wrote a text. It is zero where that is not known, as in what older programs wrote.
type Author struct {
	By string
	As ActorKind
}

// author is the actor as an author.
func (a Actor) author() Author { return Author{a.String(), a.Kind()} }

// Lander names the author's lander, such as "the lander of ada (person)". The name is passed through quote.
func (a Author) Lander(quote func(string) string) string {
	switch {
	case a.By != "" && (a.By != localPrincipal || a.As == ByPerson):
		return "the lander of " + a.As.Named(quote(a.By))
	case a.As == ByAgent:
		return "the lander of an agent"
	}
	return "a lander"
}

// A LandNote is what a lander tells others about its work. It stays when the lease ends. The authors in it are set by
// Lead: a lander that repeats what an earlier one has told does not become its author.
type LandNote struct {
	// Leader is who took or renewed the lease last.
	Leader Author `json:",omitzero"`
	// Author is who wrote Doing, StoppedBy is who wrote Stopped, and MovedBy is who wrote Moved.
	Author    Author `json:",omitzero"`
	StoppedBy Author `json:",omitzero"`
	MovedBy   Author `json:",omitzero"`
	// Doing is what it does now.
	Doing string
	// Stopped is why nothing can land until a person does something, and what that is.
	Stopped string
	// Waits are tasks in the queue that cannot land now.
	Waits []LandWait
	// Reworks are tasks that went back because of a conflict: other work on the same files waits for
	// them.
	Reworks []Rework
	// Untold are tasks that are done, and whose issues could not be told so.
	Untold []LandWait
	// Seen is the commit that the target had when a lander last looked at it.
	Seen string
	// Clone identifies the clone in which a lander has landed last, if the target is a branch of a clone; else it is the
	// address of the remote repository, as git.RemoteName has it.
	Clone string `json:",omitzero"`
	// Lost is the commit that landed last if the target does not have it and a person has let landing go on all the
	// same, and From is the commit that the target had then.
	Lost, From string `json:",omitzero"`
	// Moved says how somebody else has moved the target, and what came in, as long as no lander was started after that.
	Moved string
}

// A LandWait is why a task in the landing queue does not land now.
type LandWait struct {
	Task ID
	Why  string
	// ForPeople is set if a person has to do something.
	ForPeople bool
	// Moved is set if nothing waits, and Why says how somebody else has moved the target.
	Moved bool
	// Idle is set if nobody lands what is queued, and Why says so. It is the only Why that the board has written.
	Idle bool
	// Untold is set if nothing waits, and Why says why an issue could not be told that its task is done.
	Untold bool `json:",omitzero"`
	// Author is who wrote Why.
	Author Author `json:",omitzero"`
}

// readLander reads who lands on a target. What older programs let into its note, and Lead does not, is left out.
func readLander(r Reader, slug, target string) (Lander, error) {
	l, err := r.Lander(slug, target)
	if err != nil || l.Note == nil {
		return l, err
	}
	n := *l.Note
	own := func(list []LandWait) (out []LandWait) {
		for _, w := range list {
			if w.Task.Project == slug {
				w.Moved, w.Idle, w.Untold = false, false, false
				out = append(out, w)
			}
		}
		return out
	}
	n.Waits, n.Untold = own(n.Waits), own(n.Untold)
	n.Reworks = slices.DeleteFunc(slices.Clone(n.Reworks), func(w Rework) bool { return w.Task.Project != slug })
	l.Note = &n
	return l, nil
}

// readLandWaits lists what people have to do so that queued work of a project can land.
func readLandWaits(r Reader, slug string) (list []LandWait, err error) {
	p, err := r.Project(slug)
	if errors.Is(err, ErrNotFound) { // nothing was written yet
		return nil, nil
	}
	if err != nil || p.Land == "" {
		return nil, err
	}
	l, err := readLander(r, slug, p.Land)
	if err != nil {
		return nil, err
	}
	if l.Note == nil {
		l.Note = &LandNote{}
	}
	for _, w := range l.Note.Untold {
		w.Untold = true
		list = append(list, w)
	}
	if l.Note.Moved != "" {
		list = append(list, LandWait{Why: l.Note.Moved, ForPeople: true, Moved: true, Author: l.Note.MovedBy})
	}
	queue, err := r.Queued(slug, MaxQueue)
	if err != nil || len(queue) == 0 { // a note may be older than the end of the queue
		return list, err
	}
	if l.Note.Stopped != "" {
		list = append(list, LandWait{Why: l.Note.Stopped, ForPeople: true, Author: l.Note.StoppedBy})
	}
	stuck := 0
	for _, w := range l.Note.Waits {
		if w.ForPeople && slices.ContainsFunc(queue, func(q Queued) bool { return q.Task.ID == w.Task }) {
			list = append(list, w)
			stuck++
		}
	}
	now, err := r.Now()
	if err == nil && !l.Until.After(now) && l.Note.Stopped == "" && stuck < len(queue) {
		list = append(list, LandWait{Why: idle(len(queue), p.Land), ForPeople: true, Idle: true})
	}
	return list, err
}

// idle says that nobody lands n tasks on a target.
func idle(n int, target string) string {
	if n == 1 {
		return "1 task waits to be landed on " + target + ", and nobody lands"
	}
	return fmt.Sprintf("%d tasks wait to be landed on %s, and nobody lands", n, target)
}

// A Rework is a task whose work had a conflict in some files.
type Rework struct {
	Task ID
	// Attempt is the attempt that had the conflict.
	Attempt int
	Files   []string
	// Author is who said so.
	Author Author `json:",omitzero"`
}

// sign returns a note with its authors: the actor, but for what the note before had already.
func (n LandNote) sign(a Actor, before *LandNote) *LandNote {
	if before == nil {
		before = &LandNote{}
	}
	me := a.author()
	author := func(text, old string, wrote Author) Author {
		switch text {
		case "":
			return Author{}
		case old:
			return wrote
		}
		return me
	}
	n.Leader, n.Author = me, me
	n.StoppedBy = author(n.Stopped, before.Stopped, before.StoppedBy)
	n.MovedBy = author(n.Moved, before.Moved, before.MovedBy)
	waits := func(list, before []LandWait) []LandWait {
		list = slices.Clone(list)
		for i := range list {
			w := &list[i]
			w.Moved, w.Idle, w.Untold, w.Author = false, false, false, me
			if j := slices.IndexFunc(before, func(o LandWait) bool { return o.Task == w.Task && o.Why == w.Why }); j >= 0 {
				w.Author = before[j].Author
			}
		}
		return list
	}
	n.Waits, n.Untold = waits(n.Waits, before.Waits), waits(n.Untold, before.Untold)
	n.Reworks = slices.Clone(n.Reworks)
	for i := range n.Reworks {
		w := &n.Reworks[i]
		w.Author = me
		if j := slices.IndexFunc(before.Reworks, func(o Rework) bool {
			return o.Task == w.Task && o.Attempt == w.Attempt && slices.Equal(o.Files, w.Files)
		}); j >= 0 {
			w.Author = before.Reworks[j].Author
		}
	}
	return &n
}

// current removes from a note what is not so, or not any more: tasks that wait but are not in the queue, tasks
// without an issue that is still to be told, and reworks of tasks that have ended or do not exist.
func (c *change) current(n *LandNote, slug string) error {
	if len(n.Waits) > 0 {
		queue, err := c.tx.Queued(slug, MaxQueue)
		if err != nil {
			return err
		}
		n.Waits = slices.DeleteFunc(n.Waits, func(w LandWait) bool {
			return !slices.ContainsFunc(queue, func(q Queued) bool { return q.Task.ID == w.Task })
		})
	}
	if len(n.Untold) > 0 {
		issues, err := c.tx.Untold(slug, maxUntold)
		if err != nil {
			return err
		}
		n.Untold = slices.DeleteFunc(n.Untold, func(w LandWait) bool {
			return !slices.ContainsFunc(issues, func(i Issue) bool { return i.Task == w.Task })
		})
	}
	if len(n.Reworks) > 0 {
		f := TaskFilter{Projects: []string{slug}, Limit: len(n.Reworks)}
		for _, w := range n.Reworks {
			f.IDs = append(f.IDs, w.Task)
		}
		tasks, err := c.tx.Tasks(f)
		if err != nil {
			return err
		}
		n.Reworks = slices.DeleteFunc(n.Reworks, func(w Rework) bool {
			return !slices.ContainsFunc(tasks, func(t Task) bool { return t.ID == w.Task && !t.Status.Terminal() })
		})
	}
	return nil
}

// checkNote validates a note about a project.
func checkNote(n *LandNote, slug string) error {
	if n == nil {
		return nil
	}
	texts := []text{{"note", n.Doing, maxTitle}, {"note", n.Stopped, maxText}, {"note", n.Moved, maxText}, {"commit", n.Seen, 100}, {"clone", n.Clone, 100}, {"commit", n.Lost, 100}, {"commit", n.From, 100}}
	var tasks []ID
	for _, w := range slices.Concat(n.Waits, n.Untold) {
		texts = append(texts, text{"note", w.Why, maxText})
		tasks = append(tasks, w.Task)
	}
	for _, r := range n.Reworks {
		tasks = append(tasks, r.Task)
		for _, file := range r.Files {
			texts = append(texts, text{"file", file, maxText})
		}
	}
	if err := checkTexts(texts...); err != nil {
		return err
	}
	size := 0
	for _, t := range texts {
		size += len(t.text)
	}
	if size > maxNote || len(n.Waits) > maxWaits || len(n.Untold) > maxWaits || len(n.Reworks) > maxWaits {
		return invalid("a lander's note is too long: want at most %d bytes, and %d tasks", maxNote, maxWaits)
	}
	for _, id := range tasks {
		if id.Project != slug {
			return invalid("a lander's note is about tasks of its project %s, not about %v", slug, id)
		}
	}
	return nil
}
