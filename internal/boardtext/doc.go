// Package boardtext is the board as people read it on a terminal: a task with its history,
// states, times. Package boardjson is the same for programs.
package boardtext
