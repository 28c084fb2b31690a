package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
)

var listQuestions = &definition{
	name:  "list_questions",
	about: "List questions to people; by default the open ones.",
	props: []prop{
		{name: "state", kind: text, enum: []string{"open", "answered", "withdrawn", "all"}, about: "default open", aliases: []string{"status"}},
		{name: "project", kind: text, about: "only questions of this project"},
		{name: "limit", kind: number, about: "how many; default 20", max: maxRows},
		{name: "cursor", kind: text, about: "cursor from the previous answer"},
	},
	run: run(findQuestions),
}

func findQuestions(ctx context.Context, t *Tools, k *caller, in struct {
	State   string `json:"state"`
	Project string `json:"project"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
},
) (*answer, error) {
	e := action{what: "Not listed."}
	f := board.QuestionFilter{State: board.QuestionOpen}
	var err error
	if f.Projects, err = k.among(in.Project); err != nil {
		return nil, err
	}
	switch in.State {
	case "":
	case "all":
		f.State = ""
	default:
		f.State = board.QuestionState(in.State)
	}
	if in.Cursor != "" {
		if f.After, err = board.ParseQuestionID(in.Cursor); err != nil {
			e.next = "Next: repeat the call without a cursor."
			return nil, k.refuse(e, err)
		}
	}
	rows := in.Limit
	if rows == 0 {
		rows = defaultRows
	}
	f.Limit = rows + 1
	qs, err := t.b.Questions(ctx, f)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	_, now, err := t.b.Workers(ctx, 0)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	w := wireList[wireQuestion]{Items: []wireQuestion{}}
	if len(qs) > rows {
		qs = qs[:rows]
		w.Cursor = qs[rows-1].ID.String()
	}
	var lines []string
	for _, q := range qs {
		earlier, err := board.Chat(ctx, t.b, q, maxTurns)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		w.Items = append(w.Items, wireQuestionOf(q))
		lines = append(lines, questionRow(q, now)+turnsText(earlier))
	}
	switch {
	case lines == nil:
		lines = append(lines, "No matching questions.")
	case f.State == board.QuestionOpen:
		if i := slices.IndexFunc(qs, func(q board.Question) bool { return !q.HumanOnly }); i >= 0 {
			lines = append(lines, "Answer with "+call("answer_question", "question", qs[i].ID.String(), "answer", "…")+".")
		} else {
			lines = append(lines, "People answer these in bossman inbox; you cannot.")
		}
	}
	if w.Cursor != "" {
		lines = append(lines, fmt.Sprintf("For more, repeat the call with \"cursor\":%q.", w.Cursor))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}

// questionRow describes a question in one to four lines.
func questionRow(q board.Question, now time.Time) string {
	row := q.ID.String() + " " + string(q.State)
	if !q.Claim.IsZero() {
		row += " about " + q.Claim.Task.String()
	}
	if q.Blocking {
		row += ", blocking"
	}
	if q.HumanOnly {
		row += ", only for a person"
	}
	if q.State == board.QuestionOpen && !q.NeededBy.IsZero() && now.After(q.NeededBy) {
		row += ", overdue"
	}
	if q.AskerLeft() {
		row += ", " + leftText(q)
	}
	row += ", asked by an agent " + since(now, q.AskedAt) + ": " + inline(q.Text, 300)
	if len(q.Options) > 0 {
		row += "\n    options: " + inlineList(q.Options, 300)
	}
	if q.Default != "" {
		row += "\n    default: " + inline(q.Default, 200)
	}
	if q.State == board.QuestionAnswered {
		row += "\n    " + answeredBy(q) + ": " + inline(q.Answer, 300)
	}
	return row
}

// leftText says who gets the answer to a question whose asker has left.
func leftText(q board.Question) string {
	if q.Claim.IsZero() {
		return "its asker has left, so nobody waits for the answer"
	}
	return fmt.Sprintf("its asker has left, so the next worker of %v, if there is one, gets the answer", q.Claim.Task)
}

// maxTurns is how many earlier questions of a conversation are shown.
const maxTurns = 5

// turnsText shows what was asked before in the same conversation, a line each.
func turnsText(earlier []board.Question) string {
	s := ""
	for _, q := range earlier {
		s += fmt.Sprintf("\n    earlier, %v: %s", q.ID, inline(q.Text, 200))
		if q.State == board.QuestionAnswered {
			s += fmt.Sprintf(" %s: %s", answeredBy(q), inline(q.Answer, 200))
		} else {
			s += " (" + string(q.State) + ")"
		}
	}
	return s
}

var answerQuestion = &definition{
	name:  "answer_question",
	about: "Answer a worker's question if you know what the people you work for want. You cannot answer your own question or a human_only one.",
	props: []prop{
		{name: "question", kind: text, required: true, about: "question id, such as q-18", aliases: []string{"id", "question_id"}},
		{name: "answer", kind: text, required: true, about: "the decision, and why if that helps", aliases: []string{"text", "message"}},
	},
	run: run(giveAnswer),
}

func giveAnswer(ctx context.Context, t *Tools, k *caller, in struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
},
) (*answer, error) {
	q, err := k.question(ctx, in.Question)
	if err != nil {
		return nil, err
	}
	e := action{what: "Not answered.", next: "Next: " + call("list_questions") + "."}
	if q.HumanOnly {
		e.next = "Leave it to a person; it is in their inbox."
	}
	if q, err = t.b.Answer(ctx, k.Actor, q.ID, in.Answer); err != nil {
		return nil, k.refuse(e, err)
	}
	t.server.ResourceUpdated(questionsURI, q.Project)
	s := fmt.Sprintf("%v is answered: %s.", q.ID, inline(q.Answer, 200))
	if !q.Claim.IsZero() {
		s += fmt.Sprintf(" %v can continue.", q.Claim.Task)
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}
