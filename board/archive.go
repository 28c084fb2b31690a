package board

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
)

// archiveBatch is how many tasks one transaction of Archive deletes, and archivePause how
// many times as long as that takes at best the others are then left alone. A transaction that
// took longer did so because the others had their turn.
const (
	archiveBatch = 100
	archivePause = 3
)

// An Archive is a batch of finished tasks that have left the board.
type Archive struct {
	Project string
	// Source identifies the board that the tasks were on, as in an export.
	Source string
	// Tasks are the numbers of the tasks, ascending.
	Tasks []int64
	// Place is where they were written, and SHA256 the hash of what was written there at once.
	Place, SHA256 string
	By            string
	At            time.Time
}

// An ArchiveFilter selects archives.
type ArchiveFilter struct {
	Project string
	// Task selects the archives that have a task.
	Task ID
	// Limit is the size of a page (default 1,000).
	Limit int
}

// Finished selects tasks that may leave the board: they are done or cancelled and ended
// before a time; nothing open depends on them; no parent, child or question of theirs is
// open, and no child ended later; and nobody holds or reviews them.
type Finished struct {
	Project string
	Before  time.Time
	// After is the last task of the previous page; tasks are ordered by when they ended.
	After Task
	Limit int
}

// An ArchivedError is an ErrNotFound: the task has left the board.
type ArchivedError struct {
	Task  ID
	At    time.Time
	Place string
}

func (e *ArchivedError) Error() string {
	return fmt.Sprintf("%v: %v was archived on %s, in %s", ErrNotFound, e.Task, e.At.UTC().Format(time.DateOnly), e.Place)
}

func (e *ArchivedError) Unwrap() error { return ErrNotFound }

// archived returns an ArchivedError if err is an ErrNotFound and one of the tasks was
// archived, and otherwise err.
func archived(r Reader, err error, ids ...ID) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	for _, id := range ids {
		if _, there := r.Task(id); !errors.Is(there, ErrNotFound) {
			continue
		}
		list, failed := r.Archives(ArchiveFilter{Project: id.Project, Task: id})
		if failed == nil && len(list) > 0 {
			last := list[len(list)-1]
			return &ArchivedError{Task: id, At: last.At, Place: last.Place}
		}
	}
	return err
}

// An ArchivePlace is where archives are written: lines of JSON, as an export has them.
type ArchivePlace interface {
	Write(lines []byte) (int, error)
	// Save returns when what was written since the last Save can no longer be lost.
	Save(ctx context.Context) (Saved, error)
}

// Saved is what an ArchivePlace has saved, and where.
type Saved struct{ Place, SHA256 string }

// Archiving says which tasks leave the board.
type Archiving struct {
	Project string
	// Age is how long ago they must have ended.
	Age time.Duration
	// PerSave is how many tasks are written before each Save; default 100. Max is how many
	// are archived at most; 0 means all.
	PerSave, Max int
	// DryRun only counts them.
	DryRun bool
}

// Archive writes finished tasks to a place, and deletes them once they are safe there. It
// returns the number of tasks that have left the board. If it is interrupted, the tasks that
// were saved last may still be there: they are then written again, and importing them twice
// adds nothing. progress is called after each batch; it may be nil.
func (b *Board) Archive(ctx context.Context, a Actor, o Archiving, to ArchivePlace, progress func(tasks int)) (int, error) {
	if o.Age < 0 {
		return 0, invalid("a negative age")
	}
	ar := &archiving{b: b, actor: a, o: o, to: to}
	ar.o.PerSave = cmp.Or(o.PerSave, archiveBatch)
	err := b.store.Read(ctx, func(r Reader) error {
		p, err := r.Project(o.Project)
		if err != nil {
			return err
		}
		now, err := r.Now()
		if err != nil {
			return err
		}
		ar.before = now.Add(-o.Age)
		source, err := sourceOf(r, p.Slug)
		ar.head = newProjectLine(p, source)
		ar.head.Archive = true
		return err
	})
	if err != nil {
		return 0, err
	}
	all := 0
	// A parent leaves after its children, which may be on a later page.
	for {
		n, err := ar.pass(ctx, all, progress)
		all += n
		if err != nil || n == 0 || o.DryRun || o.Max > 0 && all >= o.Max {
			return all, err
		}
	}
}

// archiving is the state of one call of Archive.
type archiving struct {
	b      *Board
	actor  Actor
	o      Archiving
	to     ArchivePlace
	before time.Time
	head   projectLine
	best   time.Duration // the shortest deletion of a whole batch
}

// pass archives the tasks that can leave the board now, and returns their number. all is how
// many have left before.
func (ar *archiving) pass(ctx context.Context, all int, progress func(int)) (n int, err error) {
	f := Finished{Project: ar.o.Project, Before: ar.before}
	for {
		room := ar.o.PerSave
		if ar.o.Max > 0 {
			room = min(room, ar.o.Max-all-n)
		}
		written, err := ar.write(ctx, &f, room)
		if err != nil || len(written) == 0 {
			return n, err
		}
		if ar.o.DryRun {
			n += len(written)
			continue
		}
		saved, err := ar.to.Save(ctx)
		if err != nil {
			return n, fmt.Errorf("save the archive: %w", err)
		}
		for batch := range slices.Chunk(written, archiveBatch) {
			started := time.Now()
			gone, err := ar.delete(ctx, batch, saved)
			if err != nil {
				return n, err
			}
			n += gone
			if progress != nil {
				progress(all + n)
			}
			took := time.Since(started)
			if gone == archiveBatch && (ar.best == 0 || took < ar.best) {
				ar.best = took
			}
			if err := pause(ctx, archivePause*cmp.Or(ar.best, took)); err != nil {
				return n, err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(min(d, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write writes the next tasks, at most n, and returns them as they were written. f is moved
// behind them.
func (ar *archiving) write(ctx context.Context, f *Finished, n int) ([]Task, error) {
	var written []Task
	for len(written) < n {
		f.Limit = min(n-len(written), archiveBatch)
		var page []Task
		var lines []byte
		err := ar.b.store.Read(ctx, func(r Reader) (err error) {
			if page, err = r.Finished(*f); err != nil || ar.o.DryRun {
				return err
			}
			lines, err = ar.lines(r, page)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		f.After = page[len(page)-1]
		written = append(written, page...)
		if ar.o.DryRun {
			continue
		}
		if _, err := ar.to.Write(lines); err != nil {
			return nil, fmt.Errorf("write the archive: %w", err)
		}
	}
	return written, nil
}

// lines returns tasks as lines, beginning with the project's. Links to tasks that stay on
// the board are among them, in both directions.
func (ar *archiving) lines(r Reader, tasks []Task) ([]byte, error) {
	var out bytes.Buffer
	put := func(v any) error {
		line, err := json.Marshal(v, json.Deterministic(true))
		out.Write(line)
		out.WriteByte('\n')
		return err
	}
	if err := put(ar.head); err != nil {
		return nil, err
	}
	here := map[ID]bool{}
	for _, t := range tasks {
		here[t.ID] = true
	}
	err := records(r, tasks, func(rec Record) error {
		if err := exportRecord(rec, put); err != nil {
			return err
		}
		for _, dependent := range rec.Dependents {
			if here[dependent] {
				continue // it comes with its own links
			}
			if err := put(newLinkLine(dependent, rec.Task.ID)); err != nil {
				return err
			}
		}
		for _, q := range rec.Questions {
			if err := put(newQuestionLine(q)); err != nil {
				return err
			}
		}
		return nil
	})
	return out.Bytes(), err
}

// delete deletes those tasks that are still as they were written, records that, and returns
// their number.
func (ar *archiving) delete(ctx context.Context, written []Task, saved Saved) (n int, err error) {
	seqs := map[ID]int64{}
	var ids []ID
	for _, t := range written {
		seqs[t.ID] = t.Seq
		ids = append(ids, t.ID)
	}
	err = ar.b.store.Write(ctx, func(tx Tx) error {
		n = 0
		locked, err := tx.LockFinished(ids, ar.before)
		if err != nil {
			return err
		}
		gone := Archive{Project: ar.o.Project, Source: ar.head.Source, Place: saved.Place, SHA256: saved.SHA256, By: ar.actor.String()}
		if gone.At, err = tx.Now(); err != nil {
			return err
		}
		for _, t := range locked {
			if t.Seq == seqs[t.ID] {
				gone.Tasks = append(gone.Tasks, t.ID.No)
			}
		}
		n = len(gone.Tasks)
		if n == 0 {
			return nil
		}
		slices.Sort(gone.Tasks)
		return tx.Archive(gone)
	})
	return n, err
}
