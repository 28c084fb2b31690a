package sqlite

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
)

// full is a task with every field set.
func full(id board.ID, at time.Time) board.Task {
	return board.Task{
		ID: id, Title: "Ärger", Priority: board.High, Skills: []string{"go", "sql"}, Areas: []string{"a/b", "c"},
		Wants: []board.EvidenceKind{board.EvidenceTests}, Parent: web(1), Redoes: web(2), Hold: true, Status: board.Pending, Attempt: 3, Nonce: "abcde",
		Failures: 1, MaxFailures: 4, Lease: 90 * time.Second, SpecVersion: 2, OpenBlockers: 1, OpenChildren: 2, DoneChildren: 3,
		NotBefore: at.Add(time.Hour), ReservedFor: board.WorkerID{Principal: "local", Name: "otter"}, QueuedAt: at.Add(-time.Minute),
		Seq: 7, CreatedBy: "ann", CreatedAt: at, EndedAt: at.Add(time.Minute),
	}
}

func TestTask_roundTrip(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 1, nil)
	at := time.Date(2026, 3, 4, 5, 6, 7, 891000, time.UTC)
	task := full(web(9), at)
	doc := board.Doc{Description: "what", Acceptance: "when", Result: &board.Result{
		Summary: "did", Evidence: []board.Evidence{{Kind: board.EvidencePR, Ref: "#1", Detail: "x"}}, Artifacts: []string{"y"}, Branch: "b", Worker: "w",
	}}
	changed := task
	changed.Title, changed.Skills, changed.Parent, changed.Hold, changed.NotBefore = "Other", nil, board.ID{}, false, time.Time{}
	changed.ReservedFor, changed.EndedAt, changed.Seq, changed.Areas, changed.Wants = board.WorkerID{}, time.Time{}, 8, nil, nil
	check := func(r board.Reader, want board.Task) error {
		got, err := r.Task(want.ID)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("Task() = %+v\nwant %+v", got, want)
		}
		return err
	}
	write(t, s, func(tx board.Tx) error {
		if err := tx.InsertTask(task, doc); err != nil {
			return err
		}
		if err := tx.InsertTask(task, doc); !errors.Is(err, board.ErrConflict) {
			t.Errorf("InsertTask() again = %v, want ErrConflict", err)
		}
		got, err := tx.Doc(task.ID)
		if !reflect.DeepEqual(got, doc) {
			t.Errorf("Doc() = %+v", got)
		}
		return errors.Join(err, check(tx, task))
	})
	write(t, s, func(tx board.Tx) error {
		if err := tx.UpdateTask(changed, 6); !errors.Is(err, board.ErrConflict) {
			t.Errorf("UpdateTask() at another event = %v, want ErrConflict", err)
		}
		lost := changed
		lost.ID.No = 77
		if err := tx.UpdateTask(lost, 6); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("UpdateTask() of none = %v, want ErrNotFound", err)
		}
		if err := tx.PutDoc(task.ID, board.Doc{Description: "new"}); err != nil {
			return err
		}
		return errors.Join(tx.UpdateTask(changed, 7), check(tx, changed))
	})
	read(t, s, func(r board.Reader) error { return check(r, changed) })
	write(t, s, func(tx board.Tx) error {
		no, err := tx.Numbers("web", 3)
		if no != 10 {
			t.Errorf("Numbers() = %d, want one after the highest, 10", no)
		}
		next, err2 := tx.Numbers("web", 1)
		if next != 13 {
			t.Errorf("Numbers() = %d, want 13", next)
		}
		return errors.Join(err, err2)
	})
}

func TestTasks(t *testing.T) {
	s := open(t, path(t), nil)
	write(t, s, func(tx board.Tx) error {
		for _, slug := range []string{"web", "app"} {
			if err := tx.PutProject(board.Project{Slug: slug}); err != nil {
				return err
			}
			if err := addTasks(tx, slug, 4, func(i int, task *board.Task) {
				switch i {
				case 0:
					task.Title = "Größe ändern"
				case 1:
					task.Skills = []string{"go", "sql"}
				case 2:
					task.Hold = true
				case 3:
					task.Status, task.Parent = board.Done, board.ID{Project: slug, No: 1}
				}
			}); err != nil {
				return err
			}
		}
		_, err := tx.Claim(board.Want{Projects: []string{"app"}, Skills: []string{"go", "sql"}, For: []board.Claimant{claimant("otter")}})
		return err
	})
	read(t, s, func(r board.Reader) error {
		for _, tt := range []struct {
			filter board.TaskFilter
			want   string
		}{
			{board.TaskFilter{}, "web-1 web-2 web-3 web-4 app-1 app-2 app-3 app-4"},
			{board.TaskFilter{Projects: []string{"app", "none"}}, "app-1 app-2 app-3 app-4"},
			{board.TaskFilter{Projects: []string{}}, ""},
			{board.TaskFilter{Projects: []string{"none"}}, ""},
			{board.TaskFilter{Statuses: []board.Status{board.Done, board.InProgress}}, "web-4 app-1 app-4"},
			{board.TaskFilter{Ready: true}, "web-1 web-2 app-2"},
			{board.TaskFilter{Query: "GRÖSSE"}, ""},
			{board.TaskFilter{Query: "GRÖßE Ä"}, "web-1 app-1"},
			{board.TaskFilter{Query: "do IT", Limit: 3}, "web-1 web-2 web-3"},
			{board.TaskFilter{Skill: "sql"}, "web-2 app-2"},
			{board.TaskFilter{Skill: "sq"}, ""},
			{board.TaskFilter{Worker: "otter"}, "app-1"},
			{board.TaskFilter{Parent: web(1)}, "web-4"},
			{board.TaskFilter{Parent: board.ID{Project: "none", No: 1}}, ""},
			{board.TaskFilter{After: web(3), Limit: 2}, "web-4 app-1"},
			{board.TaskFilter{Projects: []string{"web", "app"}, Statuses: []board.Status{board.Pending}, After: web(2)}, "web-3 app-2 app-3"},
		} {
			tasks, err := r.Tasks(tt.filter)
			if err != nil {
				return err
			}
			var ids []string
			for _, task := range tasks {
				ids = append(ids, task.ID.String())
			}
			if got := strings.Join(ids, " "); got != tt.want {
				t.Errorf("Tasks(%+v) = %s, want %s", tt.filter, got, tt.want)
			}
		}
		all, err := r.Counts(nil)
		if all.Total() != 8 || all.Ready != 3 || all.Held != 2 || all.Status[board.Done] != 2 || all.Blocked+all.Later != 0 {
			t.Errorf("Counts() = %+v", all)
		}
		app, err2 := r.Counts([]string{"app"})
		if app.Total() != 4 || app.Ready != 1 || app.Status[board.InProgress] != 1 {
			t.Errorf("Counts(app) = %+v", app)
		}
		return errors.Join(err, err2)
	})
}

func TestLanes_limit(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, maxLanes, func(i int, task *board.Task) { task.Skills = []string{fmt.Sprintf("skill%d", i)} })
	err := s.Write(t.Context(), func(tx board.Tx) error {
		return addTasks(tx, "web", 1, func(_ int, task *board.Task) { task.Skills = []string{"one", "two"} })
	})
	if !errors.Is(err, board.ErrInvalid) || !strings.Contains(err.Error(), "64 different sets of skills") {
		t.Errorf("a lane more: %v, want ErrInvalid", err)
	}
	// Another task in a lane that is there is fine.
	write(t, s, func(tx board.Tx) error {
		return addTasks(tx, "web", 1, func(_ int, task *board.Task) { task.Skills = []string{"skill7"} })
	})
}

func TestLock(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 12, nil)
	write(t, s, func(tx board.Tx) error {
		tasks, err := tx.Lock(web(11), web(2), web(11))
		if len(tasks) != 2 || tasks[0].ID != web(2) || tasks[1].ID != web(11) {
			t.Errorf("Lock() = %v", tasks)
		}
		if _, err := tx.Lock(web(1), web(99)); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Lock() of none = %v, want ErrNotFound", err)
		}
		if err := tx.LockProject("none"); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("LockProject() = %v, want ErrNotFound", err)
		}
		return err
	})
}

func TestDossier(t *testing.T) {
	s := open(t, path(t), nil)
	seed(t, s, 4, func(i int, task *board.Task) {
		if i == 3 {
			task.Parent = web(2)
		}
	})
	write(t, s, func(tx board.Tx) error {
		result := board.Result{Summary: "did", Branch: "b"}
		err := errors.Join(tx.Link(web(2), web(1)), tx.Link(web(2), web(1)), tx.Link(web(3), web(2)),
			tx.PutDoc(web(1), board.Doc{Result: &result}))
		blockers, dependents, err2 := tx.Links(web(2))
		if len(blockers) != 1 || blockers[0] != web(1) || len(dependents) != 1 || dependents[0] != web(3) {
			t.Errorf("Links() = %v, %v", blockers, dependents)
		}
		task, err3 := tx.Task(web(2))
		claim, err4 := board.Grant(tx, task, claimant("otter"), time.Minute)
		_, err5 := tx.InsertQuestion(board.Question{Project: "web", Claim: claim.Handle, Text: "why?", State: board.QuestionOpen})
		return errors.Join(err, err2, err3, err4, err5, tx.Append(board.Event{Task: web(2), Seq: 3, Kind: board.EventNote}))
	})
	read(t, s, func(r board.Reader) error {
		d, err := r.Dossier(web(2), 2)
		if d.Claim == nil || len(d.Attempts) != 1 || len(d.Blockers) != 1 || d.Results[web(1)].Summary != "did" || len(d.Dependents) != 1 ||
			len(d.Children) != 1 || d.Children[0].ID != web(4) || len(d.Questions) != 1 || d.Doc.Description != "Do it." || d.Now.IsZero() {
			t.Errorf("Dossier() = %+v", d)
		}
		if len(d.Events) != 2 || d.Events[0].Seq != 2 || d.Events[1].Seq != 3 {
			t.Errorf("Dossier() has events %v, want the last two", d.Events)
		}
		if _, err := r.Dossier(web(99), 1); !errors.Is(err, board.ErrNotFound) {
			t.Errorf("Dossier() of none = %v", err)
		}
		return err
	})
	write(t, s, func(tx board.Tx) error {
		err := tx.Unlink(web(2), web(1))
		blockers, _, err2 := tx.Links(web(2))
		if len(blockers) != 0 {
			t.Errorf("Links() after Unlink = %v", blockers)
		}
		return errors.Join(err, err2, tx.Unlink(web(2), web(1)))
	})
}
