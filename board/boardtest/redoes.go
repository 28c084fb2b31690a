package boardtest

import (
	"testing"

	"github.com/bossman-dev/bossman/board"
)

// MakeRedoes fills an empty board with tasks that do another one again, or look so. A store whose boards did not
// keep that calls it for the test of the migration, and compares what the tasks do again before and after.
func MakeRedoes(t testing.TB, s board.Store) {
	t.Helper()
	b := board.New(s, &board.Options{Home: &board.Project{Slug: project, Policy: board.PolicyTrust}})
	agent := board.Actor{Principal: "local", Owner: "agent"}
	create := func(a board.Actor, title string) board.ID {
		made, _, err := b.Create(t.Context(), a, board.NewTask{Project: project, Title: title}, "")
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	done, cancelled := create(ada, "a"), create(ada, "b: c")
	_, err := b.MarkDone(t.Context(), ada, done, "", false)
	if err == nil {
		_, err = b.Cancel(t.Context(), ada, cancelled, "never", board.DependentsKeep)
	}
	for _, a := range []board.Actor{ada, agent} {
		for _, id := range []board.ID{done, cancelled} {
			if err == nil {
				_, err = b.Reopen(t.Context(), a, id, "why")
			}
			create(a, "Redo "+id.String()+": by another's title")
		}
		create(a, "Redo "+project+"-999999999999: what is not there")
		create(a, "Redo api-1: what is in another project")
		create(a, "Redo : nothing")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Redoes lists what the tasks of MakeRedoes do again.
func Redoes(t testing.TB, s board.Store) string {
	t.Helper()
	list, err := board.New(s, nil).List(t.Context(), board.TaskFilter{Projects: []string{project}})
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for _, task := range list {
		if !task.Redoes.IsZero() {
			out += words(task.ID, task.Redoes) + "; "
		}
	}
	return out
}
