package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// reviewPage is what review.html shows.
type reviewPage struct {
	ID       board.ID
	Path     string
	TaskPath string
	Title    string
	State    shape
	// By says whose work it is: "attempt 2 by badger-3 (Codex) · 31 min · $0.41".
	By, Worker, Summary string
	Tabs                []tab
	Strips              []message
	Diff                *diffView
	// NoDiff says why there is no diff.
	NoDiff     string
	Evidence   []proof
	Checks     []checkView
	Acceptance template.HTML
	Tries      []tryView
	// Comments is how many there are; Next is the attempt that gets them.
	Comments, Next int
	Attempt        int
	Decide         *decideForm
	Return         *returnForm
	// Place asks for a comment on a line that is not shown.
	Place *talkForm
}

// A message is a strip above the content.
type message struct {
	Class, Shape string // Class is you, err or empty
	Head, Text   string
	Path, Word   string // a link
}

// A proof is evidence.
type proof struct {
	Kind, Ref, Detail string
	Observed          bool
}

// A checkView is a run of the check.
type checkView struct {
	Command, Output, Result string
	Red                     bool
	At                      *moment
}

// A tryView is an attempt.
type tryView struct {
	Shape   shape
	Attempt int
	Path    string
	Worker  string
	Cost    string
	Text    string
	Current bool
}

// A decideForm asks for the verdict.
type decideForm struct {
	Path    string
	Attempt int
	Seen    string
	Lands   string // where the work lands; empty: nowhere
	Typed   string
	Error   string
	// Send is the word on the button that sends the work back.
	Send string
}

// A returnForm takes a task out of the landing queue.
type returnForm struct {
	Path    string
	Attempt int
	Target  string
	Typed   string
	Error   string
}

// A reviewDraft is what the person typed before, and why it was not sent.
type reviewDraft struct {
	note, why string
	// comment, place and line are those of a comment.
	comment, place string
	commentWhy     string
	returnWhy      string
}

// showReview shows the work of an attempt, and asks for the verdict.
func showReview(q *request) error {
	id, err := q.task(access.Get)
	if err != nil {
		return err
	}
	return q.showReviewOf(id, count(q.URL.Query().Get("attempt")), reviewDraft{}, 0)
}

func (q *request) showReviewOf(id board.ID, attempt int, draft reviewDraft, status int) error {
	r, err := q.readReview(q.Context(), id, attempt)
	if err != nil {
		return err
	}
	p, err := q.reviewPage(q.Context(), &r, draft)
	if err != nil {
		return err
	}
	return q.show(page{Template: "review", Title: "Review " + id.String(), Current: "/review", Follow: id.String(), Status: status, Main: p})
}

func (q *request) reviewPage(ctx context.Context, r *reviewed, draft reviewDraft) (p reviewPage, err error) {
	id := r.Task.ID
	p = reviewPage{
		ID: id, Path: q.link(reviewPath(id)), TaskPath: taskPath(id), Title: line(r.Task.Title, 200), State: stateShape(r.Task.State()),
		Comments: len(r.comments), Attempt: r.attempt, Next: r.attempt + 1,
	}
	if r.Task.Status == board.InReview {
		p.State.Word = "In review"
	}
	p.By, p.Worker = q.whose(r)
	if r.Doc.Acceptance != "" {
		p.Acceptance = markdown(r.Doc.Acceptance)
	}
	if r.current && r.reported() && r.Doc.Result != nil {
		p.Summary = visible.Text(r.Doc.Result.Summary)
		p.Evidence = proofs(r.Doc.Result)
	}
	p.Checks = q.checks(r)
	p.Tries = q.tries(r)
	if err := q.addStrips(ctx, r, &p); err != nil {
		return p, err
	}
	q.addDiff(r, &p, draft)
	q.addForms(r, &p, draft)
	files := 0
	if p.Diff != nil {
		files = p.Diff.Count
	}
	p.Tabs = []tab{{p.Path, "Changes " + number(files), r.since == 0}}
	if n := cmp.Or(r.since, r.attempt-1); r.diff.Attempt > 0 && n > 0 {
		attempt := ""
		if !r.current {
			attempt = strconv.Itoa(r.attempt)
		}
		p.Tabs = append(p.Tabs, tab{q.link(reviewPath(id), "attempt", attempt, "since", strconv.Itoa(n)), fmt.Sprintf("Since attempt %d", n), r.since > 0})
	}
	if p.Comments > 0 {
		p.Tabs = append(p.Tabs, tab{"#c1", plural(p.Comments, "comment", "comments"), false})
	}
	if len(p.Checks) > 0 {
		p.Tabs = append(p.Tabs, tab{"#checks", "Check output", false})
	}
	if len(p.Tries) > 1 {
		p.Tabs = append(p.Tabs, tab{"#attempts", plural(len(p.Tries), "attempt", "attempts"), false})
	}
	if q.hasPattern("/task/{task}") {
		p.Tabs = append(p.Tabs, tab{p.TaskPath, "Task", false})
	}
	return p, nil
}

// hasPattern reports whether the site has a page.
func (q *request) hasPattern(pattern string) bool {
	return slices.ContainsFunc(routes, func(r Route) bool { return r.Pattern == pattern })
}

// whose says whose work is shown.
func (q *request) whose(r *reviewed) (by, worker string) {
	a, ok := r.tryOf(r.attempt)
	if !ok {
		return "", ""
	}
	worker = cmp.Or(line(a.Worker.Name, 60), "an agent")
	run, known := r.runOf(r.attempt)
	facts := []string{fmt.Sprintf("attempt %d by %s (%s)", r.attempt, worker, makerOf(run.Agent, a.Where.Client).Name)}
	if !a.EndedAt.IsZero() {
		facts = append(facts, span(a.EndedAt.Sub(a.GrantedAt)))
	}
	if known && run.Priced {
		facts = append(facts, cost(run.Cost, true))
	}
	return strings.Join(facts, " · "), worker
}

// proofs lists the evidence, what was observed first.
func proofs(res *board.Result) (list []proof) {
	for _, e := range res.Evidence {
		list = append(list, proof{line(string(e.Kind), 20), line(e.Ref, 200), cut(visible.Text(e.Detail), 1200), e.Observed})
	}
	slices.SortStableFunc(list, func(a, b proof) int { return cmp.Compare(toInt(!a.Observed), toInt(!b.Observed)) })
	return list
}

// checks lists the runs of the check: the one that was observed with the report, and those
// that were red or did not judge before it.
func (q *request) checks(r *reviewed) (list []checkView) {
	if res := r.Doc.Result; res != nil && r.current && r.reported() {
		for _, e := range res.Evidence {
			if e.Observed && (e.Kind == board.EvidenceTests || e.Kind == board.EvidenceCommand) {
				list = append(list, checkView{Command: line(e.Ref, 300), Output: cut(visible.Text(e.Detail), 4000), Result: "passed"})
			}
		}
		if res.Check != "" {
			list = append(list, checkView{Result: line(res.Check, 200)})
		}
	}
	for _, e := range slices.Backward(r.Events) {
		if e.Detail.Attempt != r.attempt || e.Kind != board.EventRed && e.Kind != board.EventUnjudged {
			continue
		}
		c := checkView{Output: cut(visible.Text(e.Detail.Text), 4000), Result: "red", Red: true, At: new(q.site.clock(e.When(), r.Now))}
		if e.Kind == board.EventUnjudged {
			c.Result, c.Red = "could not judge", false
		}
		if list = append(list, c); len(list) == 8 {
			break
		}
	}
	return list
}

// tries lists the attempts, the newest first.
func (q *request) tries(r *reviewed) (list []tryView) {
	const most = 20
	for _, a := range slices.Backward(r.Attempts) {
		t := tryView{Attempt: a.Attempt, Worker: cmp.Or(line(a.Worker.Name, 60), "an agent"), Current: a.Attempt == r.attempt, Path: q.link(reviewPath(r.Task.ID), "attempt", strconv.Itoa(a.Attempt))}
		if run, ok := r.runOf(a.Attempt); ok && run.Priced {
			t.Cost = cost(run.Cost, true)
		}
		t.Shape, t.Text = q.howEnded(r, a)
		if list = append(list, t); len(list) == most {
			break
		}
	}
	return list
}

// howEnded says how an attempt ended.
func (q *request) howEnded(r *reviewed, a board.Attempt) (shape, string) {
	newest := a.Attempt == r.Task.Attempt
	for _, e := range slices.Backward(r.Events) {
		if e.Detail.Attempt != a.Attempt {
			continue
		}
		switch e.Kind {
		case board.EventRejected:
			return shape{"off", "", "Rejected"}, "rejected by " + line(e.Actor, 60) + ": “" + line(e.Detail.Text, 200) + "”"
		case board.EventReturned:
			return shape{"clash", "", "Returned"}, "taken out of the queue: " + line(e.Detail.Text, 200)
		case board.EventLanded:
			return shape{"done", "good", "Landed"}, "landed " + agoText(r.Now.Sub(e.When()))
		case board.EventAccepted:
			return shape{"land", "", "Accepted"}, "accepted by " + line(e.Actor, 60)
		case board.EventReview:
			if newest && r.Task.Status == board.InReview {
				return shape{"eye", "you", "In review"}, "in review for " + span(r.Now.Sub(e.When()))
			}
		}
	}
	switch a.Cause {
	case "":
		return shape{"work", "", "Working"}, "working for " + span(r.Now.Sub(a.GrantedAt))
	case board.CauseDone:
		return shape{"done", "", "Done"}, "reported done"
	case board.CauseExpired, board.CauseRestarts, board.CauseUndelivered:
		return shape{"quiet", "bad", "Lease ran out"}, "fell silent"
	case board.CauseFailed:
		return shape{"fail", "bad", "Failed"}, "failed: " + line(a.Reason, 200)
	case board.CauseParked:
		return shape{"ask", "", "Parked"}, "waited for an answer"
	}
	return shape{"off", "", "Ended"}, strings.TrimSuffix(line(strings.ReplaceAll(string(a.Cause), "_", " ")+": "+a.Reason, 200), ": ")
}

// addStrips says what the person should know before anything else.
func (q *request) addStrips(ctx context.Context, r *reviewed, p *reviewPage) error {
	add := func(m message) { p.Strips = append(p.Strips, m) }
	if !r.current {
		add(message{Shape: "off", Head: fmt.Sprintf("This is attempt %d, which is over.", r.attempt), Text: fmt.Sprintf("The newest one is attempt %d.", r.Task.Attempt), Path: p.Path, Word: fmt.Sprintf("Look at attempt %d", r.Task.Attempt)})
		return nil
	}
	switch r.Task.Status {
	case board.InReview:
		if r.Review != nil {
			add(message{Shape: "eye", Head: line(r.Review.Worker.Name, 60) + " reviews it now.", Text: "Your verdict ends that."})
		}
	case board.Landing:
		add(message{Shape: "land", Head: "Accepted.", Text: "It waits to be landed on " + line(r.project.Land, 100) + ".", Path: q.link("/landing"), Word: "Landing"})
	case board.Done:
		add(message{Shape: "done", Head: "Done.", Text: "Nothing is left to decide."})
	case board.Pending, board.InProgress, board.Waiting:
		text := "Nothing was reported yet."
		if len(r.comments) > 0 || r.Task.Attempt > 0 {
			text = "Nothing waits for a review."
		}
		add(message{Shape: stateShape(r.Task.State()).ID, Head: stateShape(r.Task.State()).Word + ".", Text: text})
	default:
		add(message{Shape: stateShape(r.Task.State()).ID, Head: stateShape(r.Task.State()).Word + ".", Text: "Nothing waits for a review."})
	}
	return q.addIncluded(ctx, r, p)
}

// addDiff adds the diff, or why there is none.
func (q *request) addDiff(r *reviewed, p *reviewPage, draft reviewDraft) {
	d := r.diff
	res := r.Doc.Result
	switch {
	case d.Attempt == 0 && !r.reported() && r.current:
		p.NoDiff = "Nothing was reported yet."
	case d.Attempt == 0 && res != nil && res.NoChanges:
		p.NoDiff = "It has no diff: its report says that no change is needed."
	case d.Attempt == 0:
		p.NoDiff = "It has no diff: its work is not in git, or its report came from elsewhere than its worktree."
	case r.current && r.reported() && res != nil && !res.Tip.IsZero() && d.Diff.Tip != res.Tip.Commit:
		p.NoDiff = fmt.Sprintf("The diff is that of commit %.10s, and what was reported is %.10s. It is not shown.", d.Diff.Tip, res.Tip.Commit)
	case d.Diff.Withheld:
		p.NoDiff = "This project keeps diffs off the board: [review] diff = false. Look at it where the work is" + place(r) + "."
	}
	src := &diffSource{diff: d.Diff, comments: r.comments, place: parseDiffPlace(q.URL.Query().Get), next: r.current && r.Task.Status == board.InReview}
	if p.NoDiff != "" {
		src.diff = board.Diff{}
	}
	attempt := ""
	if !r.current {
		attempt = strconv.Itoa(r.attempt)
	}
	src.link = func(query ...string) string {
		return q.link(reviewPath(r.Task.ID), append([]string{"attempt", attempt, "since", nonZero(r.since)}, query...)...)
	}
	if r.since > 0 {
		src.since, src.before = r.since, map[string]string{}
		for _, f := range r.before.Files {
			if f.Left == "" {
				src.before[f.Path] = f.Patch
			}
		}
	}
	if src.next && q.may(access.Comment, r.Task.ID.Project) {
		src.form = func(file string, no int) *talkForm {
			f := &talkForm{Action: q.link(reviewPath(r.Task.ID)), File: file, Line: no, Attempt: r.attempt, Place: "the file"}
			if no > 0 {
				f.Place = "line " + strconv.Itoa(no)
			}
			return f
		}
		p.Place = &talkForm{Action: q.link(reviewPath(r.Task.ID)), Attempt: r.attempt}
		if draft.place != "" {
			p.Place.File, p.Place.Typed, p.Place.Error = draft.place, draft.comment, draft.commentWhy
		}
	}
	p.Diff = src.view()
}

// place says where the work of an attempt is.
func place(r *reviewed) string {
	a, ok := r.tryOf(r.attempt)
	if !ok || a.Where.Branch == "" {
		return ""
	}
	s := ": branch " + line(a.Where.Branch, 200)
	if a.Where.Host != "" {
		s += " on " + line(a.Where.Host, 60)
	}
	return s
}

// addForms adds what the caller may do.
func (q *request) addForms(r *reviewed, p *reviewPage, draft reviewDraft) {
	id := r.Task.ID
	if draft.commentWhy != "" && p.Place == nil { // its text is kept
		p.Strips = append(p.Strips, message{Class: "err", Shape: "fail", Head: draft.commentWhy, Text: "You wrote, on " + line(draft.place, 200) + ": “" + visible.Text(draft.comment) + "”"})
	}
	if !r.current {
		return
	}
	switch {
	case r.Task.Status == board.InReview && q.may(access.Review, id.Project):
		p.Decide = &decideForm{
			Path: q.link(reviewPath(id)), Attempt: r.attempt, Seen: seenVersion(r), Lands: line(r.project.Land, 100), Typed: draft.note, Error: draft.why,
			Send: "Send back",
		}
		if n := len(r.comments); n > 0 {
			p.Decide.Send = "Send back with " + plural(n, "comment", "comments")
		}
	case r.Task.Status == board.Landing && q.may(access.Return, id.Project):
		p.Return = &returnForm{Path: q.link(reviewPath(id)), Attempt: r.attempt, Target: line(r.project.Land, 100), Typed: draft.note, Error: draft.returnWhy}
	}
	if why := cmp.Or(draft.why, draft.returnWhy); why != "" && p.Decide == nil && p.Return == nil {
		p.Strips = append(p.Strips, message{Class: "err", Shape: "fail", Head: "Nothing was changed.", Text: why})
	}
	if r.Task.Status == board.InReview && p.Decide == nil {
		p.Strips = append(p.Strips, message{Shape: "eye", Head: "You may look, and not decide.", Text: "Your role in " + id.Project + " is " + q.caller.Roles[id.Project].String() + "; a lead decides."})
	}
}

// seenVersion is a digest of what a person sees before a verdict: the work, what it was asked
// to be, and the comments. A verdict carries it, so that nobody accepts over something that
// was not shown.
func seenVersion(r *reviewed) string {
	h := sha256.New()
	tip := ""
	if r.Doc.Result != nil {
		tip = r.Doc.Result.Tip.Commit
	}
	fmt.Fprintf(h, "%v %d %d %q\n", r.Task.ID, r.Task.Attempt, r.Task.SpecVersion, tip)
	for _, c := range r.comments {
		fmt.Fprintf(h, "%q %d %q %q\n", c.File, c.Line, c.Text, c.By)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// backTo returns where a form of a review leads: the place of the page that it was sent from.
func (q *request) backTo(id board.ID, keep ...string) string {
	list := []string{}
	for _, k := range keep {
		list = append(list, k, strconv.Itoa(count(q.PostForm.Get(k))))
		if list[len(list)-1] == "0" {
			list[len(list)-1] = ""
		}
	}
	return q.link(reviewPath(id), list...)
}
