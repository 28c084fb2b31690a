package web

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/access"
	"github.com/bossman-dev/bossman/board"
)

// maxReviews is how many tasks in review a page lists.
const maxReviews = 50

// reviewsPage is what reviews.html shows.
type reviewsPage struct {
	Words string
	// Yours are those that wait for a person, Agents those that an agent reviews now.
	Yours, Agents  []need
	Earlier, Later string
}

// showReviews lists what waits for a review, the oldest first.
func showReviews(q *request) error {
	return q.showCached(func(ctx context.Context) (page, error) {
		p, err := q.reviews(ctx)
		return page{Template: "reviews", Title: "Review", Current: "/review", Follow: strings.Join(q.slugs, " "), Main: p}, err
	})
}

func (q *request) reviews(ctx context.Context) (p reviewsPage, err error) {
	var all []board.OutlinedTask
	var now time.Time
	for _, slug := range q.slugs {
		in, err := q.site.inbox(ctx, slug)
		if err != nil {
			return p, err
		}
		now = in.Now
		all = append(all, in.Review...)
	}
	slices.SortStableFunc(all, func(a, b board.OutlinedTask) int { // one without an outline is a younger one
		return cmp.Or(cmp.Compare(toInt(a.Outline.EndedAt.IsZero()), toInt(b.Outline.EndedAt.IsZero())), a.Outline.EndedAt.Compare(b.Outline.EndedAt))
	})
	p.Words = plural(len(all), "task waits for its review.", "tasks wait for their review.")
	if len(all) == 0 {
		p.Words = "Nothing waits for a review."
	}
	first := min(count(q.URL.Query().Get("first")), max(0, len(all)-1))
	if first > 0 {
		p.Earlier = q.link("/review", "first", nonZero(max(0, first-maxReviews)))
	}
	if first+maxReviews < len(all) {
		p.Later = q.link("/review", "first", strconv.Itoa(first+maxReviews))
	}
	for i := range all[first:min(first+maxReviews, len(all))] {
		n := reviewNeed(&all[first+i], now)
		n.Path, n.After = q.link(reviewPath(all[first+i].Task.ID)), line(all[first+i].Task.Title, 160)
		if all[first+i].Outline.Reviewer != "" {
			n.Act = "Look"
			p.Agents = append(p.Agents, n)
		} else {
			p.Yours = append(p.Yours, n)
		}
	}
	if len(p.Yours) > 0 {
		p.Yours[0].Go = first == 0
	}
	return p, nil
}

// reviewPath is the address of the page on which a task is reviewed.
func reviewPath(id board.ID) string { return "/review/" + id.String() }

// maxEvents is how many events of a task a review looks at.
const maxEvents = 500

// A reviewed is what is read for a review.
type reviewed struct {
	board.Dossier
	project board.Project
	runs    []board.Run
	// attempt is the one that is shown. current is set if that is the newest one.
	attempt int
	current bool
	diff    board.AttemptDiff
	// comments are those on the attempt.
	comments []board.Comment
	// since is an earlier attempt with which it is compared, and before what that changed.
	since  int
	before board.Diff
}

// readReview reads a task with the work of an attempt; 0 is the newest one.
func (q *request) readReview(ctx context.Context, id board.ID, attempt int) (r reviewed, err error) {
	if r.Dossier, err = q.site.board.Get(ctx, id, maxEvents); err != nil {
		return r, err
	}
	if r.project, err = q.site.board.Project(ctx, id.Project); err != nil {
		return r, err
	}
	if r.runs, err = q.site.board.Runs(ctx, id); err != nil {
		return r, err
	}
	r.attempt = cmp.Or(attempt, r.Task.Attempt)
	if r.attempt > r.Task.Attempt || r.attempt < 0 {
		return r, board.ErrNotFound
	}
	r.current = r.attempt == r.Task.Attempt
	if r.attempt > 0 && q.may(access.Diff, id.Project) {
		if r.diff, err = q.site.board.Diff(ctx, id, r.attempt); err != nil {
			return r, err
		}
	}
	if since := count(q.URL.Query().Get("since")); r.diff.Attempt > 0 && since > 0 && since < r.attempt {
		before, err := q.site.board.Diff(ctx, id, since)
		if err != nil {
			return r, err
		}
		if before.Attempt == since && !before.Diff.Withheld {
			r.since, r.before = since, before.Diff
		}
	}
	if res := r.Doc.Result; r.current && res != nil && r.reported() {
		r.comments = res.Comments
		return r, nil
	}
	for _, e := range r.Events { // those on work that was rejected stay with that
		if e.Kind == board.EventRejected && e.Detail.Attempt == r.attempt {
			r.comments = e.Detail.Comments
		}
	}
	return r, nil
}

// reported reports whether the newest attempt has reported its work, and that is the result.
func (r *reviewed) reported() bool {
	switch r.Task.Status {
	case board.InReview, board.Landing, board.Done:
		return true
	}
	return false
}

// tryOf returns the attempt that is shown.
func (r *reviewed) tryOf(attempt int) (board.Attempt, bool) {
	i := slices.IndexFunc(r.Attempts, func(a board.Attempt) bool { return a.Attempt == attempt })
	if i < 0 {
		return board.Attempt{}, false
	}
	return r.Attempts[i], true
}

// runOf returns the run of an attempt.
func (r *reviewed) runOf(attempt int) (board.Run, bool) {
	i := slices.IndexFunc(r.runs, func(x board.Run) bool { return x.Claim.Attempt == attempt })
	if i < 0 {
		return board.Run{}, false
	}
	return r.runs[i], true
}
