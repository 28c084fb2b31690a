package invariant

import (
	"fmt"

	"github.com/bossman-dev/bossman/board"
)

// A landing is a task's event that its work was landed.
type landing struct {
	task    board.ID
	attempt int
	commit  string
}

// maxOpen is how many open intents are looked at.
const maxOpen = 1000

// landing checks L2 and L4.
func (c *checker) landing() error {
	return c.store.Read(c.ctx, func(r board.Reader) error {
		open, err := r.Intents(board.IntentFilter{State: board.IntentOpen, Limit: maxOpen})
		if err != nil {
			return err
		}
		targets := map[[2]string]board.IntentID{}
		for _, i := range open {
			target := [2]string{i.Project, i.Target}
			if other, twice := targets[target]; twice {
				c.errs = append(c.errs, fmt.Errorf("L4: %s: the target %s has two open intents, %v and %v", i.Project, i.Target, other, i.ID))
			}
			targets[target] = i.ID
			for _, item := range i.Items {
				if err := c.item(r, i, item, board.Landing); err != nil {
					return err
				}
			}
		}
		for _, l := range c.landings {
			if err := c.landed(r, l); err != nil {
				return err
			}
		}
		return nil
	})
}

// landed checks that a task which was landed is an item of an intent, with its newest attempt and its tip. Which of the
// intent's commits is its own, git alone knows.
func (c *checker) landed(r board.Reader, l landing) error {
	intents, err := r.Intents(board.IntentFilter{Project: l.task.Project, Task: l.task, State: board.IntentLanded, Limit: 10})
	if err != nil {
		return err
	}
	for _, i := range intents {
		for _, item := range i.Items {
			if item.Task == l.task && item.Attempt == l.attempt {
				return c.item(r, i, item, board.Done)
			}
		}
	}
	c.failf(l.task, "L2", "attempt %d was landed with %s, and no intent says so", l.attempt, l.commit)
	return nil
}

// item compares an item of an intent with its task.
func (c *checker) item(r board.Reader, i board.Intent, item board.Item, want board.Status) error {
	d, err := r.Dossier(item.Task, 0)
	if err != nil {
		return err
	}
	t := d.Task
	if t.Status != want || t.Attempt != item.Attempt {
		c.failf(t.ID, "L2", "intent %v, which is %s, names attempt %d, and the task is %s at attempt %d", i.ID, i.State, item.Attempt, t.Status, t.Attempt)
	}
	if res := d.Doc.Result; res == nil || res.Summary != board.Erased && res.Tip.Commit != item.Tip {
		c.failf(t.ID, "L2", "intent %v names the tip %s, which is not that of its result", i.ID, item.Tip)
	}
	return nil
}
