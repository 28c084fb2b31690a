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
// otherwise they get new ones; but what was archived from the project gets its numbers back,
// and its links to tasks that are there. Repeating an import adds only what is missing. No task is
// handed out before the import is complete. A task in progress becomes pending, because
// claims are not exported. A line is used until the next one is read. progress is called after each
// chunk of tasks; it may be nil.
func (b *Board) Import(ctx context.Context, a Actor, slug string, lines iter.Seq2[[]byte, error], progress func(done, all int)) (Imported, error) {
	file, err := readExport(lines)
	if err != nil {
		return Imported{}, err
	}
	im := &importing{
		b: b, actor: a, slug: slug, file: file, progress: progress, left: map[int64]bool{},
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

	// keeps is set if tasks keep their numbers, and restores if they return to the board from
	// which they were archived.
	keeps, restores bool
	// left are the numbers of tasks of which it is known that they were archived: those that
	// left together are in a file together.
	left map[int64]bool
	out  Imported
}

// match finds the tasks of an earlier import, and decides whether tasks keep their
// numbers.
func (im *importing) match(ctx context.Context) error {
	own := ""
	empty := true
	err := im.b.store.Read(ctx, func(r Reader) (err error) {
		if _, err = r.Project(im.slug); errors.Is(err, ErrNotFound) {
			return nil
		}
		if own, err = sourceOf(r, im.slug); err != nil {
			return err
		}
		counts, err := r.Counts([]string{im.slug})
		if err != nil {
			return err
		}
		left, err := r.Archives(ArchiveFilter{Project: im.slug, Limit: 1})
		empty = counts.Total() == 0 && len(left) == 0
		im.restores = len(left) > 0 && im.file.project.Archive && im.slug == im.file.project.Slug && own == im.file.project.Source
		return err
	})
	if err != nil {
		return err
	}
	im.keeps = empty
	if empty {
		return nil
	}
	prefix := im.file.project.Source + " "
	f := TaskFilter{Projects: []string{im.slug}, Limit: exportPage}
	kept, some := true, false
	for {
		n, last := 0, ID{}
		err := im.b.store.Read(ctx, func(r Reader) error {
			page, err := r.Tasks(f)
			if err != nil {
				return err
			}
			n = len(page)
			if n > 0 {
				last = page[n-1].ID
			}
			return records(r, page, func(rec Record) error {
				origin, brought := im.origin(rec, own, prefix)
				if origin.IsZero() {
					return nil
				}
				im.out.Tasks[origin] = rec.Task.ID
				some = some || brought
				kept = kept && origin.No == rec.Task.ID.No
				return nil
			})
		})
		if err != nil {
			return err
		}
		if n < f.Limit {
			break
		}
		f.After = last
	}
	// An interrupted import that kept its numbers continues to keep them.
	im.keeps = kept && some || im.restores
	return nil
}

// wasArchived fails if a task does not return to the board from which it was archived: its
// number may be another task's, or become one's.
func (im *importing) wasArchived(r Reader, id ID) error {
	if im.left[id.No] {
		return nil
	}
	left, err := r.Archives(ArchiveFilter{Project: im.slug, Task: id, Limit: 1})
	if err == nil && len(left) == 0 {
		err = conflict("%v was not archived from this board", id)
	}
	for _, a := range left {
		for _, no := range a.Tasks {
			im.left[no] = true
		}
	}
	return err
}

// neighbour returns a task that is not in the file, of which the file says that a task which
// was archived had it as its parent, or a link to it; zero if it is not on this board, or
// still open.
func (im *importing) neighbour(r Reader, id ID) (ID, error) {
	if _, ok := im.file.index[id]; ok || !im.restores {
		return ID{}, nil
	}
	t, err := r.Task(id)
	if errors.Is(err, ErrNotFound) || err == nil && !t.Status.Terminal() {
		return ID{}, nil
	}
	return t.ID, err
}

// origin returns the id in the file of a task on this board, or zero, and whether an
// import created the task.
func (im *importing) origin(rec Record, own, prefix string) (id ID, brought bool) {
	if len(rec.Events) > 0 && rec.Events[0].Kind == EventImported {
		if rest, ok := strings.CutPrefix(rec.Events[0].Detail.Text, prefix); ok {
			id, err := ParseID(rest)
			if _, ok := im.file.index[id]; err == nil && ok {
				return id, true
			}
		}
	}
	if own == im.file.project.Source { // the file was exported from this board
		id := ID{Project: im.file.project.Slug, No: rec.Task.ID.No}
		if i, ok := im.file.index[id]; ok && rec.Task.CreatedAt.UnixMicro() == im.file.tasks[i].CreatedAt.UnixMicro() {
			return id, false
		}
	}
	return ID{}, false
}
