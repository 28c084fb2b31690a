package access

import (
	"context"
	"slices"
	"time"

	"github.com/bossman-dev/bossman/auth"
	"github.com/bossman-dev/bossman/board"
)

// A Verb is something that a caller can do. The variables below are all there are.
type Verb struct {
	// Name identifies the verb between a laptop and its server, and in telemetry. For
	// a verb of the board it is the method of Board with a small first letter.
	Name string
	// Tool is the MCP tool that does it, and Direct the plain JSON-RPC method. They
	// are empty if there is none.
	Tool, Direct string
	// Role is the minimum role in the project that a call is about. None means that
	// no role is enough: the verb is for people alone.
	Role auth.Role
	// Person is the minimum role for a person, where it is lower than Role.
	Person auth.Role
	// Hide is a role that may use the verb and is not shown its tool, to keep that
	// role's list of tools short.
	Hide auth.Role
	// Writes is set if a call may change something that lasts.
	Writes bool
	// Once is set if a call must not be repeated when its answer was lost: the board
	// would carry it out a second time. Other calls are idempotent.
	Once bool
	// Bucket is the rate limit that a call counts against, in addition to auth.Calls.
	Bucket auth.Bucket
}

// The verbs that read.
var (
	Whoami    = row(Verb{Name: "whoami", Role: auth.Viewer})
	Projects  = row(Verb{Name: "projects", Role: auth.Viewer})
	Project   = row(Verb{Name: "project", Role: auth.Viewer})
	Summary   = row(Verb{Name: "summary", Role: auth.Viewer})
	Inbox     = row(Verb{Name: "inbox", Role: auth.Viewer})
	List      = row(Verb{Name: "list", Tool: "list_tasks", Role: auth.Viewer, Hide: auth.Worker})
	Get       = row(Verb{Name: "get", Tool: "get_task", Role: auth.Viewer})
	Why       = row(Verb{Name: "why", Role: auth.Viewer})
	Events    = row(Verb{Name: "events", Role: auth.Viewer})
	Runs      = row(Verb{Name: "runs", Role: auth.Viewer})
	Spent     = row(Verb{Name: "spent", Role: auth.Viewer})
	Log       = row(Verb{Name: "log", Role: auth.Viewer})
	Diff      = row(Verb{Name: "diff", Role: auth.Viewer})
	Calls     = row(Verb{Name: "calls", Role: auth.Viewer})
	Artifact  = row(Verb{Name: "artifact", Role: auth.Viewer})
	Claims    = row(Verb{Name: "claims", Role: auth.Viewer})
	Workers   = row(Verb{Name: "workers", Tool: "list_workers", Role: auth.Viewer, Hide: auth.Worker})
	Questions = row(Verb{Name: "questions", Tool: "list_questions", Role: auth.Viewer, Hide: auth.Worker})
	Question  = row(Verb{Name: "question", Role: auth.Viewer})
	Await     = row(Verb{Name: "await", Tool: "get_answer", Role: auth.Viewer, Hide: auth.Viewer})
	Feed      = row(Verb{Name: "feed", Role: auth.Viewer})
	FeedEnd   = row(Verb{Name: "feedEnd", Role: auth.Viewer})
	Line      = row(Verb{Name: "line", Role: auth.Viewer})
	Intents   = row(Verb{Name: "intents", Role: auth.Viewer})
	Untold    = row(Verb{Name: "untold", Role: auth.Viewer})
)

// The verbs of a worker. An agent that is no lead may not answer questions, but the
// person at its client may.
var (
	Next        = row(Verb{Name: "next", Tool: "get_next_task", Direct: "getNextTask", Role: auth.Worker, Writes: true})
	Renew       = row(Verb{Name: "renew", Role: auth.Worker, Writes: true})
	Leave       = row(Verb{Name: "leave", Role: auth.Worker, Writes: true})
	GiveBack    = row(Verb{Name: "giveBack", Role: auth.Worker, Writes: true, Once: true})
	Progress    = row(Verb{Name: "progress", Tool: "report_progress", Role: auth.Worker, Writes: true, Once: true})
	Locate      = row(Verb{Name: "locate", Role: auth.Worker, Writes: true})
	Record      = row(Verb{Name: "record", Role: auth.Worker, Writes: true})
	Checked     = row(Verb{Name: "checked", Role: auth.Worker, Writes: true, Once: true})
	Done        = row(Verb{Name: "done", Tool: "report_task_done", Direct: "reportTaskDone", Role: auth.Worker, Writes: true})
	Fail        = row(Verb{Name: "fail", Tool: "report_task_failed", Role: auth.Worker, Writes: true})
	Ask         = row(Verb{Name: "ask", Tool: "ask_question", Direct: "askQuestion", Role: auth.Worker, Writes: true, Bucket: auth.Questions})
	Park        = row(Verb{Name: "park", Role: auth.Worker, Writes: true})
	Create      = row(Verb{Name: "create", Tool: "create_task", Role: auth.Worker, Writes: true, Bucket: auth.Creations})
	CreateUnder = row(Verb{Name: "createUnder", Role: auth.Worker, Writes: true, Bucket: auth.Creations})
	Admit       = row(Verb{Name: "admit", Role: auth.Worker, Writes: true, Once: true})
	EndCalls    = row(Verb{Name: "endCalls", Role: auth.Worker, Writes: true})
	Touch       = row(Verb{Name: "touch", Role: auth.Worker, Writes: true})
	PutArtifact = row(Verb{Name: "putArtifact", Role: auth.Worker, Writes: true, Once: true})
	Answer      = row(Verb{Name: "answer", Tool: "answer_question", Role: auth.Lead, Person: auth.Worker, Writes: true, Once: true})
)

// The verbs of a lander, who decides what the target is.
var (
	TakeLead  = row(Verb{Name: "lead", Role: auth.Lead, Writes: true})
	StepDown  = row(Verb{Name: "stepDown", Role: auth.Lead, Writes: true})
	BeginLand = row(Verb{Name: "beginLand", Role: auth.Lead, Writes: true})
	Landed    = row(Verb{Name: "landed", Role: auth.Lead, Writes: true})
	Dropped   = row(Verb{Name: "dropped", Role: auth.Lead, Writes: true})
	Return    = row(Verb{Name: "return", Role: auth.Lead, Writes: true, Once: true})
	Told      = row(Verb{Name: "told", Role: auth.Lead, Writes: true})
)

// The verbs of a lead.
var (
	CreatePlan = row(Verb{Name: "createPlan", Tool: "create_plan", Role: auth.Lead, Writes: true, Bucket: auth.Creations})
	Update     = row(Verb{Name: "update", Tool: "update_task", Role: auth.Lead, Writes: true})
	Cancel     = row(Verb{Name: "cancel", Tool: "cancel_task", Role: auth.Lead, Writes: true, Once: true})
	Review     = row(Verb{Name: "review", Tool: "review_task", Role: auth.Lead, Writes: true, Once: true})
	Comment    = row(Verb{Name: "comment", Role: auth.Lead, Writes: true, Once: true})
	Reopen     = row(Verb{Name: "reopen", Role: auth.Lead, Writes: true, Once: true})
	Release    = row(Verb{Name: "release", Role: auth.Lead, Writes: true, Once: true})
	Stop       = row(Verb{Name: "stop", Role: auth.Lead, Writes: true})
	Pause      = row(Verb{Name: "pause", Role: auth.Lead, Writes: true})
	Resume     = row(Verb{Name: "resume", Role: auth.Lead, Writes: true})
)

// The verbs of people, and of an administrator.
var (
	MarkDone   = row(Verb{Name: "markDone", Person: auth.Lead, Writes: true, Once: true})
	Erase      = row(Verb{Name: "erase", Person: auth.Admin, Writes: true, Once: true})
	Redact     = row(Verb{Name: "redact", Person: auth.Admin, Writes: true, Once: true})
	SetProject = row(Verb{Name: "setProject", Person: auth.Admin, Writes: true})
	SetLand    = row(Verb{Name: "setLand", Person: auth.Admin, Writes: true})
	Login      = row(Verb{Name: "login", Person: auth.Viewer, Writes: true, Once: true, Bucket: auth.Creations})
)

// A Board is a board in this process (*board.Board), or the board of a server
// (*remote.Board). Each method is a verb, except Wait and Run. Package board documents
// them.
type Board interface {
	Projects(ctx context.Context) ([]board.Project, error)
	Project(ctx context.Context, slug string) (board.Project, error)
	Summary(ctx context.Context, slug string) (board.Summary, error)
	Inbox(ctx context.Context, slug string) (board.Inbox, error)
	List(ctx context.Context, f board.TaskFilter) ([]board.Task, error)
	Get(ctx context.Context, id board.ID, events int) (board.Dossier, error)
	Why(ctx context.Context, id board.ID) (board.Dossier, []board.Reason, error)
	Events(ctx context.Context, id board.ID, after int64, limit int) ([]board.Event, error)
	Runs(ctx context.Context, id board.ID) ([]board.Run, error)
	Spent(ctx context.Context, slug string) (board.Spending, error)
	Log(ctx context.Context, id board.ID, attempt int, after int64) ([]board.LogPart, error)
	Diff(ctx context.Context, id board.ID, attempt int) (board.AttemptDiff, error)
	Calls(ctx context.Context, f board.CallFilter) ([]board.Call, error)
	Artifact(ctx context.Context, a board.Actor, id board.ArtifactID, p board.ArtifactPage) (board.ArtifactLines, error)
	Claims(ctx context.Context, f board.ClaimFilter) ([]board.Claim, error)
	Workers(ctx context.Context, since time.Duration) ([]board.Worker, time.Time, error)
	Questions(ctx context.Context, f board.QuestionFilter) ([]board.Question, error)
	Question(ctx context.Context, id board.QuestionID) (board.Question, error)
	Await(ctx context.Context, id board.QuestionID, d time.Duration) (board.Question, error)
	Feed(ctx context.Context, projects []string, after board.Cursor, limit int) ([]board.Event, error)
	FeedEnd(ctx context.Context) (board.Cursor, error)
	Line(ctx context.Context, slug string) (board.Line, error)
	Intents(ctx context.Context, f board.IntentFilter) ([]board.Intent, error)
	Untold(ctx context.Context, slug string) ([]board.Issue, error)

	Next(ctx context.Context, a board.Actor, w board.Wish) (*board.Handout, error)
	Renew(ctx context.Context, owner string, called bool) ([]board.Claim, error)
	Leave(ctx context.Context, owner string) error
	GiveBack(ctx context.Context, a board.Actor, h board.Handle, reason string) error
	Progress(ctx context.Context, a board.Actor, h board.Handle, n board.Note) (board.Notice, error)
	Locate(ctx context.Context, a board.Actor, h board.Handle, w board.Where) error
	Record(ctx context.Context, a board.Actor, r board.Run, log ...board.LogPart) error
	Checked(ctx context.Context, a board.Actor, h board.Handle, r board.CheckRun) (board.CheckOutcome, error)
	Done(ctx context.Context, a board.Actor, h board.Handle, r board.Report) (board.Outcome, error)
	Fail(ctx context.Context, a board.Actor, h board.Handle, f board.Failure) (board.Outcome, error)
	Ask(ctx context.Context, a board.Actor, n board.NewQuestion) (board.Question, error)
	Park(ctx context.Context, a board.Actor, id board.QuestionID) (q board.Question, parked bool, err error)
	Create(ctx context.Context, a board.Actor, n board.NewTask, key string) (board.Task, board.Doc, error)
	CreateUnder(ctx context.Context, a board.Actor, h board.Handle, n board.NewTask, key string) (board.Task, board.Doc, error)
	Admit(ctx context.Context, a board.Actor, n board.NewCall) (board.Admitted, error)
	EndCalls(ctx context.Context, ends []board.EndedCall) error
	Touch(ctx context.Context, list []board.Touched) error
	PutArtifact(ctx context.Context, a board.Actor, n board.NewArtifact) (board.Artifact, error)
	Answer(ctx context.Context, a board.Actor, id board.QuestionID, answer string) (board.Question, error)

	Lead(ctx context.Context, a board.Actor, l board.Lease) (board.Lease, error)
	StepDown(ctx context.Context, a board.Actor, l board.Lease) error
	BeginLand(ctx context.Context, a board.Actor, l board.Lease, from, to string, items []board.Item) (board.Intent, error)
	Landed(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID, commits map[board.ID]string) ([]board.Outcome, error)
	Dropped(ctx context.Context, a board.Actor, l board.Lease, id board.IntentID) error
	Return(ctx context.Context, a board.Actor, id board.ID, r board.Return) (board.Outcome, error)
	Told(ctx context.Context, a board.Actor, i board.Issue) error

	CreatePlan(ctx context.Context, a board.Actor, p board.Plan) (board.Planned, error)
	Update(ctx context.Context, a board.Actor, id board.ID, e board.Edit) (board.Task, error)
	Cancel(ctx context.Context, a board.Actor, id board.ID, reason string, deps board.Dependents) ([]board.ID, error)
	Review(ctx context.Context, a board.Actor, id board.ID, d board.Decision) (board.Outcome, error)
	Comment(ctx context.Context, a board.Actor, id board.ID, list []board.Comment) error
	MarkDone(ctx context.Context, a board.Actor, id board.ID, note string, review bool) (board.Outcome, error)
	Reopen(ctx context.Context, a board.Actor, id board.ID, note string, after ...board.ID) (board.Task, error)
	Release(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error)
	Stop(ctx context.Context, a board.Actor, w board.WorkerID) (board.ID, error)
	Pause(ctx context.Context, a board.Actor, slug string) error
	Resume(ctx context.Context, a board.Actor, slug string) error
	Erase(ctx context.Context, a board.Actor, id board.ID, reason string) (board.Task, error)
	Redact(ctx context.Context, a board.Actor, id board.ID, seq int64, reason string) error
	SetProject(ctx context.Context, p board.Project) error
	SetLand(ctx context.Context, a board.Actor, slug, target string) error

	// Changes returns a channel that is closed when the board may have changed since the call.
	Changes() <-chan struct{}
	// Run does the board's background work until ctx ends.
	Run(ctx context.Context) error
}

var _ Board = (*board.Board)(nil)

// MethodPrefix begins the JSON-RPC method of every verb.
const MethodPrefix = "bossman/"

// Method is the JSON-RPC method with which a laptop asks its server.
func (v *Verb) Method() string { return MethodPrefix + v.Name }

// Allows reports whether a role is enough, for a person or for an agent.
func (v *Verb) Allows(r auth.Role, person bool) bool {
	if r == auth.None {
		return false
	}
	if person && v.Person != auth.None && r >= v.Person {
		return true
	}
	return v.Role != auth.None && r >= v.Role
}

// Shows reports whether a role is shown the verb's tool. What a tool does, an agent
// does, so a person's lower minimum does not count.
func (v *Verb) Shows(r auth.Role) bool {
	return v.Tool != "" && r != v.Hide && v.Allows(r, false)
}

// Verbs lists the table, in its order.
func Verbs() []*Verb { return slices.Clone(table.verbs) }

// ByTool finds the verb of an MCP tool.
func ByTool(name string) (*Verb, bool) {
	v, ok := table.tools[name]
	return v, ok
}

// ByMethod finds the verb of a JSON-RPC method, a laptop's or a direct one.
func ByMethod(name string) (*Verb, bool) {
	v, ok := table.methods[name]
	return v, ok
}

// ByRequest finds the verb of a request. tool is the tool that the request calls,
// empty if it calls none.
func ByRequest(method, tool string) (*Verb, bool) {
	if tool != "" {
		return ByTool(tool)
	}
	return ByMethod(method)
}

// table has the verbs, and indexes of their names.
var table struct {
	verbs          []*Verb
	tools, methods map[string]*Verb
}

// row adds a verb to the table. It panics if one of its names is taken, or if the row
// does not say who may use it.
func row(v Verb) *Verb {
	if table.tools == nil {
		table.tools, table.methods = map[string]*Verb{}, map[string]*Verb{}
	}
	if v.Name == "" || v.Role == auth.None && v.Person == auth.None {
		panic("access: verb " + v.Name + " lacks a name or a role")
	}
	add := func(index map[string]*Verb, name string) {
		if _, taken := index[name]; taken {
			panic("access: two verbs are called " + name)
		}
		index[name] = &v
	}
	add(table.methods, v.Method())
	if v.Direct != "" {
		add(table.methods, v.Direct)
	}
	if v.Tool != "" {
		add(table.tools, v.Tool)
	}
	table.verbs = append(table.verbs, &v)
	return &v
}
