package board

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// How much one transaction of an import writes: none takes long. Tests want less.
var (
	importTasks = 50
	importRows  = 500
)

// Imported is what an import did.
type Imported struct {
	Project string
	// Tasks maps the ids of the file to those on this board, Questions too.
	Tasks     map[ID]ID
	Questions map[QuestionID]QuestionID
	// Made counts new tasks; those that an import before has brought are not.
	Made int
	// Kept is set if every task has its old number.
	Kept bool
}

// A Source is the beginning of an export: what it is of.
type Source struct {
	Name    string
	Project Project
}

// ReadSource reads the first line of an export.
func ReadSource(line []byte) (Source, error) {
	var p wireProject
	if err := json.Unmarshal(line, &p); err != nil {
		return Source{}, invalid("the first line is not JSON: %v", err)
	}
	if p.Type != "project" || p.Source == "" || !ValidSlug(p.Slug) {
		return Source{}, invalid("the first line is not a project: is this an export of Bossman?")
	}
	if p.V != 1 {
		return Source{}, invalid("the export is of version %d, and this program reads version 1", p.V)
	}
	return Source{Name: p.Source, Project: p.project()}, nil
}

func (p wireProject) project() Project {
	return Project{Slug: p.Slug, Name: p.Name, Policy: p.Policy, Lease: time.Duration(p.LeaseSeconds) * time.Second, Skills: p.Skills}
}

// Import puts an export into a project. Into an empty one tasks keep their numbers,
// else they get new ones. Repeating it brings only what is missing. Nothing of it is
// handed out before all of it is there. What was in progress is pending, since no
// claim comes along. said is told how far it is.
func (b *Board) Import(ctx context.Context, a Actor, slug string, lines iter.Seq2[[]byte, error], said func(done, all int)) (Imported, error) {
	im := &importing{b: b, actor: a, slug: slug, said: said}
	if err := im.read(lines); err != nil {
		return Imported{}, err
	}
	if err := im.match(ctx); err != nil {
		return Imported{}, err
	}
	if err := im.insert(ctx); err != nil {
		return im.out, err
	}
	if err := im.questionsAlone(ctx); err != nil {
		return im.out, err
	}
	if err := im.start(ctx); err != nil {
		return im.out, err
	}
	im.out.Kept = true
	for from, to := range im.out.Tasks {
		im.out.Kept = im.out.Kept && from.No == to.No
	}
	return im.out, nil
}

// importing is one import. The file is kept in memory: its links go both ways.
type importing struct {
	b     *Board
	actor Actor
	slug  string
	said  func(done, all int)

	project   wireProject
	tasks     []wireTask
	ids       []ID // of tasks
	blockers  map[ID][]ID
	children  map[ID][]int
	byID      map[ID]int
	questions map[ID][]wireQuestion // of a task; the zero ID has those of none
	events    map[ID][]wireEvent

	// keeps is set if numbers are kept.
	keeps bool
	out   Imported
}

func (im *importing) read(lines iter.Seq2[[]byte, error]) error {
	im.blockers, im.children, im.byID = map[ID][]ID{}, map[ID][]int{}, map[ID]int{}
	im.questions, im.events = map[ID][]wireQuestion{}, map[ID][]wireEvent{}
	im.out = Imported{Project: im.slug, Tasks: map[ID]ID{}, Questions: map[QuestionID]QuestionID{}}
	no := 0
	for line, err := range lines {
		no++
		if err != nil {
			return err
		}
		if len(strings.TrimSpace(string(line))) == 0 {
			continue
		}
		if err := im.line(line); err != nil {
			return fmt.Errorf("line %d: %w", no, err)
		}
	}
	if im.project.Source == "" {
		return invalid("there is no project in it: is this an export of Bossman?")
	}
	for i, t := range im.tasks {
		if t.Parent == "" {
			continue
		}
		parent, err := ParseID(t.Parent)
		if err != nil {
			return err
		}
		if _, ok := im.byID[parent]; !ok {
			return invalid("%s is a part of %s, which is not in the file", t.ID, t.Parent)
		}
		im.children[parent] = append(im.children[parent], i)
	}
	for task, blockers := range im.blockers {
		for _, id := range append([]ID{task}, blockers...) {
			if _, ok := im.byID[id]; !ok {
				return invalid("a link names %v, which is not in the file", id)
			}
		}
	}
	return im.circles()
}

func (im *importing) line(line []byte) error {
	var kind struct {
		V    int    `json:"v"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return invalid("not JSON: %v", err)
	}
	into := func(v any) error {
		if err := json.Unmarshal(line, v); err != nil {
			return invalid("%v", err)
		}
		return nil
	}
	switch kind.Type {
	case "project":
		if im.project.Source != "" {
			return invalid("a second project: import them one by one")
		}
		if _, err := ReadSource(line); err != nil {
			return err
		}
		return into(&im.project)
	case "task":
		var t wireTask
		if err := into(&t); err != nil {
			return err
		}
		id, err := ParseID(t.ID)
		if err != nil {
			return err
		}
		if _, twice := im.byID[id]; twice {
			return invalid("%v stands twice in it", id)
		}
		im.byID[id] = len(im.tasks)
		im.tasks = append(im.tasks, t)
		im.ids = append(im.ids, id)
		_, _, err = t.task(id)
		return err
	case "link":
		var l wireLink
		if err := into(&l); err != nil {
			return err
		}
		task, err := ParseID(l.Task)
		if err != nil {
			return err
		}
		blocker, err := ParseID(l.Blocker)
		if err != nil {
			return err
		}
		if !slices.Contains(im.blockers[task], blocker) {
			im.blockers[task] = append(im.blockers[task], blocker)
		}
		return nil
	case "question":
		var q wireQuestion
		if err := into(&q); err != nil {
			return err
		}
		if _, err := ParseQuestionID(q.ID); err != nil {
			return err
		}
		var task ID
		if q.Claim != "" {
			h, err := ParseHandle(q.Claim)
			if err != nil {
				return err
			}
			task = h.Task
		}
		im.questions[task] = append(im.questions[task], q)
		return checkTexts(text{"question", q.Text, maxText}, text{"answer", q.Answer, maxText})
	case "event":
		var e wireEvent
		if err := into(&e); err != nil {
			return err
		}
		id, err := ParseID(e.Task)
		if err != nil {
			return err
		}
		im.events[id] = append(im.events[id], e)
		return checkTexts(text{"event", e.Text, maxLong}, text{"actor", e.Actor, 400})
	}
	return nil // of a newer program
}

// circles refuses links that no board would have made.
func (im *importing) circles() error {
	index := make([][]int, len(im.ids))
	for i, id := range im.ids {
		for _, blocker := range im.blockers[id] {
			index[i] = append(index[i], im.byID[blocker])
		}
	}
	_, err := chain(len(im.ids), func(i int) string { return im.ids[i].String() }, func(i int) []int {
		return append(index[i], im.children[im.ids[i]]...)
	})
	return err
}

// match finds what an import before has brought, and settles the numbers.
func (im *importing) match(ctx context.Context) error {
	own := ""
	total := 0
	err := im.b.store.Read(ctx, func(r Reader) (err error) {
		if _, err = r.Project(im.slug); errors.Is(err, ErrNotFound) {
			return nil
		}
		if own, err = sourceOf(r, im.slug); err != nil {
			return err
		}
		counts, err := r.Counts([]string{im.slug})
		total = counts.Total()
		return err
	})
	if err != nil {
		return err
	}
	im.keeps = total == 0
	if total == 0 {
		return nil
	}
	prefix := im.project.Source + " "
	f := TaskFilter{Projects: []string{im.slug}, Limit: exportPage}
	kept, some := true, false
	for {
		n := 0
		err := im.b.store.Read(ctx, func(r Reader) error {
			page, err := r.Tasks(f)
			if err != nil {
				return err
			}
			n = len(page)
			for _, t := range page {
				f.After = t.ID
				origin, brought, err := im.origin(r, t, own, prefix)
				if err != nil {
					return err
				}
				if origin.IsZero() {
					continue
				}
				im.out.Tasks[origin] = t.ID
				some = some || brought
				kept = kept && origin.No == t.ID.No
			}
			return nil
		})
		if err != nil {
			return err
		}
		if n < f.Limit {
			break
		}
	}
	// The numbers of an import that was cut short are still its own.
	im.keeps = kept && some
	return nil
}

// origin is the id in the file of a task that is here, or zero, and whether an
// import brought it.
func (im *importing) origin(r Reader, t Task, own, prefix string) (id ID, brought bool, err error) {
	first, err := r.Events(t.ID, 0, 1)
	if err != nil {
		return ID{}, false, err
	}
	if len(first) > 0 && first[0].Kind == EventImported {
		if rest, ok := strings.CutPrefix(first[0].Detail.Text, prefix); ok {
			id, err := ParseID(rest)
			if _, ok := im.byID[id]; err == nil && ok {
				return id, true, nil
			}
		}
	}
	if own == im.project.Source { // the file is of this very board
		id := ID{Project: im.project.Slug, No: t.ID.No}
		if i, ok := im.byID[id]; ok && t.CreatedAt.UnixMicro() == im.tasks[i].CreatedAt.UnixMicro() {
			return id, false, nil
		}
	}
	return ID{}, false, nil
}

// insert makes the tasks that are missing, chunk by chunk, all on hold.
func (im *importing) insert(ctx context.Context) error {
	var todo []int
	for i, id := range im.ids {
		if _, ok := im.out.Tasks[id]; !ok {
			todo = append(todo, i)
		}
	}
	all := len(todo)
	for len(todo) > 0 {
		n, rows := 0, 0
		for n < len(todo) && n < importTasks && (n == 0 || rows < importRows) {
			id := im.ids[todo[n]]
			rows += 2 + len(im.events[id]) + len(im.questions[id]) + len(im.blockers[id])
			n++
		}
		if err := im.chunk(ctx, todo[:n]); err != nil {
			return err
		}
		im.out.Made += n
		todo = todo[n:]
		if im.said != nil {
			im.said(all-len(todo), all)
		}
	}
	return nil
}

func (im *importing) chunk(ctx context.Context, todo []int) error {
	var tasks map[ID]ID
	var questions map[QuestionID]QuestionID
	err := im.b.change(ctx, im.actor, func(c *change) error {
		tasks, questions = map[ID]ID{}, map[QuestionID]QuestionID{}
		// Whoever imports the same file at this moment comes first or second.
		key := "import " + im.slug + " " + im.project.Source + " " + im.ids[todo[0]].String()
		if _, _, twice, err := c.once("import", key, im.slug); err != nil || twice {
			if twice {
				err = conflict("this part was imported a moment ago: import again")
			}
			return err
		}
		if err := im.target(c); err != nil {
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
			tasks[im.ids[i]] = ID{Project: im.slug, No: im.ids[i].No}
			if !im.keeps {
				tasks[im.ids[i]] = ID{Project: im.slug, No: first + int64(n)}
			}
		}
		for _, i := range im.wholesFirst(todo) {
			if err := im.task(c, i, to, questions); err != nil {
				return err
			}
		}
		// A link is made when its second end is.
		for task, blockers := range im.blockers {
			for _, blocker := range blockers {
				if _, new := tasks[task]; !new {
					if _, new := tasks[blocker]; !new {
						continue
					}
				}
				from, ok := to(task)
				other, ok2 := to(blocker)
				if ok && ok2 {
					if err := c.tx.Link(from, other); err != nil {
						return err
					}
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

// wholesFirst orders tasks so that one comes before its parts.
func (im *importing) wholesFirst(todo []int) []int {
	out := make([]int, 0, len(todo))
	var visit func(i int)
	visit = func(i int) {
		if slices.Contains(out, i) {
			return
		}
		if above, err := ParseID(im.tasks[i].Parent); err == nil {
			if j := im.byID[above]; slices.Contains(todo, j) {
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

// target makes the project if it is not there.
func (im *importing) target(c *change) error {
	p, err := c.tx.Project(im.slug)
	if errors.Is(err, ErrNotFound) {
		p = im.project.project()
		p.Slug = im.slug
		if h := c.b.o.Home; h != nil && h.Slug != im.slug {
			return conflict("this board is the project %s", h.Slug)
		}
		return c.tx.PutProject(p)
	}
	if err == nil && p.Archived {
		return conflict("project %s is archived", im.slug)
	}
	return err
}

// numbers takes numbers for n tasks. The first chunk of an import that keeps them
// takes all: what is created from then on gets higher ones.
func (im *importing) numbers(c *change, n int) (int64, error) {
	if !im.keeps {
		return c.tx.Numbers(im.slug, n)
	}
	if len(im.out.Tasks) > 0 {
		return 0, nil
	}
	last := im.project.LastNo
	for _, id := range im.ids {
		last = max(last, id.No)
	}
	first, err := c.tx.Numbers(im.slug, int(last))
	if err == nil && first != 1 {
		return 0, conflict("tasks were added to %s meanwhile: import again", im.slug)
	}
	return first, err
}

// task inserts a task with its history and questions.
func (im *importing) task(c *change, i int, to func(ID) (ID, bool), questions map[QuestionID]QuestionID) error {
	from := im.ids[i]
	id, _ := to(from)
	t, d, err := im.tasks[i].task(id)
	if err != nil {
		return err
	}
	if parent := im.tasks[i].Parent; parent != "" {
		above, err := ParseID(parent)
		if err != nil {
			return err
		}
		t.Parent, _ = to(above) // one that comes later adopts it then
	}
	p, err := c.tx.Project(im.slug)
	if err != nil {
		return err
	}
	t.Skills, _ = p.Known(t.Skills)
	for _, blocker := range im.blockers[from] {
		if im.tasks[im.byID[blocker]].Status != Done {
			t.OpenBlockers++
		}
	}
	for _, child := range im.children[from] {
		switch im.tasks[child].Status {
		case Done:
			t.DoneChildren++
		case Cancelled:
		default:
			t.OpenChildren++
		}
	}
	if !t.Status.Terminal() {
		t.Hold = true // until all is there
	}
	events := []Event{{
		Task: id, Seq: 1, Actor: im.actor.String(), Kind: EventImported, To: t.Status,
		Detail: Detail{Text: im.project.Source + " " + from.String()},
	}}
	t.Seq = int64(1 + len(im.events[from]))
	if err := c.tx.InsertTask(t, d); err != nil {
		return err
	}
	for _, q := range im.questions[from] {
		old, made, err := im.question(c, q, id)
		if err != nil {
			return err
		}
		questions[old] = made
	}
	for _, e := range im.events[from] {
		events = append(events, e.event(id, int64(len(events)+1), questions))
	}
	return c.tx.Append(events...)
}

// adopt gives new tasks their parts that came with chunks before.
func (im *importing) adopt(c *change, todo []int, made map[ID]ID) error {
	for _, i := range todo {
		parent := made[im.ids[i]]
		for _, child := range im.children[im.ids[i]] {
			id, ok := im.out.Tasks[im.ids[child]]
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

func (im *importing) question(c *change, w wireQuestion, task ID) (QuestionID, QuestionID, error) {
	old, err := ParseQuestionID(w.ID)
	if err != nil {
		return 0, 0, err
	}
	q := Question{
		Project: im.slug, Asker: WorkerID{Principal: w.Principal, Name: w.Worker}, ChatID: w.ChatID, Text: w.Text, Options: w.Options,
		Default: w.Default, NeededBy: w.NeededBy, Blocking: w.Blocking, HumanOnly: w.HumanOnly, State: w.State, Answer: w.Answer,
		AnsweredBy: w.AnsweredBy, AskedAt: w.AskedAt, AnsweredAt: w.AnsweredAt,
	}
	if w.Claim != "" {
		if q.Claim, err = ParseHandle(w.Claim); err != nil {
			return 0, 0, err
		}
		q.Claim.Task = task
	}
	made, err := c.tx.InsertQuestion(q)
	return old, made, err
}

// questionsAlone brings questions that belong to no task.
func (im *importing) questionsAlone(ctx context.Context) error {
	todo := im.questions[ID{}]
	if len(todo) == 0 {
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
	for chunk := range slices.Chunk(todo, importTasks) {
		made := map[QuestionID]QuestionID{}
		err := im.b.change(ctx, im.actor, func(c *change) error {
			clear(made)
			if err := im.target(c); err != nil {
				return err
			}
			for _, w := range chunk {
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

// start lifts the hold of what the file does not hold, and counts what it waits for
// once more: it may have changed since the first chunk.
func (im *importing) start(ctx context.Context) error {
	for chunk := range slices.Chunk(im.ids, importTasks) {
		err := im.b.change(ctx, im.actor, func(c *change) error {
			if err := c.tx.LockProject(im.slug); err != nil {
				return err
			}
			for _, from := range chunk {
				w := im.tasks[im.byID[from]]
				if w.Status.Terminal() || w.Hold {
					continue
				}
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

func (im *importing) startOne(c *change, from ID) error {
	id := im.out.Tasks[from]
	if err := c.lock(id); err != nil {
		return err
	}
	t := c.tasks[id]
	if !t.Hold {
		return nil
	}
	// If the hold of the import was lifted before, this one is somebody else's.
	brought := int64(1 + len(im.events[from]))
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

// task is the task of a line, under its new id.
func (w wireTask) task(id ID) (Task, Doc, error) {
	priority, err := ParsePriority(w.Priority)
	if err != nil {
		return Task{}, Doc{}, err
	}
	n := NewTask{
		Title: w.Title, Description: w.Description, Acceptance: w.Acceptance, Priority: priority, Skills: w.Skills, Areas: w.Areas,
		Wants: w.Evidence, Lease: time.Duration(w.LeaseSeconds) * time.Second, MaxFailures: w.MaxFailures,
	}
	if err := checkNew(&n); err != nil {
		return Task{}, Doc{}, err
	}
	if !slices.Contains(Statuses, w.Status) {
		return Task{}, Doc{}, invalid("there is no status %.20q", w.Status)
	}
	t := Task{
		ID: id, Title: n.Title, Priority: priority, Skills: n.Skills, Areas: n.Areas, Wants: n.Wants, Hold: w.Hold, Status: w.Status,
		Attempt: max(0, w.Attempt), Nonce: w.Nonce, Failures: max(0, w.Failures), MaxFailures: n.MaxFailures, Lease: n.Lease,
		SpecVersion: max(1, w.SpecVersion), QueuedAt: w.QueuedAt, CreatedBy: w.CreatedBy, CreatedAt: w.CreatedAt, EndedAt: w.EndedAt,
	}
	if t.Status == InProgress {
		t.Status = Pending
	}
	if t.QueuedAt.IsZero() {
		t.QueuedAt = t.CreatedAt
	}
	d := Doc{Description: n.Description, Acceptance: n.Acceptance}
	if r := w.Result; r != nil {
		d.Result = &Result{Summary: r.Summary, Artifacts: r.Artifacts, Branch: r.Branch, Worker: r.Worker}
		for _, e := range r.Evidence {
			d.Result.Evidence = append(d.Result.Evidence, Evidence(e))
		}
	}
	return t, d, nil
}

func (w wireEvent) event(id ID, seq int64, questions map[QuestionID]QuestionID) Event {
	e := Event{
		Task: id, Seq: seq, Actor: w.Actor, Kind: w.Kind, From: w.From, To: w.To,
		Detail: Detail{
			Attempt: w.Attempt, Nonce: w.Nonce, Worker: w.Worker, Text: w.Text, Cause: w.Cause, Percent: w.Percent,
			Where: Where(w.Where), Fields: w.Fields, Late: w.Late, SpecNow: w.SpecNow, LeaseSecs: w.Lease, At: w.At,
		},
	}
	if old, err := ParseQuestionID(w.Question); err == nil {
		e.Detail.Question = questions[old]
	}
	return e
}
