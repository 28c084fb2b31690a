package board

import (
	"errors"
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
}

// A LandWait is why a task in the landing queue does not land now.
type LandWait struct {
	Task ID
	Why  string
	// ForPeople is set if a person has to do something.
	ForPeople bool
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
	if err != nil || l.Note == nil {
		return nil, err
	}
	list = slices.Clone(l.Note.Untold)
	queue, err := r.Queued(slug, MaxQueue)
	if err != nil || len(queue) == 0 { // a note may be older than the end of the queue
		return list, err
	}
	if l.Note.Stopped != "" {
		list = append(list, LandWait{Why: l.Note.Stopped, ForPeople: true})
	}
	for _, w := range l.Note.Waits {
		if w.ForPeople && slices.ContainsFunc(queue, func(q Queued) bool { return q.Task.ID == w.Task }) {
			list = append(list, w)
		}
	}
	return list, nil
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
	texts := []text{{"note", n.Doing, maxTitle}, {"note", n.Stopped, maxText}}
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
