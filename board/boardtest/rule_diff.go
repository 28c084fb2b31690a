package boardtest

import (
	"bytes"
	"strings"

	"github.com/bossman-dev/bossman/board"
)

// diff reads the diff of an attempt, 0: the newest one.
func (f *fixture) diff(id board.ID, attempt int) board.AttemptDiff {
	f.Helper()
	d, err := f.board.Diff(f.ctx, id, attempt)
	f.ok(err)
	return d
}

var sampleDiff = board.Diff{
	Base: strings.Repeat("a", 40), Tip: strings.Repeat("b", 40), More: 3,
	Files: []board.FileDiff{
		{Path: "a é\n.go", Kind: "M", Mode: "100755", Added: 1, Removed: 1, Size: 7, Patch: "@@ -1 +1 @@\n-a\n+b\n"},
		{Path: "new", From: "old", Kind: "R", Size: 1 << 40, Left: "large"},
	},
}

// withDiff makes a report one of the sample.
func withDiff(r *board.Report) {
	r.Diff = sampleDiff
	r.Tip = board.Tip{Commit: sampleDiff.Tip, Tree: strings.Repeat("c", 40), Base: sampleDiff.Base}
}

var ruleDiffs = group{"diffs", []test{
	{"what an attempt changed is kept with it", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyPerson})
		x := f.agent("x")
		h := x.take(f.create("a"))
		f.equal("before a report", f.diff(h.Task, 0), board.AttemptDiff{})
		_, err := x.report(h, withDiff)
		f.ok(err)
		f.equal("diff", f.diff(h.Task, 0), board.AttemptDiff{Attempt: 1, Diff: sampleDiff})
		_, err = f.board.Review(f.ctx, ada, h.Task, board.Decision{Verdict: board.Reject, Note: "no tests"})
		f.ok(err)
		y := f.agent("y")
		second := y.take(h.Task)
		f.equal("of the last report", f.diff(h.Task, 0).Attempt, 1)
		_, err = y.report(second, func(r *board.Report) { r.Diff = board.Diff{Withheld: true} })
		f.ok(err)
		f.equal("withheld", f.diff(h.Task, 0), board.AttemptDiff{Attempt: 2, Diff: board.Diff{Withheld: true}})
		f.equal("the first one", f.diff(h.Task, 1), board.AttemptDiff{Attempt: 1, Diff: sampleDiff})
		f.equal("one that is not there", f.diff(h.Task, 7), board.AttemptDiff{})
		_, err = f.board.Diff(f.ctx, board.ID{Project: project, No: 999}, 0)
		f.is("of no task", err, board.ErrNotFound)
	}},
	{"the same report is the same with another diff", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		_, err := x.report(h, withDiff)
		f.ok(err)
		again, err := x.report(h)
		f.ok(err)
		f.equal("again", again.Again, true)
		f.equal("diff", f.diff(h.Task, 1).Diff, sampleDiff)
	}},
	{"a diff that is too long or makes no sense is refused", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		long := board.FileDiff{Path: "a", Kind: "M", Patch: strings.Repeat("+x\n", board.MaxFileDiff/3)}
		for name, d := range map[string]board.Diff{
			"many":     {Files: make([]board.FileDiff, board.MaxDiffFiles+1)},
			"long":     {Files: []board.FileDiff{long, long, long, long, long, long, long, long, long}},
			"one":      {Files: []board.FileDiff{{Path: "a", Kind: "M", Patch: long.Patch + long.Patch}}},
			"kind":     {Files: []board.FileDiff{{Path: "a", Kind: "\x1b"}}},
			"left":     {Files: []board.FileDiff{{Path: "a", Kind: "M", Left: "no"}}},
			"no path":  {Files: []board.FileDiff{{Kind: "M"}}},
			"nul":      {Files: []board.FileDiff{{Path: "a", Kind: "M", Patch: "\x00"}}},
			"negative": {Files: []board.FileDiff{{Path: "a", Kind: "M", Added: -1}}},
			"commit":   {Tip: "HEAD"},
			"another":  sampleDiff, // than what is reported
			"withheld": {Withheld: true, Files: []board.FileDiff{{Path: "a", Kind: "M"}}},
		} {
			_, err := x.report(h, func(r *board.Report) { r.Diff = d })
			f.is(name, err, board.ErrInvalid)
		}
	}},
	{"diffs leave the board with their tasks, and come back", func(f *fixture) {
		x := f.agent("x")
		h := x.take(f.create("a"))
		_, err := x.report(h, withDiff)
		f.ok(err)
		place := f.archive(1)
		if !bytes.Contains(place.Bytes(), []byte("\"type\":\"diff\"")) {
			f.Errorf("the archive has no diff:\n%.2000s", place.String())
		}
		_, err = f.board.Import(f.ctx, ada, project, place.lines(), nil)
		f.ok(err)
		f.equal("diff", f.diff(h.Task, 0), board.AttemptDiff{Attempt: 1, Diff: sampleDiff})
	}},
	{"comments on the work reach the next attempt with the rejection", func(f *fixture) {
		f.project(board.Project{Slug: project, Policy: board.PolicyReview})
		x := f.agent("x")
		h := x.take(f.create("a"))
		one := board.Comment{File: "main.go", Line: 12, Text: "no test"}
		f.is("before the report", f.board.Comment(f.ctx, ada, h.Task, []board.Comment{one}), board.ErrConflict)
		x.done(h)
		f.is("by its worker", f.board.Comment(f.ctx, x.actor, h.Task, []board.Comment{one}), board.ErrDenied)
		for name, c := range map[string]board.Comment{"no file": {Text: "t"}, "no text": {File: "f"}, "line": {File: "f", Line: -1, Text: "t"}} {
			f.is(name, f.board.Comment(f.ctx, ada, h.Task, []board.Comment{c}), board.ErrInvalid)
		}
		f.is("none", f.board.Comment(f.ctx, ada, h.Task, nil), board.ErrInvalid)
		f.ok(f.board.Comment(f.ctx, ada, h.Task, []board.Comment{one}))
		f.equal("history", f.event(h.Task, board.EventCommented).Detail.Text, "main.go:12: no test")
		f.status(h.Task, board.InReview)
		one.By, one.As = ada.String(), ada.Kind()
		f.equal("collected", f.get(h.Task).Doc.Result.Comments, []board.Comment{one})
		two := board.Comment{File: "doc", Text: "is old"}
		y := f.agent("y")
		_, err := f.board.Review(f.ctx, y.actor, h.Task, board.Decision{Verdict: board.Reject, Comments: []board.Comment{two}})
		f.ok(err)
		two.By, two.As = y.actor.String(), y.actor.Kind()
		f.equal("with the rejection", f.event(h.Task, board.EventRejected).Detail.Comments, []board.Comment{one, two})
		z := f.agent("z")
		h = z.take(h.Task)
		z.done(h)
		f.equal("of another report", len(f.get(h.Task).Doc.Result.Comments), 0)
		_, err = f.board.Review(f.ctx, ada, h.Task, board.Decision{Verdict: board.Reject})
		f.is("a rejection without a word", err, board.ErrInvalid)
		many := make([]board.Comment, 60)
		for i := range many {
			many[i] = board.Comment{File: "f", Line: i, Text: "t"}
		}
		f.ok(f.board.Comment(f.ctx, ada, h.Task, many))
		f.is("more than there may be", f.board.Comment(f.ctx, ada, h.Task, many), board.ErrInvalid)
		_, err = f.board.Review(f.ctx, ada, h.Task, board.Decision{Verdict: board.Accept, Comments: []board.Comment{two}})
		f.ok(err)
		f.equal("of accepted work", len(f.get(h.Task).Doc.Result.Comments), 61)
	}},
}}
