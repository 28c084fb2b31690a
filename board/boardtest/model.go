package boardtest

import (
	"cmp"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// A model is the board as a few lines of Go see it: no time, no database, no ids
// of its own. The walk does the same to a model and to a board.
type model struct {
	policy board.Policy
	step   int // the time
	tasks  []*modelTask
	grants []*modelGrant
	asked  []*modelQuestion
}

type modelTask struct {
	id       board.ID
	priority board.Priority
	hold     bool
	deps     []*modelTask
	parent   *modelTask
	status   board.Status
	failures int
	max      int
	spec     int
	queued   int
	// done counts the parts that are.
	done int
	// rests is set while it cools down or is kept, rested when that time is over and
	// no sweep came by.
	rests, rested bool
	kept          *agent
	declined      map[*agent]bool
	attempts      int
	// claim is the grant in force, ranOut that its lease is over and no sweep came by.
	claim      *modelGrant
	ranOut     bool
	deliveries int
}

type modelGrant struct {
	task   *modelTask
	agent  *agent
	handle board.Handle
	cause  board.Cause
	spec   int
	report string // what was reported under it
}

type modelQuestion struct {
	id    board.QuestionID
	grant *modelGrant
	open  bool
}

func (m *model) blockers(t *modelTask) int {
	n := 0
	for _, d := range t.deps {
		if d.status != board.Done {
			n++
		}
	}
	return n
}

func (m *model) openParts(t *modelTask) bool {
	return slices.ContainsFunc(m.tasks, func(p *modelTask) bool { return p.parent == t && !p.status.Terminal() })
}

// fit is ready but for a rest.
func (m *model) fit(t *modelTask) bool {
	return t.status == board.Pending && !t.hold && m.blockers(t) == 0 && !m.openParts(t)
}

func (m *model) ready(t *modelTask) bool { return m.fit(t) && !t.rests }

// waits reports whether from waits for to, in however many steps.
func (m *model) waits(from, to *modelTask, seen map[*modelTask]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	next := slices.Clone(from.deps)
	for _, p := range m.tasks {
		if p.parent == from {
			next = append(next, p)
		}
	}
	return slices.ContainsFunc(next, func(t *modelTask) bool { return m.waits(t, to, seen) })
}

// line is the task that an agent gets next, or nil.
func (m *model) line(a *agent) *modelTask {
	var fit []*modelTask
	for _, t := range m.tasks {
		if m.ready(t) && !t.declined[a] {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return slices.MinFunc(fit, func(a, b *modelTask) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.queued, b.queued), cmp.Compare(a.id.No, b.id.No))
	})
}

// offers lists what an agent without a claim may be given now.
func (m *model) offers(a *agent) []*modelTask {
	var kept []*modelTask
	all := true
	for _, t := range m.tasks {
		if t.status == board.Pending && t.kept == a {
			if m.fit(t) {
				kept = append(kept, t)
			} else {
				all = false
			}
		}
	}
	if next := m.line(a); next != nil && (len(kept) == 0 || !all) {
		kept = append(kept, next)
	}
	return kept
}

func (m *model) holds(a *agent) *modelGrant {
	for _, g := range m.grants {
		if g.agent == a && g.task.claim == g {
			return g
		}
	}
	return nil
}

func (m *model) grant(t *modelTask, a *agent, h board.Handle) {
	t.attempts++
	t.status, t.rests, t.rested, t.kept, t.ranOut, t.deliveries = board.InProgress, false, false, nil, false, 0
	t.claim = &modelGrant{task: t, agent: a, handle: h, spec: t.spec}
	m.grants = append(m.grants, t.claim)
}

// end ends the claim on a task.
func (m *model) end(t *modelTask, c board.Cause) {
	t.claim.cause, t.claim, t.ranOut = c, nil, false
}

func (m *model) fail(t *modelTask) {
	t.status = board.Pending
	if t.failures++; t.failures >= t.max {
		t.status = board.Failed
	}
}

// alive is what a call that names the claim does to it.
func (g *modelGrant) alive() { g.task.ranOut, g.task.deliveries = false, 0 }

// stale reports whether a sweep would do something.
func (m *model) stale() bool {
	return slices.ContainsFunc(m.tasks, func(t *modelTask) bool { return t.ranOut || t.rested })
}

func (m *model) sweep() {
	for _, t := range m.tasks {
		if t.ranOut {
			m.end(t, board.CauseExpired)
			m.fail(t)
		}
		if t.rested {
			t.rests, t.rested, t.kept = false, false, nil
		}
	}
}

// finish gives a task its last status.
func (m *model) finish(t *modelTask, s board.Status) {
	t.status, t.rests, t.rested, t.kept = s, false, false, nil
	if s == board.Done {
		for _, d := range m.tasks {
			if slices.Contains(d.deps, t) && !d.status.Terminal() {
				m.free(d)
			}
		}
	}
	for _, q := range m.asked {
		if q.grant.task == t {
			q.open = false
		}
	}
	p := t.parent
	if p == nil || p.status.Terminal() {
		return
	}
	if s == board.Done {
		p.done++
	}
	if !m.openParts(p) && p.status == board.Pending {
		p.queued = m.step
		m.free(p)
	}
}

// free ends a whole whose parts are done when nothing stands against it.
func (m *model) free(t *modelTask) {
	if m.ready(t) && t.done > 0 {
		m.finish(t, board.Done)
	}
}

// late reports whether a report of done is taken after the sweep.
func (g *modelGrant) late() bool {
	t := g.task
	return g.cause == board.CauseExpired && t.attempts == g.handle.Attempt && g.spec == t.spec &&
		(t.status == board.Pending || t.status == board.Failed)
}

// reported takes a report of done.
func (m *model) reported(g *modelGrant) {
	t := g.task
	if t.claim == g {
		m.end(t, board.CauseDone)
	}
	g.cause, g.report = board.CauseDone, "done"
	if m.policy == board.PolicyPerson {
		t.status = board.InReview
		return
	}
	m.finish(t, board.Done)
}

// answered closes a question.
func (m *model) answered(q *modelQuestion) {
	q.open = false
	t := q.grant.task
	if t.status != board.Waiting {
		return
	}
	for _, other := range m.asked {
		if other.open && other.grant.task == t {
			return
		}
	}
	t.status, t.rests, t.kept = board.Pending, true, q.grant.agent
}

func (m *model) cancel(t *modelTask, how board.Dependents) {
	var dependents []*modelTask
	for _, d := range m.tasks {
		if slices.Contains(d.deps, t) {
			dependents = append(dependents, d)
		}
	}
	if t.claim != nil {
		m.end(t, board.CauseCancelled)
	}
	if how == board.DependentsUnblock {
		for _, d := range dependents {
			if !d.status.Terminal() {
				d.deps = slices.DeleteFunc(d.deps, func(x *modelTask) bool { return x == t })
				m.free(d)
			}
		}
	}
	m.finish(t, board.Cancelled)
	if how == board.DependentsCancel {
		for _, d := range dependents {
			if !d.status.Terminal() {
				m.cancel(d, how)
			}
		}
	}
}
