package tools

import (
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/bossman-dev/bossman/internal/visible"
)

// A Voice formats a call as the reader of a text should make it; args are alternating names
// and values. Without args it names the call; without a tool it formats the arguments alone.
type Voice func(tool string, args ...any) string

// voice is how all texts of this process name calls. A process has one kind of reader: a
// model that calls tools, or one that runs commands.
var voice Voice = toolCall

// Speak sets the voice of all texts of this process. A program calls it at its start, if
// its reader does not call tools.
func Speak(v Voice) { voice = v }

// call formats a call as the reader should make it; args are alternating names and values.
func call(tool string, args ...any) string { return voice(tool, args...) }

// mention names a call in a sentence.
func mention(tool string) string {
	s := voice(tool)
	if s == toolCall(tool) {
		return tool
	}
	return s
}

// argument formats an argument of a call.
func argument(name string, value any) string { return voice("", name, value) }

// repeat tells the reader to make the same call again.
func repeat() string {
	if mention("get_task") == "get_task" {
		return "repeat the call"
	}
	return "repeat the command"
}

// toolCall formats a call of a tool.
func toolCall(tool string, args ...any) string {
	if tool == "" {
		return strings.Trim(toolCall(" ", args...), " {}")
	}
	b := []byte(tool + " {")
	for i := 0; i+1 < len(args); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(args[i].(string))...), ':')
		b = append(b, visible.JSON(must(jsonv2.Marshal(args[i+1])))...)
	}
	return string(append(b, '}'))
}
