package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/mcp"
)

// What only leads do: look at all of the board, change tasks, judge and answer.

const (
	usualRows = 20
	mostRows  = 50
)

var listTasks = &definition{
	name:  "list_tasks",
	about: "List tasks, oldest first, one short line each. get_task has the rest.",
	props: []prop{
		{name: "status", kind: text, enum: append([]string{"ready", "open"}, texts(board.Statuses)...), about: "filter by status; open means not done and not cancelled", also: []string{"state"}},
		{name: "query", kind: text, about: "words in title or description", also: []string{"search", "text"}},
		{name: "skill", kind: text, about: "only those that want this skill"},
		{name: "worker", kind: text, about: "only what this worker holds"},
		{name: "project", kind: text, about: "only of this project"},
		{name: "limit", kind: number, about: "how many; 20 if not given", most: mostRows},
		{name: "cursor", kind: text, about: "cursor from the previous answer"},
	},
	run: run(listed),
}

func listed(ctx context.Context, t *Tools, k *caller, in struct {
	Status  string `json:"status"`
	Query   string `json:"query"`
	Skill   string `json:"skill"`
	Worker  string `json:"worker"`
	Project string `json:"project"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
},
) (*answer, error) {
	e := errand{not: "Not listed."}
	f := board.TaskFilter{Query: in.Query, Skill: strings.ToLower(in.Skill), Worker: in.Worker}
	var err error
	if f.Projects, err = k.among(in.Project); err != nil {
		return nil, err
	}
	switch in.Status {
	case "":
	case "ready":
		f.Ready = true
	case "open":
		f.Statuses = []board.Status{board.Pending, board.InProgress, board.Waiting, board.InReview, board.Failed}
	default:
		f.Statuses = []board.Status{board.Status(in.Status)}
	}
	if in.Cursor != "" {
		f.After, err = board.ParseID(in.Cursor)
		if err == nil && !slices.Contains(f.Projects, f.After.Project) {
			err = fmt.Errorf("%w: the cursor is of another list", board.ErrInvalid)
		}
		if err != nil {
			e.next = "Next: the same call without a cursor."
			return nil, k.refuse(e, err)
		}
	}
	rows := in.Limit
	if rows == 0 {
		rows = usualRows
	}
	f.Limit = rows + 1
	tasks, err := t.b.List(ctx, f)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	w := wireList[wireTask]{Items: []wireTask{}}
	if len(tasks) > rows {
		tasks = tasks[:rows]
		w.Cursor = tasks[rows-1].ID.String()
	}
	holders := map[board.ID]string{}
	for _, p := range f.Projects {
		claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: p})
		if err != nil {
			return nil, k.refuse(e, err)
		}
		for _, c := range claims {
			holders[c.Task] = c.Worker.Name
		}
	}
	var lines []string
	for _, task := range tasks {
		w.Items = append(w.Items, wireOf(task, board.Doc{}))
		lines = append(lines, taskRow(&task, holders[task.ID]))
	}
	if lines == nil {
		lines = append(lines, "No such tasks.")
	}
	if w.Cursor != "" {
		lines = append(lines, fmt.Sprintf("More: the same call with \"cursor\":%q.", w.Cursor))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}

// taskRow is a task in one line.
func taskRow(t *board.Task, holder string) string {
	row := t.ID.String() + " " + stateOf(t)
	if t.Priority != board.Normal {
		row += " " + t.Priority.String()
	}
	if holder != "" {
		row += " by " + holder
	}
	if t.Failures > 0 {
		row += fmt.Sprintf(" (%d of %d tries failed)", t.Failures, t.MaxFailures)
	}
	return row + ": " + oneLine(t.Title, 80)
}

var updateTask = &definition{
	name:  "update_task",
	about: "Edit a task. Omitted fields stay unchanged; lists are replaced. hold:false starts a held task. Its holder is notified. To change the status, use the report, cancel and review tools.",
	props: append(taskProps(
		prop{name: "task", kind: text, must: true, about: "its id", also: taskNames},
		prop{name: "title", kind: text, about: "one line"},
		prop{name: "description", kind: text, about: "what is to be done"},
	),
		prop{name: "max_failures", kind: number, about: "how many tries may fail", most: 100},
	),
	hints:     mcp.ToolAnnotations{IdempotentHint: true},
	elsewhere: map[string]string{"status": "The status changes by report_task_done and report_task_failed, cancel_task and review_task; hold:false starts a held task."},
	run:       run(update),
}

func update(ctx context.Context, t *Tools, k *caller, in struct {
	Task        string                `json:"task"`
	Title       *string               `json:"title"`
	Description *string               `json:"description"`
	Acceptance  *string               `json:"acceptance"`
	Priority    *string               `json:"priority"`
	Skills      *[]string             `json:"skills"`
	Areas       *[]string             `json:"areas"`
	DependsOn   *[]string             `json:"depends_on"`
	Parent      *string               `json:"parent"`
	Evidence    *[]board.EvidenceKind `json:"evidence"`
	Hold        *bool                 `json:"hold"`
	MaxFailures *int                  `json:"max_failures"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	e := errand{not: "Not changed.", task: id}
	edit := board.Edit{
		Title: in.Title, Description: in.Description, Acceptance: in.Acceptance, Skills: in.Skills, Areas: in.Areas,
		Wants: in.Evidence, Hold: in.Hold, MaxFailures: in.MaxFailures,
	}
	if in.Priority != nil {
		p, err := board.ParsePriority(*in.Priority)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		edit.Priority = &p
	}
	if in.DependsOn != nil {
		ids, err := taskIDs(*in.DependsOn)
		if err != nil {
			return nil, k.refuse(e, err)
		}
		edit.DependsOn = &ids
	}
	if in.Parent != nil {
		edit.Parent = new(board.ID{})
		if *in.Parent != "" {
			if *edit.Parent, err = board.ParseID(*in.Parent); err != nil {
				return nil, k.refuse(e, err)
			}
		}
	}
	if edit == (board.Edit{}) {
		e.next = "Next: the same call with what is to change."
		return nil, k.refuse(e, fmt.Errorf("%w: the call names nothing that changes", board.ErrInvalid))
	}
	task, err := t.b.Update(ctx, k.Actor, id, edit)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	s := fmt.Sprintf("Changed. %s.", taskRow(&task, ""))
	if task.Status == board.InProgress {
		s += " Whoever works on it is told with the next note."
	}
	a := &answer{text: s, result: wireOf(task, board.Doc{})}
	if in.Skills != nil {
		if more, err := t.unknownSkills(ctx, []string{id.Project}, *in.Skills); err == nil && more != "" {
			a.more = append(a.more, more)
		}
	}
	return a, nil
}

var cancelTask = &definition{
	name:  "cancel_task",
	about: "End a task that is no longer wanted, for good. Whoever works on it is told to stop.",
	props: []prop{
		{name: "task", kind: text, must: true, about: "its id", also: taskNames},
		{name: "reason", kind: text, about: "why; needed if somebody works on it"},
		{name: "dependents", kind: text, enum: []string{"keep", "unblock", "cancel"}, about: "what happens to its dependents; default keep, which leaves them blocked"},
	},
	hints: mcp.ToolAnnotations{DestructiveHint: new(true)},
	run:   run(cancel),
}

func cancel(ctx context.Context, t *Tools, k *caller, in struct {
	Task       string           `json:"task"`
	Reason     string           `json:"reason"`
	Dependents board.Dependents `json:"dependents"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	if in.Dependents == "" {
		in.Dependents = board.DependentsKeep
	}
	ids, err := t.b.Cancel(ctx, k.Actor, id, in.Reason, in.Dependents)
	if err != nil {
		return nil, k.refuse(errand{not: "Not cancelled.", task: id}, err)
	}
	s := "Cancelled: " + idList(ids) + "."
	d, err := t.b.Get(ctx, id, 1)
	if err == nil && in.Dependents == board.DependentsKeep {
		var blocked []board.ID
		for _, dep := range d.Dependents {
			if !dep.Status.Terminal() {
				blocked = append(blocked, dep.ID)
			}
		}
		if len(blocked) > 0 {
			s += fmt.Sprintf(" Still blocked by it: %s; change that with update_task depends_on, or cancel it too.", idList(blocked))
		}
	}
	return &answer{text: s, result: wireList[string]{Items: idTexts(ids)}}, nil
}

var reviewTask = &definition{
	name:  "review_task",
	about: "Review a task in state review: accept it, or reject it with a note for the next attempt. retry reopens a failed task. You cannot review a task you worked on.",
	props: []prop{
		{name: "task", kind: text, must: true, about: "its id", also: taskNames},
		{name: "verdict", kind: text, must: true, enum: []string{"accept", "reject", "retry"}, about: "accept, reject, or retry a failed one", also: []string{"decision", "action", "result"}},
		{name: "note", kind: text, about: "what is wrong or to be minded; needed to reject", also: []string{"reason", "comment", "message"}},
	},
	run: run(review),
}

func review(ctx context.Context, t *Tools, k *caller, in struct {
	Task    string        `json:"task"`
	Verdict board.Verdict `json:"verdict"`
	Note    string        `json:"note"`
},
) (*answer, error) {
	id, err := k.task(ctx, in.Task)
	if err != nil {
		return nil, err
	}
	out, err := t.b.Review(ctx, k.Actor, id, in.Verdict, in.Note)
	if err != nil {
		return nil, k.refuse(errand{not: "Not judged.", task: id}, err)
	}
	var s string
	switch {
	case in.Verdict == board.Accept:
		s = fmt.Sprintf("%v is done.", id)
		if len(out.Freed) > 0 {
			s += " This freed " + idList(out.Freed) + "."
		}
	case in.Verdict == board.Retry:
		s = fmt.Sprintf("%v is back on the board with %d new tries.", id, out.MaxFailures)
	case out.Status == board.Failed:
		s = fmt.Sprintf("%v is rejected and has failed for good: %d of %d tries are used up.", id, out.Failures, out.MaxFailures)
	default:
		s = fmt.Sprintf("%v is rejected and back on the board; the next attempt is told your note (%d of %d tries failed).", id, out.Failures, out.MaxFailures)
	}
	return &answer{text: s, result: wireOutcomeOf(out)}, nil
}

var listQuestions = &definition{
	name:  "list_questions",
	about: "List the questions that wait for an answer.",
	props: []prop{
		{name: "state", kind: text, enum: []string{"open", "answered", "withdrawn", "all"}, about: "open if not given", also: []string{"status"}},
		{name: "project", kind: text, about: "only of this project"},
		{name: "limit", kind: number, about: "how many; 20 if not given", most: mostRows},
		{name: "cursor", kind: text, about: "cursor from the previous answer"},
	},
	run: run(listedQuestions),
}

func listedQuestions(ctx context.Context, t *Tools, k *caller, in struct {
	State   string `json:"state"`
	Project string `json:"project"`
	Limit   int    `json:"limit"`
	Cursor  string `json:"cursor"`
},
) (*answer, error) {
	e := errand{not: "Not listed."}
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
			e.next = "Next: the same call without a cursor."
			return nil, k.refuse(e, err)
		}
	}
	rows := in.Limit
	if rows == 0 {
		rows = usualRows
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
		w.Items = append(w.Items, wireQuestionOf(q))
		lines = append(lines, questionRow(q, now))
	}
	switch {
	case lines == nil:
		lines = append(lines, "No such questions.")
	case f.State == board.QuestionOpen:
		lines = append(lines, "Answer with "+call("answer_question", "question", qs[0].ID.String(), "answer", "…")+".")
	}
	if w.Cursor != "" {
		lines = append(lines, fmt.Sprintf("More: the same call with \"cursor\":%q.", w.Cursor))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}

// questionRow is a question in a line or two.
func questionRow(q board.Question, now time.Time) string {
	row := q.ID.String() + " " + string(q.State)
	if !q.Claim.IsZero() {
		row += " about " + q.Claim.Task.String()
	}
	if q.Blocking {
		row += ", blocking"
	}
	if q.HumanOnly {
		row += ", for a person only"
	}
	if q.State == board.QuestionOpen && !q.NeededBy.IsZero() && now.After(q.NeededBy) {
		row += ", overdue"
	}
	row += ", asked " + since(now, q.AskedAt) + ": " + oneLine(q.Text, 300)
	if len(q.Options) > 0 {
		row += "\n    options: " + oneLine(strings.Join(q.Options, " | "), 300)
	}
	if q.Default != "" {
		row += "\n    default: " + oneLine(q.Default, 200)
	}
	if q.State == board.QuestionAnswered {
		row += "\n    answer from " + answeredBy(q) + ": " + oneLine(q.Answer, 300)
	}
	return row
}

var answerQuestion = &definition{
	name:  "answer_question",
	about: "Answer a worker's question if you know what the people you work for want. You cannot answer your own question or a human_only one.",
	props: []prop{
		{name: "question", kind: text, must: true, about: "its id, such as q-18", also: []string{"id", "question_id"}},
		{name: "answer", kind: text, must: true, about: "the decision, and why if that helps", also: []string{"text", "message"}},
	},
	run: run(answering),
}

func answering(ctx context.Context, t *Tools, k *caller, in struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
},
) (*answer, error) {
	q, err := k.question(ctx, in.Question)
	if err != nil {
		return nil, err
	}
	e := errand{not: "Not answered.", next: "Next: " + call("list_questions") + "."}
	if q.HumanOnly {
		e.next = "Leave it to a person: they answer with bossman answer, or on the dashboard."
	}
	if q, err = t.b.Answer(ctx, k.Actor, q.ID, in.Answer); err != nil {
		return nil, k.refuse(e, err)
	}
	t.server.ResourceUpdated(questionsURI)
	s := fmt.Sprintf("%v is answered with %s.", q.ID, quote(oneLine(q.Answer, 200)))
	if !q.Claim.IsZero() {
		s += fmt.Sprintf(" %v can go on.", q.Claim.Task)
	}
	return &answer{text: s, result: wireQuestionOf(q)}, nil
}

var listWorkers = &definition{
	name:  "list_workers",
	about: "List the agents that were seen in the last day, and what they hold.",
	props: []prop{
		{name: "project", kind: text, about: "only those that hold something of this project"},
	},
	run: run(listedWorkers),
}

func listedWorkers(ctx context.Context, t *Tools, k *caller, in struct {
	Project string `json:"project"`
},
) (*answer, error) {
	e := errand{not: "Not listed."}
	projects, err := k.among(in.Project)
	if err != nil {
		return nil, err
	}
	workers, now, err := t.b.Workers(ctx, 24*time.Hour)
	if err != nil {
		return nil, k.refuse(e, err)
	}
	held := map[board.WorkerID]board.Claim{}
	for _, p := range projects {
		claims, err := t.b.Claims(ctx, board.ClaimFilter{Project: p})
		if err != nil {
			return nil, k.refuse(e, err)
		}
		for _, c := range claims {
			held[c.Worker] = c
		}
	}
	w := wireList[wireWorker]{Items: []wireWorker{}}
	var lines []string
	for _, x := range workers {
		c, holds := held[x.WorkerID]
		// Those of other keys are shown by what they hold here, and not otherwise.
		if !holds && (in.Project != "" || x.Principal != k.Principal) {
			continue
		}
		row := wireWorker{Name: x.Name, LastSeenAgo: int(now.Sub(x.LastSeen).Seconds()), StoppedBy: x.StoppedBy}
		line := x.Name + " is free"
		if holds {
			row.Task, row.Claim, row.LeaseLeft = c.Task.String(), c.Handle.String(), int(c.LeaseUntil.Sub(now).Seconds())
			line = fmt.Sprintf("%s has held %v for %s; the lease has %s left", x.Name, c.Task, board.Span(now.Sub(c.GrantedAt)), board.Span(c.LeaseUntil.Sub(now)))
		} else {
			line += ", seen " + since(now, x.LastSeen)
		}
		if x.Owner == k.Owner && k.Owner != "" {
			line += ", on this connection"
		}
		if x.StoppedBy != "" {
			line += ", stopped by " + x.StoppedBy
		}
		w.Items = append(w.Items, row)
		if len(lines) < mostRows {
			lines = append(lines, line+".")
		}
	}
	if lines == nil {
		lines = append(lines, "Nobody has been here in the last day.")
	}
	if n := len(w.Items) - len(lines); n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return &answer{text: strings.Join(lines, "\n"), result: w}, nil
}
