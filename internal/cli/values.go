package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/console"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// values are what a flag or an argument may be.
type values struct {
	enum []string
	// loose: other values are possible too, or a value is only a part of the text.
	loose bool
	// find returns those of the board, each with a description after a tab.
	find func(ctx context.Context, s Source) ([]string, error)
	// most is the number of arguments that they are for; 0 means all.
	most int
}

// States are the values of --state: the states, and pending for all that nobody has begun.
var States = append([]string{string(board.Pending)}, names(board.States)...)

var (
	verdicts  = []string{string(board.Accept), string(board.Reject), string(board.Retry)}
	evidence  = names(board.EvidenceKinds)
	open      = tasks(func(t board.Task) bool { return !t.Status.Terminal() })
	everyTask = tasks(func(board.Task) bool { return true })
)

// flagTable has the values of flags, by their name or by command and name.
var flagTable = map[string]*values{
	"state":            {enum: States},
	"priority":         {enum: []string{"urgent", "high", "normal", "low"}},
	"policy":           {enum: names(board.Policies)},
	"evidence":         {enum: evidence},
	"dependents":       {enum: names([]board.Dependents{board.DependentsKeep, board.DependentsUnblock, board.DependentsCancel})},
	"kind":             {enum: names(board.FailureKinds)},
	"log-level":        {enum: []string{"debug", "info", "warn", "error"}},
	"agent":            {enum: []string{"acp", "claude", "claude-acp", "codex", "codex-acp", "command", "copilot", "gemini", "opencode"}},
	"permission-mode":  {enum: []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"}, loose: true},
	"task import from": {enum: []string{"github"}},
	"role":             {enum: []string{"viewer", "worker", "lead", "admin"}},
	"install scope":    {enum: []string{"user", "project"}},
	"list":             {enum: []string{"auto", "real", "search"}},
	"mcp role":         {enum: []string{"viewer", "worker", "lead"}},
	// evidence=REF of an agent.
	"done evidence": {enum: suffixed(evidence, "="), loose: true},

	"after":           {find: open},
	"parent":          {find: open},
	"task":            {find: open},
	"task list after": {find: everyTask},
	"worker":          {find: workers},
	"skill":           {find: skills},
	"project":         {find: projects},
	"person":          {find: people},
	"owner":           {find: people},
	"claim":           {find: claims},
}

// argTable has the values of arguments, by command.
var argTable = map[string]*values{
	"task show":    {find: everyTask},
	"task log":     {find: everyTask, most: 1},
	"task diff":    {find: everyTask, most: 1},
	"task why":     {find: everyTask},
	"task edit":    {find: open},
	"task cancel":  {find: open},
	"task done":    {find: open},
	"task start":   {find: inStates(board.StateDraft)},
	"task reopen":  {find: inStates(board.StateFailed, board.StateDone, board.StateCancelled)},
	"task retry":   {find: inStates(board.StateFailed)},
	"land return":  {find: inStates(board.StateLanding)},
	"land undo":    {find: inStates(board.StateDone)},
	"task release": {find: inStates(board.StateInProgress, board.StateReserved, board.StateCoolingDown)},
	"task erase":   {find: inStates(board.StateDone, board.StateCancelled), most: 1},
	"event redact": {find: everyTask, most: 1},
	"task review":  {find: inStates(board.StateReview, board.StateFailed), enum: verdicts, loose: true},

	"review":         {enum: names([]board.Verdict{board.Accept, board.Reject, board.Skip}), most: 1},
	"stop":           {find: workers, most: 1},
	"answer":         {find: questions, most: 1},
	"project set":    {find: projects, most: 1},
	"key revoke":     {find: keys},
	"key lower":      {find: keys},
	"person disable": {find: people},
	"person enable":  {find: people},
}

// path is a command without the program's name.
func path(cmd *cobra.Command) string {
	_, p, _ := strings.Cut(cmd.CommandPath(), " ")
	return p
}

// flagValues returns the values of a command's flag, or nil.
func flagValues(cmd *cobra.Command, f *pflag.Flag) *values {
	if f.Value.Type() == "bool" {
		return nil
	}
	if v := flagTable[path(cmd)+" "+f.Name]; v != nil {
		return v
	}
	return flagTable[f.Name]
}

func names[T ~string](all []T) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return out
}

func suffixed(all []string, suffix string) []string {
	out := slices.Clone(all)
	for i := range out {
		out[i] += suffix
	}
	return out
}

// described is a value with its description.
func described(value, text string) string { return value + "\t" + console.OneLine(text) }

// tasks finds the tasks of the project that fit, at most 1000.
func tasks(fits func(board.Task) bool) func(context.Context, Source) ([]string, error) {
	return func(ctx context.Context, s Source) ([]string, error) {
		found, _, err := board.Page(board.TaskFilter{Projects: []string{s.Project}, Limit: 1000}, fits,
			func(f board.TaskFilter) ([]board.Task, error) { return s.Board.List(ctx, f) })
		var out []string
		for _, t := range found {
			out = append(out, described(t.ID.String(), t.Title))
		}
		return out, err
	}
}

func inStates(states ...board.State) func(context.Context, Source) ([]string, error) {
	return tasks(func(t board.Task) bool { return slices.Contains(states, t.State()) })
}

func workers(ctx context.Context, s Source) (out []string, err error) {
	all, _, err := s.Board.Workers(ctx, 24*time.Hour)
	for _, w := range all {
		out = append(out, w.Name)
	}
	return out, err
}

func claims(ctx context.Context, s Source) (out []string, err error) {
	all, err := s.Board.Claims(ctx, board.ClaimFilter{Project: s.Project})
	for _, c := range all {
		out = append(out, described(c.Handle.String(), c.Worker.Name))
	}
	return out, err
}

func questions(ctx context.Context, s Source) (out []string, err error) {
	all, err := s.Board.Questions(ctx, board.QuestionFilter{Projects: []string{s.Project}, State: board.QuestionOpen})
	for _, q := range all {
		out = append(out, described(q.ID.String(), q.Text))
	}
	return out, err
}

func projects(_ context.Context, s Source) (out []string, err error) {
	for _, p := range s.Projects {
		out = append(out, described(p.Slug, p.Name))
	}
	return out, nil
}

func skills(_ context.Context, s Source) (out []string, err error) {
	for _, p := range s.Projects {
		if p.Slug == s.Project {
			out = append(out, p.Skills...)
		}
	}
	return out, nil
}

func keys(ctx context.Context, s Source) (out []string, err error) {
	if s.Keys == nil {
		return nil, nil
	}
	all, err := s.Keys.Keys(ctx)
	for _, k := range all {
		if k.Revoked.IsZero() {
			out = append(out, described(k.ID, k.Name))
		}
	}
	return out, err
}

func people(ctx context.Context, s Source) (out []string, err error) {
	if s.Keys == nil {
		return nil, nil
	}
	all, err := s.Keys.People(ctx)
	for _, p := range all {
		out = append(out, p.Name)
	}
	return out, err
}
