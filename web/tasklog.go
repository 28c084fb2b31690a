package web

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

const (
	// shownCalls is how many entries of a log the page of a task shows, and logPage how many a
	// page of the log has.
	shownCalls, logPage = 14, 200
	// historyPage is how many events a page of the history has.
	historyPage = 100
)

// An attemptView is an attempt with what it left for the next one.
type attemptView struct {
	Attempt  int
	Shape    shape
	Head     string
	Side     string
	Text     string
	Work     string // where its work is
	HandOver string
	Avoid    string // what not to repeat
	LogPath  string
	DiffPath string
}

// A logView is a log, as far as it is shown.
type logView struct {
	Attempt int
	Live    bool
	Facts   string
	Entries []logEntry
	Calls   bool   // Entries are calls of tools alone
	Path    string // of all of it
	All     string // the word for that
}

// A logEntry is an entry of the log of a run.
type logEntry struct {
	At   moment
	Word string // run, edit, …
	Text string
	Rest string // its further lines
	Now  bool
}

// addAttempts adds the log of the current attempt, and the attempts before it.
func (q *request) addAttempts(ctx context.Context, r *reviewed, p *taskPage) error {
	if c := r.Claim; c != nil && !c.IsReview() {
		entries, err := q.logOf(ctx, r.Task.ID, c.Attempt, r.Now)
		if err != nil {
			return err
		}
		run, _ := r.runOf(c.Attempt)
		v := &logView{
			Attempt: c.Attempt, Live: true, Path: taskPath(r.Task.ID) + "/log?attempt=" + strconv.Itoa(c.Attempt), All: "All " + plural(len(entries), "entry", "entries"),
		}
		facts := []string{line(c.Worker.Name, 60), makerOf(run.Agent, c.Where.Client).Name, span(r.Now.Sub(c.GrantedAt))}
		calls := slices.DeleteFunc(slices.Clone(entries), func(e logEntry) bool { return e.Word == "says" })
		if len(calls) > 0 { // else it is a program that makes none, and prints lines
			v.Calls, entries = true, calls
			facts = append(facts, plural(len(calls), "call", "calls"))
		}
		v.Facts = strings.Join(facts, " · ")
		v.Entries = entries[max(0, len(entries)-shownCalls):]
		if n := len(v.Entries); n > 0 {
			v.Entries[n-1].Now = true
		}
		p.Log = v
	}
	sum, priced := int64(0), false
	for _, a := range slices.Backward(r.Attempts) {
		if p.Log != nil && a.Attempt == p.Log.Attempt {
			continue
		}
		if len(p.Tries) == maxAttempts {
			p.MoreTries++
			continue
		}
		run, known := r.runOf(a.Attempt)
		sum, priced = sum+run.Cost, priced || run.Priced
		p.Tries = append(p.Tries, q.newAttempt(r, a, run, known))
	}
	p.TriesCost = strconv.Itoa(len(p.Tries) + p.MoreTries)
	if priced {
		p.TriesCost += " · " + board.Dollars(sum)
	}
	return nil
}

func (q *request) newAttempt(r *reviewed, a board.Attempt, run board.Run, known bool) attemptView {
	v := attemptView{Attempt: a.Attempt}
	v.Head = fmt.Sprintf("Attempt %d · %s · %s", a.Attempt, cmp.Or(line(a.Worker.Name, 60), "an agent"), makerOf(run.Agent, a.Where.Client).Name)
	v.Shape, v.Text = q.howEnded(r, a)
	v.Text = capital(v.Text)
	if a.Imported() {
		v.Text += " (" + line(a.Worker.Principal, 80) + ")"
	}
	var side []string
	if !a.EndedAt.IsZero() {
		side = append(side, span(a.EndedAt.Sub(a.GrantedAt)))
	}
	if known && run.Priced {
		side = append(side, board.Dollars(run.Cost))
	}
	v.Side = strings.Join(side, " · ")
	var work []string
	if a.Where.Branch != "" {
		work = append(work, "branch "+line(a.Where.Branch, 120))
	}
	if a.Where.Head != "" {
		work = append(work, "commit "+line(a.Where.Head, 12))
	}
	if a.Where.Uncommitted > 0 {
		work = append(work, plural(a.Where.Uncommitted, "uncommitted file", "uncommitted files"))
	}
	v.Work = strings.Join(work, ", ")
	for _, e := range slices.Backward(r.Events) {
		if e.Kind == board.EventNote && e.Detail.Attempt == a.Attempt && a.Cause != board.CauseDone {
			v.HandOver = cut(visible.Text(e.Detail.Text), 1000)
			break
		}
	}
	v.Avoid = cut(visible.Text(a.DoNotRepeat), 1000)
	if known {
		v.LogPath = taskPath(r.Task.ID) + "/log?attempt=" + strconv.Itoa(a.Attempt)
	}
	if a.Cause == board.CauseDone {
		v.DiffPath = reviewPath(r.Task.ID) + "?attempt=" + strconv.Itoa(a.Attempt)
	}
	return v
}

// logOf reads what is kept of the log of an attempt.
func (q *request) logOf(ctx context.Context, id board.ID, attempt int, now time.Time) ([]logEntry, error) {
	parts, err := q.site.board.Log(ctx, id, attempt, 0)
	if err != nil {
		return nil, err
	}
	var list []logEntry
	for _, p := range parts {
		for l := range strings.SplitSeq(strings.TrimRight(p.Text, "\n"), "\n") {
			stamp, text, _ := strings.Cut(l, " ")
			at, err := time.Parse(time.RFC3339, stamp)
			if err != nil {
				if n := len(list); n > 0 && len(list[n-1].Rest) < 4000 {
					list[n-1].Rest += visible.Text(strings.TrimPrefix(strings.TrimSpace(l), logMargin)) + "\n"
				}
				continue
			}
			e := logEntry{At: q.site.clock(at, now)}
			e.At.Kind, e.At.Text = "clocks", at.In(q.site.o.Zone).Format("15:04:05")
			e.Word, e.Text = logWords(text)
			list = append(list, e)
		}
	}
	return list, nil
}

// logWords says what an entry of a log is about: a short word, and on what.
func logWords(text string) (string, string) {
	verb, on := doing{Entry: visible.Line(text)}.words()
	on = cut(on, maxDoing)
	switch verb {
	case "Running":
		return "run", on
	case "Editing":
		return "edit", on
	case "Reading":
		return "read", on
	case "Searching":
		return "search", on
	case "Calling":
		return "call", on
	case "Asking":
		return "asks", "permission to use " + on
	case "Allowed", "Refused":
		return strings.ToLower(verb), on
	}
	return "says", on
}

// logsPage is what log.html shows.
type logsPage struct {
	ID             board.ID
	TaskPath       string
	Title          string
	Attempt        int
	Words          string
	Entries        []logEntry
	Earlier, Later string
}

// showLog shows all that is kept of the log of an attempt, page by page from its end.
func showLog(q *request) error {
	id, err := q.task(access.Log)
	if err != nil {
		return err
	}
	ctx := q.Context()
	d, err := q.site.board.Get(ctx, id, 0)
	if err != nil {
		return err
	}
	attempt := d.Task.Attempt
	if v := q.URL.Query().Get("attempt"); v != "" {
		attempt = count(v)
	}
	if attempt < 1 || attempt > d.Task.Attempt {
		return board.ErrNotFound
	}
	entries, err := q.logOf(ctx, id, attempt, d.Now)
	if err != nil {
		return err
	}
	p := logsPage{ID: id, TaskPath: taskPath(id), Title: line(d.Task.Title, 200), Attempt: attempt}
	pages := max(1, (len(entries)+logPage-1)/logPage)
	at := pages
	if v := count(q.URL.Query().Get("page")); v > 0 {
		at = min(v, pages)
	}
	path := func(n int) string {
		if n < 1 || n > pages {
			return ""
		}
		return fmt.Sprintf("%s/log?attempt=%d&page=%d", taskPath(id), attempt, n)
	}
	p.Earlier, p.Later = path(at-1), path(at+1)
	p.Entries = entries[(at-1)*logPage : min(at*logPage, len(entries))]
	p.Words = plural(len(entries), "entry", "entries") + " are kept."
	if len(entries) == 0 {
		p.Words = "No log is kept of this attempt. Only bossman work keeps one."
	}
	return q.show(page{Template: "log", Title: "Log of " + id.String(), Current: "/board", Follow: id.String(), Main: p})
}

// historyView is what history.html shows.
type historyView struct {
	ID             board.ID
	TaskPath       string
	Title          string
	Words          string
	Events         []eventView
	Earlier, Later string
}

// showHistory shows all events of a task, the newest page first.
func showHistory(q *request) error {
	id, err := q.task(access.Events)
	if err != nil {
		return err
	}
	d, err := q.site.board.Get(q.Context(), id, 0)
	if err != nil {
		return err
	}
	last := d.Task.Seq
	if v := q.URL.Query().Get("to"); v != "" {
		last = min(int64(count(v)), last)
	}
	first := max(0, last-historyPage)
	es, err := q.site.board.Events(q.Context(), id, first, int(max(1, last-first)))
	if err != nil {
		return err
	}
	p := historyView{ID: id, TaskPath: taskPath(id), Title: line(d.Task.Title, 200), Words: plural(int(d.Task.Seq), "event", "events") + ", newest first."}
	for _, e := range slices.Backward(es) {
		p.Events = append(p.Events, q.newEvent(e, d.Now))
	}
	path := func(to int64) string { return fmt.Sprintf("%s/history?to=%d", taskPath(id), to) }
	if first > 0 {
		p.Earlier = path(first)
	}
	if last < d.Task.Seq {
		p.Later = path(min(d.Task.Seq, last+historyPage))
	}
	return q.show(page{Template: "history", Title: "History of " + id.String(), Current: "/board", Follow: id.String(), Main: p})
}
