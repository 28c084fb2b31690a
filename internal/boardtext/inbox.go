package boardtext

import (
	"fmt"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// InboxTable prints entries of the inbox, one per line.
func InboxTable(a *console.Console, in []boardjson.InboxEntry, now time.Time) {
	var rows []console.Row
	for _, e := range in {
		kind := e.Kind
		switch {
		case e.Kind == "question" && e.Task != "":
			kind = e.Task
		case e.Kind == e.ID:
			kind = ""
		}
		title := e.Title
		if e.Told {
			title = fmt.Sprintf("%s says: %q", landerOf(e), console.OneLine(e.Title))
		}
		rows = append(rows, console.Row{console.Cyan.Cell(e.ID), entryStyle(e.Kind).Cell(strings.ReplaceAll(kind, "_", "-")), console.Text(title), console.Dim.Cell(Ago(now, e.Since))})
	}
	a.Table("  ", []console.Column{{}, {}, {Flex: true}, {Right: true, Drop: 1}}, rows)
}

// landerOf names the lander that wrote the title of an entry.
func landerOf(e boardjson.InboxEntry) string {
	return Lander(board.Author{By: e.By, As: board.ActorKind(e.As)})
}

func entryStyle(kind string) console.Style {
	switch kind {
	case "failed", "stuck":
		return console.Red
	case "review":
		return console.Yellow
	}
	return ""
}

// answered prints the answer to a question behind the name of who gave it: an agent's answer, or a
// default, must not be taken for a person's.
func answered(a *console.Console, q board.Question) {
	by := "answered by " + q.AnsweredAs.Named(word(q.AnsweredBy))
	if q.ByDefault() {
		by = "its default, because nobody answered"
	}
	a.Field("  ", console.Dim.Cell(by+":"), console.Text(q.Answer))
}

// InboxEntry prints one entry of the inbox in full.
func InboxEntry(a *console.Console, e boardjson.InboxEntry, now time.Time) {
	var facts []console.Cell
	add := func(fact string) { facts = append(facts, console.Dim.Cell(fact)) }
	if e.Kind != "question" && e.Kind != e.ID {
		add(strings.ReplaceAll(e.Kind, "_", "-"))
	} else if e.Task != "" {
		add("about " + e.Task)
	}
	if q := e.Asked; q != nil && q.Worker != "" {
		add("from " + q.Worker)
	}
	if e.Told {
		add("from " + landerOf(e))
	}
	if age := Ago(now, e.Since); age != "" {
		add(age)
	}
	byDefault := ""
	if e.Asked != nil {
		byDefault = e.Asked.Default
	}
	if e.Kind == "question" && e.Detail != "" && e.Detail != "default: "+byDefault {
		add(e.Detail)
	}
	if q := e.Asked; q != nil && q.HumanOnly {
		add("for people only")
	}
	if q := e.Asked; q != nil && q.Reported != "" {
		on := "its agent went on without an answer"
		if q.Default != "" && !q.TaskDone {
			on = "its agent went on with its default"
		}
		text := fmt.Sprintf("%s, and %s %s", on, e.Task, nowIs(board.Status(q.Reported)))
		if back := SendBack(e.Task, board.Status(q.Reported)); back != "" {
			text += "; to send that back: " + back
		}
		add(text)
	} else if q != nil && q.AskerLeft {
		left := "its asker has left: nobody waits for the answer"
		if e.Task != "" {
			left = "its asker has left: the next worker of " + e.Task + " gets the answer"
		}
		add(left)
	}
	a.Facts(console.Cyan.Cell(e.ID), facts...)
	if e.Asked != nil {
		for _, q := range e.Asked.Earlier {
			a.Field("  ", console.Dim.Cell("earlier, "+q.ID+":"), console.Text(q.Text))
			if q.State == string(board.QuestionAnswered) {
				answered(a, board.Question{Answer: q.Answer, AnsweredBy: q.AnsweredBy, AnsweredAs: board.ActorKind(q.AnsweredAs)})
			} else {
				a.Linef("  %s", a.Styled(console.Dim, "("+q.State+")"))
			}
		}
	}
	if e.Kind == "check" || e.Kind == "landing" && !e.Told { // our own words, with names of others
		a.Field("  ", console.Cell{}, console.Text(e.Title)) // may have words of a configuration file
	} else {
		a.Quoted("  ", e.Title)
	}
	if e.Detail != "" && e.Kind != "question" {
		if ours := strings.TrimSuffix(e.Detail, e.Said); ours != "" {
			a.Paragraph("  ", console.OneLine(ours))
		}
		if e.Said != "" {
			a.Quoted("  ", e.Said)
		}
	}
	if q := e.Asked; q != nil {
		for i, option := range q.Options {
			a.Field("    ", console.Text(fmt.Sprintf("%d.", i+1)), console.Text(option))
		}
		if byDefault != "" { // on a line of its own, which no option can imitate
			a.Field("    ", console.Dim.Cell("default:"), console.Text(byDefault))
		}
	}
	command := e.Command
	if e.Cancel != "" {
		command += ", or: " + e.Cancel
	}
	a.Linef("  %s", a.Styled(console.Dim, command))
}

// nowIs says how a task stands that was reported.
func nowIs(s board.Status) string {
	switch s {
	case board.InReview:
		return "is in review"
	case board.Landing:
		return "waits to be landed"
	}
	return "is done"
}

// SendBack is the command that sends the work of a task back that was reported; empty if there is none.
func SendBack(task string, s board.Status) string {
	switch s {
	case board.InReview:
		return fmt.Sprintf("bossman task review %s reject -m TEXT", task)
	case board.Landing:
		return fmt.Sprintf("bossman land return %s -m TEXT", task)
	}
	return ""
}

// TooLate says what became of a task whose worker has reported without an answer; empty if it has not.
func TooLate(t board.Task) string {
	id := t.ID.String()
	switch t.Status {
	case board.InReview, board.Landing:
		return fmt.Sprintf("%s was reported without this answer, and %s. If the work does not follow it: %s", id, nowIs(t.Status), SendBack(id, t.Status))
	case board.Done:
		return fmt.Sprintf("%s was reported without this answer, and is done. If the work does not follow it: bossman task reopen %s", id, id)
	}
	return ""
}
