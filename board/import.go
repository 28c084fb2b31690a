package board

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// Imported is the result of an import.
type Imported struct {
	Project string
	// Tasks and Questions map the ids in the file to those on this board.
	Tasks     map[ID]ID
	Questions map[QuestionID]QuestionID
	// Made is the number of new tasks, without those of an earlier import.
	Made int
	// Kept is set if every task kept its number.
	Kept bool
}

// Import reads an export into a project. In an empty project tasks keep their numbers,
// otherwise they get new ones. Repeating an import adds only what is missing. No task is
// handed out before the import is complete. A task in progress becomes pending, because
// claims are not exported. progress is called after each chunk of tasks; it may be nil.
func (b *Board) Import(ctx context.Context, a Actor, slug string, lines iter.Seq2[[]byte, error], progress func(done, all int)) (Imported, error) {
	file, err := readExport(lines)
	if err != nil {
		return Imported{}, err
	}
	im := &importing{
		b: b, actor: a, slug: slug, file: file, progress: progress,
		out: Imported{Project: slug, Tasks: map[ID]ID{}, Questions: map[QuestionID]QuestionID{}},
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

// importing is the state of one import.
type importing struct {
	b        *Board
	actor    Actor
	slug     string
	file     *exportFile
	progress func(done, all int)

	// keeps is set if tasks keep their numbers.
	keeps bool
	out   Imported
}

// match finds the tasks of an earlier import, and decides whether tasks keep their
// numbers.
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
	prefix := im.file.project.Source + " "
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
	// An interrupted import that kept its numbers continues to keep them.
	im.keeps = kept && some
	return nil
}

// origin returns the id in the file of a task on this board, or zero, and whether an
// import created the task.
func (im *importing) origin(r Reader, t Task, own, prefix string) (id ID, brought bool, err error) {
	first, err := r.Events(t.ID, 0, 1)
	if err != nil {
		return ID{}, false, err
	}
	if len(first) > 0 && first[0].Kind == EventImported {
		if rest, ok := strings.CutPrefix(first[0].Detail.Text, prefix); ok {
			id, err := ParseID(rest)
			if _, ok := im.file.index[id]; err == nil && ok {
				return id, true, nil
			}
		}
	}
	if own == im.file.project.Source { // the file was exported from this board
		id := ID{Project: im.file.project.Slug, No: t.ID.No}
		if i, ok := im.file.index[id]; ok && t.CreatedAt.UnixMicro() == im.file.tasks[i].CreatedAt.UnixMicro() {
			return id, false, nil
		}
	}
	return ID{}, false, nil
}
