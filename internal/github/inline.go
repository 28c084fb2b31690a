package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/land"
)

var pullPattern = regexp.MustCompile(`^https://([A-Za-z0-9.-]+)/([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)/pull/([1-9][0-9]*)$`)

// maxInline is how many comments on lines are read, the newest ones.
const maxInline = 100

// inline returns what people wrote on lines of a pull request, each after its author and the line, the oldest first. If the user of gh may
// not read that, it says so.
func (c CLI) inline(ctx context.Context, url string) (list []string, err error) {
	m := pullPattern.FindStringSubmatch(url)
	if m == nil {
		return nil, nil
	}
	out, err := c.run(ctx, "", "api", "--hostname", m[1], fmt.Sprintf("repos/%s/pulls/%s/comments?sort=created&direction=desc&per_page=%d", m[2], m[3], maxInline))
	if e, ok := errors.AsType[*land.PullError](err); ok && (strings.Contains(e.Said, "HTTP 403") || strings.Contains(e.Said, "HTTP 404")) {
		return []string{"comments on lines could not be read; see " + url}, nil
	}
	if err != nil {
		return nil, err
	}
	var got []struct {
		User *struct {
			Login string `json:"login"`
		} `json:"user"`
		Path     string `json:"path"`
		Line     *int64 `json:"line"`
		Original *int64 `json:"original_line"`
		Body     string `json:"body"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, &land.PullError{Said: fmt.Sprintf("its answer is not as expected: %v", err)}
	}
	for _, s := range slices.Backward(got) {
		text := strings.TrimSpace(s.Body)
		if text == "" {
			continue
		}
		author, at := "somebody", s.Path // an account may have been deleted
		if s.User != nil {
			author = s.User.Login
		}
		if line := s.Line; line != nil {
			at += fmt.Sprintf(":%d", *line)
		} else if s.Original != nil {
			at += fmt.Sprintf(":%d", *s.Original)
		}
		list = append(list, fmt.Sprintf("%s on %s: %s", author, at, text))
	}
	return list, nil
}
