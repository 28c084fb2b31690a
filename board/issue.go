package board

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// An Issue is one of a tracker, such as GitHub, of which a task was made.
type Issue struct {
	// URL is its address, and the item of the task in the plan that made it.
	URL  string
	Task ID
	// Commit is the one with which the task's work landed, or that was observed when it was reported; empty if
	// there is none.
	Commit string
}

const (
	// maxUntold is how many issues are listed at once.
	maxUntold = 100
	// issuePrefix begins the items that are issues, and toldPrefix what is kept when one was told.
	issuePrefix = "https://"
	toldPrefix  = "told "
)

// checkIssue validates the part of a task of a plan that says that it comes from an issue.
func checkIssue(t PlanTask) error {
	if t.Author == "" {
		if strings.HasPrefix(t.Item, issuePrefix) || strings.HasPrefix(t.Item, toldPrefix) {
			return invalid("a task of an issue needs its author")
		}
		return nil
	}
	u, err := url.Parse(t.Item)
	if err != nil || u.Scheme != "https" || u.Host == "" || len(t.Item) > maxTitle-len(toldPrefix) {
		return invalid("a task with another author needs the address of an issue, with https and at most %d bytes, not %.80q", maxTitle-len(toldPrefix), t.Item)
	}
	return checkTexts(text{"author", t.Author, maxTitle})
}

// issueAuthor names the author of an issue that somebody imported, such as "import by ada of https://…/issues/12: bob".
func issueAuthor(by Actor, t PlanTask) string {
	return cutName(ImportBy + by.String() + " of " + t.Item + ": " + t.Author)
}

// Untold lists issues of a project whose tasks are done, and which were not yet told, at most 100.
func (b *Board) Untold(ctx context.Context, slug string) (list []Issue, err error) {
	err = b.store.Read(ctx, func(r Reader) error {
		list, err = r.Untold(slug, maxUntold)
		for i := range list {
			if err == nil {
				list[i].Commit, err = endCommit(r, list[i].Task)
			}
		}
		return err
	})
	return list, err
}

// endCommit returns the commit with which a task ended.
func endCommit(r Reader, id ID) (string, error) {
	d, err := r.Dossier(id, 20) // notes may have been added since
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(d.Events) {
		if e.Kind == EventLanded {
			return e.Detail.Commit, nil
		}
	}
	if d.Doc.Result == nil {
		return "", nil
	}
	for _, e := range slices.Backward(d.Doc.Result.Evidence) {
		if e.Kind == EvidenceCommit && e.Observed {
			return e.Ref, nil
		}
	}
	return "", nil
}

// Told keeps that the issue of a task that is done was told so, and adds that to the task's history. A second
// call does nothing.
func (b *Board) Told(ctx context.Context, a Actor, i Issue) error {
	return b.change(ctx, a, func(c *change) error {
		if err := c.lock(i.Task); err != nil {
			return err
		}
		t := c.tasks[i.Task]
		items, err := c.tx.PlanItems(i.Task.Project, []string{i.URL, toldPrefix + i.URL})
		if err != nil {
			return err
		}
		if items[i.URL] != i.Task {
			return invalid("%v was not made of the issue %.200q", i.Task, i.URL)
		}
		if t.Status != Done {
			return conflict("%v is %s: its issue gets a comment when the task is done", i.Task, t.State())
		}
		if items[toldPrefix+i.URL] == i.Task {
			return nil
		}
		c.event(t, EventTold, t.Status, Detail{Text: i.URL, Commit: i.Commit, By: a.Kind()})
		return c.tx.PutPlanItem(toldPrefix+i.URL, i.Task)
	})
}
