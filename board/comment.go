package board

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// A Comment is a remark on what was reported done.
type Comment struct {
	// File and Line say what it is about: a line of the file after the change, 0 for the file as a
	// whole.
	File string `json:"file"`
	Line int    `json:"line,omitzero"`
	Text string `json:"text"`
	// By is who wrote it, and As tells whether that is a person. The board sets them.
	By string    `json:"by,omitzero"`
	As ActorKind `json:"as,omitzero"`
}

// CommentOn returns a comment on a place such as main.go:12, or main.go for the file as a whole.
func CommentOn(place, text string) Comment {
	c := Comment{File: place, Text: text}
	if at := strings.LastIndexByte(place, ':'); at > 0 {
		if n, err := strconv.Atoi(place[at+1:]); err == nil && n > 0 {
			c.File, c.Line = place[:at], n
		}
	}
	return c
}

// Place is what the comment is about, such as main.go:12.
func (c Comment) Place() string {
	if c.Line == 0 {
		return c.File
	}
	return fmt.Sprintf("%s:%d", c.File, c.Line)
}

// maxComments bounds the comments on one report, and maxComment the length of one.
const (
	maxComments = 100
	maxComment  = 4000
)

// checkComments validates comments.
func checkComments(list []Comment) error {
	if len(list) > maxComments {
		return invalid("%d comments are too many: want at most %d on a report", len(list), maxComments)
	}
	for _, c := range list {
		if strings.TrimSpace(c.File) == "" || strings.TrimSpace(c.Text) == "" || c.Line < 0 {
			return invalid("a comment has a file, a line from 1 on, or 0 for the whole file, and a text")
		}
		if err := checkTexts(text{"file", c.File, 4096}, text{"comment", c.Text, maxComment}, text{"author", c.By, 400}); err != nil {
			return err
		}
	}
	return nil
}

// Comment adds comments to what was reported, if that waits for its review. If it is rejected, the next
// attempt is shown them. An agent that held an attempt of the task is denied.
func (b *Board) Comment(ctx context.Context, a Actor, id ID, list []Comment) error {
	if len(list) == 0 {
		return invalid("there is no comment")
	}
	if err := checkComments(list); err != nil {
		return err
	}
	return b.change(ctx, a, func(c *change) error {
		if err := c.lock(id); err != nil {
			return err
		}
		t := c.tasks[id]
		if t.Status != InReview {
			return conflict("%v is %s; comments are for tasks in state %s", id, t.State(), InReview)
		}
		if !a.Person {
			if err := c.notHolder(id, "comment on it"); err != nil {
				return err
			}
		}
		if _, err := c.comment(t, list); err != nil {
			return err
		}
		for _, one := range list {
			c.event(t, EventCommented, t.Status, Detail{Attempt: t.Attempt, Text: one.Place() + ": " + one.Text, By: a.Kind()})
		}
		return nil
	})
}

// comment adds comments to the result of a locked task, and returns all that it has.
func (c *change) comment(t *Task, list []Comment) ([]Comment, error) {
	d, err := c.tx.Doc(t.ID)
	if err != nil || d.Result == nil {
		return nil, err
	}
	if len(list) == 0 {
		return d.Result.Comments, nil
	}
	for _, one := range list {
		one.By, one.As = c.actor.String(), c.actor.Kind()
		d.Result.Comments = append(d.Result.Comments, one)
	}
	if err := checkComments(d.Result.Comments); err != nil {
		return nil, err
	}
	return d.Result.Comments, c.tx.PutDoc(t.ID, d)
}
