package board

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

// 32 workers, as the replicas of a server would serve them, on PostgreSQL.
// BOSSMAN_E2E_PG_TASKS sets how much there is to do; 20000 is the full size.
func TestCrowd_postgres(t *testing.T) {
	const workers, replicas = 32, 4
	tasks := size(t, "BOSSMAN_E2E_PG_TASKS", 4000)
	cluster := pgtest.Start(t, "max_connections = 200")
	db := cluster.NewDatabase(t)
	crew := make([]*board.Board, replicas)
	for i := range crew {
		crew[i] = board.New(cluster.OpenIn(t, db, nil), nil)
	}
	lead := board.Actor{Principal: "ada", Owner: "key-ada", Name: "ada"}
	if err := crew[0].SetProject(t.Context(), board.Project{Slug: "web", Policy: board.PolicyTrust}); err != nil {
		t.Fatal(err)
	}
	for made := 0; made < tasks; {
		plan := board.Plan{Project: "web"}
		for range min(500, tasks-made) {
			made++
			plan.Tasks = append(plan.Tasks, board.PlanTask{
				Key: fmt.Sprintf("k%d", made), NewTask: board.NewTask{Title: fmt.Sprintf("Task %d", made), Priority: board.Normal},
			})
		}
		if _, err := crew[0].CreatePlan(t.Context(), lead, plan); err != nil {
			t.Fatal(err)
		}
	}

	var c crowd
	for i := range workers {
		b := crew[i%replicas]
		me := board.Actor{Principal: "crew", Owner: fmt.Sprintf("key-%d", i)}
		c.start(func() error {
			wish := board.Wish{Projects: []string{"web"}, Absent: true}
			for {
				begun := time.Now()
				next, err := b.Next(t.Context(), me, wish)
				c.took(&c.claiming, begun)
				if _, none := errors.AsType[*board.Nothing](err); none {
					return nil
				}
				if err != nil {
					return err
				}
				given := next.Claim
				if err := c.grant(given.Task.String(), given.Handle.String()); err != nil {
					return err
				}
				wish.Worker, me.Worker = given.Worker.Name, given.Worker.Name
				begun = time.Now()
				_, err = b.Done(t.Context(), me, given.Handle, board.Report{Summary: "done"})
				c.took(&c.reporting, begun)
				if err != nil {
					return err
				}
			}
		})
	}
	c.end(t, fmt.Sprintf("%d workers on PostgreSQL", workers), tasks)

	grants := map[string][]int{}
	done := 0
	var at board.Cursor
	for {
		page, err := crew[0].Feed(t.Context(), []string{"web"}, at, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		at = page[len(page)-1].Cursor
		for _, e := range page {
			switch e.Kind {
			case board.EventClaimed:
				grants[e.Task.String()] = append(grants[e.Task.String()], e.Detail.Attempt)
			case board.EventDone:
				done++
			}
		}
	}
	checkGrants(t, grants, tasks)
	if done != tasks {
		t.Errorf("%d tasks are done, want %d", done, tasks)
	}
}
