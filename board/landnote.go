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

// A LandNote is what a lander tells others about its work. It stays when the lease ends.
type LandNote struct {
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
	// Idle is set if nobody lands what is queued, and Why says so.
	Idle bool
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
	l, err := r.Lander(slug, p.Land)
	if err != nil {
		return nil, err
	}
	if l.Note == nil {
		l.Note = &LandNote{}
	}
	list = slices.Clone(l.Note.Untold)
	if l.Note.Moved != "" {
		list = append(list, LandWait{Why: l.Note.Moved, ForPeople: true, Moved: true})
	}
	queue, err := r.Queued(slug, MaxQueue)
	if err != nil || len(queue) == 0 { // a note may be older than the end of the queue
		return list, err
	}
	if l.Note.Stopped != "" {
		list = append(list, LandWait{Why: l.Note.Stopped, ForPeople: true})
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
}

// checkNote validates a note.
func checkNote(n *LandNote) error {
	if n == nil {
		return nil
	}
	texts := []text{{"note", n.Doing, maxTitle}, {"note", n.Stopped, maxText}, {"note", n.Moved, maxText}, {"commit", n.Seen, 100}, {"clone", n.Clone, 100}, {"commit", n.Lost, 100}, {"commit", n.From, 100}}
	for _, w := range slices.Concat(n.Waits, n.Untold) {
		texts = append(texts, text{"note", w.Why, maxText})
	}
	for _, r := range n.Reworks {
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
	return nil
}
