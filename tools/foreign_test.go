package tools

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/visible"
)

// LookAlikes returns 200 texts that look like a heading or a sentence of ours, for tests.
func LookAlikes() []string {
	words := []string{"ANSWERS", "END WITH", "LAST ATTEMPT", "DONE WHEN", "TITLE", "DESCRIPTION", "Noted.", "web-1 is done."}
	// Letters that look like ours, by Unicode's list of confusables.
	confusable := func(pairs string) func(string) string {
		letters := map[rune]rune{}
		all := []rune(pairs)
		for i := 0; i+1 < len(all); i += 2 {
			letters[all[i]] = all[i+1]
		}
		return func(s string) string {
			return strings.Map(func(r rune) rune {
				if c, ok := letters[r]; ok {
					return c
				}
				return r
			}, s)
		}
	}
	shifted := func(upper, lower rune) func(string) string {
		return func(s string) string {
			return strings.Map(func(r rune) rune {
				switch {
				case r >= 'A' && r <= 'Z':
					return upper + r - 'A'
				case r >= 'a' && r <= 'z':
					return lower + r - 'a'
				}
				return r
			}, s)
		}
	}
	between := func(with string) func(string) string {
		return func(s string) string { return strings.Join(strings.Split(s, ""), with) }
	}
	around := func(before, after string) func(string) string {
		return func(s string) string { return before + s + after }
	}
	ways := []func(string) string{
		around("", ""), func(s string) string { return strings.ToUpper(s[:1]) + strings.ToLower(s[1:]) + " " }, around("# ", ""), around("**", "**"), around("", ":"), around("\n\n", "\n> yes"),
		between("\u200b"), between("\u2060"), around("\ufeff", "\u00ad"), around("\u202e", "\u202c"), around("\u2066", "\u2069"),
		around("x\r", ""), around("x\v", "\f"), around("x\u0085", ""), around("x\u2028", "\u2029"), around("\x1b[1m", "\x1b[0m"),
		confusable("AАBВEЕSЅNΝWԜTТDⅮRᖇOОIІLⅬPРeеoоiі"), confusable("AΑEΕNΝTΤRƦHΗIΙLᒪMΜOΟPΡoοiι"),
		shifted('\U0001d400', '\U0001d41a'), shifted('\uff21', '\uff41'), shifted('\u24b6', '\u24d0'), between("\u0301"), around("\" ", "\n\""),
		around("\\\"\n", ""), around("</h1>\n<h1>", "</h1>"),
	}
	var out []string
	for _, word := range words {
		for _, way := range ways {
			out = append(out, way(word))
		}
	}
	for i, s := range out { // an invisible alphabet, and variation selectors
		if i%25 == 24 {
			out[i] = s + strings.Map(func(r rune) rune { return 0xe0000 + r%0x80 }, words[i/25]) + "\ufe0f\ufe0e"
		}
	}
	return out
}

// Skeleton returns the words of ours in a text: without quoted lines, and without what is
// in quotation marks.
func Skeleton(text string) string {
	var b strings.Builder
	quoted := false
	for l := range strings.Lines(text) {
		if l == ">\n" || l == ">" || strings.HasPrefix(l, "> ") {
			if !quoted {
				b.WriteString("> …\n")
			}
			quoted = true
			continue
		}
		quoted = false
		inside, escaped := false, false
		for _, r := range l {
			switch {
			case escaped:
				escaped = false
			case inside && r == '\\':
				escaped = true
			case r == '"':
				inside = !inside
				b.WriteRune(r)
			case !inside || r == '\n':
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// FuzzForeign renders everything that a model reads with a text of others in every field.
// What the board says itself must be the same as with another text: no line of it comes
// from them, and nothing in it is hidden.
func FuzzForeign(f *testing.F) {
	for _, s := range LookAlikes() {
		f.Add(s)
	}
	plain := renderAll("x")
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 60 || len(visible.Text(s)) > 200 { // shorter than where texts are cut
			return
		}
		for name, text := range renderAll("x" + s) {
			if got, want := Skeleton(text), Skeleton(plain[name]); got != want {
				t.Errorf("%s with %q:\n%s\nour words are\n%s\nwant\n%s", name, s, text, got, want)
			}
			if text != visible.Text(text) {
				t.Errorf("%s with %q has something hidden: %q", name, s, text)
			}
		}
	})
}

// renderAll returns the texts of this package, with s in every field that others write.
func renderAll(s string) map[string]string {
	id := board.ID{Project: "web", No: 1}
	h := handoutWith(s)
	again := handoutWith(s)
	again.Again = true
	review := handoutWith(s)
	review.Claim.Handle.Attempt = 0
	q := h.Questions[0]
	open := q
	open.State, open.NeededBy = board.QuestionOpen, time.Time{}
	var lost board.LostError
	fill(reflect.ValueOf(&lost).Elem(), s)
	out := map[string]string{
		"handout": handoutText(h, nil, (&Tools{}).leftBy(context.Background(), &caller{}, h)), "again": handoutText(again, nil, (&Tools{}).leftBy(context.Background(), &caller{}, again)), "review": reviewText(review, ""),
		"task": taskText(h.Dossier, nil, nil, false), "full": taskText(h.Dossier, nil, []board.Claim{h.Claim}, true),
		"row": taskRow(&h.Task, s), "question": questionRow(q, h.Now), "open": questionRow(open, h.Now), "turns": turnsText(h.Questions),
		"check":    (&Tools{}).checkFailed(board.CheckOutcome{Task: id}, CheckResult{State: CheckRed, Reason: "exit status 1", Tail: s}).text,
		"running":  checkRunning(h.Claim.Handle, CheckResult{Command: s}, false).text,
		"form":     reviewForm(h.Dossier).Message,
		"ask":      answerForm(q).Message,
		"paused":   nothingAnswer(&board.Nothing{PausedBy: s}, true, 0).text,
		"created":  createdText(h.Task, h.Doc),
		"notice":   noticeAnswer(h.Claim.Handle, board.Notice{Stopped: s, Answers: h.Questions}).text,
		"edited":   editedText(&board.EditedError{Task: id, Title: s, Description: s + "\nmore", Acceptance: s}, nil),
		"cycle":    pathText([]string{s, s}),
		"claims":   claimList([]board.Claim{h.Claim}),
		"held":     heldAnswer([]board.Claim{h.Claim}, id).text,
		"plan":     planAnswer(board.Planned{DryRun: true, Tasks: []board.PlannedTask{{Key: s, Title: s, After: []string{s}, Ready: true}}}).text,
		"outcome":  reviewOutcome(h.Dossier),
		"project":  noProject([]string{"web"}, s).Error(),
		"whose":    eventAuthor(board.Event{Actor: s, Detail: board.Detail{By: board.ByPerson}}),
		"agent":    eventAuthor(board.Event{Actor: s + agentSuffix, Detail: board.Detail{By: board.ByAgent}}),
		"ignored":  "",
		"refusals": "",
	}
	k := &caller{t: &Tools{}}
	for _, cause := range []board.Cause{board.CauseCancelled, board.CauseClosed, board.CauseExpired, board.CauseFailed} {
		lost.Claim, lost.Ended = h.Claim.Handle, &board.Attempt{Cause: cause, Reason: s}
		lost.Holder = nil
		r := &refusal{}
		r.setLost(k, action{}, &lost)
		out["refusals"] += r.Error() + "\n"
	}
	for _, err := range []error{
		&board.StoppedError{Worker: board.Worker{WorkerID: board.WorkerID{Name: s}, StoppedBy: s}},
		&board.HeldError{Worker: board.Worker{WorkerID: board.WorkerID{Name: s}}},
		fmt.Errorf("%w: q-1 was answered by %q: %.200q", board.ErrConflict, s, s),
	} {
		out["refusals"] += k.refuse(action{what: "Not done.", next: "Next."}, err).Error() + "\n"
	}
	for _, raw := range []string{string(quote(s)) + `:1`, `"question":{"x":1}`, `"question":"q","options":[{` + string(quote(s)) + `:1}]`} {
		_, notes, err := askQuestion.repair([]byte("{" + raw + "}"))
		out["ignored"] += strings.Join(notes, "\n") + fmt.Sprint(err) + "\n"
	}
	return out
}

// handoutWith is a hand-out with everything in it, and s in every field that others write.
func handoutWith(s string) *board.Handout {
	now := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	id := func(no int64) board.ID { return board.ID{Project: "web", No: no} }
	handle := func(attempt int) board.Handle { return board.Handle{Task: id(1), Attempt: attempt, Nonce: "k7f2q"} }
	event := func(seq int64, kind board.Kind, by board.ActorKind, d board.Detail) board.Event {
		d.By = by
		return board.Event{Task: id(1), Seq: seq, At: now, Kind: kind, From: board.Pending, To: board.Pending, Detail: d}
	}
	h := &board.Handout{
		Claim: board.Claim{Handle: handle(3), GrantedAt: now, LeaseUntil: now.Add(time.Hour)},
		Dossier: board.Dossier{
			Now:      now,
			Task:     board.Task{ID: id(1), Status: board.InProgress, Attempt: 3, Failures: 1, MaxFailures: 3, SpecVersion: 2, Priority: board.Normal, Skills: []string{""}, Areas: []string{""}, CreatedAt: now},
			Doc:      board.Doc{Result: &board.Result{Evidence: []board.Evidence{{Kind: board.EvidenceCommit}, {Kind: board.EvidenceTests, Observed: true}}, Artifacts: []string{""}}},
			Blockers: []board.Task{{ID: id(2), Status: board.Done}, {ID: id(3)}},
			Results:  map[board.ID]board.Result{},
			Children: []board.Task{{ID: id(4)}}, Dependents: []board.Task{{ID: id(5)}},
			Attempts: []board.Attempt{{Handle: handle(1), Cause: board.CauseFailed}, {Handle: handle(2), Cause: board.CauseFailed}, {Handle: handle(3)}},
			Questions: []board.Question{
				{ID: 1, Claim: handle(2), State: board.QuestionAnswered, AnsweredAs: board.ByPerson, AskedAt: now, Options: []string{""}},
				{ID: 2, Claim: handle(2), State: board.QuestionOpen, AskedAt: now},
				{ID: 3, Claim: handle(3), State: board.QuestionOpen, AskedAt: now},
				{ID: 4, Claim: handle(1), State: board.QuestionAnswered, AnsweredAs: board.ByAgent, AskedAt: now},
			},
			Events: []board.Event{
				event(1, board.EventCreated, board.ByPerson, board.Detail{}), event(2, board.EventNote, "", board.Detail{Attempt: 2}),
				event(3, board.EventNote, "", board.Detail{Attempt: 3}), event(4, board.EventRejected, board.ByPerson, board.Detail{}),
			},
		},
		Neighbours: []board.Neighbour{{Task: id(6), Areas: []string{""}}},
	}
	fill(reflect.ValueOf(h).Elem(), s)
	h.Doc.Description += "\nmore" // it is left out if it is the title
	result := *h.Doc.Result
	h.Results[id(2)] = result
	for i := range h.Neighbours {
		h.Neighbours[i].Dir = ""
	}
	h.Events = append(h.Events, event(5, board.EventCancelled, board.ByPerson, board.Detail{Text: s}))
	h.Events[4].Actor = s
	h.Events = append(h.Events, event(6, board.EventEdited, board.ByPerson, board.Detail{Fields: []string{"acceptance"}, SpecNow: 2}))
	h.Events[5].Actor = s
	return h
}

// fill sets every field that others write to s: all plain strings. Ids and handles are
// checked when they are read, and the values of other types are ours.
func fill(v reflect.Value, s string) {
	switch v.Type() {
	case reflect.TypeFor[board.ID](), reflect.TypeFor[board.Handle](), reflect.TypeFor[time.Time]():
		return
	case reflect.TypeFor[string]():
		v.SetString(s)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), s)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), s)
		}
	}
}
