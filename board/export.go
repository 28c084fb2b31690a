package board

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
)

// exportPage is the page size of an export's reads, which keeps each of them short.
const exportPage = 200

// Export writes a project as lines of JSON: the project, its tasks, their links, their
// attempts, the questions and the events. It reads page by page, so the export may or may not contain
// changes that are made during it.
func (b *Board) Export(ctx context.Context, slug string, emit func(line []byte) error) error {
	out := func(v any) error {
		line, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return err
		}
		return emit(line)
	}
	var ids []ID
	var links []linkLine
	var attempts []attemptLine
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
		var tasks []taskLine
		var here []linkLine
		var held []attemptLine
		err := b.store.Read(ctx, func(r Reader) error {
			tasks, here, held = nil, nil, nil
			page, err := r.Tasks(f)
			if err != nil {
				return err
			}
			more = len(page) == f.Limit
			for _, t := range page {
				d, err := r.Dossier(t.ID, 0)
				if err != nil {
					return err
				}
				tasks = append(tasks, newTaskLine(d.Task, d.Doc))
				here = append(here, blockerLines(d)...)
				for _, a := range d.Attempts {
					held = append(held, newAttemptLine(a))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		links, attempts = append(links, here...), append(attempts, held...)
		for _, t := range tasks {
			if err := out(t); err != nil {
				return err
			}
			id, err := ParseID(t.ID)
			if err != nil {
				return err
			}
			ids = append(ids, id)
			f.After = id
		}
	}
	for _, l := range links {
		if err := out(l); err != nil {
			return err
		}
	}
	for _, a := range attempts {
		if err := out(a); err != nil {
			return err
		}
	}
	if err := b.exportQuestions(ctx, slug, out); err != nil {
		return err
	}
	for _, id := range ids {
		if err := b.exportEvents(ctx, id, out); err != nil {
			return err
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

func (b *Board) exportEvents(ctx context.Context, id ID, out func(any) error) error {
	return eventLines(func(after int64) ([]Event, error) { return b.Events(ctx, id, after, exportPage) }, out)
}

// eventLines writes the events of a task. read returns a page of them.
func eventLines(read func(after int64) ([]Event, error), out func(any) error) error {
	after := int64(0)
	for {
		page, err := read(after)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := out(newEventLine(e)); err != nil {
				return err
			}
			after = e.Seq
		}
		if len(page) < exportPage {
			return nil
		}
	}
}
