package web

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// A frame is what surrounds every page: the navigation, and who is signed in.
type frame struct {
	Title string
	// Count is how many things need the person, for the browser's tab.
	Count    string
	Nav      []navEntry
	Projects []projectChoice
	// Shown is how many projects the page is about, and Elsewhere how many it leaves out.
	Shown, Elsewhere int
	Here             string // the path, for the form that chooses a project
	Who, Role        string
	Follow           string
	Cursor           board.Cursor
	Now              time.Time
	Notice           string
	Posted           bool // the page answers a form, so its address does not show it
}

type navEntry struct {
	Path, Word string
	Shape      string
	Count      string
	Current    bool
	// Rest is set for entries that a phone has behind "More".
	Rest bool
}

type projectChoice struct {
	Slug, Name string
	Chosen     bool
}

// navigation are the entries in their order. One without a route is not shown.
var navigation = []navEntry{
	{Path: "/", Word: "Now", Shape: "n-now"},
	{Path: "/inbox", Word: "Inbox", Shape: "n-inbox"},
	{Path: "/review", Word: "Review", Shape: "eye"},
	{Path: "/board", Word: "Board", Shape: "n-board"},
	{Path: "/timeline", Word: "Timeline", Shape: "n-time", Rest: true},
	{Path: "/landing", Word: "Landing", Shape: "land", Rest: true},
	{Path: "/gateway", Word: "Gateway", Shape: "n-gate", Rest: true},
	{Path: "/settings", Word: "Notifications", Shape: "n-bell", Rest: true},
	{Path: "/admin", Word: "Keys and people", Shape: "n-key", Rest: true},
}

// notices are the messages that a page shows after a form was sent, by the word in its
// address.
var notices = map[string]string{
	"answered": "Sent. The agent has your answer.",
	"kept":     "Sent. The next worker of the task gets your answer.",
	"accepted": "Accepted. The task is done.",
	"queued":   "Accepted. It is in the landing queue.",
	"sentback": "Sent back. The next attempt gets your words.",
	"sentlast": "Sent back. It has used all of its attempts, and is failed now.",
	"paused":   "Paused. Agents finish what they have, and get no new task.",
	"resumed":  "Resumed. Tasks are handed out again.",
	"returned": "Returned from the queue. The next attempt gets your words.",
	"approved": "Approved. Agents can use it within seconds.",

	"notified":    "Saved. You are notified of what happens from now on.",
	"unnotified":  "Removed. Nothing more is sent there.",
	"tested":      "Sent. The test was accepted.",
	"hooktest":    "Sent. The receiver accepted the test.",
	"hookdisable": "Disabled. Nothing more is sent there.",
	"hookenable":  "Enabled. It gets what happens from now on.",
	"hookremove":  "Removed, with what was on its way.",
	"hookagain":   "It is sent again, as often as at first.",
	"hookdiscard": "Discarded.",
}

// frame builds what surrounds a page. For somebody who is not signed in that is nothing.
func (q *request) frame(p page) (frame, error) {
	f := frame{Title: p.Title}
	if q.caller == nil {
		return f, nil
	}
	n, err := q.counts(q.Context())
	if err != nil {
		return f, err
	}
	f.Follow, f.Cursor, f.Now, f.Here, f.Posted = p.Follow, q.cursor, n.now, q.URL.Path, q.Method == http.MethodPost
	f.Count = countWord(n.total())
	if f.Count != "" {
		f.Title = "(" + f.Count + ") " + f.Title
	}
	f.Who, f.Role = visible.Line(q.caller.Name), q.caller.Role.String()
	f.Notice = notices[q.URL.Query().Get("said")]
	if q.project != "" {
		f.Role = q.caller.Roles[q.project].String()
		f.Title += " · " + q.project
	}
	counts := map[string]int{"/inbox": n.questions, "/review": n.review, "/board": n.tasks, "/landing": n.landing, "/gateway": n.gateway}
	for _, e := range navigation {
		if !q.hasRoute(e.Path) || e.Path == "/settings" && q.site.o.Push == nil || e.Path == "/gateway" && q.site.o.Gateway == nil {
			continue
		}
		e.Current = e.Path == p.Current
		e.Count = countWord(counts[e.Path])
		e.Path = q.link(e.Path)
		f.Nav = append(f.Nav, e)
	}
	all := q.caller.Projects(access.Summary)
	if len(all) > 1 { // else there is nothing to choose
		for _, slug := range all {
			f.Projects = append(f.Projects, projectChoice{Slug: slug, Name: slug, Chosen: q.URL.Query().Get("project") == slug})
		}
	}
	if q.project == "" && len(q.slugs) > 0 { // else it is an error, and shows none
		f.Shown, f.Elsewhere = len(q.slugs), len(all)-len(q.slugs)
	}
	return f, nil
}

// hasRoute reports whether the caller may see the page with a path.
func (q *request) hasRoute(path string) bool {
	for _, r := range routes {
		if r.Method == "GET" && (r.Pattern == path || path == "/" && r.Pattern == "/{$}") {
			return r.Verb == nil || q.caller.MayAnywhere(r.Verb) == nil
		}
	}
	return false
}

// needCounts is how many things of each kind need people.
type needCounts struct {
	questions, review, tasks, landing, gateway int // tasks: that failed, are stuck, or are proposed
	now                                        time.Time
}

func (n needCounts) total() int { return n.questions + n.review + n.tasks + n.landing + n.gateway }

// counts counts what needs people in the projects of the page.
func (q *request) counts(ctx context.Context) (n needCounts, err error) {
	for _, slug := range q.slugs {
		in, err := q.site.inbox(ctx, slug)
		if err != nil {
			return n, err
		}
		n.questions += len(in.Open)
		n.review += len(in.Review)
		n.tasks += len(in.Failed) + len(in.Stuck) + len(in.Proposed)
		n.landing += len(in.Landing)
		n.now = in.Now
	}
	if n.gateway, err = q.toApprove(ctx); err != nil {
		return n, err
	}
	if n.now.IsZero() { // nobody's project: the clock is still the board's
		_, n.now, err = q.site.board.Workers(ctx, 0)
	}
	return n, err
}

// countWord is a number as the navigation shows it.
func countWord(n int) string {
	switch {
	case n <= 0:
		return ""
	case n > 99:
		return "99+"
	}
	return strconv.Itoa(n)
}
