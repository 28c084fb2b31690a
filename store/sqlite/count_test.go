package sqlite

import (
	"fmt"
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// The counts are right before and after events are counted, and finished tasks are not read.
func TestCounts(t *testing.T) {
	s := open(t, path(t), nil)
	b := board.New(s, nil)
	ada := board.Actor{Principal: "ada", Name: "ada", Person: true}
	for _, slug := range []string{"web", "api"} {
		if err := b.SetProject(t.Context(), board.Project{Slug: slug}); err != nil {
			t.Fatal(err)
		}
	}
	counted := func() (n int64) {
		write(t, s, func(w board.Tx) error { return w.(*tx).get(`SELECT counted FROM meta`, nil, &n) })
		return n
	}
	last := counted()
	folds := 0
	for i := range 700 {
		task, _, err := b.Create(t.Context(), ada, board.NewTask{Project: []string{"web", "api"}[i%2], Title: "t", Priority: board.Normal}, "")
		if err == nil && i%3 > 0 {
			_, err = b.Cancel(t.Context(), ada, task.ID, "", board.DependentsKeep)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := counted(); n > last {
			last = n
			folds++
		} else if i%100 != 0 {
			continue
		}
		cancelled := 0
		for j := range i + 1 {
			if j%3 > 0 {
				cancelled++
			}
		}
		if got, err := b.Counts(t.Context()); err != nil || got.Ready != i+1-cancelled || got.Status[board.Cancelled] != cancelled || got.Total() != i+1 {
			t.Fatalf("after %d tasks Counts = %+v, %v, want %d cancelled", i+1, got, err, cancelled)
		}
	}
	web, err := b.Summary(t.Context(), "web")
	if err != nil || web.Counts.Total() != 350 {
		t.Errorf("web has %+v, %v, want 350 tasks", web.Counts, err)
	}
	if folds != 1 {
		t.Errorf("1,166 events were counted %d times, want once", folds)
	}
}

// A search covers what is open, and the newest of the rest.
func TestSearch(t *testing.T) {
	s := open(t, path(t), nil)
	fill(t, s, "web", 12_200, "")
	write(t, s, func(w board.Tx) error {
		tx := w.(*tx)
		if _, err := tx.exec(`UPDATE tasks SET status = 'done', ready = 0 WHERE id & ? BETWEEN 3 AND 12000`, board.MaxNo); err != nil {
			return err
		}
		_, err := tx.exec(`UPDATE task_docs SET description = 'an ÖRE' WHERE task_id & ? IN (2, 5, 11990, 12100)`, board.MaxNo)
		return err
	})
	b := board.New(s, nil)
	for _, test := range []struct {
		f    board.TaskFilter
		want string
	}{
		{board.TaskFilter{Query: "öre"}, "[2 11990 12100]"},
		{board.TaskFilter{Query: "öre", Projects: []string{"web"}, Limit: 2}, "[2 11990]"},
		{board.TaskFilter{Query: "öre", Statuses: []board.Status{board.Done}}, "[11990]"},
		{board.TaskFilter{Query: "öre", Statuses: board.Open}, "[2 12100]"},
		{board.TaskFilter{Query: "öre", Projects: []string{"none"}}, "[]"},
	} {
		got, err := b.List(t.Context(), test.f)
		nos := []int64{}
		for _, task := range got {
			nos = append(nos, task.ID.No)
		}
		if err != nil || fmt.Sprint(nos) != test.want {
			t.Errorf("List %+v = %v, %v, want %s", test.f, nos, err, test.want)
		}
	}
}
