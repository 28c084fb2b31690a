package boardtest

import (
	"cmp"
	"slices"

	"github.com/bossman-dev/bossman/board"
)

// A model is a simple implementation of the board's rules, without time and without a
// database. The walk applies the same operations to a model and to a board.
type model struct {
	policy board.Policy
	step   int // stands for the time
	tasks  []*modelTask
	grants []*modelGrant
	asked  []*modelQuestion
	// lands is set if the project lands its work, and intent are the tasks of the open intent.
	lands  bool
	intent []*modelTask
	// away are the agents that gave no sign of life until a sweep ended their claim.
	away map[*agent]bool
}

type modelTask struct {
	id       board.ID
	priority board.Priority
	hold     bool
	deps     []*modelTask // all that it depends on
	inherits []*modelTask // those of them that it has from its parent alone
	parent   *modelTask
	status   board.Status
	failures int
	max      int
	spec     int
	queued   int
	step     board.CallOutcome // of its only step; empty if that is free
	// done is the number of children that are done.
	done int
	// cooling is set while it cools down or is reserved, cooled if that time is over but
	// no sweep has noticed it.
	cooling, cooled bool
	reserved        *agent // the agent that it is reserved for
	declined        map[*agent]bool
	attempts        int
	// claim is the grant in force. expired is set if its lease is over but no sweep has
	// ended it.
	claim      *modelGrant
	expired    bool
	deliveries int
	// tip is the number of the commit of its result, and conflicts how often it could not be landed.
	tip, conflicts int
	// reviewer has the review, and expired and deliveries are then those of the review.
	reviewer *agent
}

type modelGrant struct {
	task   *modelTask
	agent  *agent
	handle board.Handle
	cause  board.Cause
	spec   int
	report string // the kind of report under it, or empty
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

func (m *model) openChildren(t *modelTask) bool {
	return slices.ContainsFunc(m.tasks, func(p *modelTask) bool { return p.parent == t && !p.status.Terminal() })
}

// fit is ready without regard to a cool-down or a reservation.
func (m *model) fit(t *modelTask) bool {
	return t.status == board.Pending && !t.hold && m.blockers(t) == 0 && !m.openChildren(t)
}

func (m *model) ready(t *modelTask) bool { return m.fit(t) && !t.cooling }

// waits reports whether from waits for to, directly or through other tasks.
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

// inherit gives a task what it inherits from its parent, and then its parts.
func (m *model) inherit(t *modelTask) {
	var want []*modelTask
	if t.parent != nil {
		want = slices.DeleteFunc(slices.Clone(t.parent.deps), func(d *modelTask) bool {
			for d.parent != nil && d.parent != t.parent {
				d = d.parent
			}
			return d.parent != nil // a part of the same parent
		})
	}
	changed := false
	for _, d := range slices.Clone(t.inherits) {
		if !slices.Contains(want, d) {
			changed = true
			t.deps, t.inherits = without(t.deps, d), without(t.inherits, d)
		}
	}
	for _, d := range want {
		if !slices.Contains(t.deps, d) {
			changed = true
			t.deps, t.inherits = append(slices.Clone(t.deps), d), append(slices.Clone(t.inherits), d)
		}
	}
	if changed {
		m.free(t)
		m.bequeath(t)
	}
}

// bequeath updates what the parts of a task inherit.
func (m *model) bequeath(t *modelTask) {
	for _, part := range m.tasks {
		if part.parent == t && !part.status.Terminal() {
			m.inherit(part)
		}
	}
}

func without(list []*modelTask, t *modelTask) []*modelTask {
	return slices.DeleteFunc(slices.Clone(list), func(x *modelTask) bool { return x == t })
}

// cyclic reports whether a task waits for itself.
func (m *model) cyclic() bool {
	return slices.ContainsFunc(m.tasks, func(t *modelTask) bool {
		return slices.ContainsFunc(t.deps, func(d *modelTask) bool { return m.waits(d, t, map[*modelTask]bool{}) })
	})
}

// queue returns the first task of the queue for an agent, or nil.
func (m *model) queue(a *agent) *modelTask {
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

// reviewable returns the review that comes first for an agent, or nil, and whether a ready
// task is more urgent.
func (m *model) reviewable(a *agent) (first *modelTask, behind bool) {
	if m.policy != board.PolicyReview {
		return nil, false
	}
	var fit []*modelTask
	for _, t := range m.tasks {
		if t.status == board.InReview && !m.openChildren(t) && t.reviewer == nil && !t.declined[a] && !m.held(t, a) {
			fit = append(fit, t)
		}
	}
	if len(fit) == 0 {
		return nil, false
	}
	first = slices.MinFunc(fit, func(a, b *modelTask) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.queued, b.queued), cmp.Compare(a.id.No, b.id.No))
	})
	return first, slices.ContainsFunc(m.tasks, func(t *modelTask) bool { return m.ready(t) && t.priority < first.priority })
}

// held reports whether an agent held any attempt of a task.
func (m *model) held(t *modelTask, a *agent) bool {
	return slices.ContainsFunc(m.grants, func(g *modelGrant) bool { return g.task == t && g.agent == a })
}

// reviews returns the task that an agent reviews, or nil.
func (m *model) reviews(a *agent) *modelTask {
	if i := slices.IndexFunc(m.tasks, func(t *modelTask) bool { return t.reviewer == a }); i >= 0 {
		return m.tasks[i]
	}
	return nil
}

// endReview ends the claim on a review, if there is one.
func (t *modelTask) endReview() {
	if t.reviewer != nil {
		t.reviewer, t.expired = nil, false
	}
}

// offers lists the tasks that an agent without a claim may get now.
func (m *model) offers(a *agent) []*modelTask {
	var reserved []*modelTask
	all := true
	for _, t := range m.tasks {
		if t.status == board.Pending && t.reserved == a {
			if m.fit(t) {
				reserved = append(reserved, t)
			} else {
				all = false
			}
		}
	}
	if next := m.queue(a); next != nil && (len(reserved) == 0 || !all) {
		reserved = append(reserved, next)
	}
	return reserved
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
	t.status, t.cooling, t.cooled, t.reserved, t.expired, t.deliveries = board.InProgress, false, false, nil, false, 0
	t.claim = &modelGrant{task: t, agent: a, handle: h, spec: t.spec}
	m.grants = append(m.grants, t.claim)
	m.away[a] = false
}

// end ends the claim on a task.
func (m *model) end(t *modelTask, c board.Cause) {
	t.claim.cause, t.claim, t.expired = c, nil, false
}

func (m *model) fail(t *modelTask) {
	t.status = board.Pending
	if t.failures++; t.failures >= t.max {
		t.status = board.Failed
	}
}

// alive renews the claim, as a call that names it does.
func (g *modelGrant) alive() { g.task.expired, g.task.deliveries = false, 0 }

// stale reports whether a sweep would change something.
func (m *model) stale() bool {
	return slices.ContainsFunc(m.tasks, func(t *modelTask) bool { return t.expired || t.cooled || m.abandoned(t) })
}

// abandoned reports whether a task is reserved for an agent that is away.
func (m *model) abandoned(t *modelTask) bool {
	return t.status == board.Pending && t.reserved != nil && m.away[t.reserved]
}

func (m *model) sweep() {
	for _, t := range m.tasks {
		if t.expired && t.reviewer != nil {
			t.endReview()
		}
		if t.expired {
			g := t.claim
			m.away[g.agent] = true
			if slices.ContainsFunc(m.asked, func(q *modelQuestion) bool { return q.open && q.grant == g }) {
				m.end(t, board.CauseParked)
				t.status = board.Waiting
				continue
			}
			m.end(t, board.CauseExpired)
			m.fail(t)
		}
	}
	for _, t := range m.tasks {
		if t.cooled || m.abandoned(t) {
			t.cooling, t.cooled, t.reserved = false, false, nil
		}
	}
}

// finish sets the final status of a task. Its questions are closed, unless its worker has reported
// it.
func (m *model) finish(t *modelTask, s board.Status, reported bool) {
	t.endReview()
	t.status, t.cooling, t.cooled, t.reserved = s, false, false, nil
	if s == board.Done {
		for _, d := range m.tasks {
			if slices.Contains(d.deps, t) && !d.status.Terminal() {
				m.free(d)
			}
		}
	}
	for _, q := range m.asked {
		if q.grant.task == t && !reported {
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
	if !m.openChildren(p) && p.status == board.Pending {
		p.queued = m.step
		m.free(p)
	}
}

// free ends a ready task that nobody has worked on and whose children are all done.
func (m *model) free(t *modelTask) {
	cancelled := slices.ContainsFunc(m.tasks, func(p *modelTask) bool { return p.parent == t && p.status == board.Cancelled })
	if m.ready(t) && t.done > 0 && t.attempts == 0 && !cancelled {
		m.finish(t, board.Done, true)
	}
}

// unfinished reports whether something that comes before a task is not done.
func (m *model) unfinished(t *modelTask) bool {
	return m.openChildren(t) || slices.ContainsFunc(t.deps, func(d *modelTask) bool { return d.status != board.Done && !slices.Contains(t.inherits, d) })
}

// late reports whether a report of done is accepted after the sweep.
func (g *modelGrant) late() bool {
	t := g.task
	return g.cause == board.CauseExpired && t.attempts == g.handle.Attempt && g.spec == t.spec &&
		(t.status == board.Pending || t.status == board.Failed)
}

// revive gives a task back to the holder of a claim that a sweep has ended, and reports
// whether it did.
func (m *model) revive(g *modelGrant) bool {
	t := g.task
	if g.cause != board.CauseExpired || t.attempts != g.handle.Attempt || t.status != board.Pending && t.status != board.Failed ||
		t.hold || m.blockers(t) > 0 || m.openChildren(t) || t.reserved != nil && t.reserved != g.agent ||
		m.holds(g.agent) != nil || m.reviews(g.agent) != nil {
		return false
	}
	t.status, t.failures, t.cooling, t.cooled, t.reserved = board.InProgress, max(0, t.failures-1), false, false, nil
	t.claim, t.expired, t.deliveries, g.cause = g, false, 0, ""
	m.away[g.agent] = false
	return true
}

// reported accepts a report of done.
func (m *model) reported(g *modelGrant) {
	t := g.task
	if t.claim == g {
		m.end(t, board.CauseDone)
	}
	g.cause, g.report = board.CauseDone, "done"
	if m.policy.Reviewed() {
		t.status = board.InReview
		return
	}
	m.accepted(t, true)
}

// accepted puts a task whose work was accepted into the landing queue, or ends it.
func (m *model) accepted(t *modelTask, reported bool) {
	if !m.lands {
		m.finish(t, board.Done, reported)
		return
	}
	t.endReview()
	t.status = board.Landing
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
	t.status = board.Pending
	if a := q.grant.agent; !m.away[a] {
		t.cooling, t.reserved = true, a
	}
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
				d.deps, d.inherits = without(d.deps, t), without(d.inherits, t)
				m.free(d)
			}
		}
	}
	m.finish(t, board.Cancelled, false)
	if how == board.DependentsCancel {
		for _, d := range dependents {
			if !d.status.Terminal() {
				m.cancel(d, how)
			}
		}
	}
}
