package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/pgtest"
)

var (
	inWeb  = []string{pgtest.HistoryProject}
	inBoth = []string{pgtest.HistoryProject, pgtest.HistoryOther}
)

// actor is the caller of the operation in progress, a process of its own.
func (b *oldBoard) actor() board.Actor {
	return board.Actor{Principal: "bench" + strconv.Itoa(b.calls/1000), Owner: "bench-" + strconv.Itoa(b.calls)}
}

// claim takes a task, as the operation next does.
func (b *oldBoard) claim(ctx context.Context) error {
	h, err := b.board.Next(ctx, b.actor(), board.Wish{Projects: inWeb, Skills: pgtest.HistorySkills})
	if _, ok := errors.AsType[*board.Nothing](err); ok {
		return errDrained
	}
	b.held = append(b.held, h)
	return err
}

// holder is who made the oldest claim that is left.
func (b *oldBoard) holder() (board.Actor, *board.Handout) {
	h := b.held[0]
	return board.Actor{Principal: h.Claim.Worker.Principal, Owner: h.Claim.Owner, Worker: h.Claim.Worker.Name}, h
}

var yearOps = []yearOp{
	{name: "next", run: func(ctx context.Context, b *oldBoard) error { return b.claim(ctx) }},
	{name: "note", run: func(ctx context.Context, b *oldBoard) error {
		a, h := b.holder()
		_, err := b.board.Progress(ctx, a, h.Claim.Handle, board.Note{Text: "looked at the next module"})
		return err
	}},
	{
		name: "done", before: func(ctx context.Context, b *oldBoard) error { return b.claim(ctx) },
		run: func(ctx context.Context, b *oldBoard) error {
			a, h := b.holder()
			b.held = b.held[1:]
			_, err := b.board.Done(ctx, a, h.Claim.Handle, board.Report{Summary: "it is done"})
			return err
		},
	},
	{name: "next, nothing", run: func(ctx context.Context, b *oldBoard) error {
		// Each asks for something else, so that no explanation is used twice.
		i, n := b.calls, len(pgtest.HistoryIdle)
		skills := []string{pgtest.HistoryIdle[i%n], pgtest.HistoryIdle[i/n%n], pgtest.HistoryIdle[i/n/n%n]}
		_, err := b.board.Next(ctx, b.actor(), board.Wish{Projects: inBoth, Skills: skills})
		nothing, ok := errors.AsType[*board.Nothing](err)
		if !ok {
			return errors.Join(errors.New("there was something to hand out"), err)
		}
		if nothing.Unexplained {
			return errors.New("the answer has no explanation")
		}
		return nil
	}},
	listOp("open", 1, board.TaskFilter{Statuses: board.Open}),
	listOp("all", 1, board.TaskFilter{}),
	listOp("ready", 1, board.TaskFilter{Statuses: []board.Status{board.Pending}, Ready: true}),
	listOp("pending", 1, board.TaskFilter{Statuses: []board.Status{board.Pending}}),
	listOp("in progress", 1, board.TaskFilter{Statuses: []board.Status{board.InProgress}}),
	listOp("waiting", 1, board.TaskFilter{Statuses: []board.Status{board.Waiting}}),
	listOp("in review", 1, board.TaskFilter{Statuses: []board.Status{board.InReview}}),
	listOp("failed", 1, board.TaskFilter{Statuses: []board.Status{board.Failed}}),
	listOp("done", 1, board.TaskFilter{Statuses: []board.Status{board.Done}}),
	listOp("cancelled", 1, board.TaskFilter{Statuses: []board.Status{board.Cancelled}}),
	listOp("failed or cancelled", 1, board.TaskFilter{Statuses: []board.Status{board.Failed, board.Cancelled}}),
	listOp("drafts", 1, board.TaskFilter{Hold: true}),
	listOp("stuck", 1, board.TaskFilter{Stuck: true}),
	listOp("resting", 1, board.TaskFilter{Resting: true}),
	listOp("by skill, open", 1, board.TaskFilter{Statuses: board.Open, Skill: "s5"}),
	listOp("by skill, all", 1, board.TaskFilter{Skill: "s5"}),
	listOp("by a skill without tasks", 0, board.TaskFilter{Skill: "none"}),
	listOp("by worker", -1, board.TaskFilter{Statuses: board.Open, Worker: "nobody"}),
	listOp("by parent", 1, board.TaskFilter{Parent: board.ID{Project: pgtest.HistoryProject, No: 10}}),
	listOp("second page", 1, board.TaskFilter{Statuses: board.Open, After: board.ID{Project: pgtest.HistoryProject, No: 100}}),
	listOp("search, open, a rare word", -1, board.TaskFilter{Statuses: board.Open, Query: pgtest.HistoryRare}),
	listOp("search, all, a rare word", 1, board.TaskFilter{Query: pgtest.HistoryRare}),
	listOp("search, open, a common word", 1, board.TaskFilter{Statuses: board.Open, Query: pgtest.HistoryCommon}),
	listOp("search, all, a common word", 1, board.TaskFilter{Query: pgtest.HistoryCommon}),
	listOp("search, all, no such word", 0, board.TaskFilter{Query: "xylophone"}),
	listOp("search, open, two letters", -1, board.TaskFilter{Statuses: board.Open, Query: "qx"}),
	listOp("search, all, two letters", -1, board.TaskFilter{Query: "qx"}),
	{name: "status", run: status},
	{name: "inbox", run: func(ctx context.Context, b *oldBoard) error {
		_, err := b.board.Inbox(ctx, pgtest.HistoryProject)
		return err
	}},
	{name: "workers of the last day", run: func(ctx context.Context, b *oldBoard) error {
		_, _, err := b.board.Workers(ctx, 24*time.Hour)
		return err
	}},
	{name: "metrics", run: func(ctx context.Context, b *oldBoard) error {
		if _, err := b.board.Counts(ctx); err != nil {
			return err
		}
		_, err := b.board.Questions(ctx, board.QuestionFilter{State: board.QuestionOpen, Limit: 1000})
		return err
	}},
	feedOp("feed, the end, all projects", nil, false),
	feedOp("feed, the end, one project", inWeb, false),
	feedOp("feed, the first page, all projects", nil, true),
	feedOp("feed, the first page, one project", inWeb, true),
	{
		name: "Leave", before: func(ctx context.Context, b *oldBoard) error { return b.claim(ctx) },
		run: func(ctx context.Context, b *oldBoard) error {
			h := b.held[len(b.held)-1]
			b.held = b.held[:len(b.held)-1]
			return b.board.Leave(ctx, h.Claim.Owner)
		},
	},
}

// listOp lists the first 20 tasks; want is how many there must be at least, or -1.
func listOp(name string, want int, f board.TaskFilter) yearOp {
	f.Projects = inWeb
	f.Limit = 21
	return yearOp{name: "list " + name, run: func(ctx context.Context, b *oldBoard) error {
		ts, err := b.board.List(ctx, f)
		if err == nil && (want >= 0 && len(ts) < want || want == 0 && len(ts) > 0) {
			err = fmt.Errorf("%d tasks, want %d", len(ts), want)
		}
		return err
	}}
}

// status is what `bossman status` asks a board for.
func status(ctx context.Context, b *oldBoard) error {
	if _, err := b.board.Project(ctx, pgtest.HistoryProject); err != nil {
		return err
	}
	s, err := b.board.Summary(ctx, pgtest.HistoryProject)
	if err != nil {
		return err
	}
	if _, err := b.board.Inbox(ctx, pgtest.HistoryProject); err != nil {
		return err
	}
	f := board.TaskFilter{Projects: inWeb, Statuses: []board.Status{board.InProgress, board.InReview}, IDs: []board.ID{}}
	for _, c := range s.Claims {
		f.IDs = append(f.IDs, c.Task)
	}
	_, err = b.board.List(ctx, f)
	return err
}

func feedOp(name string, projects []string, first bool) yearOp {
	return yearOp{name: name, run: func(ctx context.Context, b *oldBoard) error {
		var at board.Cursor
		if !first {
			end, err := b.board.FeedEnd(ctx)
			if err != nil {
				return err
			}
			at = end
		}
		es, err := b.board.Feed(ctx, projects, at, 100)
		if err == nil && first && len(es) < 100 {
			err = fmt.Errorf("a page of %d events", len(es))
		}
		return err
	}}
}

func databaseSize(ctx context.Context, dsn string) (size float64, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT pg_database_size(current_database())::float8").Scan(&size)
	return size, err
}
