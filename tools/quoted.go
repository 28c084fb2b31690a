package tools

import (
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
	"github.com/bossman-dev/bossman/mcp"
)

// What people and agents wrote must not pass for the board's own words: a description could
// fake an answer of a person, or the call that ends a task. So all of it goes through block
// or inline before it becomes a part of a text that a model reads. What it looks like plays
// no part, because there are more look-alikes of a heading than anybody can list.

// block quotes a text of others, each line behind "> ".
func block(s string) string {
	var b strings.Builder
	for i, l := range visible.Lines(strings.TrimRight(s, "\r\n\t ")) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight("> "+l, " "))
	}
	if b.Len() == 1 {
		return ""
	}
	return b.String()
}

// inline quotes a text of others in quotation marks, on one line and cut to n bytes.
func inline(s string, n int) string {
	return string(quote(visible.Cut(visible.Line(s), n)))
}

// maxDecided bounds what a hand-out has of an answer, of a comment, and of a reason to reject or return
// work: its next worker needs them to the last word.
const maxDecided = 2000

// decided quotes what somebody decided about a task. If it is cut, the call follows that has all of it.
func decided(id board.ID, s string) string {
	return decidedOr(s, "get_task", "task", id.String(), "detail", "full")
}

// answered quotes the answer to a question, likewise.
func answered(q board.Question) string {
	return decidedOr(q.Answer, "get_answer", "question", q.ID.String())
}

func decidedOr(s, tool string, args ...any) string {
	quoted := inline(s, maxDecided)
	if len(visible.Line(s)) > maxDecided {
		quoted += " [truncated; full text: " + call(tool, args...) + "]"
	}
	return quoted
}

// inlineList quotes each of the texts, as many as fit into n bytes.
func inlineList(texts []string, n int) string {
	quoted := make([]string, len(texts))
	for i, s := range texts {
		quoted[i] = inline(s, n)
	}
	return joinUpTo(quoted, ", ", n)
}

// inlineSome is inlineList for some of a list, which has more.
func inlineSome(texts []string, more, n int) string {
	s := inlineList(texts, n)
	if more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// someFiles names files, a few of many.
func someFiles(files []string) string {
	const most = 20
	return inlineSome(files[:min(len(files), most)], len(files)-most, 1000)
}

// joinUpTo joins the first of the parts, as many as fit into n bytes. No part is cut, so that
// no quotation mark stays open.
func joinUpTo(parts []string, sep string, n int) string {
	var b strings.Builder
	for i, s := range parts {
		if i > 0 && b.Len()+len(s) > n {
			return b.String() + sep + "…"
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
	}
	return b.String()
}

// author names who wrote a text, and whether that is a person or an agent.
func author(kind board.ActorKind, name string) string {
	switch {
	case kind == board.ByAgent && (name == "" || name == localPrincipal):
		return "an agent"
	case name == "":
		return "somebody"
	case kind == board.ByImport || strings.HasPrefix(name, board.ImportBy):
		return "the " + inline(name, 160)
	}
	return kind.Named(inline(name, 40))
}

// localPrincipal is the name of everybody without one, on a board in a file.
const localPrincipal = "local"

// eventAuthor names who wrote the text of an event. A worker is not named, because models
// take names that they see for their own.
func eventAuthor(e board.Event) string {
	agent := e.Detail.By == board.ByAgent || e.Detail.By == "" && e.Detail.Worker != ""
	if agent && !strings.HasSuffix(e.Actor, agentSuffix) {
		return "an agent"
	}
	return author(e.Detail.By, e.Actor)
}

// specAuthor names who wrote a part of a task's spec, by the events that are known: "title",
// "description" or "acceptance".
func specAuthor(d board.Dossier, field string) string {
	who, seen := "", 1
	for _, e := range d.Events {
		switch {
		case e.Kind == board.EventCreated && who == "":
			who = eventAuthor(e)
			if e.Redoes() { // others may have written what is repeated
				who += ", who repeats an earlier task"
			}
		case e.Kind == board.EventImported:
			who = "import of " + eventAuthor(e)
		case e.Kind == board.EventEdited:
			seen = max(seen, e.Detail.SpecNow)
			for _, f := range e.Detail.Fields {
				if f == field {
					who = eventAuthor(e)
				}
			}
		}
	}
	if who == "" {
		who = author("", d.Task.CreatedBy)
	}
	if d.Task.SpecVersion > seen {
		who += ", edited since"
	}
	return who
}

// content is a text for a model. Nothing hidden is in it, whichever way it came.
func content(s string) mcp.Content { return mcp.Text(visible.Text(s)) }
