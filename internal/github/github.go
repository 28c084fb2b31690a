// Package github makes pull requests, and reads and answers issues, with gh, the command line of GitHub. Who does
// that, and with which token, is what gh was told by its user.
package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/git"
	"github.com/bossman-dev/bossman/land"
)

// CLI is gh for a repository, such as github.com/acme/web, or acme/web at the host that gh was told.
type CLI struct {
	Repo string
	// Close: an issue is closed when its task is done.
	Close bool
}

var (
	_ land.Pulls  = CLI{}
	_ land.Issues = CLI{}
)

const (
	// callTime bounds a call of gh.
	callTime = 30 * time.Second
	// maxSaid is how much of what gh complains about is kept.
	maxSaid = 400
	// maxAnswer bounds what gh answers.
	maxAnswer = 64 << 20
)

// View returns the newest pull request of a branch; the zero one if there is none.
func (c CLI) View(ctx context.Context, branch string) (p land.Pull, err error) {
	out, err := c.run(ctx, "", "pr", "view", branch, "--repo", c.Repo, "--json", "state,headRefOid,mergeCommit,url,comments,reviews,commits")
	if e, ok := errors.AsType[*land.PullError](err); ok && strings.Contains(e.Said, "no pull requests found") {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	type said struct {
		Author struct {
			Login string `json:"login"`
		} `json:"author"`
		Body      string    `json:"body"`
		Created   time.Time `json:"createdAt"`   // of a comment
		Submitted time.Time `json:"submittedAt"` // of a review
	}
	var got struct {
		State       string `json:"state"`
		Head        string `json:"headRefOid"`
		URL         string `json:"url"`
		MergeCommit *struct {
			OID string `json:"oid"`
		} `json:"mergeCommit"`
		Commits []struct {
			OID      string    `json:"oid"`
			Headline string    `json:"messageHeadline"`
			Authored time.Time `json:"authoredDate"`
		} `json:"commits"`
		Comments []said `json:"comments"`
		Reviews  []said `json:"reviews"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return p, &land.PullError{Said: fmt.Sprintf("its answer is not as expected: %v", err)}
	}
	p = land.Pull{State: land.PullState(got.State), URL: got.URL, Head: got.Head}
	if got.MergeCommit != nil {
		p.Merged = got.MergeCommit.OID
	}
	for _, commit := range got.Commits {
		p.Commits = append(p.Commits, land.PullCommit{Commit: commit.OID, Subject: commit.Headline, Authored: commit.Authored.Unix()})
	}
	add := func(list []said) {
		for _, s := range list {
			if text := strings.TrimSpace(s.Body); text != "" {
				at := s.Created
				if at.IsZero() {
					at = s.Submitted
				}
				p.Comments = append(p.Comments, land.PullComment{Author: s.Author.Login, At: at, Text: text})
			}
		}
	}
	add(got.Reviews)
	if p.State == land.PullClosed { // else nobody is told
		if err := c.addInline(ctx, &p); err != nil {
			return p, err
		}
	}
	add(got.Comments)
	return p, nil
}

// Create makes a pull request of a branch for another one, and returns its address.
func (c CLI) Create(ctx context.Context, base, branch, title, body string) (string, error) {
	out, err := c.run(ctx, body, "pr", "create", "--repo", c.Repo, "--base", base, "--head", branch, "--title", title, "--body-file", "-")
	return strings.TrimSpace(string(out)), err
}

// run runs gh, where no repository tells it what to do.
func (c CLI) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	cmd, err := git.ProgramsOutside().Command(ctx, "gh", args...)
	if e, ok := errors.AsType[*git.LeftOutError](err); ok {
		return nil, &land.PullError{Said: e.Error() + ": install it elsewhere"}
	}
	if err != nil {
		return nil, &land.PullError{Said: "it is not in the PATH of this process: install it, and log in with gh auth login"}
	}
	cmd.Dir = "/"
	cmd.Env = append(cmd.Env, "PWD=/", "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = time.Second
	out, said := limited{most: maxAnswer}, limited{most: 1 << 20}
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	switch {
	case out.over:
		return nil, &land.PullError{Said: fmt.Sprintf("its answer has more than %d MiB", maxAnswer>>20)}
	case err == nil:
		return out.kept, nil
	}
	text := strings.TrimSpace(string(said.kept))
	if text == "" || ctx.Err() != nil {
		text = err.Error()
	}
	return nil, &land.PullError{Said: strings.ToValidUTF8(text[:min(len(text), maxSaid)], "\ufffd")}
}

// limited keeps what is written, and fails when that is too much.
type limited struct {
	kept []byte
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = len(p) > l.most-len(l.kept); l.over {
		return 0, io.ErrShortWrite
	}
	l.kept = append(l.kept, p...)
	return len(p), nil
}
