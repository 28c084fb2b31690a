package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/boardtext"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
)

// personHelp is the end of the help of commands that are for people.
const personHelp = `
This command is for people. It needs a terminal and refuses to run in an agent's shell,
which it recognizes by variables such as CLAUDECODE, CODEX_SANDBOX or GEMINI_CLI. In a
script of your own that has no terminal, set BOSSMAN_PERSON=1. This guards against
accidents, not against an agent that pretends to be a person.`

func (a *app) answerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "answer [QUESTION [TEXT…]]", Short: "Answer a question of an agent",
		Example: "  bossman answer q-18 Use PostgreSQL\n  bossman answer q-18       # shows it and asks\n  bossman answer            # goes through all open questions",
		Long:    "Answer answers a question. Only the first answer counts. The number of an\noption stands for the option.\n" + personHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			terminal, err := a.RequirePerson()
			if err != nil {
				return err
			}
			if len(args) < 2 && (!terminal || a.JSON) {
				return console.Usagef("name the question and the answer: bossman answer q-18 TEXT")
			}
			o, slug, err := a.openProject(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.answerAll(cmd.Context(), o, slug)
			}
			id, err := board.ParseQuestionID(args[0])
			if err != nil {
				return err
			}
			q, err := o.Question(cmd.Context(), id)
			if err != nil {
				return questionNotFound(err, id)
			}
			text, err := chosen(q, strings.Join(args[1:], " "))
			if err != nil {
				return err
			}
			if text == "" {
				if text, err = a.askPerson(cmd.Context(), o, q); err != nil {
					return err
				}
			}
			return a.answer(cmd.Context(), o, id, text)
		},
	}
}

func (a *app) answer(ctx context.Context, o *openBoard, id board.QuestionID, text string) error {
	q, err := o.Answer(ctx, a.actor(), id, text)
	if err != nil {
		return questionNotFound(err, id)
	}
	if a.JSON {
		return a.PrintJSON(boardjson.FromQuestion(q, q.AnsweredAt))
	}
	a.Field("", console.Text(q.ID.String()+" is answered:"), console.Text(q.Answer))
	if q.Claim.IsZero() {
		return nil
	}
	d, reasons, err := o.Why(ctx, q.Claim.Task)
	if err != nil {
		return err
	}
	obstacle := board.Obstacle(reasons)
	switch asker := console.OneLine(q.Asker.Name); {
	case d.Task.Status == board.Pending && obstacle != nil:
		a.Linef("%s", a.Styled(console.Dim, fmt.Sprintf("%v is not handed out yet. %s", d.Task.ID, console.OneLine(boardtext.Why(d.Task.ID, *obstacle)))))
	case d.Task.ReservedFor == q.Asker:
		a.Linef("%s", a.Styled(console.Dim, fmt.Sprintf("%v is pending again and reserved for %s for 10 minutes.", d.Task.ID, asker)))
	case d.Task.Ready():
		a.Linef("%s", a.Styled(console.Dim, fmt.Sprintf("%v is ready for any agent: %s is not connected.", d.Task.ID, asker)))
	case d.Claim != nil && d.Claim.Worker == q.Asker:
		a.Linef("%s", a.Styled(console.Dim, fmt.Sprintf("%s is working on %v and gets the answer with its next call.", asker, d.Task.ID)))
	default:
		if text := boardtext.TooLate(d.Task); text != "" {
			a.Linef("%s", text)
		}
	}
	return nil
}

// answerAll asks for an answer to each open question.
func (a *app) answerAll(ctx context.Context, o *openBoard, slug string) error {
	open, err := o.Questions(ctx, board.QuestionFilter{Projects: []string{slug}, State: board.QuestionOpen})
	if err != nil {
		return err
	}
	if len(open) == 0 {
		return console.Errorf(console.NothingToDo, "", "no question is open")
	}
	for _, q := range open {
		text, err := a.askPerson(ctx, o, q)
		if errors.Is(err, errSkipped) {
			continue
		}
		if err != nil {
			return err
		}
		if err := a.answer(ctx, o, q.ID, text); err != nil {
			return err
		}
	}
	return nil
}

var errSkipped = errors.New("no answer was given; the question stays open")

// askPerson shows a question and reads the answer from the terminal. A number chooses an
// option. The error is errSkipped for an empty line.
func (a *app) askPerson(ctx context.Context, o *openBoard, q board.Question) (string, error) {
	if err := q.CheckOpen(); err != nil {
		return "", err
	}
	shown := boardjson.FromQuestion(q, q.AskedAt)
	earlier, err := board.Chat(ctx, o, q, 5)
	if err != nil {
		return "", err
	}
	shown.Earlier = boardjson.FromQuestions(earlier, time.Time{})
	boardtext.InboxEntry(a.Console, boardjson.InboxEntry{
		Kind: "question", ID: q.ID.String(), Title: q.Text, Task: q.Claim.Task.String(), Asked: &shown, Command: "an empty line skips it",
	}, time.Time{})
	text, err := a.Prompt(ctx, "answer> ")
	if err != nil {
		return "", err
	}
	if text, err = chosen(q, text); err == nil && text == "" {
		err = errSkipped
	}
	return text, err
}

// chosen is the answer that a person typed: a number chooses an option, as they are shown.
// The number of no option is a mistake, and not an answer.
func chosen(q board.Question, text string) (string, error) {
	number, marked := strings.CutPrefix(text, "#")
	n, err := strconv.Atoi(number)
	own := slices.Index(q.Options, text) // the option with this text
	switch {
	case err != nil || len(q.Options) == 0 || own >= 0 && (own == n-1 || n < 1 || n > len(q.Options)):
		return text, nil
	case own >= 0 && !marked:
		return "", console.Errorf(console.Usage, fmt.Sprintf("#%d chooses %q, and #%d chooses %q", own+1, text, n, q.Options[n-1]),
			"%q is one of the options of %v, and the number of another one", text, q.ID)
	case n >= 1 && n <= len(q.Options):
		return q.Options[n-1], nil
	}
	var shown []string
	for i, option := range q.Options {
		shown = append(shown, fmt.Sprintf("%d %q", i+1, console.OneLine(option)))
	}
	return "", console.Errorf(console.Usage, "choose one by its number, or write the answer in words",
		"%v has no option %d; its options are: %s", q.ID, n, strings.Join(shown, ", "))
}

func questionNotFound(err error, id board.QuestionID) error {
	if errors.Is(err, board.ErrNotFound) {
		return console.Errorf(console.NotFound, "bossman inbox shows what is open", "there is no question %v on this board", id)
	}
	return err
}
