package console

import "strconv"

// An ExitCode is how a command ended. Scripts depend on the numbers; they never change.
type ExitCode int

const (
	OK          ExitCode = 0
	Failure     ExitCode = 1
	Usage       ExitCode = 2 // the command line or an argument is wrong
	NotFound    ExitCode = 3
	Denied      ExitCode = 4
	ToolError   ExitCode = 5 // a tool that was called reported an error
	Conflict    ExitCode = 6
	NothingToDo ExitCode = 7
	Unavailable ExitCode = 8 // try again later
)

// String is the name of the code in JSON.
func (c ExitCode) String() string {
	names := [...]string{"ok", "failure", "usage", "not_found", "not_allowed", "tool_error", "conflict", "nothing_to_do", "unavailable"}
	if c >= 0 && int(c) < len(names) {
		return names[c]
	}
	return strconv.Itoa(int(c))
}
