package boardtext

import (
	"github.com/bossman-dev/bossman/board"
	"github.com/bossman-dev/bossman/internal/boardjson"
	"github.com/bossman-dev/bossman/internal/console"
)

// StateWord is a task's state for people.
func StateWord(t board.Task) string {
	switch s := boardjson.State(t); s {
	case "in_progress":
		return "in progress"
	default:
		return s
	}
}

// StateStyle is how a state is shown.
func StateStyle(t board.Task) console.Style {
	switch boardjson.State(t) {
	case "ready":
		return console.Green
	case "in_progress":
		return console.Cyan
	case "waiting", "review":
		return console.Yellow
	case "failed":
		return console.Red
	}
	return console.Dim
}

// PriorityStyle is how a priority is shown.
func PriorityStyle(p board.Priority) console.Style {
	switch p {
	case board.Urgent:
		return console.Red
	case board.High:
		return console.Yellow
	}
	return console.Dim
}
