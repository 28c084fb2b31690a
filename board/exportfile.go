package board

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/go-json-experiment/json"
)

// A Source identifies the project of an export.
type Source struct {
	// Name identifies the board that the project comes from.
	Name    string
	Project Project
}

// ReadSource reads the first line of an export.
func ReadSource(line []byte) (Source, error) {
	var p projectLine
	if err := json.Unmarshal(line, &p); err != nil {
		return Source{}, invalid("the first line is not JSON: %v", err)
	}
	if p.Type != "project" || p.Source == "" || !ValidSlug(p.Slug) {
		return Source{}, invalid("the first line is not a project; this is not an export of Bossman")
	}
	if p.V != 1 {
		return Source{}, invalid("unsupported version %d of the export: want 1", p.V)
	}
	return Source{Name: p.Source, Project: p.project()}, nil
}

// An exportFile is an export in memory. It is read as a whole because a line may refer
// to a task that comes later.
type exportFile struct {
	project projectLine
	tasks   []taskLine
	ids     []ID       // of tasks, in the same order
	index   map[ID]int // of a task in tasks
	// blockers are the tasks that a task depends on, and dependents those that depend on it.
	blockers, dependents map[ID][]ID
	children             map[ID][]int
	events               map[ID]rawLines // each is an eventLine
	attempts             map[ID]rawLines // each is an attemptLine
	last                 map[ID]Handle   // of the attempts of a task
	runs                 map[Handle]Run
	diffs                map[Handle]Diff
	// questions are by their task; those of the zero ID belong to none. Each is a questionLine.
	questions map[ID]rawLines
}

// readExport reads an export, and validates it as far as that is possible without a
// board.
func readExport(lines iter.Seq2[[]byte, error]) (*exportFile, error) {
	f := &exportFile{
		index: map[ID]int{}, blockers: map[ID][]ID{}, dependents: map[ID][]ID{}, children: map[ID][]int{},
		events: map[ID]rawLines{}, attempts: map[ID]rawLines{}, last: map[ID]Handle{}, runs: map[Handle]Run{}, diffs: map[Handle]Diff{}, questions: map[ID]rawLines{},
	}
	no := 0
	for line, err := range lines {
		no++
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := f.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", no, err)
		}
	}
	if f.project.Source == "" {
		return nil, invalid("the file has no project; it is not an export of Bossman")
	}
	if err := f.checkReferences(); err != nil {
		return nil, err
	}
	return f, f.checkCycles()
}

// add reads one line. It ignores unknown types, which a newer program may have written.
func (f *exportFile) add(line []byte) error {
	var kind struct {
		V    int    `json:"v"`
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return invalid("not JSON: %v", err)
	}
	switch kind.Type {
	case "project":
		return f.addProject(line)
	case "task":
		return f.addTask(line)
	case "link":
		return f.addLink(line)
	case "attempt":
		return f.addAttempt(line)
	case "run":
		return f.addRun(line)
	case "diff":
		return f.addDiff(line)
	case "question":
		return f.addQuestion(line)
	case "event":
		return f.addEvent(line)
	}
	return nil
}

// parse reads a line into a struct.
func parse(line []byte, into any) error {
	if err := json.Unmarshal(line, into); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func (f *exportFile) addProject(line []byte) error {
	if _, err := ReadSource(line); err != nil {
		return err
	}
	var p projectLine
	if err := parse(line, &p); err != nil {
		return err
	}
	if first := f.project; first.Source != "" && (!p.Archive || !first.Archive || p.Source != first.Source || p.Slug != first.Slug) {
		return invalid("second project in the file: import one project at a time")
	}
	f.project = p
	return nil
}

func (f *exportFile) addTask(line []byte) error {
	var t taskLine
	if err := parse(line, &t); err != nil {
		return err
	}
	id, err := ParseID(t.ID)
	if err != nil {
		return err
	}
	if i, twice := f.index[id]; twice {
		// A task that could not leave the board when it was written is written again.
		if !f.project.Archive {
			return invalid("duplicate task %v", id)
		}
		f.tasks[i] = t
		for _, lines := range []map[ID]rawLines{f.events, f.attempts, f.questions} {
			delete(lines, id)
		}
		delete(f.last, id)
		_, _, err = t.task(id)
		return err
	}
	f.index[id] = len(f.tasks)
	f.tasks = append(f.tasks, t)
	f.ids = append(f.ids, id)
	_, _, err = t.task(id)
	return err
}

func (f *exportFile) addLink(line []byte) error {
	var l linkLine
	if err := parse(line, &l); err != nil {
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
	if !slices.Contains(f.blockers[task], blocker) {
		f.blockers[task], f.dependents[blocker] = append(f.blockers[task], blocker), append(f.dependents[blocker], task)
	}
	return nil
}

func (f *exportFile) addAttempt(line []byte) error {
	a, err := readAttempt(line)
	if err != nil {
		return err
	}
	id := a.Handle.Task
	f.attempts[id] = f.attempts[id].with(line)
	if a.Attempt > f.last[id].Attempt {
		f.last[id] = a.Handle
	}
	return nil
}

// readAttempt reads the line of an attempt, and validates it.
func readAttempt(line []byte) (Attempt, error) {
	var l attemptLine
	if err := parse(line, &l); err != nil {
		return Attempt{}, err
	}
	h, err := ParseHandle(l.Claim)
	if err != nil {
		return Attempt{}, err
	}
	if !slices.Contains(causes, l.Cause) {
		return Attempt{}, invalid("unknown cause %.40q of the end of an attempt: a newer version may have written the file", l.Cause)
	}
	a := l.attempt(h, h.Task)
	if err := checkWhere(&a.Where); err != nil {
		return Attempt{}, err
	}
	return a, checkTexts(text{"worker", l.Worker, 60}, text{"principal", l.Principal, 400}, text{"reason", l.Reason, maxLong}, text{"do_not_repeat", l.DoNotRepeat, maxLong})
}

func (f *exportFile) addQuestion(line []byte) error {
	var q questionLine
	if err := parse(line, &q); err != nil {
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
	f.questions[task] = f.questions[task].with(line)
	return checkTexts(text{"question", q.Text, maxText}, text{"answer", q.Answer, maxText})
}

func (f *exportFile) addEvent(line []byte) error {
	var e eventLine
	if err := parse(line, &e); err != nil {
		return err
	}
	id, err := ParseID(e.Task)
	if err != nil {
		return err
	}
	for _, s := range []Status{e.From, e.To} {
		if s != "" && !slices.Contains(Statuses, s) {
			return invalid("unknown status %.40q in an event: a newer version may have written the file", s)
		}
	}
	if !slices.Contains(kinds, e.Kind) || !slices.Contains(causes, e.Cause) {
		return invalid("unknown kind of event %.40q, or its cause %.40q: a newer version may have written the file", e.Kind, e.Cause)
	}
	f.events[id] = f.events[id].with(line)
	texts := []text{{"event", e.Text, maxLong}, {"actor", e.Actor, 400}}
	if e.Commit != "" && !ValidObject(e.Commit) {
		return invalid("invalid commit %.80q in an event", e.Commit)
	}
	if err := checkComments(e.Comments); err != nil {
		return err
	}
	if r := e.Returned; r != nil {
		if !slices.Contains(ReturnKinds, r.Kind) || len(r.Files) > maxFiles {
			return invalid("unknown kind of return %.40q, or too many files: a newer version may have written the file", r.Kind)
		}
		for _, name := range []string{r.Tip, r.Target, r.OtherTip} {
			if name != "" && !ValidObject(name) {
				return invalid("invalid commit %.80q in an event", name)
			}
		}
		for _, f := range r.Files {
			texts = append(texts, text{"file", f, 4096})
		}
		texts = append(texts, text{"title", r.Title, maxTitle}, text{"summary", r.Summary, maxText})
	}
	if w := e.Was; w != nil {
		texts = append(texts, text{"title", w.Title, maxTitle}, text{"description", w.Description, maxLong}, text{"acceptance", w.Acceptance, maxText})
	}
	return checkTexts(texts...)
}

// checkReferences rejects parents and links that are not in the file, unless it is an
// archive, and collects the children of each task.
func (f *exportFile) checkReferences() error {
	for i, t := range f.tasks {
		if last := f.last[f.ids[i]]; last.Attempt > t.Attempt {
			return invalid("attempt %v is later than the last one of %s, %d", last, t.ID, t.Attempt)
		}
		if t.Parent == "" {
			continue
		}
		parent, err := ParseID(t.Parent)
		if err != nil {
			return err
		}
		if _, ok := f.index[parent]; !ok {
			if f.project.Archive {
				continue
			}
			return invalid("the parent of %s, %s, is not in the file", t.ID, t.Parent)
		}
		f.children[parent] = append(f.children[parent], i)
	}
	for task, blockers := range f.blockers {
		for _, id := range append([]ID{task}, blockers...) {
			if _, ok := f.index[id]; !ok && !f.project.Archive {
				return invalid("a link names %v, which is not in the file", id)
			}
		}
	}
	return nil
}

// checkCycles rejects links and parents that form a cycle.
func (f *exportFile) checkCycles() error {
	blockers := make([][]int, len(f.ids))
	for i, id := range f.ids {
		for _, blocker := range f.blockers[id] {
			if at, ok := f.index[blocker]; ok {
				blockers[i] = append(blockers[i], at)
			}
		}
	}
	_, err := chain(len(f.ids), func(i int) string { return f.ids[i].String() }, func(i int) []int {
		return append(blockers[i], f.children[f.ids[i]]...)
	})
	return err
}
