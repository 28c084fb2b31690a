package board

import (
	"slices"
	"strings"
)

// specFields are the fields that say what is to be done, and what counts as done.
var specFields = []string{"title", "description", "acceptance", "evidence", "max_failures"}

// A Spec is what the spec of a task was before an edit. Only what the edit changed is set.
type Spec struct {
	Title       string
	Description string
	Acceptance  string
	Wants       []EvidenceKind
	MaxFailures int
}

// former returns what an edit of these fields replaces, nil if that is not the spec.
func former(t *Task, d Doc, fields []string) *Spec {
	var was Spec
	any := false
	for _, f := range fields {
		any = any || slices.Contains(specFields, f)
		switch f {
		case "title":
			was.Title = t.Title
		case "description":
			was.Description = d.Description
		case "acceptance":
			was.Acceptance = d.Acceptance
		case "evidence":
			was.Wants = t.Wants
		case "max_failures":
			was.MaxFailures = t.MaxFailures
		}
	}
	if !any {
		return nil
	}
	return &was
}

// maySpecify denies an agent a change of the spec of a locked task that a person wrote, or
// that the agent held: it would choose what its own work is judged by.
func (c *change) maySpecify(t *Task) error {
	if c.actor.Person {
		return nil
	}
	const what = "change its title, description, acceptance criteria, required evidence or max_failures"
	if err := c.notPersons(t, what); err != nil {
		return err
	}
	return c.notHolder(t.ID, what)
}

// mayStart denies an agent to start a draft that was imported: anybody may have written it, as an issue or in a file, so
// it is handed out only after a person has read it.
func (c *change) mayStart(t *Task) error {
	if c.actor.Person || !strings.HasPrefix(t.CreatedBy, ImportBy) {
		return nil
	}
	return denied("%v was imported, and anybody may have written it: only a person starts it, after reading it, with bossman task start %[1]v", t.ID)
}

// notPersons denies an agent an action on a locked task that a person wrote or edited.
func (c *change) notPersons(t *Task, what string) error {
	if c.actor.Person {
		return nil
	}
	by, err := c.byPerson(t)
	if err == nil && by {
		err = denied("a person wrote %v, and an agent cannot %s", t.ID, what)
	}
	return err
}

// byPerson reports whether a person wrote the spec of a locked task, or any part of it. That
// includes imports, which are people's, and what older programs wrote without saying by whom.
func (c *change) byPerson(t *Task) (bool, error) {
	page := 500
	if t.SpecVersion == 1 { // nobody has edited it
		page = 1
	}
	for after := int64(0); ; {
		events, err := c.tx.Events(t.ID, after, page)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			after = e.Seq
			wrote := e.Kind == EventCreated || e.Kind == EventImported ||
				e.Kind == EventEdited && slices.ContainsFunc(e.Detail.Fields, func(f string) bool { return slices.Contains(specFields, f) })
			if wrote && e.Detail.By != ByAgent {
				return true, nil
			}
		}
		if len(events) < page || page == 1 {
			return false, nil
		}
	}
}

// isWhole reports whether the parts of a locked task are all of it: none was cancelled, and nobody
// but agents wrote the task, or people wrote its parts, too.
func (c *change) isWhole(t *Task) (bool, error) {
	parts, err := c.parts(t)
	if err != nil || slices.ContainsFunc(parts, func(part Task) bool { return part.Status != Done }) {
		return false, err
	}
	by, err := c.byPerson(t)
	if err != nil || !by {
		return true, err
	}
	for _, part := range parts {
		first, err := c.tx.Events(part.ID, 0, 1)
		if err != nil {
			return false, err
		}
		if len(first) == 0 || first[0].Detail.By == ByAgent {
			return false, nil
		}
	}
	return len(parts) < maxChain, nil
}
