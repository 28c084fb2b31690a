package board

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
)

// exportPage is the page size of an export's reads, which keeps each of them short.
const exportPage = 200

// Export writes a project as lines of JSON: the project, its tasks, each with its links, its
// attempts and its events, and the questions. It reads page by page, so the export may or may
// not contain changes that are made during it.
func (b *Board) Export(ctx context.Context, slug string, emit func(line []byte) error) error {
	out := func(v any) error {
		line, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return err
		}
		return emit(line)
	}
	var p Project
	source := ""
	err := b.store.Read(ctx, func(r Reader) (err error) {
		if p, err = b.project(r, slug); err != nil {
			return err
		}
		source, err = sourceOf(r, slug)
		return err
	})
	if err != nil {
		return err
	}
	last, err := b.lastNo(ctx, slug)
	if err != nil {
		return err
	}
	head := newProjectLine(p, source)
	head.LastNo = last
	if err := out(head); err != nil {
		return err
	}
	f := TaskFilter{Projects: []string{slug}, Limit: exportPage}
	for more := true; more; {
		var page []Record
		var last ID
		err := b.store.Read(ctx, func(r Reader) error {
			page = nil
			tasks, err := r.Tasks(f)
			if err != nil {
				return err
			}
			if more = len(tasks) == f.Limit; more {
				last = tasks[len(tasks)-1].ID
			}
			return records(r, tasks, func(rec Record) error {
				page = append(page, rec)
				return nil
			})
		})
		if err != nil {
			return err
		}
		f.After = last
		for _, rec := range page {
			if err := exportRecord(rec, out); err != nil {
				return err
			}
		}
	}
	return b.exportQuestions(ctx, slug, out)
}

// exportRecord writes a task, its links to those that it depends on, its attempts, their runs
// and diffs, and its events.
func exportRecord(rec Record, out func(any) error) error {
	if err := out(newTaskLine(rec.Task, rec.Doc)); err != nil {
		return err
	}
	for _, blocker := range rec.Blockers {
		if err := out(newLinkLine(rec.Task.ID, blocker)); err != nil {
			return err
		}
	}
	for _, a := range rec.Attempts {
		if err := out(newAttemptLine(a)); err != nil {
			return err
		}
	}
	for _, r := range rec.Runs {
		if err := out(newRunLine(r)); err != nil {
			return err
		}
	}
	for _, d := range rec.Diffs {
		i := slices.IndexFunc(rec.Attempts, func(a Attempt) bool { return a.Attempt == d.Attempt })
		if i < 0 {
			continue
		}
		if err := out(diffLine{V: 1, Type: "diff", Claim: rec.Attempts[i].Handle.String(), Diff: d.Diff}); err != nil {
			return err
		}
	}
	for _, e := range rec.Events {
		if err := out(newEventLine(e)); err != nil {
			return err
		}
	}
	return nil
}

// recordEvents is how many events are read at once, unless one task has more.
const recordEvents = 5000

// records reads what is kept about tasks of one project, and hands it to f, some at a time.
func records(r Reader, tasks []Task, f func(Record) error) error {
	for len(tasks) > 0 {
		var ids []ID
		events := int64(0)
		for _, t := range tasks {
			if events += t.Seq; len(ids) > 0 && events > recordEvents {
				break
			}
			ids = append(ids, t.ID)
		}
		tasks = tasks[len(ids):]
		list, err := r.Records(ids)
		if err != nil {
			return err
		}
		for _, rec := range list {
			if err := f(rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// sourceOf returns a name that identifies the board of a project: the slug and the time
// at which the first task was created. It stays the same when that task is archived.
func sourceOf(r Reader, slug string) (string, error) {
	left, err := r.Archives(ArchiveFilter{Project: slug, Limit: 1})
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return left[0].Source, nil
	}
	first, err := r.Tasks(TaskFilter{Projects: []string{slug}, Limit: 1})
	if err != nil || len(first) == 0 {
		return slug, err
	}
	return fmt.Sprintf("%s-%s", slug, strconv.FormatInt(first[0].CreatedAt.UnixMicro(), 36)), nil
}

// lastNo returns the highest number of a project's tasks.
func (b *Board) lastNo(ctx context.Context, slug string) (no int64, err error) {
	f := TaskFilter{Projects: []string{slug}, Limit: 1000}
	for {
		page, err := b.List(ctx, f)
		if err != nil {
			return no, err
		}
		for _, t := range page {
			no = max(no, t.ID.No)
			f.After = t.ID
		}
		if len(page) < f.Limit {
			return no, nil
		}
	}
}

func (b *Board) exportQuestions(ctx context.Context, slug string, out func(any) error) error {
	f := QuestionFilter{Projects: []string{slug}, Limit: exportPage}
	for {
		page, err := b.Questions(ctx, f)
		if err != nil {
			return err
		}
		for _, q := range page {
			if err := out(newQuestionLine(q)); err != nil {
				return err
			}
			f.After = q.ID
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}
