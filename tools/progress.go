package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

var reportProgress = &definition{
	name:  "report_progress",
	about: "Record progress on your task, for people watching and for the next worker. The answer includes news: answers, edits, a stop.",
	props: []prop{
		{name: "claim", kind: text, required: true, about: claimAbout, aliases: claimNames},
		{name: "note", kind: text, required: true, about: "what is done and what comes next, in a sentence or two", aliases: []string{"text", "message", "progress", "summary"}},
		{name: "percent", kind: number, about: "percentage done", max: 100},
		{name: "branch", kind: text, about: "the git branch your work is on"},
	},
	run: run(progress),
}

func progress(ctx context.Context, t *Tools, k *caller, in struct {
	Claim   string `json:"claim"`
	Note    string `json:"note"`
	Percent int    `json:"percent"`
	Branch  string `json:"branch"`
},
) (*answer, error) {
	e := action{what: "Not recorded."}
	h, err := k.claim(ctx, e, in.Claim)
	if err != nil {
		return nil, err
	}
	e.claim = h
	where, remark := t.place(ctx, k, h, in.Branch)
	n, err := t.b.Progress(ctx, k.Actor, h, board.Note{Text: in.Note, Percent: in.Percent, Where: where})
	if err != nil {
		return nil, k.refuse(e, err)
	}
	n.Answers = t.unseen(h, n.Answers)
	a := noticeAnswer(h, n)
	if remark != "" {
		a.more = append(a.more, remark)
	}
	return a, nil
}

// unseen returns the answers that were not yet shown to the holder of a claim, and marks
// them as shown.
func (t *Tools) unseen(h board.Handle, answers []board.Question) []board.Question {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.seen) > 10_000 {
		clear(t.seen)
	}
	var fresh []board.Question
	for _, q := range answers {
		key := h.String() + " " + q.ID.String()
		if !t.seen[key] {
			t.seen[key] = true
			fresh = append(fresh, q)
		}
	}
	return fresh
}

// finishFirst tells the holder of a task what to do while tasks that come first are not done.
func finishFirst(h board.Handle) string {
	return fmt.Sprintf("leave your work on its branch and give %v back: %s. It is handed out again when they are done.",
		h.Task, call("report_task_failed", "claim", h.String(), "kind", "not_now", "reason", "…"))
}

// noticeAnswer confirms a note and adds the news: edits, answers, a stop.
func noticeAnswer(h board.Handle, n board.Notice) *answer {
	lines := []string{"Noted."}
	w := wireNotice{Edited: n.Edited, StoppedBy: n.Stopped}
	if n.Edited {
		lines = append(lines, "The task was edited after you got it. Read it again: "+call("get_task", "task", h.Task.String(), "detail", "full")+".")
	}
	if n.Unfinished != nil {
		lines = append(lines, n.Unfinished.Why()+" A report of done is refused until then: "+finishFirst(h))
	}
	for _, q := range n.Answers {
		w.Answered = append(w.Answered, q.ID.String())
		lines = append(lines, fmt.Sprintf("%v %s: %s", q.ID, answeredBy(q), answered(q)))
	}
	if n.Stopped != "" {
		lines = append(lines, "Cancelled: stop. "+inline(n.Stopped, 40)+" told you to stop; leave your work on its branch and end your turn.")
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}
}
