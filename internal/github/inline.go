package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/land"
)

var pullPattern = regexp.MustCompile(`^https://([A-Za-z0-9.-]+)/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/pull/([1-9][0-9]*)$`)

// maxInline is how many comments on lines are read, the newest ones.
const maxInline = 100

// addInline adds what people wrote on lines of a pull request, the oldest first. If the user of gh may not read that, the pull
// request says so.
func (c CLI) addInline(ctx context.Context, p *land.Pull) error {
	m := pullPattern.FindStringSubmatch(p.URL)
	if m == nil {
		return nil
	}
	out, err := c.run(ctx, "", "api", "--hostname", m[1], fmt.Sprintf("repos/%s/pulls/%s/comments?sort=created&direction=desc&per_page=%d", m[2], m[3], maxInline))
	if e, ok := errors.AsType[*land.PullError](err); ok && (strings.Contains(e.Said, "HTTP 403") || strings.Contains(e.Said, "HTTP 404")) {
		p.Unread = true
		return nil
	}
	if err != nil {
		return err
	}
	var got []struct {
		User *struct {
			Login string `json:"login"`
		} `json:"user"`
		Path     string    `json:"path"`
		Line     *int64    `json:"line"`
		Original *int64    `json:"original_line"`
		Body     string    `json:"body"`
		Created  time.Time `json:"created_at"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return &land.PullError{Said: fmt.Sprintf("its answer is not as expected: %v", err)}
	}
	for _, s := range slices.Backward(got) {
		text := strings.TrimSpace(s.Body)
		if text == "" {
			continue
		}
		comment := land.PullComment{At: s.Created, Place: s.Path, Text: text}
		if s.User != nil { // else the account was deleted
			comment.Author = s.User.Login
		}
		if line := cmp.Or(s.Line, s.Original); line != nil {
			comment.Place += fmt.Sprintf(":%d", *line)
		}
		p.Comments = append(p.Comments, comment)
	}
	return nil
}
