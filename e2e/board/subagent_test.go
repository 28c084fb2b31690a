package board

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Two sub-agents share a pipe, and neither knows that.
func TestSubagents(t *testing.T) {
	s := newSite(t)
	p := s.pipe(t, s.dir)
	for i := range 3 {
		p.call(t, "create_task", args{"description": fmt.Sprintf("Task %d.", i+1)})
	}
	one := p.call(t, "get_next_task", nil).facts.Claim
	held := p.call(t, "get_next_task", nil)
	if held.facts.Outcome != "held" || held.facts.Claim != (claim{}) {
		t.Errorf("the second get_next_task {} = %+v, want held and no claim", held.facts)
	}
	for _, part := range []string{one.Task, `get_next_task {"worker":"` + one.Worker + `"}`, `get_next_task {"worker":"new"}`} {
		if !strings.Contains(held.text, part) {
			t.Errorf("the second get_next_task {} does not say %q:\n%s", part, held.text)
		}
	}
	two := p.call(t, "get_next_task", args{"worker": "new"}).facts.Claim
	if two.Task == one.Task || two.Worker == one.Worker || two.Claim == "" {
		t.Errorf("the second agent got %+v, the first %+v", two, one)
	}
	// Both lose their memory.
	for _, c := range []claim{two, one} {
		again := p.call(t, "get_next_task", args{"worker": c.Worker})
		if again.facts.Outcome != "again" || again.facts.Claim != c {
			t.Errorf("get_next_task of %s = %+v, want again %+v", c.Worker, again.facts, c)
		}
		if !strings.Contains(again.text, c.Task+" is still yours") {
			t.Errorf("get_next_task of %s says\n%s", c.Worker, again.text)
		}
	}
}

// At the same moment, over and over: a task is never given to two.
func TestSubagents_together(t *testing.T) {
	const rounds, agents = 10, 3
	s := newSite(t)
	p := s.pipe(t, s.dir)
	var plan []args
	for i := range rounds * agents {
		plan = append(plan, args{"key": fmt.Sprintf("k%d", i), "title": fmt.Sprintf("Task %d", i)})
	}
	p.call(t, "create_plan", args{"tasks": plan})
	given := map[string]string{}
	for range rounds {
		claims := make([]claim, agents)
		errs := make([]error, agents)
		var wg sync.WaitGroup
		for i := range agents {
			wg.Go(func() { claims[i], errs[i] = p.firstTask() })
		}
		wg.Wait()
		for i, c := range claims {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if before, twice := given[c.Task]; twice {
				t.Fatalf("%s was given as %s and as %s", c.Task, before, c.Claim)
			}
			given[c.Task] = c.Claim
			if again := p.call(t, "get_next_task", args{"worker": c.Worker}).facts; again.Claim != c {
				t.Errorf("after compaction %s has %+v, want %+v", c.Worker, again.Claim, c)
			}
			p.call(t, "report_task_done", args{"claim": c.Claim, "summary": "done"})
		}
	}
	if len(given) != rounds*agents {
		t.Errorf("%d tasks were given, want %d", len(given), rounds*agents)
	}
}

// firstTask is how an agent begins that follows what it is told.
func (p *pipe) firstTask() (claim, error) {
	a, err := p.try("get_next_task", nil)
	if err == nil && a.facts.Outcome == "held" {
		a, err = p.try("get_next_task", args{"worker": "new"})
	}
	if err == nil && a.facts.Outcome != "handed_out" {
		err = fmt.Errorf("get_next_task: %s", a.text)
	}
	return a.facts.Claim, err
}
