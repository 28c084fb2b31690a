package board

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/bossman-dev/bossman/e2e/internal/harness"
)

// longest is what a claim may take, however many others want one.
var longest = harness.Bound(2 * time.Second)

// size is a number of tasks: usual, or what the environment says.
func size(t *testing.T, variable string, usual int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv(variable))
	if err != nil {
		return usual
	}
	return n
}

// Eight processes work on one file until nothing is left.
// BOSSMAN_E2E_SQLITE_TASKS sets how much there is.
func TestCrowd_sqlite(t *testing.T) {
	const processes = 8
	tasks := size(t, "BOSSMAN_E2E_SQLITE_TASKS", 2000)
	s := newSite(t)
	lead := s.pipe(t, s.dir)
	for made := 0; made < tasks; {
		var plan []args
		for range min(500, tasks-made) {
			made++
			plan = append(plan, args{"key": fmt.Sprintf("k%d", made), "title": fmt.Sprintf("Task %d", made)})
		}
		lead.call(t, "create_plan", args{"tasks": plan})
	}
	lead.end(t)

	crew := make([]*pipe, processes)
	for i := range crew {
		crew[i] = s.pipe(t, s.dir, "--role", "worker")
	}
	var c crowd
	for _, p := range crew {
		c.start(func() error {
			a := args{}
			for {
				begun := time.Now()
				next, err := p.try("get_next_task", a)
				c.took(&c.claiming, begun)
				if err != nil || next.facts.Outcome == "none" {
					return err
				}
				given := next.facts.Claim
				if err := c.grant(given.Task, given.Claim); err != nil {
					return err
				}
				a["worker"] = given.Worker
				begun = time.Now()
				_, err = p.try("report_task_done", args{"claim": given.Claim, "summary": "done"})
				c.took(&c.reporting, begun)
				if err != nil {
					return err
				}
			}
		})
	}
	c.end(t, fmt.Sprintf("%d processes on one SQLite file", processes), tasks)
	for _, p := range crew {
		p.end(t)
	}

	grants := map[string][]int{}
	done := 0
	for _, e := range s.events(t) {
		switch e.Kind {
		case "claimed":
			grants[e.Task] = append(grants[e.Task], e.Attempt)
		case "done":
			done++
		}
	}
	checkGrants(t, grants, tasks)
	if done != tasks {
		t.Errorf("%d tasks are done, want %d", done, tasks)
	}
}

// A crowd is many workers at one board, and what they were given.
type crowd struct {
	begun time.Time
	wg    sync.WaitGroup

	mu                  sync.Mutex
	given               map[string]string // by task
	err                 error
	claiming, reporting []time.Duration
}

func (c *crowd) start(work func() error) {
	if c.begun.IsZero() {
		c.begun, c.given = time.Now(), map[string]string{}
	}
	c.wg.Go(func() {
		if err := work(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = err
		}
	})
}

func (c *crowd) took(list *[]time.Duration, begun time.Time) {
	d := time.Since(begun)
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, d)
}

// grant notes a claim; nobody may have been given the task before.
func (c *crowd) grant(task, claim string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, twice := c.given[task]; twice {
		return fmt.Errorf("%s was given as %s and as %s", task, before, claim)
	}
	c.given[task] = claim
	return nil
}

// end waits for all, and says how long they waited.
func (c *crowd) end(t *testing.T, what string, tasks int) {
	t.Helper()
	c.wg.Wait()
	if c.err != nil {
		t.Fatal(c.err)
	}
	all := time.Since(c.begun)
	t.Logf("%s, %d tasks in %.1f s: %.0f/s; a claim took %s; a report %s",
		what, len(c.given), all.Seconds(), float64(len(c.given))/all.Seconds(), spread(c.claiming), spread(c.reporting))
	if len(c.given) != tasks {
		t.Errorf("%d tasks were given, want %d", len(c.given), tasks)
	}
	if most := slices.Max(c.claiming); most > longest {
		t.Errorf("a claim took %v, want at most %v", most, longest)
	}
}

// spread is the middle, the slowest hundredth and the end of a list.
func spread(list []time.Duration) string {
	slices.Sort(list)
	at := func(q float64) time.Duration {
		return list[min(len(list)-1, int(q*float64(len(list))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, max %v", at(0.5), at(0.99), at(1))
}

// checkGrants reads the history: one grant for each task, its first attempt.
func checkGrants(t *testing.T, grants map[string][]int, tasks int) {
	t.Helper()
	if len(grants) != tasks {
		t.Errorf("the history has grants of %d tasks, want %d", len(grants), tasks)
	}
	for task, attempts := range grants {
		if !slices.Equal(attempts, []int{1}) {
			t.Errorf("%s was granted as attempts %v, want once", task, attempts)
		}
	}
}
