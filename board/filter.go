package board

// Searched is how many of the newest tasks of a project, and how many of its newest open
// tasks, a search covers at least.
const Searched = 5_000

// A TaskFilter selects tasks; the zero value selects all.
type TaskFilter struct {
	Projects []string
	Statuses []Status
	// Ready selects tasks that can be handed out now.
	Ready bool
	// Hold selects drafts.
	Hold bool
	// Resting selects pending tasks that cool down or are reserved. A store may look only at
	// the 1,000 of a project that are ready first.
	Resting bool
	// Stuck selects pending tasks that depend on one that has failed or was cancelled. A store
	// may look only at the oldest 1,000 tasks of a project that wait for others.
	Stuck bool
	// Query is searched for in titles and descriptions, ignoring case. A store may search
	// only the newest tasks of each project, see Searched.
	Query string
	Skill string
	// Worker is the name of the task's current holder.
	Worker string
	Parent ID
	// IDs selects these tasks.
	IDs []ID
	// After is the last ID of the previous page, Limit the size of a page (default
	// 1,000).
	After ID
	Limit int
}

// A ClaimFilter selects live claims; the zero value selects all.
type ClaimFilter struct {
	Project string
	Task    ID
	// Tasks selects claims on these tasks.
	Tasks     []ID
	Principal string
	Owner     string
	Worker    string
	Session   string
	// Areas selects claims on tasks whose areas overlap these.
	Areas []string
	// Limit is how many to list at most; 0: all.
	Limit int
}

// A QuestionFilter selects questions; the zero value selects all.
type QuestionFilter struct {
	Projects []string
	State    QuestionState
	Task     ID
	ChatID   string
	// After is the last ID of the previous page, Limit the size of a page (default
	// 1,000).
	After QuestionID
	Limit int
}
