package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/gateway"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// maxDefinitions is how many definitions a page shows, and maxDefinitionLines how many lines of one.
	maxDefinitions, maxDefinitionLines = 20, 400
	// callsRead is how many calls are read, of which those of the last hour count. maxSlow is how many of the
	// slowest a page lists, and callSlots into how many parts the chart divides the hour.
	callsRead, maxSlow, callSlots = 1000, 8, 24
)

// gatewayPage is what gateway.html shows.
type gatewayPage struct {
	Words     string
	Waits     []definitionView
	More      int
	May       bool // the caller may approve
	Path      string
	Upstreams []upstreamView
	Calls     bool // calls can be listed
	Span      string
	Slowest   []callView
	Error     string
}

// A definitionView is a definition that is withheld until somebody approves it.
type definitionView struct {
	Key                        string
	Upstream, Kind, Name, Hash string
	Shown                      string // the name, with everything visible
	Why                        string
	Before                     *moment // when the former one was approved
	By                         string
	Lines                      []defLine
	Cut                        int
}

// A defLine is a line of a definition: "ins", "del" or "".
type defLine struct{ Mark, Text string }

// An upstreamView is a server behind the gateway.
type upstreamView struct {
	Name, Kind string
	Health     shape
	Error      string
	Tools      string
	Share      string
	Listed     *moment
	Chart      string // the points of its line; empty without calls
	Made, P95  string
	Failed     string
}

// A callView is a call of a tool.
type callView struct {
	Tool, By string
	Task     board.ID
	TaskPath string
	Outcome  shape
	Took     string
}

// gatewayRead is what the gateway has. It is shared: nobody may change it.
type gatewayRead struct {
	statuses []gateway.Status
	items    []gateway.Item
}

// withheld counts the definitions that wait for approval.
func (r *gatewayRead) withheld() (n int) {
	for i := range r.items {
		if r.items[i].Approvable {
			n++
		}
	}
	return n
}

// readGateway reads what the gateway has, empty without one.
func (s *Site) readGateway(ctx context.Context) (gatewayRead, error) {
	g := s.o.Gateway
	if g == nil {
		return gatewayRead{}, nil
	}
	return s.gateways.get(ctx, "", s.version.Load(), s.running.Load(), func(ctx context.Context) (gatewayRead, error) {
		g.Reload(ctx)
		return gatewayRead{g.Statuses(), g.Items()}, nil
	})
}

// mayApprove reports whether the caller may approve definitions: they are for the agents of all projects.
func (q *request) mayApprove(ctx context.Context) (bool, error) {
	if q.site.o.Gateway == nil || q.caller.MayAnywhere(access.SetProject) != nil {
		return false, nil
	}
	all, err := q.site.board.Projects(ctx)
	for _, p := range all {
		if !q.may(access.SetProject, p.Slug) {
			return false, err
		}
	}
	return true, err
}

// toApprove counts the definitions that wait for the caller's approval.
func (q *request) toApprove(ctx context.Context) (int, error) {
	read, err := q.site.readGateway(ctx)
	n := read.withheld()
	if n == 0 || err != nil {
		return 0, err
	}
	if may, err := q.mayApprove(ctx); !may || err != nil {
		return 0, err
	}
	return n, nil
}

// approvalNeed says that definitions wait for approval.
func approvalNeed(n int) need {
	return need{
		Key: "gateway", Path: "/gateway", Kind: "Gateway", Shape: shape{"n-gate", "you", "Gateway"}, Act: "Look",
		Before: plural(n, "definition of another server's tool waits for your approval", "definitions of other servers' tools wait for your approval"), rank: rankProposed,
		Facts: []string{"agents cannot use them"},
	}
}

// showGateway shows the other servers, what of them waits for approval, and how their tools were called.
func showGateway(q *request) error { return q.showGateway("", 0) }

func (q *request) showGateway(why string, status int) error {
	ctx := q.Context()
	p := gatewayPage{Path: q.link("/gateway"), Error: why}
	read, err := q.site.readGateway(ctx)
	if err != nil {
		return err
	}
	if p.May, err = q.mayApprove(ctx); err != nil {
		return err
	}
	_, now, err := q.site.board.Workers(ctx, 0)
	if err != nil {
		return err
	}
	q.addDefinitions(&p, &read, now)
	q.addUpstreams(&p, &read, now)
	if err := q.addCalls(ctx, &p, now); err != nil {
		return err
	}
	tools := 0
	for i := range read.items {
		if read.items[i].Published != "" {
			tools++
		}
	}
	p.Words = "No other server is configured."
	if len(p.Upstreams) > 0 {
		p.Words = plural(len(p.Upstreams), "server", "servers") + ", " + plural(tools, "tool and prompt.", "tools and prompts.")
	}
	if n := read.withheld(); n > 0 {
		p.Words += " " + plural(n, "is withheld until somebody approves it.", "are withheld until somebody approves them.")
	}
	return q.show(page{Template: "gateway", Title: "Gateway", Current: "/gateway", Follow: strings.Join(q.slugs, " "), Status: status, Main: p})
}

// addDefinitions lists the definitions that wait for approval, beside those that were approved before.
func (q *request) addDefinitions(p *gatewayPage, read *gatewayRead, now time.Time) {
	for i, it := range read.items {
		if !it.Approvable {
			continue
		}
		if len(p.Waits) == maxDefinitions {
			p.More++
			continue
		}
		v := definitionView{Key: fmt.Sprintf("d%d", i), Upstream: it.Upstream, Kind: string(it.Kind), Name: it.Name, Hash: it.Hash, Shown: line(it.Name, 200), Why: line(it.Withheld, 300)}
		if pin := q.site.o.Gateway.Approved(it); pin != nil {
			v.Before, v.By = new(q.site.clock(pin.At, now)), line(pin.By, 60)
		}
		lines := q.site.o.Gateway.Changes(it)
		v.Cut = max(0, len(lines)-maxDefinitionLines)
		for _, text := range lines[:len(lines)-v.Cut] {
			x := defLine{Text: visible.Text(text)}
			switch {
			case strings.HasPrefix(text, "+"):
				x.Mark = "ins"
			case strings.HasPrefix(text, "-"):
				x.Mark = "del"
			}
			v.Lines = append(v.Lines, x)
		}
		p.Waits = append(p.Waits, v)
	}
}

// addUpstreams lists the servers.
func (q *request) addUpstreams(p *gatewayPage, read *gatewayRead, now time.Time) {
	for _, s := range read.statuses {
		v := upstreamView{Name: s.Upstream, Kind: "child process", Share: "each agent its own", Error: line(s.Err, 300)}
		if s.Remote {
			v.Kind = "over HTTP"
		}
		switch s.Share {
		case gateway.ShareAll:
			v.Share = "all agents"
		case gateway.SharePerKey:
			v.Share = "one for each key"
		}
		switch s.State {
		case "up":
			v.Health = shape{"dot", "good", "Up"}
		case "starting":
			v.Health = shape{"work", "", "Starts"}
		case "failed":
			v.Health = shape{"fail", "bad", "Down"}
		case "asleep":
			v.Health = shape{"rest", "", "Asleep, wakes on use"}
		default: // other processes run it
			v.Health = shape{"rest", "", "Starts on use"}
		}
		if !s.Listed.IsZero() {
			v.Listed = new(ago(s.Listed, now))
		}
		there, withheld := 0, 0
		for i := range read.items {
			switch it := &read.items[i]; {
			case it.Upstream != s.Upstream:
			case it.Withheld != "":
				withheld++
			default:
				there++
			}
		}
		v.Tools = number(there)
		if withheld > 0 {
			v.Tools += ", " + number(withheld) + " withheld"
		}
		p.Upstreams = append(p.Upstreams, v)
	}
}

// addCalls adds what the journal says about the last hour, as far as the caller may see it. A board that does not
// list the calls of all tasks leaves it out.
func (q *request) addCalls(ctx context.Context, p *gatewayPage, now time.Time) error {
	calls, err := q.site.board.Calls(ctx, board.CallFilter{Limit: callsRead})
	if errors.Is(err, board.ErrInvalid) || errors.Is(err, board.ErrDenied) {
		return nil
	}
	if err != nil {
		return err
	}
	p.Calls = true
	from := now.Add(-time.Hour)
	if n := len(calls); n == callsRead && calls[n-1].BeganAt.After(from) {
		from = calls[n-1].BeganAt
	}
	p.Span = "Last " + span(now.Sub(from))
	if now.Sub(from) == time.Hour {
		p.Span = "Last hour"
	}
	calls = slices.DeleteFunc(calls, func(c board.Call) bool { return c.BeganAt.Before(from) || !q.maySeeCall(&c) })
	for i := range p.Upstreams {
		p.Upstreams[i].addCalls(calls, from, now)
	}
	slices.SortStableFunc(calls, func(a, b board.Call) int { return cmp.Compare(took(&b, now), took(&a, now)) })
	for i := range calls[:min(len(calls), maxSlow)] {
		c := &calls[i]
		v := callView{Tool: c.Upstream + " " + line(c.Tool, 100), By: line(c.Worker.Name, 60), Task: c.Task, Outcome: callShape(c, now), Took: tookText(took(c, now))}
		if !c.Task.IsZero() {
			v.TaskPath = taskPath(c.Task)
		}
		p.Slowest = append(p.Slowest, v)
	}
	return nil
}

// maySeeCall reports whether a call is one of a project of the page. Those without a task are shown where there
// are no keys, so no other people.
func (q *request) maySeeCall(c *board.Call) bool {
	if c.Task.IsZero() {
		return q.site.o.Directory == nil
	}
	return slices.Contains(q.slugs, c.Task.Project)
}

// took is how long a call has taken, until now if it runs.
func took(c *board.Call, now time.Time) time.Duration {
	end := c.EndedAt
	if end.IsZero() {
		end = now
		if c.Deadline.Before(now) {
			end = c.Deadline
		}
	}
	return max(0, end.Sub(c.BeganAt))
}

// tookText is a duration with as many digits as matter.
func tookText(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return span(d)
}

// callShape is how a call ended.
func callShape(c *board.Call, now time.Time) shape {
	switch c.At(now) {
	case board.CallOpen:
		return shape{"work", "", "running"}
	case board.CallOK:
		return shape{"done", "", "ok"}
	case board.CallNotSent:
		return shape{"off", "", "not sent"}
	case board.CallUnknown:
		return shape{"quiet", "bad", "outcome unknown"}
	}
	return shape{"fail", "bad", "failed"}
}

// addCalls adds how often a server was called, how long that took, and how often it failed.
func (v *upstreamView) addCalls(calls []board.Call, from, now time.Time) {
	var slots [callSlots]int
	var times []time.Duration
	n, failed, most := 0, 0, 0
	for i := range calls {
		c := &calls[i]
		if c.Upstream != v.Name {
			continue
		}
		n++
		slot := int(int64(callSlots) * int64(c.BeganAt.Sub(from)) / max(1, int64(now.Sub(from))))
		slot = min(max(slot, 0), callSlots-1)
		slots[slot]++
		most = max(most, slots[slot])
		switch c.At(now) {
		case board.CallOpen:
			continue
		case board.CallToolError, board.CallRPCError, board.CallUnknown:
			failed++
		}
		times = append(times, took(c, now))
	}
	if v.Made = number(n); n == 0 {
		return
	}
	if failed > 0 {
		v.Failed = fmt.Sprintf("%s of %s failed", number(failed), number(n))
	}
	if len(times) > 0 {
		slices.Sort(times)
		v.P95 = tookText(times[len(times)*95/100])
	}
	var points []string
	for i, k := range slots {
		points = append(points, fmt.Sprintf("%.1f,%.1f", 100*float64(i)/(callSlots-1), 23-22*float64(k)/float64(most)))
	}
	v.Chart = strings.Join(points, " ")
}

// postGateway approves a definition, if it is still the one that the caller saw.
func postGateway(q *request) error {
	ctx := q.Context()
	q.act.Verb = approveAct
	if q.site.o.Gateway == nil {
		return board.ErrNotFound
	}
	may, err := q.mayApprove(ctx)
	if err != nil {
		return err
	}
	if !may {
		return fmt.Errorf("%w: definitions are for the agents of all projects, so an administrator of all of them approves", board.ErrDenied)
	}
	q.site.o.Gateway.Reload(ctx)
	f := q.PostForm
	for _, it := range q.site.o.Gateway.Items() {
		if it.Approvable && it.Upstream == f.Get("upstream") && string(it.Kind) == f.Get("kind") && it.Name == f.Get("name") && it.Hash == f.Get("hash") {
			if err := q.site.o.Gateway.Approve(ctx, q.caller.Name, it); err != nil {
				return err
			}
			return q.redirect(q.link("/gateway"), "approved")
		}
	}
	return q.showGateway("Not approved. The definition has changed since, or somebody else has approved it. Look at it as it is now.", http.StatusConflict)
}
