package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/land"
)

const (
	// MaxIssues is how many issues are read at once.
	MaxIssues = 500
	// maxTitle, maxBody and maxAuthor are how much of an issue becomes a task, in bytes.
	maxTitle, maxBody, maxAuthor = 180, 16 << 10, 80
	// maxURL is how long the address of an issue may be.
	maxURL = 190
)

// ValidRepo reports whether a text names a repository: OWNER/REPO, or HOST/OWNER/REPO.
func ValidRepo(s string) bool { return repoPattern.MatchString(s) }

var repoPattern = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+$`)

// An Issue is an open issue, in the words of others.
type Issue struct {
	Number             int64
	URL, Title, Author string
	Body               string
}

// Issues lists the newest open issues with all of the labels, at most MaxIssues.
func (c CLI) Issues(ctx context.Context, labels []string) ([]Issue, error) {
	args := []string{"issue", "list", "--repo", c.Repo, "--state", "open", "--limit", strconv.Itoa(MaxIssues), "--json", "number,title,body,url,author"}
	for _, label := range labels {
		args = append(args, "--label="+label)
	}
	out, err := c.run(ctx, "", args...)
	if err != nil {
		return nil, err
	}
	var got []struct {
		Number int64  `json:"number"`
		Title  string `json:"title"`
		Body   string `json:"body"`
		URL    string `json:"url"`
		Author struct {
			Login string `json:"login"`
		} `json:"author"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, &land.PullError{Said: fmt.Sprintf("its answer is not as expected: %v", err)}
	}
	var list []Issue
	for _, g := range got[:min(len(got), MaxIssues)] {
		if !c.Has(g.URL) || !strings.HasSuffix(g.URL, "/"+strconv.FormatInt(g.Number, 10)) {
			return nil, &land.PullError{Said: fmt.Sprintf("its answer has an issue of another repository than %s: %.200q", c.Repo, g.URL)}
		}
		list = append(list, Issue{g.Number, g.URL, g.Title, g.Author.Login, g.Body})
	}
	return list, nil
}

// Has reports whether an issue is one of the repository. Without a host, that is the one that gh asks.
func (c CLI) Has(url string) bool {
	m := issuePattern.FindStringSubmatch(url)
	if m == nil || c.Repo == "" || len(url) > maxURL {
		return false
	}
	if strings.Count(c.Repo, "/") == 1 {
		return strings.EqualFold(m[1], cmp.Or(os.Getenv("GH_HOST"), "github.com")+"/"+c.Repo)
	}
	return strings.EqualFold(m[1], c.Repo)
}

var issuePattern = regexp.MustCompile(`^https://([A-Za-z0-9.-]+/[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/issues/[1-9][0-9]*$`)

// Task is what an issue becomes in a plan: a draft in the words of its author.
func (i Issue) Task() board.PlanTask {
	number := strconv.FormatInt(i.Number, 10)
	author := cut(visible.Line(i.Author), maxAuthor, "…")
	if author == "" {
		author = "somebody" // whose account was deleted
	}
	title := cut(visible.Line(strings.TrimSpace(i.Title)), maxTitle, "…")
	if title == "" {
		title = "Issue " + number
	}
	body := cut(strings.Join(visible.Lines(strings.TrimSpace(i.Body)), "\n"), maxBody, "…\n\nThe rest is at "+i.URL)
	return board.PlanTask{Key: number, Item: i.URL, Author: author, NewTask: board.NewTask{
		Title: title, Description: strings.TrimSpace(fmt.Sprintf("Issue %s, by %s.\n\n%s", i.URL, author, body)), Priority: board.Normal, Hold: true,
	}}
}

// cut shortens a text to n bytes, and says so.
func cut(s string, n int, more string) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + more
}

// Tell tells an issue that its task is done. It looks first whether that was done before: the comment has a mark that
// does not show.
func (c CLI) Tell(ctx context.Context, i board.Issue) error {
	out, err := c.run(ctx, "", "issue", "view", i.URL, "--json", "state,comments")
	if e, ok := errors.AsType[*land.PullError](err); ok && strings.Contains(e.Said, "Could not resolve to an issue") {
		return nil // it was deleted
	}
	if err != nil {
		return err
	}
	var got struct {
		State    string `json:"state"`
		Comments []struct {
			Body string `json:"body"`
			Own  bool   `json:"viewerDidAuthor"` // else anybody could write the mark
		} `json:"comments"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return &land.PullError{Said: fmt.Sprintf("its answer is not as expected: %v", err)}
	}
	mark := fmt.Sprintf("<!-- bossman: %v -->", i.Task)
	told := false
	for _, comment := range got.Comments {
		told = told || comment.Own && strings.Contains(comment.Body, mark)
	}
	if !told {
		text := "This is done"
		if board.ValidObject(i.Commit) {
			text += ", in " + i.Commit
		}
		if _, err := c.run(ctx, text+".\n\n"+mark+"\n", "issue", "comment", i.URL, "--body-file", "-"); err != nil {
			return err
		}
	}
	if c.Close && got.State == "OPEN" {
		_, err = c.run(ctx, "", "issue", "close", i.URL)
	}
	return err
}
