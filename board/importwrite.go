package board

import (
	"context"
	"errors"
	"slices"
	"time"
)

// importTasks and importRows bound one transaction of an import, so that none takes
// long. They are variables for tests.
var (
	importTasks = 50
	importRows  = 500
)

// insert creates the missing tasks in chunks, all of them as drafts.
func (im *importing) insert(ctx context.Context) error {
	var todo []int
	for i, id := range im.file.ids {
		if _, ok := im.out.Tasks[id]; !ok {
			todo = append(todo, i)
		}
	}
	all := len(todo)
	for len(todo) > 0 {
		n, rows := 0, 0
		for n < len(todo) && n < importTasks && (n == 0 || rows < importRows) {
			id := im.file.ids[todo[n]]
			rows += 2 + im.file.events[id].n + im.file.questions[id].n + len(im.file.blockers[id])
			n++
		}
		if err := im.chunk(ctx, todo[:n]); err != nil {
			return err
		}
		im.out.Made += n
		todo = todo[n:]
		if im.progress != nil {
			im.progress(all-len(todo), all)
		}
	}
	return nil
}

// chunk creates some tasks, with their links, in one transaction.
func (im *importing) chunk(ctx context.Context, todo []int) error {
	var tasks map[ID]ID
	var questions map[QuestionID]QuestionID
	err := im.b.change(ctx, im.actor, func(c *change) error {
		tasks, questions = map[ID]ID{}, map[QuestionID]QuestionID{}
		// Of two concurrent imports of the same file, one fails here.
		key := "import " + im.slug + " " + im.file.project.Source + " " + im.file.ids[todo[0]].String()
		if _, _, twice, err := c.once("import", key, im.slug, Ahead{}); err != nil || twice {
			if twice {
				err = conflict("another import of this file is running: repeat the import")
			}
			return err
		}
		p, err := im.target(c)
		if err != nil {
			return err
		}
		first, err := im.numbers(c, len(todo))
		if err != nil {
			return err
		}
		to := func(id ID) (ID, bool) {
			if mapped, ok := im.out.Tasks[id]; ok {
				return mapped, true
			}
			mapped, ok := tasks[id]
			return mapped, ok
		}
		for n, i := range todo {
			tasks[im.file.ids[i]] = ID{Project: im.slug, No: im.file.ids[i].No}
			if !im.keeps {
				tasks[im.file.ids[i]] = ID{Project: im.slug, No: first + int64(n)}
			}
		}
		for _, i := range im.parentsFirst(todo) {
			if err := im.task(c, p, i, to, questions); err != nil {
				return err
			}
		}
		for _, i := range todo {
			id := im.file.ids[i]
			for _, blocker := range im.file.blockers[id] {
				if err := im.link(c, id, blocker, to); err != nil {
					return err
				}
			}
			for _, dependent := range im.file.dependents[id] {
				if _, here := tasks[dependent]; here {
					continue // it comes with its own links
				}
				if err := im.link(c, dependent, id, to); err != nil {
					return err
				}
			}
		}
		return im.adopt(c, todo, tasks)
	})
	if err != nil {
		return err
	}
	for from, to := range tasks {
		im.out.Tasks[from] = to
	}
	for from, to := range questions {
		im.out.Questions[from] = to
	}
	return nil
}

// link creates a link of the file, if both of its tasks are on this board.
func (im *importing) link(c *change, task, blocker ID, to func(ID) (ID, bool)) error {
	from, err := im.end(c, task, to)
	if err != nil {
		return err
	}
	other, err := im.end(c, blocker, to)
	if err != nil || from.IsZero() || other.IsZero() {
		return err
	}
	return c.tx.Link(from, other)
}

// end returns one end of a link on this board; zero if it is not there yet, or never will be.
func (im *importing) end(c *change, id ID, to func(ID) (ID, bool)) (ID, error) {
	if mapped, ok := to(id); ok {
		return mapped, nil
	}
	return im.neighbour(c.tx, id)
}

// parentsFirst orders tasks so that a parent comes before its children.
func (im *importing) parentsFirst(todo []int) []int {
	out := make([]int, 0, len(todo))
	var visit func(i int)
	visit = func(i int) {
		if slices.Contains(out, i) {
			return
		}
		if above, err := ParseID(im.file.tasks[i].Parent); err == nil {
			if j, ok := im.file.index[above]; ok && slices.Contains(todo, j) {
				visit(j)
			}
		}
		out = append(out, i)
	}
	for _, i := range todo {
		visit(i)
	}
	return out
}

// target returns the project, and creates it if it does not exist: the home project as it is
// meant to be, another one as the file has it.
func (im *importing) target(c *change) (Project, error) {
	p, err := c.tx.Project(im.slug)
	if errors.Is(err, ErrNotFound) {
		p = im.file.project.project()
		p.Slug = im.slug
		if h := c.b.o.Home; h != nil && h.Slug != im.slug {
			return p, conflict("this board has only the project %s", h.Slug)
		} else if h != nil {
			p = *h
		}
		return p, c.tx.PutProject(p)
	}
	if err == nil && p.Archived {
		return p, conflict("project %s is archived", im.slug)
	}
	return p, err
}

// numbers allocates numbers for n tasks. The first chunk of an import that keeps numbers
// allocates all of them, so that tasks created later get higher ones.
func (im *importing) numbers(c *change, n int) (int64, error) {
	if !im.keeps {
		return c.tx.Numbers(im.slug, n)
	}
	if len(im.out.Tasks) > 0 || im.restores {
		return 0, nil
	}
	last := im.file.project.LastNo
	for _, id := range im.file.ids {
		last = max(last, id.No)
	}
	first, err := c.tx.Numbers(im.slug, int(last))
	if err == nil && first != 1 {
		return 0, conflict("tasks were added to %s during the import: repeat the import", im.slug)
	}
	return first, err
}

// task inserts a task with its events and questions.
func (im *importing) task(c *change, p Project, i int, to func(ID) (ID, bool), questions map[QuestionID]QuestionID) error {
	from := im.file.ids[i]
	id, _ := to(from)
	t, d, err := im.file.tasks[i].task(id)
	if err != nil {
		return err
	}
	if parent := im.file.tasks[i].Parent; parent != "" {
		above, err := ParseID(parent)
		if err != nil {
			return err
		}
		t.Parent, _ = to(above) // a parent that is inserted later is set by adopt
		if t.Parent.IsZero() {
			if t.Parent, err = im.neighbour(c.tx, above); err != nil {
				return err
			}
		}
	}
	t.Redoes = im.redoes(im.file.tasks[i].Redoes, to)
	if im.restores {
		if err := im.wasArchived(c.tx, id); err != nil {
			return err
		}
	}
	t.Skills, _ = p.Known(t.Skills)
	t.CreatedBy = im.name(t.CreatedBy, "")
	im.result(d.Result)
	for _, blocker := range im.file.blockers[from] {
		if at, ok := im.file.index[blocker]; ok && im.file.tasks[at].Status != Done {
			t.OpenBlockers++
		}
	}
	for _, child := range im.file.children[from] {
		switch im.file.tasks[child].Status {
		case Done:
			t.DoneChildren++
		case Cancelled:
		default:
			t.OpenChildren++
		}
	}
	if !t.Status.Terminal() {
		t.Hold = true // until the import is complete
	}
	t.Seq = int64(1 + im.file.events[from].n)
	if err := c.tx.InsertTask(t, d); err != nil {
		return err
	}
	for line := range im.file.attempts[from].all() {
		a, err := readAttempt(line)
		if err != nil {
			return err
		}
		if a.EndedAt.IsZero() { // its claim did not come along
			continue
		}
		run, ran := im.file.runs[a.Handle]
		diff := im.file.diffs[a.Handle]
		a.Task, a.Worker = id, im.worker(a.Worker)
		if err := c.tx.InsertAttempt(a); err != nil {
			return err
		}
		if !diff.IsZero() {
			if err := c.tx.PutDiff(id, a.Attempt, diff); err != nil {
				return err
			}
		}
		if !ran {
			continue
		}
		run.Claim = a.Handle
		if err := putRun(c.tx, run, logParts(run.Log)); err != nil {
			return err
		}
	}
	for line := range im.file.questions[from].all() {
		var q questionLine
		if err := parse(line, &q); err != nil {
			return err
		}
		old, made, err := im.question(c, q, id)
		if err != nil {
			return err
		}
		questions[old] = made
	}
	return im.events(c, t, from, questions)
}

// redoes returns the task on this board that one of the file does again; zero if it is not there. It is a person's
// word that a task does, so none is if an agent imports the file.
func (im *importing) redoes(name string, to func(ID) (ID, bool)) ID {
	id, err := ParseID(name)
	if err != nil || !im.actor.Person {
		return ID{}
	}
	if mapped, ok := to(id); ok {
		return mapped
	}
	if im.keeps { // it was archived, and no other task gets its number
		return ID{Project: im.slug, No: id.No}
	}
	return ID{}
}

// events inserts the events of a task, not all of them at once.
func (im *importing) events(c *change, t Task, from ID, questions map[QuestionID]QuestionID) error {
	events := []Event{{
		Task: t.ID, Seq: 1, Actor: im.actor.String(), Kind: EventImported, To: t.Status,
		Detail: Detail{Text: im.file.project.Source + " " + from.String()},
	}}
	seq := int64(1)
	for line := range im.file.events[from].all() {
		var e eventLine
		if err := parse(line, &e); err != nil {
			return err
		}
		seq++
		made := e.event(t.ID, seq, questions)
		made.Actor, made.Detail.By = im.name(made.Actor, made.Detail.By), ByImport
		made.Detail.Comments = im.comments(made.Detail.Comments)
		if events = append(events, made); len(events) < importRows {
			continue
		}
		if err := c.tx.Append(events...); err != nil {
			return err
		}
		events = events[:0]
	}
	return c.tx.Append(events...)
}

// adopt sets the parent of children that were inserted by earlier chunks.
func (im *importing) adopt(c *change, todo []int, made map[ID]ID) error {
	for _, i := range todo {
		parent := made[im.file.ids[i]]
		for _, child := range im.file.children[im.file.ids[i]] {
			id, ok := im.out.Tasks[im.file.ids[child]]
			if !ok {
				continue
			}
			if err := c.lock(id); err != nil {
				return err
			}
			t := c.tasks[id]
			t.Parent = parent
			c.event(t, EventEdited, t.Status, Detail{Fields: []string{"parent"}, Text: parent.String()})
		}
	}
	return nil
}

// question inserts a question and returns its id in the file and on this board.
func (im *importing) question(c *change, w questionLine, task ID) (old, id QuestionID, err error) {
	if old, err = ParseQuestionID(w.ID); err != nil {
		return 0, 0, err
	}
	q, err := w.question(im.slug, task)
	if err != nil {
		return 0, 0, err
	}
	if q.Asker.Name != "" {
		q.Asker = im.worker(q.Asker)
	}
	if q.State == QuestionAnswered {
		q.AnsweredBy, q.AnsweredAs = im.name(q.AnsweredBy, q.AnsweredAs), ByImport
	}
	id, err = c.tx.InsertQuestion(q)
	return old, id, err
}

// questionsAlone inserts the missing questions that belong to no task.
func (im *importing) questionsAlone(ctx context.Context) error {
	todo := im.file.questions[ID{}]
	if todo.n == 0 {
		return nil
	}
	have := map[string]QuestionID{}
	f := QuestionFilter{Projects: []string{im.slug}}
	for {
		page, err := im.b.Questions(ctx, f)
		if err != nil {
			return err
		}
		for _, q := range page {
			f.After = q.ID
			have[q.Text+"\n"+q.AskedAt.UTC().Format(time.RFC3339Nano)] = q.ID
		}
		if len(page) < 1000 {
			break
		}
	}
	for chunk := range todo.chunks(importTasks) {
		made := map[QuestionID]QuestionID{}
		err := im.b.change(ctx, im.actor, func(c *change) error {
			clear(made)
			if _, err := im.target(c); err != nil {
				return err
			}
			for _, line := range chunk {
				var w questionLine
				if err := parse(line, &w); err != nil {
					return err
				}
				if id, ok := have[w.Text+"\n"+w.AskedAt.UTC().Format(time.RFC3339Nano)]; ok {
					old, _ := ParseQuestionID(w.ID)
					made[old] = id
					continue
				}
				old, id, err := im.question(c, w, ID{})
				if err != nil {
					return err
				}
				made[old] = id
			}
			return nil
		})
		if err != nil {
			return err
		}
		for from, to := range made {
			im.out.Questions[from] = to
		}
	}
	return nil
}

// start starts the tasks that are not drafts in the file. It counts their open
// blockers again, which may have changed since they were inserted.
func (im *importing) start(ctx context.Context) error {
	var todo []ID
	for i, id := range im.file.ids {
		if w := im.file.tasks[i]; !w.Status.Terminal() && !w.Hold {
			todo = append(todo, id)
		}
	}
	for chunk := range slices.Chunk(todo, importTasks) {
		err := im.b.change(ctx, im.actor, func(c *change) error {
			if err := c.tx.LockProject(im.slug); err != nil {
				return err
			}
			for _, from := range chunk {
				if err := im.startOne(c, from); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// startOne ends the hold of one task.
func (im *importing) startOne(c *change, from ID) error {
	id := im.out.Tasks[from]
	if err := c.lock(id); err != nil {
		return err
	}
	t := c.tasks[id]
	if !t.Hold {
		return nil
	}
	// If the task was started before, somebody has made it a draft again.
	brought := int64(1 + im.file.events[from].n)
	since, err := c.tx.Events(id, brought, 1000)
	if err != nil || slices.ContainsFunc(since, func(e Event) bool { return e.Kind == EventStarted }) {
		return err
	}
	blockers, _, err := c.tx.Links(id)
	if err != nil {
		return err
	}
	t.OpenBlockers = 0
	for _, b := range blockers {
		other, err := c.tx.Task(b)
		if err != nil {
			return err
		}
		if other.Status != Done {
			t.OpenBlockers++
		}
	}
	t.Hold = false
	c.event(t, EventStarted, t.Status, Detail{})
	return nil
}
